"""The formats of a report by name; each is made by a module that is imported when it is asked for.

Such a module has one function ``render(report: Report) -> str``, whose text is inert: nothing a
script says can format it, end it early or reach a terminal as more than text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from perf_doctor.frozen import frozen

if TYPE_CHECKING:  # the arguments need the names alone
    from perf_doctor.diagnosis import Diagnosis


@frozen
class Report:
    """What is to be shown, and how: the diagnoses of one or several scripts.

    ``everything``: every finding, however many. ``columns`` and ``colour`` are for the formats that
    people read in a terminal: how many cells a line has, and whether it may be coloured.
    """

    diagnoses: tuple[Diagnosis, ...]
    everything: bool = False
    columns: int = 100
    colour: bool = False


class Format(NamedTuple):
    """A format: what it is for, its module in this room, and the ends of names of its files.

    ``for_people`` is one that speaks the language of the user's locale; the others are English
    unless another language is asked for.
    """

    about: str
    module: str
    suffixes: tuple[str, ...] = ()
    for_people: bool = False


FORMATS: Final[Mapping[str, Format]] = {
    "markdown": Format(
        "the report; the default where it is piped", "markdown", (".md",), for_people=True
    ),
    "text": Format(
        "for reading in a terminal; the default there", "text", (".txt",), for_people=True
    ),
    "html": Format("a page for a browser", "html", (".html", ".htm"), for_people=True),
    "diff": Format("each fix as a diff of the script", "diff", (".diff", ".patch"), True),
    "summary": Format("a table with a line for each script", "summary", (), True),
    "json": Format("everything, for programs", "document", (".json",)),
    "agent": Format("few words, for coding agents", "agent"),
    "sarif": Format("for code scanning", "sarif", (".sarif",)),
    "github": Format("annotations of a GitHub workflow", "github"),
    "junit": Format("test results for CI servers", "junit", (".xml",)),
}


def format_of(file: str) -> str | None:
    """Return the format that a file of this name holds; None where the name does not tell."""
    lower = file.lower()
    return next((name for name, one in FORMATS.items() if lower.endswith(one.suffixes)), None)


def rendered(name: str, report: Report) -> str:
    """Return the report in a format of ``FORMATS``."""
    module = import_module(f"perf_doctor.report.{FORMATS[name].module}")
    render: Callable[[Report], str] = module.render
    return render(report)
