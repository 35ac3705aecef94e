"""``perf-doctor doctor``: what is installed here, how old its data are, what it goes by."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from perf_doctor._version import __version__
from perf_doctor.cli.arguments import Parser
from perf_doctor.cli.output import complain, say
from perf_doctor.configuration.find import find, read
from perf_doctor.data import table
from perf_doctor.language import of_locale
from perf_doctor.plan.plan import RELAX_VERSION
from perf_doctor.rules.built_in import BUILT_IN, compiled_rules
from perf_doctor.rules.load import load_rules
from perf_doctor.shell.limits import ScriptError
from perf_doctor.shell.reader import STDIN_NAME

_OPTIONAL: Final = {"mcp": "perf-doctor mcp"}
"""Packages beyond the required ones, and what needs each."""

_MEASURED: Final = {
    "memory": "GPU memory",
    "time": "training steps",
    "decode": "decode speed",
    "rl": "RL phases",
}


def run(words: list[str]) -> int:
    """Print it; 2 where the configuration of the working folder is broken."""
    make_parser().parse_args(words)
    say(*_lines())
    try:
        file = find(STDIN_NAME)
        say(f"configuration  {read(file).origin if file else 'none for this folder'}")
    except ScriptError as error:
        complain(str(error))
        return 2
    return 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    return Parser("perf-doctor doctor", "Tell the version, the catalog, the data and their dates.")


def _lines() -> Iterator[str]:
    yield f"perf-doctor    {__version__}, {os.path.dirname(os.path.dirname(__file__))}"
    yield f"python         {platform.python_version()}, {sys.executable}"
    rules = load_rules().rules
    readers = sum(not rule.cases for rule in rules)
    yield f"catalog        {len(rules)} rules, {readers} of them for a reader to judge; {BUILT_IN}"
    if compiled_rules() is None:
        yield "               changed since it was compiled, so it is parsed at every start"
    versions = table("flags")["versions"]
    known = {**versions, "relax": RELAX_VERSION}
    told = ", ".join(f"{name} {version}" for name, version in known.items())
    yield f"flags          {len(table('flags')['options']):,} options of {told}"
    cards = table("gpus")
    yield f"cards          {len(cards['gpus'])} of {cards['date']}, see perf-doctor gpus"
    for name, what in _MEASURED.items():
        measured = table(f"measured_{name}")
        points, date = len(measured["points"]), measured["meta"]["date"]
        yield f"measured       {points} points of {what}, {date}"
    yield f"language       {of_locale(os.environ)}, by the locale"
    for package, needed_by in _OPTIONAL.items():
        state = "installed" if find_spec(package) else f"missing, {needed_by} needs it"
        yield f"{package:<14} {state}"
