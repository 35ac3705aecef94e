"""Activations: table values, and what must never grow when something is recomputed or split."""

import pytest
from estimate_jobs import DENSE, EXPERTS, HYBRID, mesh_of, shapes, sizes, token_counts, training_of
from hypothesis import given

from perf_doctor.estimate.activations import layer_bytes
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.parameters import Kind
from perf_doctor.estimate.schedule import chunks_in_flight
from perf_doctor.estimate.shape import Batch, Recompute, Routed, Shape
from perf_doctor.estimate.training import allocated, stages

QWEN3_8B = Shape(
    layers=36, hidden=4096, vocab=151936, heads=32, groups=8, head_dim=128, ffn=12288, qk_norm=True
)
QWEN3_30B = Shape(
    layers=48, hidden=2048, vocab=151936, heads=32, groups=4, head_dim=128, ffn=0, qk_norm=True,
    routed=Routed(128, 8, 768, 0, False), moe_layers=(True,) * 48,
)  # fmt: skip
BATCH = Batch(tokens=exactly(1.0), micro_batches=1, loss="rl")


def kib(shape: Shape, *modules: str, moe: bool = False) -> float:
    recompute = Recompute("selective", modules=frozenset(modules)) if modules else Recompute()
    one = layer_bytes(shape, mesh_of(shape), recompute, BATCH, Kind(linear=False, moe=moe))
    return sum(one) / 1024


@pytest.mark.parametrize(
    ("shape", "modules", "expected"),
    [
        (QWEN3_8B, (), 142),
        (QWEN3_8B, ("layernorm",), 126),
        (QWEN3_8B, ("mlp",), 70),
        (QWEN3_30B, (), 120),
        (QWEN3_30B, ("moe_act",), 108),
        (QWEN3_30B, ("layernorm", "moe_act"), 100),
        (QWEN3_30B, ("moe",), 51),
    ],
)
def test_bytes_per_token_and_layer_are_those_of_the_table(shape, modules, expected):
    assert kib(shape, *modules, moe=shape.routed is not None) == pytest.approx(expected, abs=1.5)


def test_attention_that_stores_scores_follows_korthikanti():
    """34·s·b·h + 5·a·s²·b per layer of a GPT with dropout (arXiv 2205.05198, eq. 2)."""
    gpt = Shape(
        layers=1, hidden=512, vocab=50304, heads=8, groups=8, head_dim=64, ffn=2048,
        gated_mlp=False, rms_norm=False, rotary=False, linear_bias=True,
    )  # fmt: skip
    batch = BATCH._replace(sequence=1024, flash=False, hidden_dropout=True, attention_dropout=True)
    one = layer_bytes(gpt, mesh_of(gpt), Recompute(), batch, Kind(linear=False, moe=False))
    assert sum(one) == 34 * 512 + 5 * 8 * 1024


@given(shapes, token_counts)
def test_recomputing_more_keeps_less(shape, tokens):
    def kept(recompute):
        return stages(training_of(shape, tokens=tokens, recompute=recompute))[0].kept.expected

    none = kept(Recompute())
    selective = kept(Recompute("selective", modules=frozenset({"layernorm", "mlp", "moe_act"})))
    block = kept(Recompute("full", "block", 4))
    full = kept(Recompute("full"))
    assert full <= block <= none
    assert full <= selective <= none


@given(shapes, token_counts, sizes)
def test_memory_grows_with_tokens_and_layers_and_shrinks_with_tp(shape, tokens, tp):
    def peak(shape, tokens, tp):
        mesh = mesh_of(shape, tp=tp)
        return allocated(stages(training_of(shape, mesh, tokens=tokens))[0]).expected

    base = peak(shape, tokens, tp)
    assert 0 < base < peak(shape, tokens + 128, tp)
    twice = shape._replace(
        layers=16,
        moe_layers=shape.moe_layers * 2,
        linear_layers=shape.linear_layers * 2,
    )
    assert base < peak(twice, tokens, tp)
    assert peak(shape, tokens, 2 * tp) < base


@given(token_counts)
def test_uneven_routing_grows_the_experts_part_alone(tokens):
    even = stages(training_of(EXPERTS, tokens=tokens))[0].kept
    uneven = stages(training_of(EXPERTS, tokens=tokens, imbalance=Interval(1.0, 1.25, 1.5)))[0].kept
    assert uneven.low == even.low < uneven.expected < uneven.high
    assert (
        stages(training_of(DENSE, imbalance=Interval(1.0, 1.25, 1.5)))[0].kept.low
        == stages(training_of(DENSE))[0].kept.high
    )


def test_linear_layers_keep_more_than_full_ones():
    mesh = mesh_of(HYBRID)
    linear = layer_bytes(HYBRID, mesh, Recompute(), BATCH, Kind(linear=True, moe=False))
    full = layer_bytes(HYBRID, mesh, Recompute(), BATCH, Kind(linear=False, moe=False))
    assert sum(linear) > sum(full)


@pytest.mark.parametrize(
    ("pp", "stage", "micro_batches", "vpp", "expected"),
    [
        (1, 0, 8, 1, 1.0),
        (4, 0, 8, 1, 4.0),
        (4, 3, 8, 1, 1.0),
        (4, 0, 2, 1, 2.0),
        (4, 3, 8, 3, 9 / 3),
        (4, 0, 8, 3, 15 / 3),
        (4, 0, 1, 3, 1.0),
    ],
)
def test_micro_batches_in_flight_follow_the_schedule(pp, stage, micro_batches, vpp, expected):
    assert chunks_in_flight(pp, stage, micro_batches, vpp, pp) == expected


@given(shapes)
def test_the_loss_lies_on_the_last_stage_alone(shape):
    held = stages(training_of(shape, mesh_of(shape, pp=4)))
    assert [stage.logits.expected > 0 for stage in held] == [False, False, False, True]
    assert [stage.in_flight for stage in held] == [4, 3, 2, 1]


def test_rl_keeps_sixteen_to_twenty_four_bytes_per_logit():
    logits = stages(training_of(tokens=1000))[0].logits
    assert (logits.low, logits.expected, logits.high) == tuple(
        each * 1000 * 32000 for each in (16, 20, 24)
    )


def test_chunked_sft_never_builds_all_logits():
    whole = stages(training_of(loss="sft", tokens=32768))[0].logits.expected
    chunked = stages(training_of(loss="sft-chunked", tokens=32768))[0].logits.expected
    assert chunked == whole / 32
