"""Findings beside each other: which comes first, and which solve the same problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from perf_doctor.estimate.shown import listed
from perf_doctor.language import said
from perf_doctor.rules.job import Job
from perf_doctor.rules.judgement import Finding, Judgement
from perf_doctor.rules.severity import WORST_FIRST

_ORDER = {severity: index for index, severity in enumerate(WORST_FIRST)}
# Rules about flags that do nothing or contradict each other are about nothing else.
_BY_THEMSELVES = "R-C"


def findings(judgements: Iterable[Judgement]) -> tuple[Finding, ...]:
    """Return the findings: what blocks the launch, then by severity, then by what a fix gains."""
    found = [judgement.finding for judgement in judgements if judgement.finding]
    return tuple(sorted(found, key=_rank))


def _rank(finding: Finding) -> tuple[int, bool, float, str]:
    return _ORDER[finding.severity], not finding.blocks_launch, -_gain(finding), finding.rule


def _gain(finding: Finding) -> float:
    """Return the verified share of the step that the fix saves, 0 where none is known.

    A job that does not start has no seconds to save.
    """
    if finding.blocks_launch:
        return 0.0
    return max(0.0, finding.cost.step_time_fraction or 0.0)


def without_doubles(
    judgements: Sequence[Judgement], applies: Callable[[str, Job], bool]
) -> tuple[Judgement, ...]:
    """Return the judgements with one finding for each problem.

    Where the fix of a finding leaves one that ranks behind it nothing to say, both solve one
    problem: the first one speaks and names the other. A suppressed one hides no other. ``applies``
    tells whether a rule still finds something in a job.
    """
    spoken = [judgement for judgement in judgements if judgement.verdict != "suppressed"]
    ranked = [f for f in findings(spoken) if f.effect is not None and _gain(f)]
    told: dict[str, str] = {}
    others: dict[str, list[Finding]] = {}
    for index, best in enumerate(ranked):
        if best.rule in told or best.rule.startswith(_BY_THEMSELVES) or best.effect is None:
            continue
        for other in ranked[index + 1 :]:
            if other.rule in told or not _may_fold(other):
                continue
            if not applies(other.rule, best.effect.after):
                told[other.rule] = best.rule
                others.setdefault(best.rule, []).append(other)
    return tuple(_folded(judgement, told, others) for judgement in judgements)


def _may_fold(finding: Finding) -> bool:
    return not finding.blocks_launch and not finding.rule.startswith(_BY_THEMSELVES)


def _folded(
    judgement: Judgement, told: dict[str, str], others: dict[str, list[Finding]]
) -> Judgement:
    if judgement.rule in told:
        why = said("the fix of {rule} solves this too", rule=told[judgement.rule])
        return Judgement(judgement.rule, "not-applicable", lambda: why)
    finding = judgement.finding
    if finding is None or judgement.rule not in others:
        return judgement
    folded = others[judgement.rule]
    named = listed(said("{rule} ({title})", rule=other.rule, title=other.title) for other in folded)
    fix = replace(
        finding.fix,
        text=said("{fix} Another way: {rules}.", fix=finding.fix.text, rules=named),
        instead=tuple(other.fix.changes for other in folded),
    )
    return replace(judgement, finding=replace(finding, fix=fix))
