"""Measured training steps as the estimate sees them: what runs leave open, and what is skipped."""

from __future__ import annotations

from typing import Any

import pytest

from perf_doctor.data import table
from perf_doctor.validation.run import Point
from perf_doctor.validation.step import (
    STEP_KINDS,
    Step,
    expected_step,
    predict_step,
    step_of,
)

POINTS: dict[str, Point] = {str(point["id"]): point for point in table("measured_time")["points"]}


def step(name: str, **changes: Any) -> Step:
    found = step_of({**POINTS[name], **changes})
    assert isinstance(found, Step), found
    return found


def test_every_bundled_step_is_covered_and_has_an_interval() -> None:
    for name, point in POINTS.items():
        assert point["kind"] in STEP_KINDS
        found = predict_step(step(name))
        assert 0 < found.low <= found.expected <= found.high, name
        assert found.expected == pytest.approx(expected_step(step(name)))


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"gpu": "80GB-class"}, "GPU"),
        ({"dims": {}}, "model sizes"),
        ({"pp": None}, "pp"),
        ({"gbs": None}, "batch"),
        ({"measured": {}}, "step time"),
        ({"extra": {"fsdp": 8}}, "sharded"),
    ],
)
def test_a_run_that_cannot_be_estimated_says_why(changes: dict[str, Any], because: str) -> None:
    found = step_of({**POINTS["mlm-h100-70B"], **changes})
    assert isinstance(found, str)
    assert because in found


def test_heads_that_are_not_stated_are_128_wide() -> None:
    """Narayanan 2021 prints layers and hidden sizes alone."""
    found = step("narayanan2021-39B")
    shape = found.run.training.shape
    assert (shape.heads, shape.head_dim) == (64, 128)
    assert "heads of 128" in found.assumptions


def test_runs_before_flash_attention_store_their_scores() -> None:
    """2205.05198: the attention core moves 2·a·s bytes per token several times."""
    stored = step("korthikanti2022-175B-selective")
    assert not stored.run.training.batch.flash
    flash = step("korthikanti2022-175B-selective", notes="")
    assert 1.05 < expected_step(stored) / expected_step(flash) < 1.3


def test_a_layer_of_multi_token_prediction_costs_a_layer_and_a_head() -> None:
    name = "card-qwen36-35b-longctx"
    dims = {**POINTS[name]["dims"], "mtp_layers": 0}
    assert step(name).run.training.shape.mtp_layers == 1
    assert expected_step(step(name, dims=dims)) < 0.97 * expected_step(step(name))


def test_tuned_recipes_wait_for_no_host() -> None:
    """CUDA graphs, and dispatchers that count tokens on the GPU."""
    name = "bridge-qwen30b-epoverlap-off"
    assert step(name).work.graphed
    plain = step(name, notes="DeepEP")
    assert not plain.work.graphed
    assert expected_step(plain) > 1.1 * expected_step(step(name))


def test_expert_layers_wait_for_the_host_however_much_work_there_is() -> None:
    """H20, Qwen3-30B: larger micro-batches gain, compute-bound as they are."""
    name = "bridge-qwen30b-epoverlap-off"
    per_token = [expected_step(step(name, notes="DeepEP", mbs=mbs)) / 1024 for mbs in (2, 4, 8)]
    assert per_token == sorted(per_token, reverse=True)
    assert per_token[0] > 1.05 * per_token[-1]


def test_eight_bit_products_are_faster() -> None:
    wide, narrow = step("mlm-h100-70B"), step("mlm-h100-70B", dtype="fp8")
    assert narrow.run.training.batch.quantized
    assert expected_step(narrow) < 0.85 * expected_step(wide)


def test_frozen_weights_need_no_gradients() -> None:
    """LoRA: backward multiplies once where training all weights multiplies twice."""
    found = step("mlm-h100-7.1B")
    training = found.run.training._replace(frozen="base", adapter_parameters=1e7)
    run = type(found.run)(training, (), last_rank_only=False)
    assert 0.6 < expected_step(found._replace(run=run)) / expected_step(found) < 0.8
