"""``perf-doctor explain RULE SCRIPT``: a rule's condition and fix with this script's values."""

from __future__ import annotations

from perf_doctor.cli.arguments import Parser, add_catalog, add_lengths, add_surroundings, path
from perf_doctor.cli.diagnose import read_all
from perf_doctor.cli.doctors import Doctors
from perf_doctor.cli.output import complain, say
from perf_doctor.cli.speech import speak_for
from perf_doctor.report.experiment import experiment_lines
from perf_doctor.rules.explain import explain
from perf_doctor.rules.reference import find_rule
from perf_doctor.shell.limits import ScriptError


def run(words: list[str]) -> int:
    """Print how a rule is judged on a script; 2 when either cannot be read."""
    arguments = make_parser().parse_intermixed_args(words)
    doctors = Doctors(arguments)
    speak_for(arguments, doctors, arguments.script)
    doctor = doctors.of(arguments.script)
    if doctor is None:
        return 2
    try:
        rule = find_rule(arguments.rule, doctor.catalog.rules)
    except ScriptError as error:
        complain(str(error))
        return 2
    diagnoses, failed = read_all(doctors, [arguments.script])
    for diagnosis in diagnoses:
        judgement = next(one for one in diagnosis.judgements if one.rule == rule.id)
        told = [*explain(rule, diagnosis.job, judgement), *experiment_lines(judgement)]
        say(*(diagnosis.redactor.redact(line) for line in told))
    return 2 if failed else 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser("perf-doctor explain", "Show how a rule is judged on a script, step by step.")
    parser.add_argument("rule", metavar="RULE", help="the id of a rule, R-C09")
    parser.add_argument("script", type=path, metavar="SCRIPT", help="a script, or - for stdin")
    add_surroundings(parser)
    add_lengths(parser)
    add_catalog(parser)
    return parser
