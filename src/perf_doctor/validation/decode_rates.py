"""Decode speeds judged by efficiencies that have not seen their source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from perf_doctor.estimate.decode_rates import DecodeRates, decode_ranges, decode_rates
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval
from perf_doctor.validation.decode import Served, decode_point, is_judged, known_name, plain_point
from perf_doctor.validation.fit import Case, Chosen, Fit, Key, chosen_for
from perf_doctor.validation.run import Point
from perf_doctor.validation.serving import expected_tokens_s, judge_speed, predict_tokens_s

# What is chosen again: for each family, or for all.
_FITTED: tuple[Key, ...] = (
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


def speed_cases(
    points: Iterable[Point], by: Literal["source", "model"] = "source"
) -> tuple[Case[Served], ...]:
    """Return the speeds on which the estimate is judged; each model of a source counts alike."""
    found = []
    for point in points:
        served = decode_point(point) if is_judged(point) else ""
        if not isinstance(served, str):
            row, model = judge_speed(point, served), str(plain_point(point).get("model"))
            model = known_name(model) or model
            left_out = row.source if by == "source" else model
            found.append(Case(row, served, left_out, weighed_with=f"{row.source} {model}"))
    return tuple(found)


def _with(served: Served, chosen: Chosen) -> DecodeRates:
    """Return the efficiencies of the card of a speed, with those that were chosen."""
    family = served.serving.card.family
    return decode_rates(family)._replace(**chosen_for(family, chosen))


def _range(name: str, family: Family | None) -> Interval:
    return decode_ranges(family or "hopper")[name]


SPEED_FIT: Fit[Served] = Fit(
    ranges={key: _range(*key) for key in _FITTED},
    expected=lambda served, chosen: expected_tokens_s(served, _with(served, chosen)),
    predicted=lambda served, chosen: predict_tokens_s(served, _with(served, chosen)),
)
