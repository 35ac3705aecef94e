"""Measured RL phases: how a source's words become a job, and how far off the model is."""

from __future__ import annotations

from typing import Any

import pytest

from perf_doctor.data import table
from perf_doctor.validation.judged import Judged, summarize
from perf_doctor.validation.rl_phases import judge_phases, measured_phases
from perf_doctor.validation.rl_run import FSDP, Update, cap_of, rl_run, sizes_in
from perf_doctor.validation.run import Point

POINTS: dict[str, Point] = {str(point["id"]): point for point in table("measured_rl")["points"]}
JUDGED = judge_phases(POINTS.values())


def judged(name: str, phase: str) -> Judged:
    return next(one for one in JUDGED if (one.id, one.metric) == (name, phase))


def update_of(point: Point) -> Update:
    update = rl_run(point).update
    assert isinstance(update, Update), update
    return update


def mean_of(point: Point) -> float:
    lengths = rl_run(point).lengths
    assert not isinstance(lengths, str), lengths
    return lengths[1].mean


def changed(name: str, extra: dict[str, Any] | None = None, **measured: float | None) -> Point:
    """A bundled point with some of its words changed; None takes a measurement away."""
    point = POINTS[name]
    kept = {**point["measured"], **measured}
    return {
        **point,
        "extra": {**point["extra"], **(extra or {})},
        "measured": {key: value for key, value in kept.items() if value is not None},
    }


def test_phases_measured_on_hopper_are_near_what_is_predicted() -> None:
    """Ranges hold four in five phases and stay within a factor of three."""
    found = summarize([one for one in JUDGED if one.family == "hopper"])
    assert found.eligible > 100
    assert found.inside is not None
    assert found.inside > 0.88
    assert found.median_abs_error is not None
    assert found.median_abs_error < 0.2
    assert found.width is not None
    assert found.width < 2.6


def test_training_phases_on_h20_are_near_what_is_predicted() -> None:
    names = ("update", "log_probs")
    judged_on = [o for o in JUDGED if o.family == "h20" and o.metric in names]
    found = summarize(judged_on)
    assert sum(one.predicted is not None for one in judged_on) == 6
    assert found.inside == 1.0
    assert found.median_abs_error is not None
    assert found.median_abs_error < 0.2


def test_generation_with_a_thousand_requests_on_h20_is_known_to_be_underestimated() -> None:
    """vLLM without CUDA graphs, 400–1,024 requests an engine: a third less than measured."""
    found = summarize([o for o in JUDGED if o.family == "h20" and o.metric == "generation"])
    assert found.eligible == 8
    assert found.bias is not None
    assert -0.45 < found.bias < -0.2


@pytest.mark.parametrize("phase", ["rollout", "log_probs", "update", "switch", "step"])
def test_ranges_hold_four_in_five(phase: str) -> None:
    found = summarize([one for one in JUDGED if one.metric == phase])
    assert found.inside is not None
    assert found.inside >= 0.8


def test_what_is_not_judged_says_why() -> None:
    for one in JUDGED:
        assert (one.predicted is None) == bool(one.skipped_because)
        assert one.eligible == (one.predicted is not None or one.skipped_because == FSDP)
        assert (one.quantity, one.unit) == ("rl phase", "s")
    assert sum(one.predicted is not None for one in JUDGED) / len(JUDGED) > 0.6


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ("tp4", {"tp": 4}),
        ("Tp4pp1cp2", {"tp": 4, "pp": 1, "cp": 2}),
        ("tp4pp2vpp2", {"tp": 4, "pp": 2, "vpp": 2}),
        ("ep8cp2tp2", {"ep": 8, "cp": 2, "tp": 2}),
        ("sp8fsdp32", {"sp": 8, "fsdp": 32}),
        (None, {}),
    ],
)
def test_layouts_are_read(words: str | None, sizes: dict[str, int]) -> None:
    assert sizes_in(words) == sizes


def test_layout_words_become_a_mesh() -> None:
    mesh = update_of(POINTS["vmp-dapo7b-13"]).training.mesh
    assert (mesh.tp, mesh.pp, mesh.vpp, mesh.cp) == (4, 2, 2, 1)
    assert mesh.stages == (14, 14)
    experts = update_of(POINTS["vmp-dapo_moe30b-17"]).training
    assert (experts.mesh.tp, experts.mesh.ep, experts.mesh.expert_shards) == (1, 8, 4)
    assert experts.deepep


