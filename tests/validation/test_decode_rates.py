"""Decode speeds judged in sample and by efficiencies that have not seen their source."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from perf_doctor.data import table
from perf_doctor.estimate.decode import decoder
from perf_doctor.estimate.decode_rates import decode_ranges
from perf_doctor.validation.decode import Served, decode_point
from perf_doctor.validation.decode_rates import SPEED_FIT, speed_cases
from perf_doctor.validation.fit import choose
from perf_doctor.validation.judged import summarize
from perf_doctor.validation.serving import judge_speeds
from perf_doctor.validation.subjects import Validation

POINTS: dict[str, dict[str, Any]] = {
    str(point["id"]): point for point in table("measured_decode")["points"]
}
JUDGED = judge_speeds(POINTS.values())
CASES = speed_cases(POINTS.values())


def test_decode_is_near_what_was_measured() -> None:
    """Ampere and Hopper in 16 and 8 bits; median of some 220 speeds."""
    found = summarize(JUDGED)
    assert found.eligible >= 200
    assert found.covered is not None
    assert found.covered >= 0.8
    assert found.median_abs_error is not None
    assert found.median_abs_error <= 0.09
    assert found.inside is not None
    assert found.inside >= 0.8


@pytest.mark.parametrize("family", ["hopper", "h20"])
@pytest.mark.parametrize("experts", [False, True])
def test_no_kind_of_card_and_model_is_far_off(family: str, *, experts: bool) -> None:
    of_kind = [one for one in JUDGED if one.family == family and one.experts == experts]
    found = summarize(of_kind)
    assert found.eligible >= 10
    assert found.median_abs_error is not None
    assert found.median_abs_error <= 0.12


def test_decode_is_near_on_sources_it_has_not_seen(crossed: Validation) -> None:
    found = summarize(crossed.left_out["decode"])
    assert found.eligible == len(CASES)
    assert found.median_abs_error is not None
    assert found.median_abs_error <= 0.12
    assert found.inside is not None
    assert found.inside >= 0.8


def test_chosen_efficiencies_stay_in_their_ranges() -> None:
    for (name, family), value in choose(SPEED_FIT, CASES[::9]).items():
        allowed = decode_ranges(family or "hopper")[name]
        assert allowed.low <= value <= allowed.high, name


def test_models_can_be_left_out_instead_of_sources() -> None:
    by_model = {one.source for one in speed_cases(POINTS.values(), "model")}
    assert len(by_model) > len({one.source for one in CASES})


def test_speculation_is_shown_and_not_judged() -> None:
    """Accepted tokens are not known: the estimate is a quarter slow where many are accepted."""
    drafted = [one for one in JUDGED if one.apart and "speculation" in one.apart]
    assert len(drafted) >= 30
    assert not any(one.eligible for one in drafted)
    errors = [one.error for one in drafted if one.error is not None]
    assert -0.4 < median(errors) < 0.0


def test_first_tokens_come_when_prefill_says_so() -> None:
    """SGLang's cookbook, one request of 8,192 tokens: no efficiency was chosen on these times."""
    ratios = []
    for name, point in POINTS.items():
        if name.startswith("cookbook") and name.endswith("-c1") and "b200" not in name:
            found = decode_point(point)
            assert isinstance(found, Served), found
            serving = found.serving
            engine = decoder(
                serving.engine, serving.shape, serving.card, serving.graph_limit, serving.draft
            )
            seconds = engine.prefill_s(found.prompt) + engine.step(1, found.prompt)
            ratios.append(seconds / (point["measured"]["ttft_ms_p50"] / 1e3))
    assert len(ratios) >= 12
    assert median(abs(ratio - 1) for ratio in ratios) <= 0.12
