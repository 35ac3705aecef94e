"""The estimate of a plan: phases that add up, the right peak, and the verdict."""

import math
import time

import pytest
from estimate_jobs import plan_of

from perf_doctor.estimate.explain import explain, explain_host
from perf_doctor.estimate.fits import fits, worst
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import estimate_memory, verdict_line

VARIANTS = {
    "colocate": "--colocate",
    "tp and pp": "--colocate --tensor-model-parallel-size 2 --sequence-parallel"
    " --pipeline-model-parallel-size 2",
    "offload": "--colocate --optimizer-cpu-offload --use-precision-aware-optimizer",
    "full": "--colocate --recompute-granularity full --recompute-method uniform"
    " --recompute-num-layers 1",
    "reference": "--colocate --use-kl-loss --ref-load /models/x",
    "lora": "--colocate --lora-rank 16",
    "fp16": "--colocate --fp16",
    "manual": "--colocate --manual-offload",
    "static": "--colocate --micro-batch-size 2 --qkv-format bshd",
}


@pytest.mark.parametrize("words", VARIANTS.values(), ids=VARIANTS)
def test_components_add_up_and_intervals_are_in_order(words):
    estimate = estimate_memory(plan_of(words))
    assert estimate.unknown is None
    for phase in estimate.phases:
        total = phase.total_gib
        assert sum(phase.components) == pytest.approx(total.expected)
        assert min(phase.components) >= 0
        assert 0 < total.low <= total.expected <= total.high < math.inf
    assert estimate.peak in estimate.phases
    assert estimate.peak_gib.expected == max(p.total_gib.expected for p in estimate.phases)


@pytest.mark.parametrize("words", VARIANTS.values(), ids=VARIANTS)
def test_each_figure_is_explained_with_its_own_number(words):
    estimate = estimate_memory(plan_of(words))
    for phase in estimate.phases:
        for line in explain(estimate, phase):
            assert line.gib == getattr(phase.components, line.figure)
            assert line.formula
            assert line.numbers
            assert "GiB" in str(line)
    assert explain_host(estimate).gib == estimate.host_gib_per_node.expected


def test_an_8b_in_colocate_is_what_its_arithmetic_says():
    """8.19e9 parameters whole on each of eight GPUs: 2 + 4 + 12/8 bytes."""
    estimate = estimate_memory(plan_of("--colocate"))
    states = estimate.stages[0].states
    assert states.resident / 8_190_735_360 == pytest.approx(7.5, rel=0.001)
    logits = next(p for p in estimate.phases if p.phase == "train").components.logits
    assert logits == pytest.approx(20 * 9216 * 151936 / 2**30, rel=0.001)


def test_phases_are_those_of_the_mode():
    def names(words, **resource):
        return [(p.phase, p.role) for p in estimate_memory(plan_of(words, **resource)).phases]

    colocate = names("--colocate")
    assert ("log_probs", "actor") in colocate
    assert ("reference", "actor") not in colocate
    assert ("reference", "actor") in names("--colocate --use-kl-loss --ref-load /models/x")
    words = "--fully-async --use-kl-loss --ref-load /models/x --global-batch-size 128"
    roles = {"actor": 4, "rollout": 4, "reference": 1, "actor_fwd": 1, "advantages": 0}
    asynchronous = names(words, **roles)
    assert ("reference", "reference") in asynchronous
    assert ("log_probs", "actor_fwd") in asynchronous
    assert ("log_probs", "actor") not in asynchronous


def test_a_role_that_only_looks_holds_weights_alone():
    plan = plan_of("--fully-async --use-kl-loss --ref-load /models/x",
                   actor=4, rollout=3, reference=1)  # fmt: skip
    phase = next(p for p in estimate_memory(plan).phases if p.role == "reference")
    assert phase.components.gradients == phase.components.optimizer == 0


def test_a_colocated_engine_leaves_something_behind_and_a_lone_one_does_not():
    def overhead(words, **resource):
        estimate = estimate_memory(plan_of(words, **resource))
        return next(p for p in estimate.phases if p.phase == "train").components.overhead

    shared = overhead("--colocate")
    apart = overhead("", actor=8, rollout=8)
    assert shared > apart + 2


def test_full_recompute_pays_with_time_and_not_with_memory():
    plain = estimate_memory(plan_of("--colocate")).peak_gib
    full = estimate_memory(plan_of(VARIANTS["full"])).peak_gib
    assert full.expected < plain.expected


def test_selective_modules_do_not_reach_a_bridged_model():
    words = "--colocate --recompute-granularity selective --recompute-modules mlp"
    bridged = estimate_memory(plan_of(words)).stages[0].kept.expected
    raw = estimate_memory(plan_of(words + " --megatron-to-hf-mode raw")).stages[0].kept.expected
    plain = estimate_memory(plan_of("--colocate")).stages[0].kept.expected
    assert raw < bridged <= plain