def test_batches_are_read() -> None:
    """512 prompts × 16 samples in mini-batches of 32 prompts on two data-parallel ranks."""
    update = update_of(POINTS["vmp-dapo7b-7"])
    assert (update.steps, update.samples) == (16, 256)
    assert update.budget == 20 * 1024
    assert update.log_prob_budget == 60 * 1024
    assert update_of(POINTS["vmp-dapo7b-17"]).budget == 2 * 10 * 1024
    static = update_of(POINTS["vmp-dapo7b-3"])
    assert static.budget is None
    assert (static.micro_batch, static.log_prob_micro_batch) == (4, 10)


@pytest.mark.parametrize(("words", "cap"), [("8k", 8192), ("20K", 20480), ("1.5k", 1536)])
def test_caps_are_read(words: str, cap: float) -> None:
    assert cap_of({"max_response_len": words}) == cap
    assert cap_of({}) is None


def test_a_fully_sharded_trainer_is_skipped_and_its_engines_are_judged() -> None:
    assert judged("vmp-dapo7b-14", "update").skipped_because is not None
    assert judged("vmp-dapo7b-14", "generation").predicted is not None


def test_filtered_rollouts_are_skipped_and_one_batch_of_them_is_judged() -> None:
    """A batch of 1,536 prompts took three times one of 512: 3,031 s against 993–1,176."""
    assert judged("vmp-dapo14b-9", "rollout").skipped_because is not None
    one, three = judged("vmp-dapo14b-9", "generation"), judged("vmp-dapo14b-5", "generation")
    assert one.predicted is not None
    assert three.predicted is not None
    assert 2.3 < three.predicted.expected / one.predicted.expected < 3.2


def test_lengths_from_mfu_are_those_from_throughput() -> None:
    """Two rows state both: 506 and 525 tokens by throughput."""
    for name in ("vmp-grpo_qwen2.5_7b-2", "vmp-grpo_qwen2.5_7b-14"):
        stated = mean_of(POINTS[name])
        by_mfu = mean_of(changed(name, tokens_per_s_per_gpu=None))
        assert by_mfu == pytest.approx(stated, rel=0.2)


def test_lengths_that_nobody_states_are_a_wide_range() -> None:
    known, assumed = (
        rl_run(point).lengths
        for point in (
            POINTS["vmp-dapo7b-7"],
            changed("vmp-dapo7b-7", mfu=None),
        )
    )
    assert not isinstance(known, str)
    assert not isinstance(assumed, str)
    assert assumed[2].mean / assumed[0].mean > 3 > known[2].mean / known[0].mean


def test_a_step_is_judged_where_no_phase_is() -> None:
    assert list(measured_phases(POINTS["m102"])) == ["step"]
    phases = measured_phases(POINTS["vmp-dapo7b-7"])
    assert "step" not in phases
    assert phases["rollout"] == pytest.approx(161.0 - 3.1)


def test_asynchronous_generation_is_what_is_waited_for() -> None:
    reason = judged("verl-fullyasync-7b-async64-64", "generation").skipped_because
    assert reason is not None
    assert "waited" in reason


@pytest.mark.parametrize("name", ["vmp-dapo7b-7", "vmp-dapo_moe30b-17", "m102", "m024", "m022"])
def test_a_run_that_states_less_is_skipped_and_never_fails(name: str) -> None:
    point = POINTS[name]
    for key in point:
        if key != "measured":
            less = {one: value for one, value in point.items() if one != key}
            found = judge_phases([less])
            assert bool(found) == (key != "kind")
            assert not any("cannot be read" in str(one.skipped_because) for one in found)
    for key in point["extra"]:
        less = {**point, "extra": {k: v for k, v in point["extra"].items() if k != key}}
        found = judge_phases([less])
        assert found
        assert not any("cannot be read" in str(one.skipped_because) for one in found)


def test_a_run_is_bundled_once_and_says_where_it_comes_from() -> None:
    points = table("measured_rl")["points"]
    assert len({point["id"] for point in points}) == len(points)
    assert all(point["source"] and point["tier"] for point in points)


def test_no_phase_has_no_summary() -> None:
    assert summarize([]).inside is None
