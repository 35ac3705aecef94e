"""The time estimate: what must hold whatever the constants are, and measured orderings."""

from __future__ import annotations

import time

import pytest
from estimate_jobs import plan_of
from hypothesis import given
from hypothesis import strategies as st

from perf_doctor.estimate import gpu_split
from perf_doctor.estimate.lengths import Lengths, distribution
from perf_doctor.estimate.memory import estimate_memory
from perf_doctor.estimate.time import estimate_time
from perf_doctor.estimate.time_job import Given
from perf_doctor.estimate.time_text import step_line, timeline


def seconds(words: str = "", **kind: object) -> float:
    step = estimate_time(plan_of(words, **kind)).step_s
    assert step is not None
    return step.expected


@pytest.mark.parametrize(
    ("words", "mode", "resource"),
    [
        ("--colocate", "colocate", {"actor": 8, "rollout": 8}),
        ("--fully-async --max-staleness 1", "fully-async", {"actor": 4, "rollout": 4}),
        ("--hybrid --max-staleness 1", "hybrid", {"actor": 4, "rollout": 4}),
        ("", "sync", {"actor": 4, "rollout": 4}),
        ("--loss-type sft --seq-length 4096", "sft", {"actor": 8}),
    ],
)
def test_every_mode_has_an_estimate_with_an_interval(
    words: str, mode: str, resource: dict[str, int]
) -> None:
    plan = plan_of(words, **resource)
    assert plan.mode == mode
    found = estimate_time(plan)
    assert found.unknown is None
    assert found.step_s is not None
    assert 0 < found.step_s.low <= found.step_s.expected <= found.step_s.high
    assert found.phases is not None
    for phase in found.phases.values():
        assert 0 <= phase.low <= phase.expected <= phase.high
    assert step_line(found).startswith("Step: ")
    assert len(list(timeline(found))) >= len(found.phases)


def test_known_lengths_narrow_the_interval_and_leave_no_assumption() -> None:
    plan = plan_of("--colocate")
    usual = estimate_time(plan)
    known = estimate_time(plan, lengths=Given(2867.2, 0.8, 300))
    assert known.assumptions == ()
    assert usual.assumptions
    assert usual.step_s is not None
    assert known.step_s is not None
    assert known.step_s.high - known.step_s.low < usual.step_s.high - usual.step_s.low


def test_a_card_without_published_rates_has_no_estimate() -> None:
    found = estimate_time(plan_of("--colocate", gpu="P800"))
    assert found.step_s is None
    assert "not known" in step_line(found)
    assert list(timeline(found)) == []


@given(mean=st.floats(50, 8000), sigma=st.floats(0.1, 1.5), cap=st.integers(256, 16384))
def test_lengths_have_the_stated_mean_and_stay_below_the_cap(
    mean: float, sigma: float, cap: int
) -> None:
    found = distribution(Lengths(100, min(mean, 0.9 * cap), sigma, cap))
    assert max(found.sixteenths) <= cap
    assert found.mean == pytest.approx(min(mean, 0.9 * cap), rel=0.15)
    assert found.longest(256) <= cap


def test_full_recompute_costs_a_forward_pass() -> None:
    """Korthikanti 2022: 29–32 % throughput."""
    full = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
    plain = estimate_time(plan_of("--colocate", gpu="A100-80GB")).phases
    again = estimate_time(plan_of(f"--colocate {full}", gpu="A100-80GB")).phases
    assert plain is not None
    assert again is not None
    assert 1.15 < again["train"].expected / plain["train"].expected < 1.4


def test_more_offload_costs_more_time() -> None:
    """Megatron-Bridge: Qwen3-30B at five fractions, 1.0 → 4.2 s."""
    half = "--optimizer-cpu-offload --optimizer-offload-fraction 0.5"
    whole = "--optimizer-cpu-offload --optimizer-offload-fraction 1.0"
    assert seconds("--colocate") < seconds(f"--colocate {half}") < seconds(f"--colocate {whole}")


def test_wider_tp_costs_traffic() -> None:
    """Llama-70B TP4 → TP8: up to 28 %."""
    four, eight = (
        estimate_time(plan_of(f"--colocate --tensor-model-parallel-size {tp}", gpu="H100")).phases
        for tp in (4, 8)
    )
    assert four is not None
    assert eight is not None
    assert four["train"].expected < eight["train"].expected


