"""``perf-doctor schema``: the JSON Schema of a report."""

from __future__ import annotations

import json

from perf_doctor.cli.arguments import Parser
from perf_doctor.cli.output import put
from perf_doctor.report.schema import published


def run(words: list[str]) -> int:
    """Print the JSON Schema of what ``--format json`` prints."""
    make_parser().parse_args(words)
    put(json.dumps(published(), indent=2) + "\n")
    return 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    return Parser("perf-doctor schema", "Print the JSON Schema of --format json.")
