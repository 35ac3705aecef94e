"""Measured training steps: how far off the model is may only get better."""

from __future__ import annotations

from statistics import median

from perf_doctor.data import table
from perf_doctor.estimate.time_points import Skipped, predict_step, step_of


def test_bundled_training_steps_are_near_what_was_measured() -> None:
    """Ampere and Hopper in 16 bits, tiers A and B."""
    errors = []
    for point in table("measured_time")["points"]:
        gpu = str(point.get("gpu"))
        known = gpu.startswith(("A100", "A800", "H100", "H200"))
        if not known or point.get("dtype", "bf16") not in ("bf16", "fp16") or point["tier"] == "C":
            continue
        step = step_of(point)
        if isinstance(step, Skipped):
            continue
        errors.append(abs(predict_step(step).expected / step.measured - 1))
    assert len(errors) > 40
    assert median(errors) < 0.15


def test_a_run_on_a_card_nobody_names_is_skipped() -> None:
    found = step_of({"gpu": "80GB-class", "tp": 1, "pp": 1, "n_gpus": 8, "seq": 4096, "mbs": 1})
    assert isinstance(found, Skipped)
