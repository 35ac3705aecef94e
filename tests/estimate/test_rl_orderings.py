"""Pairs of measured RL steps that differ in one thing: the estimate must order them alike."""

from __future__ import annotations

import pytest
from estimate_jobs import plan_of

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.rl_efficiencies import HOST_COPY_GB_S
from perf_doctor.estimate.switch import switch_seconds, sync_seconds
from perf_doctor.estimate.time import TimeEstimate, estimate_time
from perf_doctor.estimate.time_job import Given

COLOCATE = "--colocate"
# 8,192 samples on eight GPUs, as verl's runs.
MANY = "--colocate --rollout-batch-size 512 --n-samples-per-prompt 16 --global-batch-size 8192"
SIDES = {"actor": 4, "rollout": 4}


def estimate(words: str, mean: float, *, gpu: str = "H100", **resource: int) -> TimeEstimate:
    found = estimate_time(plan_of(words, gpu=gpu, **resource), lengths=Given(mean, 0.8, 160))
    assert found.unknown is None
    return found


def step(words: str, mean: float, *, gpu: str = "H100", **resource: int) -> float:
    found = estimate(words, mean, gpu=gpu, **resource).step_s
    assert found is not None
    return found.expected


def phase(name: str, words: str, mean: float, *, gpu: str = "H100", **resource: int) -> float:
    phases = estimate(words, mean, gpu=gpu, **resource).phases
    assert phases is not None
    return phases[name].expected


def test_engines_of_one_gpu_generate_sooner_than_wider_ones() -> None:
    """dapo7b: TP 1 144 s, TP 4 355 s; more requests per engine, and a host that serves them."""
    one, four = (
        phase("rollout", f"{MANY} --rollout-num-gpus-per-engine {size}", 1300) for size in (1, 4)
    )
    assert one < four


def test_partial_rollout_with_twice_the_groups_shortens_the_step() -> None:
    """Relax #153: −26.6 %, longest ÷ mean 6.6; APRIL: +22.5 % throughput on average, 44 at best."""
    words = f"{COLOCATE} --rollout-batch-size 64 --global-batch-size 512"
    whole = step(words, 1241, gpu="H200")
    partial = step(f"{words} --partial-rollout --over-sampling-batch-size 128", 1241, gpu="H200")
    assert 0.10 < 1 - partial / whole < 0.45


def test_partial_rollout_gains_less_where_answers_are_alike() -> None:
    """APRIL's gain is that of a long tail."""
    words = f"{COLOCATE} --rollout-batch-size 64 --global-batch-size 512"
    gains = []
    for sigma in (0.3, 0.8):
        whole, partial = (
            estimate_time(plan_of(line, gpu="H200"), lengths=Given(1241, sigma, 160)).step_s
            for line in (words, f"{words} --partial-rollout --over-sampling-batch-size 128")
        )
        assert whole is not None
        assert partial is not None
        gains.append(1 - partial.expected / whole.expected)
    assert gains[0] < gains[1]


def test_switching_matters_where_answers_are_short() -> None:
    """Relax PR #170: 59 % of a step of 22 s; #230: 1.2 % of one of 992 s."""
    shares = [
        phase("switch", COLOCATE, mean, gpu="H200") / step(COLOCATE, mean, gpu="H200")
        for mean in (100, 800, 4000)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.3
    assert shares[-1] < 0.2


def test_switching_grows_with_what_is_parked() -> None:
    """Relax #230: 11.6 s for 4B on four GPUs, 23.5 s for 30B-A3B on eight."""
    small, large = (switch_seconds(size, 64e9, engines_sleep=True) for size in (20e9, 70e9))
    assert small.expected < large.expected
    assert large.expected - small.expected == pytest.approx(2 * 50 / HOST_COPY_GB_S.expected)


def test_weight_updates_grow_with_the_model() -> None:
    """verl, between GPUs: 7B 5.5–6.0, 32B 17.7–18.1, 235B 246–266 s; slime, on the same: 30B 7."""
    apart = [sync_seconds(2e9 * billions, same_gpus=False) for billions in (7.6, 32.8, 235.0)]
    assert [one.expected for one in apart] == sorted(one.expected for one in apart)
    assert 5.75 in apart[0]
    assert 17.9 in apart[1]
    same = sync_seconds(2e9 * 30.5, same_gpus=True)
    assert 7.0 in same
    assert same.expected < sync_seconds(2e9 * 30.5, same_gpus=False).expected


def test_asynchronous_steps_are_shorter_and_staleness_shortens_them() -> None:
    """Relax's paper, Qwen3-4B on 16 H800: 225.9, 201.0 (staleness 0) and 128.6 s.

    verl, Qwen2.5-Math-7B on 128 H20: 356 s in colocate, 231 with staleness 0, 171 with 0.1 and
    151 with 0.5. Answers with a long tail, whose seconds more GPUs do not change.
    """
    colocate = step(COLOCATE, 600, gpu="H800")
    at_once = step("--fully-async --max-staleness 0", 600, gpu="H800", **SIDES)
    stale = step("--fully-async --max-staleness 1", 600, gpu="H800", **SIDES)
    assert colocate > at_once > stale
    assert 1.0 < colocate / at_once < 1.35
    assert 1.2 < colocate / stale < 2.7


def test_more_staleness_never_costs_time() -> None:
    """verl's ablation on 128 H20: 231, 171, 146 and 151 s with 0, 0.1, 0.3 and 0.5."""
    steps = [
        step(f"--fully-async --max-staleness {stale}", 1200, gpu="H20", **SIDES)
        for stale in (0, 1, 2, 4)
    ]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 1.03 * steps[1]


def test_streaming_helps_without_staleness() -> None:
    """verl, trainer and rollout on 64 GPUs each: 231 s against 356 s in colocate, 1.6 ×."""
    whole, parts = (
        step(
            f"--fully-async --max-staleness 0 --num-iters-per-train-update {count}",
            2500, gpu="H800", **SIDES,
        )
        for count in (1, 16)
    )  # fmt: skip
    assert parts < whole


def test_a_step_without_its_log_prob_pass_is_shorter() -> None:
    """Relax task 21: log-probs of the rollout reused, 179.6 → 129.2 s with a processor pool."""
    assert step(f"{COLOCATE} --use-rollout-logprobs", 2000) < step(COLOCATE, 2000)


def test_offloaded_optimizers_cost_less_of_a_step_with_more_tokens() -> None:
    """prime-rl #3234, Qwen3-30B on 8 H200: 2.3 × with 8k tokens a step, 1.1 × with 16k."""

    def cost(mean: float) -> float:
        offload = "--optimizer-cpu-offload --optimizer-offload-fraction 1.0"
        words = (COLOCATE, f"{COLOCATE} {offload}")
        plain, on_host = (
            phase("train", one, mean) + phase("optimizer", one, mean) for one in words
        )
        return on_host / plain

    assert cost(100) > 1.5 > cost(6000) > 1.0


def test_a_rollout_takes_longer_with_longer_answers_and_its_range_holds_it() -> None:
    seconds: list[Interval] = []
    for mean in (500, 1000, 2000, 4000):
        phases = estimate(COLOCATE, mean).phases
        assert phases is not None
        seconds.append(phases["rollout"])
    assert [one.expected for one in seconds] == sorted(one.expected for one in seconds)
    assert all(1.4 < one.high / one.low < 4 for one in seconds)
