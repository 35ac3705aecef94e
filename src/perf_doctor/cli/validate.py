"""``perf-doctor validate``: the estimate against measured runs."""

from __future__ import annotations

import json

from perf_doctor.cli.arguments import Parser, path
from perf_doctor.cli.output import complain, say
from perf_doctor.shell.files import read_text
from perf_doctor.shell.limits import ScriptError
from perf_doctor.validation.accuracy_json import as_json
from perf_doctor.validation.accuracy_text import as_text
from perf_doctor.validation.run import Point
from perf_doctor.validation.subjects import Validation, validate, validate_bundled

# What the code reads names in, where a run states it.
_OBJECTS = ("dims", "extra", "measured", "config", "metrics")


def run(words: list[str]) -> int:
    """Print predicted against measured; 2 when the file of points cannot be read."""
    arguments = make_parser().parse_args(words)
    try:
        found = _validation(arguments.data, cross=arguments.cross_validate)
    except ScriptError as error:
        complain(str(error))
        return 2
    if arguments.format == "json":
        say(json.dumps(as_json(found), indent=2))
    else:
        say(as_text(found))
    return 0


def _validation(file: str | None, *, cross: bool) -> Validation:
    if file is not None:
        return validate(_points(file))
    if cross:
        complain("rates are chosen again without each source in turn: this takes some ten seconds")
    return validate_bundled(cross=cross)


def _points(file: str) -> list[Point]:
    """Return the measured points of a file: a list, or an object with a list ``points``."""
    try:
        read = json.loads(read_text(file))
    except ScriptError as error:
        raise ScriptError(f"{file} {error}") from None
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"{file} is not JSON: {error}") from None
    held = read.get("points") if isinstance(read, dict) else read
    if not isinstance(held, list) or not all(isinstance(point, dict) for point in held):
        raise ScriptError(f"{file} holds no list of points; see docs/accuracy.md for the format")
    for point in held:
        wrong = next((n for n in _OBJECTS if not isinstance(point.get(n) or {}, dict)), None)
        if wrong is not None:
            raise ScriptError(f"{file}: {wrong} of {point.get('id')} is no object of names")
    return held


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser("perf-doctor validate", "Compare the estimate with measured runs.")
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument(
        "--data",
        type=path,
        metavar="FILE",
        help="runs of your own, in the format of the bundled ones",
    )
    runs.add_argument(
        "--cross-validate",
        action="store_true",
        help="also judge each bundled step and decode speed by rates that have not seen its source",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser
