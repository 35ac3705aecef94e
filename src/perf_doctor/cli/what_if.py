"""``perf-doctor what-if SCRIPT``: a launch beside the same launch with some options changed."""

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
from perf_doctor.explore.asked import ChangeError, read_changes
from perf_doctor.explore.what_if import what_if
from perf_doctor.report.what_if import what_if_json, what_if_report

_EXAMPLES = """\
examples:
  perf-doctor what-if run.sh --set '--context-parallel-size 1' --unset --optimizer-cpu-offload
  perf-doctor what-if run.sh --set --optimizer-cpu-offload --set '--max-tokens-per-gpu 20480'
"""


def run(words: list[str]) -> int:
    """Print the launch before and after; 2 for a change or a script that cannot be read."""
    arguments = make_parser().parse_intermixed_args(_joined(words))
    doctors = Doctors(arguments)
    speak_for(arguments, doctors, arguments.script, people=arguments.format == "text")
    diagnoses, failed = read_all(doctors, [arguments.script])
    if failed or not diagnoses:
        return 2
    if len(diagnoses) > 1:
        complain(f"{arguments.script}: holds {len(diagnoses)} launch scripts; name one of them")
        return 2
    [script] = diagnoses
    try:
        asked = read_changes(arguments.set, arguments.unset, script.job.settings)
    except ChangeError as error:
        complain(script.redactor.redact(str(error)))
        return 2
    tell_notes(diagnoses, verdicts=False)
    tried = what_if(script, asked)
    text = what_if_json(tried) if arguments.format == "json" else what_if_report(tried)
    return 0 if write(text, arguments.output, [arguments.script]) else 2


def _joined(words: list[str]) -> list[str]:
    """Return the words with what follows --set and --unset joined to it.

    It begins with ``--`` itself, and so would be taken for an option of this command.
    """
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        following = next(rest, None) if word in ("--set", "--unset") else None
        joined.append(word if following is None else f"{word}={following}")
    return joined


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        "perf-doctor what-if",
        "Estimate and judge a launch beside the same launch with some options changed.",
        _EXAMPLES,
    )
    parser.add_argument("script", type=path, metavar="SCRIPT", help="a script, or - for stdin")
    parser.add_argument(
        "--set", action="append", default=[], metavar="'--FLAG VALUE'",
        help="an option to set, in one word of the shell; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--unset", action="append", default=[], metavar="--FLAG",
        help="an option to remove; repeatable",
    )  # fmt: skip
    add_surroundings(parser)
    add_lengths(parser)
    add_catalog(parser)
    add_output(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser
