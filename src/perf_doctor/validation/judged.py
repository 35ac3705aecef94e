"""What was measured beside what the estimate says of it, and how far off a set of runs is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from statistics import fmean, median
from typing import Literal

from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.fits import Fits
from perf_doctor.estimate.interval import Interval
from perf_doctor.frozen import frozen
from perf_doctor.validation.run import Point, source_of

Quantity = Literal["memory", "train step", "decode", "rl phase"]


@frozen
class Judged:
    """One quantity of a measured run in ``unit``: predicted, or why it was skipped.

    ``metric``: which of the quantity, as a kind of memory or a phase of an RL step. ``eligible``:
    the run states what an estimate needs and belongs to those that count. ``apart``: why one that
    is predicted is shown and does not count, in a word. ``family``: of its cards. ``experts``: the
    model has some. ``fits`` and ``fitted``: what the estimate says and what happened.
    """

    id: str
    quantity: Quantity
    metric: str
    kind: str
    source: str
    tier: str
    unit: str
    eligible: bool
    predicted: Interval | None = None
    measured: float | None = None
    skipped_because: str | None = None
    assumptions: tuple[str, ...] = ()
    apart: str | None = None
    family: Family | None = None
    experts: bool = False
    fits: Fits | None = None
    fitted: bool | None = None

    @property
    def error(self) -> float | None:
        """Predicted ÷ measured − 1, None without a prediction."""
        if self.predicted is None or not self.measured:
            return None
        return self.predicted.expected / self.measured - 1

    @property
    def inside(self) -> bool | None:
        """Whether the printed range holds what was measured, None without a prediction."""
        if self.predicted is None or self.measured is None:
            return None
        return self.measured in self.predicted


@frozen
class Summary:
    """How the estimate does on a set of runs; errors, ``covered`` and ``inside`` are fractions.

    ``covered``: of the eligible ones, those that are predicted. ``width``: median of high ÷ low.
    """

    points: int
    eligible: int
    covered: float | None
    median_abs_error: float | None
    p90_abs_error: float | None
    bias: float | None
    inside: float | None
    width: float | None


def judge_each(
    points: Iterable[Point],
    judge: Callable[[Point], Iterable[Judged]],
    quantity: Quantity,
    unit: str,
) -> tuple[Judged, ...]:
    """Return what ``judge`` makes of every run; one that it cannot read says so."""
    found: list[Judged] = []
    for point in points:
        try:
            found += judge(point)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"cannot be read: {type(error).__name__} {error}"
            found.append(row_of(point, quantity, unit, skipped_because=reason))
    return tuple(found)


def row_of(point: Point, quantity: Quantity, unit: str, *, skipped_because: str | None) -> Judged:
    """Return a run's row before anything is known of it."""
    return Judged(
        id=str(point.get("id")),
        quantity=quantity,
        metric="",
        kind=str(point.get("kind")),
        source=source_of(point),
        tier=str(point.get("tier") or "?"),
        unit=unit,
        eligible=False,
        skipped_because=skipped_because,
    )


def summarize(judged: Sequence[Judged]) -> Summary:
    """Return the summary of the eligible ones of a set of runs."""
    eligible = [one for one in judged if one.eligible]
    errors = [one.error for one in eligible if one.error is not None]
    sizes = sorted(abs(error) for error in errors)
    inside = [one.inside for one in eligible if one.inside is not None]
    ranges = [one.predicted for one in eligible if one.predicted is not None]
    return Summary(
        points=len(judged),
        eligible=len(eligible),
        covered=len(errors) / len(eligible) if eligible else None,
        median_abs_error=median(sizes) if sizes else None,
        p90_abs_error=sizes[ceil(0.9 * len(sizes)) - 1] if sizes else None,
        bias=fmean(errors) if errors else None,
        inside=fmean(inside) if inside else None,
        width=median(one.high / max(1e-9, one.low) for one in ranges) if ranges else None,
    )


def worst(judged: Sequence[Judged], count: int) -> tuple[Judged, ...]:
    """Return the eligible runs with the largest errors, the worst first."""
    known = [one for one in judged if one.eligible and one.error is not None]
    return tuple(sorted(known, key=lambda one: -abs(one.error or 0.0))[:count])


@frozen
class FitScore:
    """Published fits and out-of-memory runs: ``right`` counts a borderline as half."""

    points: int
    right: float | None


def score_fits(judged: Iterable[Judged]) -> FitScore:
    """Return how often the estimate says what happened."""
    scores = []
    for one in judged:
        if one.fits is None or one.fitted is None:
            continue
        expected: Literal["yes", "no"] = "yes" if one.fitted else "no"
        scores.append(0.5 if one.fits == "borderline" else float(one.fits == expected))
    return FitScore(len(scores), fmean(scores) if scores else None)
