"""Diagnosing and showing scripts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from perf_doctor.cli.acceptance import tell_stale, write_accepted
from perf_doctor.cli.doctors import Doctors
from perf_doctor.cli.output import complain, say, write
from perf_doctor.cli.progress import followed
from perf_doctor.cli.speech import speak_for
from perf_doctor.cli.targets import screen, targets
from perf_doctor.diagnosis import Diagnosis, NoLaunchError
from perf_doctor.plan.gpu import UnknownGpuError
from perf_doctor.report.formats import FORMATS, Report, rendered
from perf_doctor.report.notes import notes, reading_notes
from perf_doctor.rules.severity import WORST_FIRST
from perf_doctor.shell.files import shell_files
from perf_doctor.shell.limits import MAX_FILE_BYTES, ScriptError
from perf_doctor.shell.reader import STDIN_NAME


def run(arguments: argparse.Namespace, command: str) -> int:
    """Diagnose, or show, what the arguments name; return the exit code."""
    doctors = Doctors(arguments)
    if getattr(arguments, "show_settings", False):
        return _show_settings(doctors, arguments.scripts)
    speak_for(arguments, doctors, arguments.scripts[0], people=_for_people(arguments, command))
    diagnoses, failed = read_all(doctors, arguments.scripts)
    if getattr(arguments, "write_accepted", None):
        return 2 if failed or not write_accepted(diagnoses, arguments) else 0
    tell_notes(diagnoses, verdicts=not _in_a_table(arguments, command))
    tell_stale(doctors)
    if diagnoses:
        failed |= not _written(diagnoses, arguments, command, doctors)
    if failed:
        return 2
    return int(command == "diagnose" and any(_fails(each, doctors) for each in diagnoses))


def _for_people(arguments: argparse.Namespace, command: str) -> bool:
    """Tell whether people read everything that is to be written."""
    return command == "show" or all(FORMATS[name].for_people for _, name in targets(arguments))


def _in_a_table(arguments: argparse.Namespace, command: str) -> bool:
    """Tell whether a table is all that is to be written: it has the verdicts of all scripts."""
    formats = [] if command == "show" else [name for _, name in targets(arguments)]
    return formats == ["summary"]


def _show_settings(doctors: Doctors, paths: Sequence[str]) -> int:
    """Print what holds for each script and who said it; 2 where a configuration is broken."""
    from perf_doctor.configuration.merge import settings_lines  # noqa: PLC0415

    failed = False
    for script in (script for path in paths for script, _ in _scripts(path)):
        try:
            lines = [f"  {line}" for line in settings_lines(doctors.settings(script))]
        except ScriptError as error:
            failed = True
            complain(str(error))
        else:
            say(f"{script}:", *lines)
    return 2 if failed else 0


def read_all(doctors: Doctors, paths: Sequence[str]) -> tuple[list[Diagnosis], bool]:
    """Return the diagnoses, and whether something that was asked for could not be read.

    A folder may hold scripts that launch nothing; a script that is named must launch something,
    unless ``--skip-no-launch`` passes over it.
    """
    diagnoses: list[Diagnosis] = []
    failed = False
    for path in paths:
        found = list(_scripts(path))
        before = len(diagnoses)
        for script, text in followed(found):
            try:
                doctor = doctors.of(script)
                if doctor is None:
                    failed = True
                else:
                    diagnoses.append(doctor.diagnose(script, text))
            except UnknownGpuError as error:
                complain(str(error))
                return [], True
            except ScriptError as error:
                skipped = doctors.skip_no_launch and isinstance(error, NoLaunchError)
                if not skipped and (script == path or text is not None):
                    failed = True
                    complain(f"{script}: {error}")
        if len(diagnoses) == before and os.path.isdir(path) and not failed:
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


def _written(
    diagnoses: Sequence[Diagnosis], arguments: argparse.Namespace, command: str, doctors: Doctors
) -> bool:
    """Write the report wherever it is asked for; False, and told why, where that cannot be done."""
    if command == "show":
        from perf_doctor.report.show import show_report  # noqa: PLC0415 - only what is asked for

        shown = "\n".join(map(show_report, diagnoses))
        return write(shown, arguments.output, arguments.scripts)
    everything = bool(doctors.settings(diagnoses[0].script)["all"].value)
    report = Report(tuple(diagnoses), everything)
    where = screen(os.environ)
    done = True
    for target, name in targets(arguments, terminal=where.terminal):
        seen = report if target else replace(report, columns=where.columns, colour=where.colour)
        done &= write(rendered(name, seen), target, arguments.scripts)
    return done


def _fails(diagnosis: Diagnosis, doctors: Doctors) -> bool:
    level = cast("str", doctors.settings(diagnosis.script)["fail-on"].value)
    if level == "never":
        return False
    wanted = WORST_FIRST[: WORST_FIRST.index(level) + 1]
    return any(diagnosis.count(severity) for severity in wanted)
