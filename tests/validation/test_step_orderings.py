"""Training steps that were measured with one setting changed: the estimate must order them alike.

Sizes are checked loosely, by the ranges that the sources leave; the order is what advice needs.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import pytest

from perf_doctor.data import table
from perf_doctor.estimate.interval import exactly
from perf_doctor.validation.run import Point
from perf_doctor.validation.step import Step, expected_step, step_of

POINTS: dict[str, Point] = {str(point["id"]): point for point in table("measured_time")["points"]}
SAME = ("model", "gpu", "n_gpus", "gbs", "seq", "dtype")
KNOBS = ("tp", "pp", "cp", "ep", "vpp", "mbs", "recompute")
# Pairs that the estimate is known to order wrongly, with the reason.
KNOWN_WRONG = {
    ("bridge-moonlight-rc-mla_up_proj", "bridge-moonlight-rc-moe_act"): (
        "3 % apart and bound by the host, where one module computed again costs like another"
    ),
}


class Pair(NamedTuple):
    """Two runs with one setting changed; ratios of the second to the first."""

    first: str
    second: str
    knob: str
    measured: float
    predicted: float

    @property
    def agrees(self) -> bool:
        return (self.measured - 1) * (self.predicted - 1) > 0


def settings(point: Point) -> dict[str, Any]:
    found: dict[str, Any] = {knob: point.get(knob) or 1 for knob in KNOBS}
    found["recompute"] = point.get("recompute") or "none"
    optimizer = str(point.get("optimizer") or "")
    found["offload"] = optimizer if "offload" in optimizer else ""
    return found


def known(point: Point) -> Step:
    step = step_of(point)
    assert isinstance(step, Step), step
    return step


def alike(first: Point, second: Point) -> bool:
    same_run = [
        (p["source"]["repo"], (p.get("extra") or {}).get("container")) for p in (first, second)
    ]
    return same_run[0] == same_run[1] and all(first.get(k) == second.get(k) for k in SAME)


def measured_pairs(least: float = 0.03) -> list[Pair]:
    """Pairs of one source whose steps differ by more than ``least`` and in one setting."""
    steps = {name: known(point) for name, point in POINTS.items()}
    pairs = []
    for first, second in combinations(POINTS, 2):
        if not alike(POINTS[first], POINTS[second]):
            continue
        one, other = settings(POINTS[first]), settings(POINTS[second])
        changed = [knob for knob in one if one[knob] != other[knob]]
        measured = steps[second].measured / steps[first].measured
        if len(changed) == 1 and abs(measured - 1) > least:
            predicted = expected_step(steps[second]) / expected_step(steps[first])
            pairs.append(Pair(first, second, changed[0], measured, predicted))
    return pairs


def seconds(name: str, **changes: Any) -> float:
    return expected_step(known({**POINTS[name], **changes}))


def ratio(first: str, second: str) -> float:
    return seconds(second) / seconds(first)


def test_measured_pairs_are_ordered_alike() -> None:
    pairs = measured_pairs()
    wrong = {(pair.first, pair.second) for pair in pairs if not pair.agrees}
    assert len(pairs) >= 35
    assert {pair.knob for pair in pairs} >= {"tp", "pp", "recompute", "offload"}
    assert wrong <= set(KNOWN_WRONG), wrong - set(KNOWN_WRONG)


def test_pairs_known_to_be_wrong_are_still_wrong() -> None:
    assert {(p.first, p.second) for p in measured_pairs() if not p.agrees} >= set(KNOWN_WRONG)


@pytest.mark.parametrize("model", ["175B", "530B"])
def test_removing_full_recompute_gains_what_korthikanti_measured(model: str) -> None:
    """2205.05198: 29–32 % throughput; here against recompute of the attention core alone."""
    gain = ratio(f"korthikanti2022-{model}-selective", f"korthikanti2022-{model}-full")
    assert 1.25 < gain < 1.36


def test_recomputing_the_dense_mlp_costs_a_sixth() -> None:
    """Megatron-Bridge, Llama-70B on 32 H100: 2.52 → 2.99 s, 16 % of throughput."""
    assert 1.10 < ratio("bridge-llama70sft-base", "bridge-llama70sft-mlp") < 1.25


def test_recomputing_expert_activations_is_nearly_free() -> None:
    """Moonlight on 8 H100: 2 %."""
    assert 1.0 < ratio("bridge-moonlight-rc-none", "bridge-moonlight-rc-moe_act") < 1.06


def test_cpu_offload_costs_what_qwen3_30b_measured() -> None:
    """16 H100, four fractions: 1.53–1.83 s per 1e9 parameters of a GPU."""
    none = seconds("bridge-qwen30b-offload-0")
    elements = 30.5e9 / 16 / 1e9
    for share in (0.25, 0.5, 0.75, 1):
        cost = seconds(f"bridge-qwen30b-offload-{share}") - none
        assert 1.45 < cost / (share * elements) < 1.9


def test_offload_matters_less_the_longer_the_step() -> None:
    """prime-rl: 2.3 × at 8K tokens per step, next to nothing from 32K on."""
    slower = [
        seconds("bridge-qwen30b-offload-1", gbs=gbs) / seconds("bridge-qwen30b-offload-0", gbs=gbs)
        for gbs in (8, 32, 128, 1024)
    ]
    assert slower == sorted(slower, reverse=True)
    assert slower[0] > 2.3
    assert slower[-1] < 1.15


def test_doubling_tp_costs_more_than_doubling_pp() -> None:
    """Megatron-Bridge, Llama-70B on 32 H100: TP 4 → 8 −28 %, PP 4 → 8 −5 % throughput."""
    wider = ratio("bridge-llama70sft-base", "bridge-llama70sft-tp8")
    longer = ratio("bridge-llama70sft-base", "bridge-llama70sft-pp8")
    assert 1.0 < longer < wider
    assert wider > 1.15


@pytest.mark.parametrize("length", [32768, 131072])
def test_context_parallel_instead_of_tp_costs_little_at_long_sequences(length: int) -> None:
    """SimuMax, Llama-70B on 8 B200: TP 2 CP 4 and TP 1 CP 8 within some percent."""
    names = [name for name in POINTS if f"seq{length}" in name and "llama3_70b" in name]
    both = [next(name for name in names if part in name) for part in ("tp2_cp4", "tp1_cp8")]
    measured = known(POINTS[both[1]]).measured / known(POINTS[both[0]]).measured
    assert ratio(both[0], both[1]) == pytest.approx(measured, abs=0.08)


def test_context_parallel_breaks_even_only_at_long_sequences() -> None:
    """cost-formulas 13: CP needs sequences of 16K and more."""
    costs = [
        seconds("mlm-h100-7.1B", seq=seq, cp=2, mbs=1) / seconds("mlm-h100-7.1B", seq=seq, mbs=1)
        for seq in (2048, 8192, 65536)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 1.0


@pytest.mark.parametrize(("ep", "faster"), [(16, True), (8, False)])
def test_deepep_pays_between_nodes_and_not_inside_one(ep: int, *, faster: bool) -> None:
    """16 H100 on 2 nodes: all-to-all 99.7 ms, DeepEP 48.0; inside a node they are alike."""
    step = known({**POINTS["bridge-qwen30b-epoverlap-off"], "ep": ep})
    training = step.run.training
    once, often = (
        expected_step(
            step._replace(run=_run(step, training._replace(deepep=deepep, imbalance=exactly(1.0))))
        )
        for deepep in (True, False)
    )
    assert (once < 0.9 * often) if faster else once == often


def _run(step: Step, training: Any) -> Any:
    run = step.run
    return type(run)(training, run.assumptions, run.last_rank_only)


def test_a_bubble_shrinks_with_micro_batches_and_with_chunks() -> None:
    """(pp − 1) ÷ (m · v) of a step: Megatron-LM's interleaved schedule, 2104.04473."""
    name = "korthikanti2022-175B-selective"
    per_sample = [seconds(name, gbs=gbs) / gbs for gbs in (16, 64, 256)]
    assert per_sample == sorted(per_sample, reverse=True)
    chunked = [seconds(name, gbs=16, vpp=vpp) for vpp in (1, 3, 12)]
    assert chunked == sorted(chunked, reverse=True)


def test_chunks_cost_hops_where_there_is_no_bubble_to_save() -> None:
    """Interleaving sends every activation v times; with many micro-batches that is all it does."""
    name = "korthikanti2022-175B-selective"
    saved = [seconds(name, gbs=gbs, vpp=1) - seconds(name, gbs=gbs, vpp=3) for gbs in (16, 4096)]
    assert saved[0] > 0 > saved[1]


def test_the_slowest_stage_sets_the_pace() -> None:
    """The head makes the last stage heavy: fewer layers there are faster, many slower."""
    point = POINTS["mlmci-gpt3_7b_tp1_pp4_memory_speed-dgx_h100"]
    steps = {
        last: expected_step(
            known({**point, "vpp": 1, "extra": {**point["extra"], "last_stage_layers": last}})
        )
        for last in (5, 8, 14)
    }
    assert steps[5] < steps[8] < steps[14]
