"""``perf-doctor compare A B``: two launches, what differs and what that does."""

from __future__ import annotations

from perf_doctor.cli.arguments import (
    Parser,
    add_catalog,
    add_lengths,
    add_output,
    add_surroundings,
    path,
)
from perf_doctor.cli.diagnose import read_all, tell_notes
from perf_doctor.cli.doctors import Doctors
from perf_doctor.cli.output import complain, write
from perf_doctor.cli.speech import speak_for
from perf_doctor.explore.compare import compare
from perf_doctor.report.compare import compare_json, compare_report


def run(words: list[str]) -> int:
    """Print both launches side by side; 2 when one cannot be read."""
    arguments = make_parser().parse_intermixed_args(words)
    doctors = Doctors(arguments)
    speak_for(arguments, doctors, arguments.a, people=arguments.format == "text")
    diagnoses, failed = read_all(doctors, [arguments.a, arguments.b])
    if failed:
        return 2
    if len(diagnoses) != 2:
        complain("compare takes two scripts, each with a launch, and no folder")
        return 2
    tell_notes(diagnoses, verdicts=False)
    a, b = diagnoses
    doctor = doctors.of(arguments.a)
    rules = doctor.catalog.rules if doctor else ()
    compared = compare(a, b, rules)
    text = compare_json(compared) if arguments.format == "json" else compare_report(compared)
    return 0 if write(text, arguments.output, [arguments.a, arguments.b]) else 2


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        "perf-doctor compare",
        "Compare two launches: the settings that matter, memory and time by phase, the findings.",
    )
    parser.add_argument("a", type=path, metavar="A", help="a script")
    parser.add_argument("b", type=path, metavar="B", help="another script")
    add_surroundings(parser)
    add_lengths(parser)
    add_catalog(parser)
    add_output(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser
