"""Diagnosing and showing scripts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from perf_doctor.cli.output import complain, put
from perf_doctor.cli.targets import targets
from perf_doctor.diagnosis import Diagnosis, Doctor, Options
from perf_doctor.plan.gpu import UnknownGpuError
from perf_doctor.report.notes import notes, reading_notes
from perf_doctor.rules.model import CatalogError
from perf_doctor.rules.severity import WORST_FIRST
from perf_doctor.shell.files import shell_files
from perf_doctor.shell.limits import MAX_FILE_BYTES, ScriptError
from perf_doctor.shell.reader import STDIN_NAME


def run(arguments: argparse.Namespace, command: str) -> int:
    """Diagnose, or show, what the arguments name; return the exit code."""
    doctor = doctor_for(arguments)
    if doctor is None:
        return 2
    diagnoses, failed = read_all(doctor, arguments.scripts)
    tell_notes(diagnoses)
    if diagnoses:
        failed |= not _written(diagnoses, arguments, command)
    if failed:
        return 2
    return int(command == "diagnose" and _fails(diagnoses, arguments.fail_on))


def doctor_for(arguments: argparse.Namespace) -> Doctor | None:
    """Return a doctor with the catalog that is asked for; None, and told why, if it is broken."""
    doctor = Doctor(
        Options(
            gpu=arguments.gpu,
            gpus_per_node=arguments.gpus_per_node,
            environment=dict(arguments.env),
            arguments=tuple(arguments.arg),
            model_config_dir=arguments.model_config_dir,
            host_ram_gb=arguments.host_ram,
            mean_response_len=getattr(arguments, "mean_response_len", None),
            response_len_sigma=getattr(arguments, "response_len_sigma", None),
            prompt_len=getattr(arguments, "prompt_len", None),
            rule_files=tuple(getattr(arguments, "rules", ())),
            select=tuple(id for ids in getattr(arguments, "select", ()) for id in ids),
            ignore=tuple(id for ids in getattr(arguments, "ignore", ()) for id in ids),
        )
    )
    try:
        doctor.catalog  # noqa: B018 - a broken rule is told before anything is diagnosed
    except CatalogError as broken:
        for error in broken.errors:
            complain(str(error))
        return None
    except ScriptError as error:
        complain(str(error))
        return None
    return doctor


def read_all(doctor: Doctor, paths: Sequence[str]) -> tuple[list[Diagnosis], bool]:
    """Return the diagnoses, and whether something that was asked for could not be read.

    A folder may hold scripts that launch nothing; a script that is named must launch something.
    """
    diagnoses: list[Diagnosis] = []
    failed = False
    for path in paths:
        found = list(_scripts(path))
        before = len(diagnoses)
        for script, text in found:
            try:
                diagnoses.append(doctor.diagnose(script, text))
            except UnknownGpuError as error:
                complain(str(error))
                return [], True
            except ScriptError as error:
                if script == path or text is not None:
                    failed = True
                    complain(f"{script}: {error}")
        if len(diagnoses) == before and os.path.isdir(path):
            failed = True
            complain(f"{path}: no launch script in this folder")
    return diagnoses, failed


def _scripts(path: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield the scripts that an argument stands for, standard input with its text."""
    if path == "-":
        yield STDIN_NAME, sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    elif os.path.isdir(path):
        yield from ((file, None) for file in shell_files(path))
    else:
        yield path, None


def tell_notes(diagnoses: Sequence[Diagnosis], *, verdicts: bool = True) -> None:
    """Tell on standard error how the scripts were read; several are named.

    With ``verdicts`` each begins with those on memory and time.
    """
    for diagnosis in diagnoses:
        named = f"{diagnosis.script}: " if len(diagnoses) > 1 else ""
        for note in notes(diagnosis) if verdicts else reading_notes(diagnosis):
            complain(f"{named}{note}")


def _written(diagnoses: Sequence[Diagnosis], arguments: argparse.Namespace, command: str) -> bool:
    """Write the report wherever it is asked for; False, and told why, where that cannot be done."""
    if command == "show":
        from perf_doctor.report.show import show_report  # noqa: PLC0415 - only what is asked for

        shown = "\n".join(map(show_report, diagnoses))
        return write(shown, arguments.output, arguments.scripts)
    from perf_doctor.report.formats import Report, rendered  # noqa: PLC0415

    report = Report(tuple(diagnoses), arguments.all)
    done = True
    for target, name in targets(arguments):
        done &= write(rendered(name, report), target, arguments.scripts)
    return done


def write(text: str, target: str | None, scripts: Sequence[str]) -> bool:
    """Print a report, or write it to a file that is none of the scripts; False when it cannot."""
    if target is None:
        put(text)
        return True
    if any(os.path.realpath(path) == os.path.realpath(target) for path in scripts):
        complain(f"{target}: is the script itself, which is never written")
        return False
    try:
        with open(target, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        complain(f"{target}: cannot be written ({error.strerror})")
        return False
    return True


def _fails(diagnoses: Sequence[Diagnosis], level: str) -> bool:
    if level == "never":
        return False
    wanted = WORST_FIRST[: WORST_FIRST.index(level) + 1]
    return any(diagnosis.count(severity) for diagnosis in diagnoses for severity in wanted)
