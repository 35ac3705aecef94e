"""Measured decode speeds judged by efficiencies, also by such that have not seen their source.

The efficiencies of decode are chosen on the bundled runs, so errors on the same runs flatter.
Here they are chosen again without one source and judged on it, for every source in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log, sqrt
from statistics import fmean, median
from typing import NamedTuple

from perf_doctor.estimate.decode_points import (
    Served,
    decode_point,
    is_about_decode,
    is_judged,
    known_name,
    plain_point,
)
from perf_doctor.estimate.decode_rates import DecodeRates, decode_ranges, decode_rates
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.points import Point
from perf_doctor.estimate.serving_time import expected_tokens_s, predict_tokens_s
from perf_doctor.estimate.time_points import Skipped

Rates = dict[Family, DecodeRates]
# What is chosen again: for each family, or for all.
_FITTED: tuple[tuple[str, Family | None], ...] = (
    ("weights", "hopper"),
    ("rows", "h20"),
    ("expert_read", "hopper"),
    ("expert_read", "h20"),
    ("narrow_experts", "h20"),
    ("narrow_read", None),
    ("kv", None),
    ("compute", "hopper"),
    ("layer_s", None),
    ("expert_layer_s", None),
    ("linear_layer_s", None),
    ("sequence_s", None),
    ("all_reduce_s", None),
    ("prefill", "hopper"),
    ("prefill_experts", "hopper"),
    ("prefill_experts", "h20"),
)
_FAMILIES: tuple[Family, ...] = ("ampere", "hopper", "h20")
# Coordinate descent: factors tried on one efficiency at a time, narrower from round to round.
_ROUNDS = (0.2, 0.1)
# An error beyond a factor of two counts no more: a run that is not understood must not pull.
_MOST = 0.7
# Pull to the middle of the range where the remaining runs say little about an efficiency.
_PULL = 0.01

Chosen = dict[tuple[str, Family | None], float]


class Measured(NamedTuple):
    """A measured speed with its id, its source and its model."""

    id: str
    source: str
    model: str
    served: Served


class Left(NamedTuple):
    """A speed as predicted; ``error``: predicted ÷ measured − 1."""

    measured: Measured
    predicted: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.predicted / self.measured.served.tokens_s - 1


class Accuracy(NamedTuple):
    """How decode does: fractions. ``inside``: of the speeds in the printed range."""

    points: int
    covered: float
    median_abs_error: float
    inside: float


def judged_speeds(points: Iterable[Point]) -> tuple[tuple[Measured, ...], float]:
    """Return the speeds on which the estimate is judged, and the share of them it covers.

    A speed that two tables print counts once.
    """
    found: dict[tuple[object, ...], Measured] = {}
    eligible = covered = 0
    for point in points:
        if not is_about_decode(point) or not is_judged(point):
            continue
        eligible += 1
        served = decode_point(point)
        if isinstance(served, Skipped):
            continue
        covered += 1
        plain = plain_point(point)
        source = plain.get("source") or {}
        name = str(source.get("repo") if isinstance(source, dict) else source)
        model = str(plain.get("model"))
        one = Measured(str(plain.get("id")), name, known_name(model) or model, served)
        engine = served.serving.engine
        key = (served.serving.card, engine.tp, engine.weight_bytes, round(served.tokens_s, 1))
        found.setdefault(key, one)
    return tuple(found.values()), covered / eligible if eligible else 0.0


def choose(speeds: Sequence[Measured]) -> Rates:
    """Return the efficiencies that fit the speeds best, each within its printed range.

    The smallest mean of |log(predicted ÷ measured)|, every model of a source counting alike, by
    coordinate descent from the middles of the ranges.
    """
    middle = {key: sqrt(_range(key).low * _range(key).high) for key in _FITTED}
    counts = Counter((one.source, one.model) for one in speeds)
    weights = [1 / counts[one.source, one.model] for one in speeds]

    def loss(chosen: Chosen) -> float:
        rates = _rates(chosen)
        errors = [
            weight * min(_MOST, abs(log(_expected(one, rates) / one.served.tokens_s)))
            for one, weight in zip(speeds, weights, strict=True)
        ]
        pulls = [log(chosen[key] / middle[key]) ** 2 for key in middle]
        return sum(errors) / len(counts) + _PULL * sum(pulls)

    return _rates(_descend(middle, loss))


def _descend(chosen: Chosen, loss: Callable[[Chosen], float]) -> Chosen:
    best = loss(chosen)
    for width in _ROUNDS:
        for key in _FITTED:
            allowed = _range(key)
            for factor in (1 - width, 1 + width):
                value = min(allowed.high, max(allowed.low, chosen[key] * factor))
                tried = {**chosen, key: value}
                found = loss(tried)
                if found < best:
                    chosen, best = tried, found
    return chosen


def _range(key: tuple[str, Family | None]) -> Interval:
    return decode_ranges(key[1] or "hopper")[key[0]]


def _rates(chosen: Chosen) -> Rates:
    return {
        family: decode_rates(family)._replace(
            **{name: value for (name, only), value in chosen.items() if only in (None, family)}
        )
        for family in _FAMILIES
    }


def _expected(one: Measured, rates: Rates) -> float:
    return expected_tokens_s(one.served, rates[one.served.serving.card.family])


def in_sample(speeds: Sequence[Measured]) -> tuple[Left, ...]:
    """Return every speed as the table of efficiencies predicts it."""
    return tuple(Left(one, expected_tokens_s(one.served)) for one in speeds)


def leave_one_out(speeds: Sequence[Measured], by: str = "source") -> tuple[Left, ...]:
    """Return every speed as efficiencies chosen on all other sources (or models) predict it."""
    left = []
    for name in sorted({getattr(one, by) for one in speeds}):
        rates = choose([one for one in speeds if getattr(one, by) != name])
        left += [Left(one, _expected(one, rates)) for one in speeds if getattr(one, by) == name]
    return tuple(left)


def accuracy(left: Sequence[Left], covered: float) -> Accuracy:
    """Return the summary of judged speeds."""
    return Accuracy(
        points=len(left),
        covered=covered,
        median_abs_error=median(abs(one.error) for one in left),
        inside=fmean(
            one.measured.served.tokens_s in predict_tokens_s(one.measured.served) for one in left
        ),
    )
