"""Reading the scripts of one call: inside the roots, bounded, each failure one line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from perf_doctor.diagnosis import Diagnosis, Doctor, NoLaunchError, Options
from perf_doctor.frozen import frozen
from perf_doctor.mcp.inputs import Job
from perf_doctor.mcp.roots import MAX_SCRIPTS, MAX_TRIED, PathError, Roots, shell_files_of, shown
from perf_doctor.plan.gpu import UnknownGpuError
from perf_doctor.report.fence import data
from perf_doctor.shell.limits import ScriptError

_MAX_TOLD: Final = 20


@frozen
class Catalogs:
    """The rules in force, as whoever started the server chose them: no client has a say in it."""

    rule_files: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


class CallError(Exception):
    """A call that has no answer; the message is one line and may be shown as it is."""


class Readings(NamedTuple):
    """What could be read, and a line, marked as data where it quotes, on everything else."""

    diagnoses: tuple[Diagnosis, ...]
    not_read: tuple[str, ...]


def doctor_for(job: Job, catalogs: Catalogs, roots: Roots) -> Doctor:
    """Return a doctor for one call; raises ``ScriptError`` for a folder outside the roots."""
    given = job.model_config_dir
    return Doctor(
        Options(
            gpu=job.gpu,
            gpus_per_node=job.gpus_per_node,
            environment=dict(job.env),
            arguments=tuple(job.args),
            model_config_dir=None if given is None else roots.resolve(given),
            host_ram_gb=job.host_ram_gb,
            mean_response_len=job.mean_response_len,
            response_len_sigma=job.response_len_sigma,
            prompt_len=job.prompt_len,
            rule_files=catalogs.rule_files,
            select=catalogs.select,
            ignore=catalogs.ignore,
            within=roots.folders,
        )
    )


def read_one(doctor: Doctor, path: str, roots: Roots) -> Diagnosis:
    """Return the diagnosis of a script that is named; ``CallError`` says why there is none."""
    try:
        script = roots.resolve(path)
        if os.path.isdir(script):
            raise CallError(f"{data(shown(path))} is a folder; name one script of it")
        return doctor.diagnose(script)
    except (ScriptError, UnknownGpuError) as error:
        raise CallError(_told(path, error)) from None


def read_all(doctor: Doctor, paths: Sequence[str], roots: Roots) -> Readings:
    """Return the launches of scripts and folders, the first ``MAX_SCRIPTS`` of them.

    ``CallError`` where nothing at all could be read. A folder may hold scripts that launch nothing.
    """
    diagnoses: list[Diagnosis] = []
    failed: list[str] = []
    for path in paths:
        try:
            script = roots.resolve(path)
            if not os.path.isdir(script):
                diagnoses.append(doctor.diagnose(script))
                continue
        except (ScriptError, UnknownGpuError) as error:
            failed.append(_told(path, error))
            continue
        found = list(_launches(doctor, script, MAX_SCRIPTS - len(diagnoses), failed))
        diagnoses += found
        if not found:
            failed.append(f"{data(shown(path))}: no launch script in this folder")
    if not diagnoses:
        raise CallError("; ".join(failed[:3]))
    more = len(failed) - _MAX_TOLD
    return Readings(
        tuple(diagnoses),
        (*failed[:_MAX_TOLD], *([f"and {more} more"] if more > 0 else [])),
    )


def _launches(doctor: Doctor, folder: str, room: int, failed: list[str]) -> Iterator[Diagnosis]:
    """Yield the launches below a folder; what is left out goes to ``failed``."""
    files, whole = shell_files_of(folder)
    for done, file in enumerate(files):
        if room <= 0:
            failed.append(
                f"{data(shown(folder))}: {len(files) - done} further shell files were not looked"
                f" at, one answer holds {MAX_SCRIPTS} scripts; name them"
            )
            return
        try:
            diagnosis = doctor.diagnose(file)
        except NoLaunchError:
            continue
        except UnknownGpuError as error:
            raise CallError(data(str(error))) from None
        except ScriptError as error:
            failed.append(_told(file, error))
            continue
        room -= 1
        yield diagnosis
    if not whole:
        failed.append(
            f"{data(shown(folder))}: only the first {MAX_TRIED} shell files were looked at"
        )


def _told(path: str, error: Exception) -> str:
    """Return why a script has no answer; the message may quote it."""
    if isinstance(error, PathError):
        return data(str(error))
    return data(str(error) if isinstance(error, UnknownGpuError) else f"{shown(path)}: {error}")