def test_decoding_without_graphs_is_slower() -> None:
    """SGLang #1401, xLLM #713."""
    assert seconds("--colocate --sglang-disable-cuda-graph") > seconds("--colocate")


def test_partial_rollout_ends_before_the_tail() -> None:
    """Relax #153: −26.6 % step with twice the groups in flight."""
    partial = "--colocate --partial-rollout --over-sampling-batch-size 64"
    assert seconds(partial) < seconds("--colocate")


def test_staleness_overlaps_rollout_and_training() -> None:
    """Relax: 201.0 s on policy, 128.6 s with staleness."""
    sides = {"actor": 4, "rollout": 4}
    stale = seconds("--fully-async --max-staleness 1", **sides)
    assert stale < seconds("--fully-async --max-staleness 0", **sides)


def test_memory_and_time_of_a_plan_are_cheap() -> None:
    plan = plan_of("--colocate")
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        estimate_time(plan, estimate_memory(plan))
        best = min(best, time.perf_counter() - start)
    assert best < 5e-3


def test_more_experts_visited_than_there_are_give_an_estimate() -> None:
    words = "--colocate --num-experts 1 --moe-router-topk 2 --moe-ffn-hidden-size 512"
    evaluation = "--eval-interval 10 --eval-prompt-data a /data/a"
    assert estimate_time(plan_of(f"{words} {evaluation}")).unknown is None


def test_the_split_of_absurdly_many_gpus_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "--fully-async --max-staleness 1 --rollout-batch-size 10000000"
    plan = plan_of(f"{words} --global-batch-size 80000000", actor=10**7, rollout=10**7)
    found = estimate_time(plan)
    assert found.sides is not None
    calls = []
    tried = gpu_split.generate
    monkeypatch.setattr(gpu_split, "generate", lambda *words: calls.append(1) or tried(*words))
    assert gpu_split.even_split(found) is not None
    assert len(calls) < 200


LAYOUTS = st.builds(
    "--colocate --tensor-model-parallel-size {} --pipeline-model-parallel-size {}"
    " --context-parallel-size {} --calculate-per-token-loss --max-tokens-per-gpu {} {}".format,
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2]),
    st.sampled_from([2048, 9216, 32768]),
    st.sampled_from(["", "--recompute-granularity full --recompute-method uniform"]),
)


@given(LAYOUTS, st.sampled_from(["H20", "H100", "A100-80GB", "B200"]))
def test_no_step_is_faster_than_the_card(words: str, gpu: str) -> None:
    """No trainer beats the peak, and no rollout reads its weights faster than memory does."""
    found = estimate_time(plan_of(words, gpu=gpu, actor=16, rollout=16))
    assert found.train_mfu is not None
    assert 0 < found.train_mfu < 1
    assert found.job is not None
    assert found.job.engines is not None
    assert found.made is not None
    assert found.made.generated is not None
    decode, generated = found.job.engines.decode, found.made.generated
    assert decode.step(1.0, 0.0) >= 2.0 * 8e9 / found.job.card.hbm * 0.9
    assert generated.seconds >= generated.longest * decode.step(1.0, 0.0) * 0.5


@given(LAYOUTS)
def test_more_gpus_never_make_the_trainer_slower(words: str) -> None:
    few, many = (
        estimate_time(plan_of(words, actor=gpus, rollout=gpus)).phases for gpus in (16, 32)
    )
    assert few is not None
    assert many is not None
    assert many["train"].expected <= 1.01 * few["train"].expected


@given(st.sampled_from(["--max-staleness 0", "--max-staleness 1", "--max-staleness 2"]))
def test_an_asynchronous_step_is_as_long_as_its_slower_side(words: str) -> None:
    found = estimate_time(plan_of(f"--fully-async {words}", actor=4, rollout=4))
    assert found.sides is not None
    assert found.step_s is not None
    longest = max(found.sides.rollout.expected, found.sides.trainer.expected)
    assert found.step_s.expected >= longest
    together = found.sides.rollout.expected + found.sides.trainer.expected
    assert found.phases is not None
    assert found.step_s.expected <= together + found.phases["weight_sync"].expected + 5
