"""Measured training steps judged by efficiencies that have not seen their source.

The efficiencies of training are chosen on the bundled runs, so errors on the same runs flatter.
Here they are chosen again without one source and judged on it, for every source in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from statistics import fmean, median
from typing import Literal, NamedTuple

from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.points import Point
from perf_doctor.estimate.rates import Rates, ranges_of, rates_of
from perf_doctor.estimate.time_points import (
    STEP_KINDS,
    Skipped,
    Step,
    card_named,
    expected_step,
    predict_step,
    step_of,
)

Grouping = Literal["repository", "document"]
JUDGED: tuple[Family, ...] = ("ampere", "hopper")

# What is chosen again: the rate of matrix products of each family, and what all families share.
_FITTED: tuple[tuple[str, Family | None], ...] = (
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
# Coordinate descent: factors tried on one efficiency at a time, narrower from round to round.
_ROUNDS = (0.25, 0.15, 0.09)
# An error beyond a factor of two counts no more: a run that is not understood must not pull.
_MOST = 0.7
# Pull to the middle of the range where the remaining runs say little about an efficiency. Not to
# the table's value, which has seen the source that is left out.
_PULL = 0.02

Chosen = dict[tuple[str, Family | None], float]


class Measured(NamedTuple):
    """A measured step with its id and its source."""

    id: str
    source: str
    step: Step


class Left(NamedTuple):
    """A step judged by efficiencies of the other sources; ``error``: predicted ÷ measured − 1."""

    id: str
    source: str
    predicted: Interval
    measured: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.predicted.expected / self.measured - 1

    @property
    def inside(self) -> bool:
        """Whether the printed range holds what was measured."""
        return self.measured in self.predicted


class Accuracy(NamedTuple):
    """How the training step does: fractions. ``inside``: of the steps in the printed range."""

    steps: int
    covered: float
    median_abs_error: float
    inside: float


def is_judged(point: Point) -> bool:
    """Tell whether a run is a step on which the estimate is judged.

    Ampere and Hopper in 16 bits, tiers A and B; layout, batch and seconds (or TFLOPS) are stated.
    """
    card = card_named(str(point.get("gpu")))
    measured = point.get("measured") or {}
    return (
        point.get("kind") in STEP_KINDS
        and point.get("tier") in ("A", "B")
        and (point.get("dtype") or "bf16") in ("bf16", "fp16")
        and card is not None
        and card.family in JUDGED
        and all(point.get(name) for name in ("dims", "tp", "pp", "n_gpus", "seq", "gbs"))
        and bool(measured.get("step_time_s") or measured.get("tflops_per_gpu"))
    )


def judged_steps(
    points: Iterable[Point], by: Grouping = "repository"
) -> tuple[tuple[Measured, ...], float]:
    """Return the steps on which the estimate is judged, and the share of them it covers."""
    found, eligible = [], 0
    for point in points:
        if not is_judged(point):
            continue
        eligible += 1
        step = step_of(point)
        if not isinstance(step, Skipped):
            found.append(Measured(str(point.get("id")), _source(point, by), step))
    return tuple(found), len(found) / eligible if eligible else 0.0


def _source(point: Point, by: Grouping) -> str:
    """Return the repository, or the document within it; all functional tests are one document."""
    source = point.get("source") or {}
    if not isinstance(source, Mapping):
        return str(source)
    name = str(source.get("repo"))
    return name if by == "repository" else f"{name} {source.get('path')}".partition("test_cases")[0]


def choose(steps: Sequence[Measured]) -> Chosen:
    """Return the efficiencies that fit the steps best, each within its printed range.

    The smallest mean of |log(predicted ÷ measured)|, by coordinate descent from the middles of
    the ranges.
    """
    middle = {key: sqrt(_range(key).low * _range(key).high) for key in _FITTED}
    chosen, best = dict(middle), _loss(steps, middle, middle)
    for width in _ROUNDS:
        for key in _FITTED:
            allowed = _range(key)
            for factor in (1 - width, 1 - width / 3, 1 + width / 3, 1 + width):
                value = min(allowed.high, max(allowed.low, chosen[key] * factor))
                tried = {**chosen, key: value}
                loss = _loss(steps, tried, middle)
                if loss < best:
                    chosen, best = tried, loss
    return chosen


def _range(key: tuple[str, Family | None]) -> Interval:
    return ranges_of(key[1] or JUDGED[0])[key[0]]


def _loss(steps: Sequence[Measured], chosen: Chosen, middle: Chosen) -> float:
    rates = _rates(chosen)
    errors = [
        min(_MOST, abs(log(expected_step(_with(one.step, rates)) / one.step.measured)))
        for one in steps
    ]
    return fmean(errors) + _PULL * sum(log(chosen[key] / middle[key]) ** 2 for key in middle)


def _rates(chosen: Chosen) -> dict[Family, Rates]:
    return {
        family: rates_of(family)._replace(
            **{name: value for (name, only), value in chosen.items() if only in (None, family)}
        )
        for family in JUDGED
    }


def _with(step: Step, rates: Mapping[Family, Rates]) -> Step:
    return step._replace(card=step.card._replace(rates=rates[step.card.family]))


def in_sample(steps: Sequence[Measured]) -> tuple[Left, ...]:
    """Return every step as the table of efficiencies predicts it."""
    return tuple(_left(one, one.step) for one in steps)


def leave_one_source_out(steps: Sequence[Measured]) -> tuple[Left, ...]:
    """Return every step as efficiencies chosen on all other sources predict it; some 10 s."""
    left = []
    for source in sorted({one.source for one in steps}):
        rates = _rates(choose([one for one in steps if one.source != source]))
        left += [_left(one, _with(one.step, rates)) for one in steps if one.source == source]
    return tuple(left)


def _left(one: Measured, step: Step) -> Left:
    return Left(one.id, one.source, predict_step(step), step.measured)


def accuracy(left: Sequence[Left], covered: float) -> Accuracy:
    """Return the summary of judged steps."""
    return Accuracy(
        steps=len(left),
        covered=covered,
        median_abs_error=median(abs(one.error) for one in left),
        inside=fmean(one.inside for one in left),
    )


def cross_validate(
    points: Iterable[Point], by: Grouping = "repository"
) -> tuple[Accuracy, Accuracy]:
    """Return how the training step does with the table, and on sources left out; some 5–10 s."""
    steps, covered = judged_steps(points, by)
    return accuracy(in_sample(steps), covered), accuracy(leave_one_source_out(steps), covered)
