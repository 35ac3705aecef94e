"""All fixes of a report as one change: what goes together, and what it would give."""

from __future__ import annotations

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.rules.effect import Effect, together


def all_fixes(diagnosis: Diagnosis) -> Effect | None:
    """Return the effect of every finding's first change, the worst finding's first.

    A change to a flag that another one touches already is left out, and so is one that keeps the
    job from fitting as it does without it. None where no finding has a change.
    """
    effect = None
    for finding in diagnosis.findings:
        way = finding.fix.changes
        if not (way.set or way.unset):
            continue
        ways = together([way] if effect is None else [effect.changes, way])
        tried = Effect(diagnosis.job, diagnosis.job.changed(ways), ways)
        before = tried if effect is None else Effect(effect.after, tried.after, ways)
        if before.fits_no_worse:
            effect = tried
    return effect
