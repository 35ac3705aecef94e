"""Training steps judged by efficiencies that have not seen their source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.rates import ranges_of, rates_of
from perf_doctor.validation.fit import Case, Chosen, Fit, Key, chosen_for
from perf_doctor.validation.run import Point, source_of
from perf_doctor.validation.step import (
    FAMILIES,
    Step,
    expected_step,
    is_judged,
    judge_step,
    predict_step,
    step_of,
)

Grouping = Literal["repository", "document"]
# What is chosen again: the rate of matrix products of each family, and what all families share.
_FITTED: tuple[Key, ...] = (
    ("gemm", "ampere"),
    ("gemm", "hopper"),
    ("hbm", None),
    ("tp_exposed", None),
    ("deepep", None),
    ("launch_dense_s", None),
    ("launch_expert_s", None),
    ("sync_expert_s", None),
    ("step_fixed_s", None),
)


def step_cases(points: Iterable[Point], by: Grouping = "repository") -> tuple[Case[Step], ...]:
    """Return the steps on which the estimate is judged, each of which counts alike."""
    found = []
    for point in points:
        step = step_of(point) if is_judged(point) else ""
        if not isinstance(step, str):
            row = judge_step(point, step)
            found.append(Case(row, step, _source(point, by), weighed_with=row.id))
    return tuple(found)


def _source(point: Point, by: Grouping) -> str:
    """Return the repository, or the document within it; all functional tests are one document."""
    name = source_of(point)
    if by == "repository":
        return name
    return f"{name} {point['source'].get('path')}".partition("test_cases")[0]


def _with(step: Step, chosen: Chosen) -> Step:
    """Return a step on a card with the efficiencies that were chosen."""
    family = step.card.family
    return step._replace(
        card=step.card._replace(rates=rates_of(family)._replace(**chosen_for(family, chosen)))
    )


def _range(name: str, family: Family | None) -> Interval:
    return ranges_of(family or FAMILIES[0])[name]


STEP_FIT: Fit[Step] = Fit(
    ranges={key: _range(*key) for key in _FITTED},
    expected=lambda step, chosen: expected_step(_with(step, chosen)),
    predicted=lambda step, chosen: predict_step(_with(step, chosen)),
)
