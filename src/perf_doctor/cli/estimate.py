"""``perf-doctor estimate``: GiB and seconds by phase, and whether the job fits."""

from __future__ import annotations

import argparse

from perf_doctor.cli.arguments import Parser, add_lengths, add_output, add_scripts, add_surroundings
from perf_doctor.cli.diagnose import read_all
from perf_doctor.cli.doctors import Doctors
from perf_doctor.cli.output import write
from perf_doctor.cli.speech import speak_for
from perf_doctor.diagnosis import Diagnosis
from perf_doctor.report.document import json_estimate
from perf_doctor.report.estimates import estimate_report


def run(words: list[str]) -> int:
    """Print the estimates; 2 when a script cannot be read."""
    arguments = make_parser().parse_intermixed_args(words)
    doctors = Doctors(arguments)
    speak_for(arguments, doctors, arguments.scripts[0], people=arguments.format == "text")
    diagnoses, failed = read_all(doctors, arguments.scripts)
    if diagnoses:
        failed |= not write(_text(diagnoses, arguments), arguments.output, arguments.scripts)
    return 2 if failed else 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser("perf-doctor estimate", "Estimate memory and step time of a job by phase.")
    add_scripts(parser)
    add_surroundings(parser)
    add_lengths(parser)
    add_output(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--explain", action="store_true", help="show each figure's formula with the numbers put in"
    )
    return parser


def _text(diagnoses: list[Diagnosis], arguments: argparse.Namespace) -> str:
    if arguments.format == "text":
        return "\n".join(estimate_report(one, explained=arguments.explain) for one in diagnoses)
    return json_estimate(diagnoses, explained=arguments.explain)
