"""The experiment behind a verdict: the job today beside the job with the change."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.explore.pair import Pair
from perf_doctor.inert import inert
from perf_doctor.language import said
from perf_doctor.report.flags import changed_flags
from perf_doctor.report.side_by_side import Titles, side_by_side
from perf_doctor.report.verdicts import verdicts
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.template import FlagChanges


def experiment_lines(judgement: Judgement) -> Iterator[str]:
    """Yield the change that was tried first, both jobs side by side, and what each other does.

    For a finding these are its fixes; else what was tried in vain. Nothing where nothing was tried.
    """
    finding = judgement.finding
    if finding is not None:
        effect, others = finding.effect, finding.fix.alternatives
    else:
        effect = judgement.tried[0] if judgement.tried else None
        others = tuple(one.changes for one in judgement.tried[1:])
    if effect is None:
        return
    yield ""
    yield said("tried: {flags}", flags=_written(effect.changes))
    titles = Titles(said("today"), said("with the fix"))
    yield from side_by_side(Pair(effect.before, effect.after), titles)
    for way in others:
        told = [*verdicts(Pair(effect.before, effect.before.changed(way)))]
        yield ""
        yield said("or: {flags}", flags=_written(way))
        yield from told or [said("nothing that is estimated changes")]


def _written(way: FlagChanges) -> str:
    return inert(changed_flags(way))
