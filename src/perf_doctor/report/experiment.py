"""The experiment behind a finding: the job today beside the job with the fix."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.explore.pair import Pair
from perf_doctor.inert import inert
from perf_doctor.report.flags import changed_flags
from perf_doctor.report.side_by_side import Titles, side_by_side
from perf_doctor.report.verdicts import verdicts
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.template import FlagChanges


def experiment_lines(finding: Finding) -> Iterator[str]:
    """Yield the fix, both jobs side by side, and what each other way to fix would do.

    Nothing where no fix was tried.
    """
    effect = finding.effect
    if effect is None:
        return
    yield ""
    yield f"tried: {_written(effect.changes)}"
    yield from side_by_side(Pair(effect.before, effect.after), Titles("today", "with the fix"))
    for way in finding.fix.alternatives:
        told = [*verdicts(Pair(effect.before, effect.before.changed(way)))]
        yield ""
        yield f"or: {_written(way)}"
        yield from told or ["nothing that is estimated changes"]


def _written(way: FlagChanges) -> str:
    return inert(changed_flags(way))
