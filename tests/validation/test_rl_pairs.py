"""Pairs of measured RL phases that differ in one thing: the estimate must order them alike."""

from __future__ import annotations

import pytest

from perf_doctor.data import table
from perf_doctor.estimate.lengths import Lengths
from perf_doctor.estimate.rollout_time import Demand, rollout
from perf_doctor.validation.rl_phases import judge_phases
from perf_doctor.validation.rl_run import Generation, rl_run
from perf_doctor.validation.run import Point

POINTS: dict[str, Point] = {str(point["id"]): point for point in table("measured_rl")["points"]}


def seconds(name: str, of: str) -> tuple[float, float]:
    """Seconds of a phase of a measured run: predicted and measured."""
    found = next(one for one in judge_phases([POINTS[name]]) if one.metric == of)
    assert found.predicted is not None
    assert found.measured is not None
    return found.predicted.expected, found.measured


def predicted(name: str, of: str) -> float:
    return seconds(name, of)[0]


@pytest.mark.parametrize(
    ("faster", "slower", "of"),
    [
        # Engines of one GPU against four: 144 and 355 s.
        ("vmp-dapo7b-5", "vmp-dapo7b-4", "generation"),
        # 32, 16 and 8 GPUs: 74, 99 and 144 s; updates 55, 93 and 167.
        ("vmp-dapo7b-9", "vmp-dapo7b-8", "generation"),
        ("vmp-dapo7b-8", "vmp-dapo7b-7", "generation"),
        ("vmp-dapo7b-9", "vmp-dapo7b-8", "update"),
        ("vmp-dapo7b-8", "vmp-dapo7b-7", "update"),
        # CUDA graphs: 62.7 against 68.1 s.
        ("vmp-grpo_qwen2.5_7b-8", "vmp-grpo_qwen2.5_7b-7", "generation"),
        # Answers of 3,645 tokens against 3,131: 1,176 and 993 s; updates 906 and 770.
        ("vmp-dapo14b-9", "vmp-dapo14b-11", "generation"),
        ("vmp-dapo14b-9", "vmp-dapo14b-11", "update"),
        # Packed micro-batches against single samples: 102 and 300 s.
        ("vmp-grpo_qwen2.5_7b-2", "vmp-grpo_qwen2.5_7b-7", "update"),
        # Two data-parallel ranks against four, single samples: 219 and 300 s.
        ("vmp-grpo_qwen2.5_7b-9", "vmp-grpo_qwen2.5_7b-7", "update"),
        # Full recompute of single samples: 253 against 219 s.
        ("vmp-grpo_qwen2.5_7b-9", "vmp-grpo_qwen2.5_7b-12", "update"),
        # Fused rotary embeddings: log-probs 67 against 84 s, update 167 against 203.
        ("vmp-dapo7b-7", "vmp-dapo7b-5", "log_probs"),
        ("vmp-dapo7b-7", "vmp-dapo7b-5", "update"),
        # The policy's own step: Llama-8B 93 s on 16 GPUs, Qwen3-30B 192 s on 32.
        ("m105", "m102", "step"),
        # Qwen3-32B 393 s, Qwen3-30B-A3B 225 s on the same GPUs.
        ("nemorl-30b-32", "nemorl-32b-32", "step"),
    ],
)
def test_measured_pairs_are_ordered_alike(faster: str, slower: str, of: str) -> None:
    """verl_megatron_practice (dapo7b, dapo14b, grpo_qwen2.5_7b) and NeMo RL's summary."""
    less, more = seconds(faster, of), seconds(slower, of)
    assert less[1] < more[1]
    assert less[0] < more[0]


def test_twice_the_gpus_do_not_halve_generation() -> None:
    """dapo7b: 144 s on 8 GPUs, 74 on 32, with a sixteenth of that for the longest answer alone."""
    ratio = predicted("vmp-dapo7b-7", "generation") / predicted("vmp-dapo7b-9", "generation")
    assert 1.5 < ratio < 2.6


def test_packing_saves_what_was_measured() -> None:
    """grpo_qwen2.5_7b rows 2 and 7: 102 against 300 s, 2.9 ×."""
    packed, single = (predicted(f"vmp-grpo_qwen2.5_7b-{row}", "update") for row in ("2", "7"))
    assert 2.0 < single / packed < 6.0


def test_rollouts_that_flow_into_each_other_do_not_wait_for_the_longest_answer() -> None:
    """verl, 128 H20: generation that is waited for 178 s in colocate, 33 s with partial rollout."""
    made = rl_run(POINTS["vmp-dapo7b-9"]).generation
    assert isinstance(made, Generation)
    lengths = Lengths(160, 1300, 0.8, 8192)
    few, many = (Demand(prompts, 16, prompts, False, True) for prompts in (64, 1024))
    gains = []
    for demand in (few, many):
        flowing = demand._replace(interrupted=True)
        whole, cut = (
            rollout(one, lengths, made.decode, made.engines, made.running)
            for one in (demand, flowing)
        )
        assert cut.tail == 0.0
        assert cut.interval.low < cut.seconds < cut.interval.high
        gains.append(whole.seconds / cut.seconds)
    assert gains[0] > gains[1] > 0.7
    assert gains[0] > 2.0
