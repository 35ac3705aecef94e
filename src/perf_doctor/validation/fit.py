"""Efficiencies chosen again on measured runs, so that a source is judged by those of the others.

The tables' efficiencies are chosen on the bundled runs, and errors on the same runs flatter. Here
some are chosen again without one source and judged on it, for every source in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log, sqrt
from typing import Generic, NamedTuple, TypeVar

from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval
from perf_doctor.frozen import frozen
from perf_doctor.validation.judged import Judged

T = TypeVar("T")
# An efficiency by name, of one family of cards or of all.
Key = tuple[str, Family | None]
Chosen = Mapping[Key, float]
# Coordinate descent: factors tried on one efficiency at a time, narrower from round to round.
_ROUNDS = (0.25, 0.15, 0.09)
# An error beyond a factor of two counts no more: a run that is not understood must not pull.
_MOST = 0.7
# Pull to the middle of the range where the remaining runs say little about an efficiency. Not to
# the table's value, which has seen the source that is left out.
_PULL = 0.02


class Case(NamedTuple, Generic[T]):
    """A measured run as the tables' efficiencies judge it, and what it is predicted from.

    ``source``: left out as a whole. ``weighed_with``: runs that count as one together.
    """

    judged: Judged
    given: T
    source: str
    weighed_with: str


@frozen
class Fit(Generic[T]):
    """What is chosen again, within which ranges, and how a run is predicted with it."""

    ranges: Mapping[Key, Interval]
    expected: Callable[[T, Chosen], float]
    predicted: Callable[[T, Chosen], Interval]


def chosen_for(family: Family, chosen: Chosen) -> dict[str, float]:
    """Return what is chosen for cards of a family, by name."""
    return {name: value for (name, only), value in chosen.items() if only in (None, family)}


def choose(fit: Fit[T], cases: Sequence[Case[T]]) -> Chosen:
    """Return the efficiencies that fit the cases best, each within its printed range.

    The smallest mean of |log(predicted ÷ measured)|, by coordinate descent from the middles of
    the ranges.
    """
    middle = {key: sqrt(one.low * one.high) for key, one in fit.ranges.items()}
    counts = Counter(one.weighed_with for one in cases)

    def loss(chosen: Chosen) -> float:
        misses = sum(
            min(_MOST, abs(log(fit.expected(one.given, chosen) / _measured(one))))
            / counts[one.weighed_with]
            for one in cases
        )
        pulls = sum(log(chosen[key] / middle[key]) ** 2 for key in middle)
        return misses / max(1, len(counts)) + _PULL * pulls

    return _descend(middle, fit.ranges, loss)


def _measured(case: Case[T]) -> float:
    measured = case.judged.measured
    assert measured is not None
    return measured


def _descend(
    chosen: Chosen, ranges: Mapping[Key, Interval], loss: Callable[[Chosen], float]
) -> Chosen:
    best = loss(chosen)
    for width in _ROUNDS:
        for key, allowed in ranges.items():
            for factor in (1 - width, 1 - width / 3, 1 + width / 3, 1 + width):
                value = min(allowed.high, max(allowed.low, chosen[key] * factor))
                tried = {**chosen, key: value}
                found = loss(tried)
                if found < best:
                    chosen, best = tried, found
    return chosen


def leave_one_source_out(fit: Fit[T], cases: Sequence[Case[T]]) -> tuple[Judged, ...]:
    """Return every case as efficiencies chosen on all other sources predict it; takes seconds."""
    left = []
    for source in sorted({one.source for one in cases}):
        chosen = choose(fit, [one for one in cases if one.source != source])
        left += [_again(fit, one, chosen) for one in cases if one.source == source]
    return tuple(left)


def _again(fit: Fit[T], case: Case[T], chosen: Chosen) -> Judged:
    return replace(case.judged, predicted=fit.predicted(case.given, chosen))
