"""Findings the project lives with: writing the file of them, and telling what it has too many."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from itertools import islice
from typing import Final

from perf_doctor.cli.doctors import Doctors
from perf_doctor.cli.output import complain, write
from perf_doctor.diagnosis import Diagnosis
from perf_doctor.language import said
from perf_doctor.rules.accepted import Accepted, accepted_text, read_accepted
from perf_doctor.shell.limits import ScriptError
from perf_doctor.wording import counted

_MAX_TOLD: Final = 10


def tell_stale(doctors: Doctors) -> None:
    """Tell, a line for each, which entries fit no finding any more."""
    for accepted in doctors.accepted.values():
        stale = list(accepted.stale())
        for entry in islice(stale, _MAX_TOLD):
            what = " ".join((entry.script, entry.rule, *entry.settings))
            complain(f"{accepted.file}: {said('fits no finding any more')}: {what}")
        if len(stale) > _MAX_TOLD:
            complain(f"{accepted.file}: {counted(len(stale) - _MAX_TOLD, 'further stale entry')}")


def write_accepted(diagnoses: Sequence[Diagnosis], arguments: argparse.Namespace) -> bool:
    """Write a file that accepts every finding of these scripts; False, and told why, if it fails.

    What the file said of other scripts stays, and so do the reasons in it.
    """
    file: str = arguments.write_accepted
    try:
        known = read_accepted(file) if os.path.exists(file) else Accepted(file)
    except ScriptError as error:
        complain(str(error))
        return False
    launches = [one for whole in diagnoses for one in (whole, *whole.variants)]
    found = {known.entry(one.script, finding) for one in launches for finding in one.findings}
    judged = {known.script(one.script) for one in launches}
    others = {entry for entry in known.reasons if entry.script not in judged}
    entries = [(entry, known.reasons.get(entry, "")) for entry in found | others]
    if not write(accepted_text(entries), file, [one.script for one in launches]):
        return False
    complain(f"{file}: {counted(len(found), 'finding')} accepted; give the reason of each there")
    return True