def test_cpu_adam_lies_on_the_host():
    plain, moved = (
        estimate_memory(plan_of(VARIANTS[name])).host_gib_per_node.expected
        for name in ("colocate", "offload")
    )
    # Eight shards of 1/8: 16 bytes per parameter come, 12 of the sleeping pool go.
    assert moved - plain == pytest.approx(4 * 8_190_735_360 / 2**30, rel=0.1)


def test_a_context_parallel_sample_is_divided():
    words = "--colocate --context-parallel-size 2 --calculate-per-token-loss"
    one, two = estimate_memory(plan_of("--colocate")), estimate_memory(plan_of(words))
    assert two.job.actor.batch.tokens.expected == one.job.actor.batch.tokens.expected


def test_one_sample_longer_than_the_budget_counts_whole():
    plan = plan_of("--colocate --max-tokens-per-gpu 4096")
    tokens = estimate_memory(plan).job.actor.batch.tokens
    assert tokens.low < 4096 < tokens.expected == 8192 < tokens.high


@pytest.mark.parametrize(
    ("total", "expected"),
    [((60, 70, 79), "yes"), ((70, 75, 81), "borderline"), ((81, 90, 99), "no")],
)
def test_the_interval_decides_and_not_its_middle(total, expected):
    assert fits(Interval(*total), 80.0) == expected


def test_the_worst_verdict_counts():
    assert worst(["yes", "no", "borderline"]) == "no"
    assert worst(["yes", "borderline"]) == "borderline"
    assert worst([]) == "yes"


def test_an_engine_whose_share_cannot_hold_its_weights_does_not_fit():
    estimate = estimate_memory(plan_of("--colocate --sglang-mem-fraction-static 0.1"))
    assert estimate.fits == "no"
    assert "does not hold its weights" in verdict_line(estimate)


def test_an_uncapped_sample_is_borderline_and_the_line_says_what_would_cap_it():
    words = "--loss-type sft --sft-oversize-strategy {} " + VARIANTS["full"].removeprefix(
        "--colocate"
    )
    keep = estimate_memory(plan_of(words.format("keep"), actor=8, sft=0))
    cut = estimate_memory(plan_of(words.format("truncate_right"), actor=8, sft=0))
    assert cut.fits == "yes"
    assert keep.fits == "borderline"
    assert "--sft-oversize-strategy truncate_right" in verdict_line(keep)


def test_the_host_counts_when_its_memory_is_given():
    plan = plan_of(VARIANTS["offload"])
    assert estimate_memory(plan).fits_host is None
    small, large = (estimate_memory(plan, host_ram_gb=size) for size in (100, 4000))
    assert (small.fits_host, small.fits) == ("no", "no")
    assert large.fits_host == "yes"


def test_the_line_names_peak_capacity_phase_stage_and_host():
    line = verdict_line(estimate_memory(plan_of("--colocate")))
    assert line.startswith("Fits: ")
    assert " of 95 GiB, " in line
    assert "; host " in line
    assert line.count("\n") == 0


def test_what_is_not_known_is_said():
    estimate = estimate_memory(plan_of("--colocate --tensor-model-parallel-size 3"))
    assert estimate.fits is None
    assert estimate.peak_gib is None
    assert verdict_line(estimate).startswith("Fits: not known, ")


@pytest.mark.parametrize(
    "words",
    [
        "--sglang-mem-fraction-static -1",
        "--sglang-mem-fraction-static 3.5",
        "--max-tokens-per-gpu 0",
        "--max-tokens-per-gpu 999999999999",
        "--rollout-max-response-len 0",
        "--optimizer-cpu-offload --use-precision-aware-optimizer --optimizer-offload-fraction 0",
        "--recompute-granularity full --recompute-method block --recompute-num-layers 99",
        "--num-layers 1000000",
    ],
)
def test_values_that_cannot_be_meant_give_an_estimate_or_a_reason(words):
    estimate = estimate_memory(plan_of(f"--colocate {words}"))
    assert verdict_line(estimate)
    for phase in estimate.phases:
        assert 0 <= phase.total_gib.low <= phase.total_gib.expected <= phase.total_gib.high


def test_a_card_of_unknown_size_has_phases_and_no_verdict():
    estimate = estimate_memory(plan_of("--colocate", gpu="P800"))
    assert estimate.fits is None
    assert estimate.peak_gib is not None
    assert "not known" in verdict_line(estimate)


def test_an_estimate_takes_well_under_a_millisecond():
    def best_s(plan):
        def took():
            start = time.perf_counter()
            for _ in range(5):
                estimate_memory(plan)
            return (time.perf_counter() - start) / 5

        return min(took() for _ in range(40))

    one = best_s(plan_of("--colocate"))
    nine = best_s(plan_of("--colocate --pipeline-model-parallel-size 8"
                          " --decoder-last-pipeline-num-layers 1"))  # fmt: skip
    assert one < 0.0012  # 0.2 ms on a quiet machine
    assert nine < 8 * one
