"""RL updates of verl whose MFU is published: the training step where rewards are, H20 above all.

ISEEKYAN/verl_megatron_practice, dapo14b.csv, dapo7b.csv and dapo_moe30b.csv: MFU of the actor
update by model FLOPs without recompute. Micro-batches are packed up to a budget of tokens; their
lengths are known as a mean at best, so a range is asked for, and no single row decides.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import pytest

from perf_doctor.estimate.constants import IMBALANCE
from perf_doctor.validation.step import Step as MeasuredStep
from perf_doctor.validation.step import expected_step, predict_step, step_of

DIMS = {
    "Qwen3-14B": {
        "layers": 40, "hidden": 5120, "heads": 40, "kv_heads": 8, "head_dim": 128, "ffn": 17408,
        "vocab": 151936, "qk_norm": True,
    },
    "Qwen2.5-Math-7B": {
        "layers": 28, "hidden": 3584, "heads": 28, "kv_heads": 4, "head_dim": 128, "ffn": 18944,
        "vocab": 152064, "qkv_bias": True,
    },
    "Qwen3-30B-A3B": {
        "layers": 48, "hidden": 2048, "heads": 32, "kv_heads": 4, "head_dim": 128, "vocab": 151936,
        "experts": 128, "topk": 8, "moe_ffn": 768, "qk_norm": True,
    },
}  # fmt: skip
# Peaks that verl divides by, TFLOPS; tokens that one looks back at twice over, about the mean
# length of a sample times one and a half.
PEAK = {"H20-96GB": 148.0, "H100-SXM-80GB": 989.0}
LENGTH = {"Qwen3-14B": 5000, "Qwen2.5-Math-7B": 1600, "Qwen3-30B-A3B": 4000}
SAMPLES = {"Qwen3-14B": 512, "Qwen2.5-Math-7B": 512, "Qwen3-30B-A3B": 2048}


class Update(NamedTuple):
    """One row: layout, thousand tokens of a micro-batch and GPU, and MFU."""

    id: str
    gpu: str
    model: str
    gpus: int
    tp: int
    cp: int
    pp: int
    ep: int
    recompute: str
    budget: int
    mfu: float


H20, H100 = "H20-96GB", "H100-SXM-80GB"
D14, D7, M30 = "Qwen3-14B", "Qwen2.5-Math-7B", "Qwen3-30B-A3B"
UPDATES = (
    Update("dapo_moe30b-17", H20, M30, 32, 1, 1, 1, 8, "core_attn", 10, 0.454),
    Update("dapo_moe30b-18", H20, M30, 32, 1, 1, 1, 8, "full", 30, 0.45),
    Update("dapo_moe30b-19", H20, M30, 32, 2, 2, 1, 8, "none", 10, 0.438),
    Update("dapo_moe30b-20", H20, M30, 32, 4, 1, 1, 4, "none", 10, 0.35),
    Update("dapo14b-8", H20, D14, 32, 4, 1, 1, 1, "none", 10, 0.768),
    Update("dapo14b-9", H20, D14, 32, 4, 2, 1, 1, "none", 10, 0.83),
    Update("dapo14b-10", H20, D14, 32, 8, 1, 2, 1, "none", 10, 0.781),
    Update("dapo14b-11", H20, D14, 32, 8, 2, 1, 1, "none", 10, 0.82),
    Update("dapo7b-4", H100, D7, 8, 4, 1, 2, 1, "none", 20, 0.35),
    Update("dapo7b-7", H100, D7, 8, 4, 1, 1, 1, "none", 20, 0.44),
    Update("dapo7b-8", H100, D7, 16, 4, 1, 1, 1, "none", 20, 0.41),
    Update("dapo7b-9", H100, D7, 32, 4, 1, 1, 1, "none", 20, 0.38),
    Update("dapo7b-12", H100, D7, 8, 4, 1, 2, 1, "none", 20, 0.40),
    Update("dapo7b-16", H100, D7, 8, 2, 1, 1, 1, "none", 10, 0.444),
    Update("dapo7b-17", H100, D7, 8, 2, 2, 1, 1, "none", 10, 0.439),
    Update("dapo7b-18", H100, D7, 32, 2, 1, 1, 1, "none", 10, 0.356),
)


def step(update: Update) -> MeasuredStep:
    """One optimizer step with full micro-batches; its seconds follow from the MFU."""
    length, dp = LENGTH[update.model], update.gpus // (update.tp * update.cp * update.pp)
    packed = max(1, round(0.92 * update.budget * 1000 * update.cp / length))
    rounds = max(1, round(SAMPLES[update.model] * 0.7 / dp / packed))
    found = step_of(
        {
            "id": update.id, "kind": "train_time", "source": {"repo": "verl"},
            "model": update.model, "dims": DIMS[update.model], "gpu": update.gpu,
            "n_gpus": update.gpus, "tp": update.tp, "pp": update.pp, "cp": update.cp,
            "ep": update.ep, "seq": length, "mbs": packed, "gbs": dp * packed * rounds,
            "recompute": update.recompute, "notes": "DeepEP; natural routing",
            "measured": {"tflops_per_gpu": update.mfu * PEAK[update.gpu]},
        }
    )  # fmt: skip
    assert isinstance(found, MeasuredStep), found
    return found


def errors(gpu: str) -> dict[str, float]:
    steps = {one.id: step(one) for one in UPDATES if one.gpu == gpu}
    return {name: expected_step(one) / one.measured - 1 for name, one in steps.items()}


def test_updates_on_h20_are_within_a_fifth() -> None:
    found = errors(H20)
    assert median(abs(error) for error in found.values()) < 0.15
    assert max(abs(error) for error in found.values()) < 0.25


def test_updates_on_h100_take_longer_than_tuned_pretraining_predicts() -> None:
    """A known bias, which the printed range holds: 10–25 % for a dense 7B."""
    found = errors(H100)
    assert -0.25 < median(found.values()) < -0.05
    inside = [one.measured in predict_step(one) for one in map(step, UPDATES)]
    assert sum(inside) / len(inside) >= 0.8


def test_experts_are_routed_unevenly_in_rl() -> None:
    assert step(UPDATES[0]).run.training.imbalance == IMBALANCE


@pytest.mark.parametrize("first", ["dapo_moe30b-17", "dapo_moe30b-19"])
def test_experts_reach_less_of_an_h20_than_dense_layers(first: str) -> None:
    """0.44–0.45 against 0.77–0.83."""
    rows = {one.id: one for one in UPDATES}

    def mfu(name: str) -> float:
        one = step(rows[name])
        return rows[name].mfu * one.measured / expected_step(one)

    assert mfu(first) < 0.75 * mfu("dapo14b-8")
