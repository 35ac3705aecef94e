"""Where a report goes and in which format: standard output, files, or both."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from perf_doctor.report.formats import format_of

_WITHOUT_A_TERMINAL: Final = "markdown"
_AT_A_TERMINAL: Final = "text"
_MIN_COLUMNS, _MAX_COLUMNS = 40, 120
"""Longer lines are harder to read, however wide the window is."""


class Screen(NamedTuple):
    """Where standard output is read: a terminal or not, its width in cells, and if in colour."""

    terminal: bool = False
    columns: int = 100
    colour: bool = False


def screen(environment: Mapping[str, str]) -> Screen:
    """Return what standard output is.

    ``NO_COLOR`` takes the colour away, else ``FORCE_COLOR`` colours what goes anywhere
    (no-color.org, force-color.org); a terminal that calls itself dumb has none.
    """
    terminal = sys.stdout.isatty()
    forced = environment.get("FORCE_COLOR", "") not in ("", "0")
    coloured = forced or (terminal and environment.get("TERM") != "dumb")
    columns = Screen().columns
    if terminal:
        with suppress(OSError, ValueError):  # no size, or no file
            columns = os.get_terminal_size(sys.stdout.fileno()).columns or columns
    if (told := environment.get("COLUMNS", "")).isdecimal():
        columns = int(told[:6])
    return Screen(
        terminal,
        min(max(columns, _MIN_COLUMNS), _MAX_COLUMNS),
        coloured and not environment.get("NO_COLOR"),
    )


def targets(
    arguments: argparse.Namespace, *, terminal: bool = False
) -> Iterator[tuple[str | None, str]]:
    """Yield each file (None for standard output) with the format it gets.

    ``-o FORMAT=FILE`` names its format. The format of another FILE is that of ``--format``, or the
    one its name ends with. With a file standard output stays empty, unless every file names its
    format and ``--format`` asks for one more.
    """
    files: list[tuple[str, str | None]] = arguments.output
    if not files or (arguments.format and all(name for _, name in files)):
        yield None, arguments.format or (_AT_A_TERMINAL if terminal else _WITHOUT_A_TERMINAL)
    for file, name in files:
        yield file, name or arguments.format or format_of(file) or _WITHOUT_A_TERMINAL
