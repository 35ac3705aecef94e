"""Measured decode speeds as the estimate sees them: names, loads, and what is skipped."""

from __future__ import annotations

from typing import Any

import pytest

from perf_doctor.data import table
from perf_doctor.validation.decode import (
    Served,
    decode_point,
    is_judged,
    known_name,
    plain_point,
)
from perf_doctor.validation.serving import expected_tokens_s, predict_tokens_s

POINTS: dict[str, dict[str, Any]] = {
    str(point["id"]): point for point in table("measured_decode")["points"]
}


def served(name: str) -> Served:
    found = decode_point(POINTS[name])
    assert isinstance(found, Served), found
    return found


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Qwen 3 30B A3B Thinking", "Qwen3-30B-A3B"),
        ("Qwen 3 8B", "Qwen3-8B"),
        ("Llama 3.1 70B Instruct", "Llama-3.1-70B"),
        ("Qwen3.5-122B", "Qwen3.5-122B-A10B"),
        ("Nobody's 7B", None),
    ],
)
def test_models_are_known_however_they_are_spelled(said: str, name: str | None) -> None:
    assert known_name(said) == name


def test_every_bundled_speed_is_covered_and_lies_in_a_range() -> None:
    for name in POINTS:
        found = predict_tokens_s(served(name))
        assert 0 < found.low <= found.expected <= found.high, name
        assert found.expected == pytest.approx(expected_tokens_s(served(name)))


def test_a_run_is_read_alike_in_both_tables() -> None:
    """Names of measured-rollout.json."""
    rollout = {
        "id": "mine", "category": "decode", "framework": "vLLM", "grade": "A",
        "source": "somebody/else public/data/gpqa.json",
        "config": {"model": "Qwen 3 8B", "precision": "bf16", "gpus": "2xH100", "ep": 1,
                   "avg_batch": 16.0, "avg_output": 4000},
        "metrics": {"median_itl_ms": 10.0},
    }  # fmt: skip
    found = decode_point(rollout)
    assert isinstance(found, Served)
    assert decode_point(plain_point(rollout)) == found
    assert (found.load, found.tokens_s, found.serving.engine.tp) == ("step", 1600.0, 2)
    assert found.vllm
    assert found.behind > found.prompt + 2000


def test_speeds_are_tokens_generated_by_one_engine() -> None:
    """Totals count prompts, TTFT and TPOT one request of those in flight."""
    burst = served("sglang5839-30b-tp1-1000")
    assert (burst.load, burst.requests, burst.per_s) == ("burst", 100, 10)
    total = POINTS["cookbook35-h200-397b-fp8-ht-c1024"]["measured"]["total_tokens_per_s_per_gpu"]
    assert served("cookbook35-h200-397b-fp8-ht-c1024").tokens_s == pytest.approx(total * 8 / 9)
    loop = served("aic-dsr1_h200_sglang_fp8_agg_1024x1024_c4_cfg81")
    assert loop.tokens_s == pytest.approx(4 * 1024 / (0.259911 + 1023 * 0.0102923))


def test_the_kv_pool_bounds_how_many_run() -> None:
    """Qwen3-32B leaves an H100 room for a few requests; how many its static share decides."""
    name = "aic-qwen_qwen3_32b_qwen_qwen3_32b_h100_sxm_sglang_agg_2048x512_c16_tp1_epnone_6"
    found = predict_tokens_s(served(name))
    assert found.high / found.low > 2

    def at(fraction: float) -> float:
        extra = {**POINTS[name]["extra"], "mem_fraction_static": fraction}
        bound = decode_point({**POINTS[name], "extra": extra})
        assert isinstance(bound, Served)
        return expected_tokens_s(bound)

    assert at(0.79) < at(0.82) < at(0.9)


@pytest.mark.parametrize(
    ("change", "because"),
    [
        ({"gpu": "80GB-class"}, "GPU"),
        ({"model": "Nobody's 7B"}, "model"),
        ({"n_gpus": None}, "GPUs"),
        ({"pp": 2}, "pipeline"),
        ({"dtype": "ternary"}, "ternary"),
        ({"mbs": None}, "requests"),
        ({"measured": {}}, "speed"),
    ],
)
def test_a_run_that_cannot_be_estimated_says_why(change: dict[str, Any], because: str) -> None:
    name = "aic-dsr1_h200_sglang_fp8_agg_1024x1024_c4_cfg81"
    found = decode_point({**POINTS[name], **change})
    assert isinstance(found, str)
    assert because in found


def test_speculation_and_newer_cards_are_shown_and_not_judged() -> None:
    assert not is_judged(POINTS["cookbook36-b200-27b-bf16-ht-c1024"])
    assert not is_judged(POINTS["cookbook35-h200-397b-fp8-ll-c1"])
    assert is_judged(POINTS["cookbook35-h200-397b-fp8-ht-c1024"])
