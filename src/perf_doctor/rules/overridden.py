"""How severe a project says its findings are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from perf_doctor.rules.judgement import Judgement


def overridden(
    judgements: Iterable[Judgement], severities: Mapping[str, str]
) -> tuple[Judgement, ...]:
    """Return the judgements with the findings of these rules as severe as is asked for.

    ``severities`` has them by the rule's id. What keeps a job from starting stays critical.
    """
    return tuple(_with(judgement, severities.get(judgement.rule)) for judgement in judgements)


def _with(judgement: Judgement, severity: str | None) -> Judgement:
    finding = judgement.finding
    if severity is None or finding is None or finding.blocks_launch:
        return judgement
    return replace(judgement, finding=replace(finding, severity=severity))
