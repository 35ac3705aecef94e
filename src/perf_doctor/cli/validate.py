"""``perf-doctor validate``: the estimate against measured runs."""

from __future__ import annotations

import json

from perf_doctor.cli.arguments import Parser, path
from perf_doctor.cli.output import complain, say
from perf_doctor.data import table
from perf_doctor.estimate.accuracy import as_json, as_text
from perf_doctor.estimate.points import Point
from perf_doctor.estimate.validate import judge
from perf_doctor.shell.files import read_text
from perf_doctor.shell.limits import ScriptError

BUNDLED = "measured_memory"


def run(words: list[str]) -> int:
    """Print predicted against measured; 2 when the file of points cannot be read."""
    parser = Parser("perf-doctor validate", "Compare the estimate with measured runs.")
    parser.add_argument(
        "--data",
        type=path,
        metavar="FILE",
        help="runs of your own, in the format of the bundled set",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args(words)
    try:
        judged = judge(_points(arguments.data))
    except ScriptError as error:
        complain(str(error))
        return 2
    if arguments.format == "json":
        say(json.dumps(as_json(judged), indent=2))
    else:
        say(as_text(judged))
    return 0


def _points(file: str | None) -> list[Point]:
    """Return the measured points of a file: a list, or an object with a list ``points``."""
    if file is None:
        points: list[Point] = table(BUNDLED)["points"]
        return points
    try:
        read = json.loads(read_text(file))
    except ScriptError as error:
        raise ScriptError(f"{file} {error}") from None
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"{file} is not JSON: {error}") from None
    held = read.get("points") if isinstance(read, dict) else read
    if not isinstance(held, list) or not all(isinstance(point, dict) for point in held):
        raise ScriptError(f"{file} holds no list of points; see docs/accuracy.md for the format")
    return held
