"""The command line: arguments in, exit code out.

0: nothing at or above ``--fail-on``; 1: something is; 2: wrong usage, or a script that cannot be
read.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from perf_doctor._version import __version__

if TYPE_CHECKING:
    from perf_doctor.diagnosis import Diagnosis, Doctor

_LEVELS: Final = ("info", "warn", "critical")
_COMMANDS: Final = ("show", "gpus")
_EPILOG: Final = """\
commands:
  perf-doctor show SCRIPT      every resolved setting and where it came from
  perf-doctor gpus             the GPUs that --gpu knows

examples:
  perf-doctor run-qwen3-4B-8xgpu.sh
  perf-doctor scripts/training --gpu H800 --format json -o report.json
  perf-doctor run.sh --env MODE=async        another branch of the script
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        self.exit(2, f"perf-doctor: {message}; try perf-doctor --help\n")


def _parser(command: str) -> _Parser:
    parser = _Parser(
        prog="perf-doctor" if command == "diagnose" else f"perf-doctor {command}",
        description="Read Relax launch scripts without running them and say what is wrong with "
        "them for speed and for GPU memory.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "scripts",
        nargs="+",
        type=_path,
        metavar="SCRIPT",
        help="a script, a folder of scripts, or - for stdin",
    )
    parser.add_argument(
        "--gpu", metavar="NAME", help="the card, perhaps with its memory: H20-141GB (default H20)"
    )
    parser.add_argument("--gpus-per-node", type=_positive, metavar="N", help="GPUs of a machine")
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", type=_assignment,
        help="an environment variable the script is started with; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--arg", action="append", default=[], metavar="WORD", help="an argument of the script"
    )
    parser.add_argument(
        "--model-config-dir",
        type=_path,
        metavar="DIR",
        help="where ${MODEL_CONFIG_DIR}/<model>.sh is found",
    )
    parser.add_argument(
        "-o", "--output", type=_path, metavar="FILE", help="write the report to a file"
    )
    parser.add_argument("--version", action="version", version=f"perf-doctor {__version__}")
    if command == "diagnose":
        parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
        parser.add_argument("--all", action="store_true", help="show every finding, however many")
        parser.add_argument(
            "--fail-on", choices=(*reversed(_LEVELS), "never"), default="critical",
            help="exit with 1 when a finding is at least this severe (default critical)",
        )  # fmt: skip
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _path(text: str) -> str:
    if "\0" in text:
        raise argparse.ArgumentTypeError("a path holds no NUL character")
    return text


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = words[0] if words and words[0] in _COMMANDS else "diagnose"
    if command != "diagnose":
        words = words[1:]
    try:
        if command == "gpus":
            return _gpus()
        arguments = _parser(command).parse_intermixed_args(words)
        return _diagnose(arguments, command)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _gpus() -> int:
    from perf_doctor.plan.gpu import known_gpus  # noqa: PLC0415 - only this command lists them

    for gpu in known_gpus():
        usable = "?" if gpu.usable_gib is None else f"{gpu.usable_gib:.1f}"
        tflops = "?" if gpu.bf16_tflops is None else f"{gpu.bf16_tflops:.0f}"
        print(f"{gpu.label:<18} {usable:>6} GiB usable  {tflops:>5} bf16 TFLOPS  {gpu.vendor}")
    return 0


def _diagnose(arguments: argparse.Namespace, command: str) -> int:
    from perf_doctor.diagnosis import Doctor, Options  # noqa: PLC0415 - after --help

    doctor = Doctor(
        Options(
            gpu=arguments.gpu,
            gpus_per_node=arguments.gpus_per_node,
            environment=dict(arguments.env),
            arguments=tuple(arguments.arg),
            model_config_dir=arguments.model_config_dir,
        )
    )
    diagnoses, failed = _read_all(doctor, arguments.scripts)
    for diagnosis in diagnoses:
        _tell_notes(diagnosis)
    if diagnoses:
        failed |= not _write(_render(diagnoses, arguments, command), arguments)
    if failed:
        return 2
    return int(command == "diagnose" and _fails(diagnoses, arguments.fail_on))


def _read_all(doctor: Doctor, paths: Sequence[str]) -> tuple[list[Diagnosis], bool]:
    """Return the diagnoses, and whether something that was asked for could not be read.

    A folder may hold scripts that launch nothing; a script that is named must launch something.
    """
    from perf_doctor.plan.gpu import UnknownGpuError  # noqa: PLC0415 - after --help
    from perf_doctor.shell.limits import ScriptError  # noqa: PLC0415

    diagnoses: list[Diagnosis] = []
    failed = False
    for path in paths:
        found = list(_scripts(path))
        before = len(diagnoses)
        for script, text in found:
            try:
                diagnoses.append(doctor.diagnose(script, text))
            except UnknownGpuError as error:
                _complain(str(error))
                return [], True
            except ScriptError as error:
                if script == path or text is not None:
                    failed = True
                    _complain(f"{script}: {error}")
        if len(diagnoses) == before and os.path.isdir(path):
            failed = True
            _complain(f"{path}: no launch script in this folder")
    return diagnoses, failed


def _scripts(path: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield the scripts that an argument stands for, standard input with its text."""
    from perf_doctor.shell.files import shell_files  # noqa: PLC0415 - after --help
    from perf_doctor.shell.limits import MAX_FILE_BYTES  # noqa: PLC0415
    from perf_doctor.shell.reader import STDIN_NAME  # noqa: PLC0415

    if path == "-":
        yield STDIN_NAME, sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    elif os.path.isdir(path):
        yield from ((file, None) for file in shell_files(path))
    else:
        yield path, None


def _tell_notes(diagnosis: Diagnosis) -> None:
    from perf_doctor.report.notes import notes  # noqa: PLC0415 - after --help

    for note in notes(diagnosis):
        print(f"perf-doctor: {note}", file=sys.stderr)


def _render(diagnoses: Sequence[Diagnosis], arguments: argparse.Namespace, command: str) -> str:
    if command == "show":
        from perf_doctor.report.show import show_report  # noqa: PLC0415 - only what is asked for

        return "\n".join(map(show_report, diagnoses))
    if arguments.format == "json":
        from perf_doctor.report.document import json_report  # noqa: PLC0415

        return json_report(diagnoses)
    from perf_doctor.report.markdown import markdown_report  # noqa: PLC0415

    return "\n".join(markdown_report(one, everything=arguments.all) for one in diagnoses)


def _write(text: str, arguments: argparse.Namespace) -> bool:
    """Print the report or write it to the file; False when that cannot be done."""
    if arguments.output is None:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
        return True
    target = Path(arguments.output)
    if any(os.path.realpath(path) == os.path.realpath(target) for path in arguments.scripts):
        _complain(f"{target}: is the script itself, which is never written")
        return False
    try:
        target.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        _complain(f"{target}: cannot be written ({error.strerror})")
        return False
    return True


def _complain(message: str) -> None:
    from perf_doctor.report.inert import inert  # noqa: PLC0415 - after --help

    print(f"perf-doctor: {inert(message)}", file=sys.stderr)


def _fails(diagnoses: Sequence[Diagnosis], level: str) -> bool:
    if level == "never":
        return False
    wanted = _LEVELS[_LEVELS.index(level) :]
    return any(diagnosis.count(severity) for diagnosis in diagnoses for severity in wanted)
