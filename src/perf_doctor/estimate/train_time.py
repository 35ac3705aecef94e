"""Seconds of passes over a batch: layer by layer, stage by stage, through the pipeline."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.activations import layer_bytes
from perf_doctor.estimate.card import Card
from perf_doctor.estimate.communication import (
    context_parallel,
    expert_parallel,
    pipeline_hop,
    tensor_parallel,
)
from perf_doctor.estimate.efficiencies import (
    ATTENTION,
    GEMM,
    GROUPED_HALF,
    HBM,
    LAUNCH_DENSE_S,
    LAUNCH_EXPERT_S,
    SCAN_BYTES,
    TRAFFIC_BACKWARD,
    TRAFFIC_FORWARD,
)
from perf_doctor.estimate.flops import layer_flops
from perf_doctor.estimate.loss import loss_bytes
from perf_doctor.estimate.parameters import Kind, Kinds, kinds_among, kinds_by_stage, vision_tower
from perf_doctor.estimate.shape import Batch, Recompute, Shape, Tower, Training
from perf_doctor.estimate.spent import Spent

_NONE = Recompute()


class Work(NamedTuple):
    """A batch on one data-parallel rank.

    ``tokens``: of one micro-batch on one CP rank. ``attended``: tokens that one token looks back
    at on average, Σl² ÷ 2Σl. ``image_share``: of the tokens that are images. ``graphed``: CUDA
    graphs launch the layers, so that the host costs nothing.
    """

    tokens: float
    micro_batches: float
    attended: float
    image_share: float = 0.0
    graphed: bool = False


class LayerTime(NamedTuple):
    """One layer over one micro-batch; ``again``: what recompute repeats in backward."""

    forward: Spent
    backward: Spent
    again: Spent


def layer_time(training: Training, card: Card, kind: Kind, work: Work) -> LayerTime:
    """Return the seconds of one decoder layer.

    Matrices at the achievable rate, attention by the tokens attended to, grouped GEMMs slower the
    fewer tokens an expert gets, everything else by the bytes it moves, and its collectives.
    """
    shape, mesh, batch = training.shape, training.mesh, training.batch
    tokens, flops = work.tokens, layer_flops(shape, kind)
    gemm = card.flops * GEMM[card.family].expected
    dense = flops.dense * tokens / mesh.tp / gemm
    core_flops = flops.pair * work.attended * tokens / mesh.tp
    core = core_flops / (card.flops * ATTENTION[card.family].expected)
    experts = dispatch = 0.0
    routed = shape.routed
    if kind.moe and routed is not None:
        each = tokens * routed.top_k * mesh.ep * mesh.etp / mesh.tp / routed.experts
        rate = gemm * each / (each + GROUPED_HALF.expected)
        experts = training.imbalance.expected * flops.experts * tokens / mesh.tp / rate
        dispatch = expert_parallel(training, routed, card, tokens)
    kept = _kept(shape, training, batch, kind) * tokens / (card.hbm * HBM.expected)
    if kind.linear:
        kept *= 1 + SCAN_BYTES.expected
    ring = 0.0 if kind.linear else context_parallel(shape, mesh, card, tokens)
    across = tensor_parallel(shape, mesh, card, tokens)
    forward = Spent(
        dense + core + experts, TRAFFIC_FORWARD.expected * kept, across + ring + dispatch
    )
    back = Spent(
        2.0 * dense + 2.5 * core + 2.0 * experts,
        TRAFFIC_BACKWARD.expected * kept,
        1.5 * across + 2.0 * ring + dispatch,
    )
    mlp = flops.mlp * tokens / mesh.tp / gemm + experts
    again = _again(training.recompute, forward, core, mlp, dispatch)
    return LayerTime(forward, back, again)


def _again(recompute: Recompute, forward: Spent, core: float, mlp: float, dispatch: float) -> Spent:
    """Return what a layer computes twice."""
    if recompute.granularity == "full":
        return forward
    if recompute.granularity == "none":
        return Spent()
    modules = recompute.modules
    matrix = link = memory = 0.0
    if "core_attn" in modules:
        matrix += core
    if "mlp" in modules or "moe" in modules:
        matrix, link, memory = matrix + mlp, link + dispatch, memory + forward.memory / 2
    light = ("layernorm", "moe_act", "mla_up_proj", "shared_experts")
    memory += 0.15 * forward.memory * sum([name in modules for name in light])
    return Spent(matrix, min(memory, forward.memory), link)


def _kept(shape: Shape, training: Training, batch: Batch, kind: Kind) -> float:
    """Bytes per token that a layer keeps without recompute, imbalance included."""
    plain = batch if batch.sequence == 0.0 else batch._replace(sequence=0.0)
    found = layer_bytes(shape, training.mesh, _NONE, plain, kind)
    return found.fixed + training.imbalance.expected * found.routed


class StageTime(NamedTuple):
    """One micro-batch on one stage; ``host``: seconds the host needs to launch it all."""

    forward: Spent
    backward: Spent
    host: float


def stage_times(training: Training, card: Card, work: Work) -> tuple[StageTime, ...]:
    """Return every stage; equal stages in the middle are computed once."""
    mesh = training.mesh
    by_stage = kinds_by_stage(training.shape, mesh.stages)
    layers = {kind: layer_time(training, card, kind, work) for kind in kinds_among(by_stage)}
    hop = Spent(link=pipeline_hop(training.shape, mesh, card, work.tokens))
    middle: dict[Kinds, StageTime] = {}
    found = []
    last = len(by_stage) - 1
    for index, kinds in enumerate(by_stage):
        stage = middle.get(kinds)
        if stage is None:
            stage = middle[kinds] = _stage(training, layers, kinds, hop)
        if index == 0 and training.shape.tower is not None and work.image_share:
            stage = _with_tower(training, training.shape.tower, card, work, stage)
        if index == last:
            stage = _with_head(training, card, work, stage)
        found.append(stage)
    return tuple(found)


def _stage(
    training: Training, layers: dict[Kind, LayerTime], kinds: Kinds, hop: Spent
) -> StageTime:
    forward, backward, host = hop, hop, 0.0
    recompute, count = training.recompute, sum([times for _, times in kinds])
    share = 1.0
    if recompute.granularity == "full" and recompute.method == "block" and count:
        share = min(1.0, recompute.layers * training.mesh.vpp / count)
    again = 1.0 / 3.0 if recompute.granularity == "full" else 0.0
    for kind, times in kinds:
        one = layers[kind]
        forward = forward.plus(one.forward, times)
        backward = backward.plus(one.backward, times).plus(one.again, times * share)
        launch = LAUNCH_EXPERT_S.expected if kind.moe else LAUNCH_DENSE_S.expected
        host += times * launch * (1 + again * share)
    return StageTime(forward, backward, host)


def _with_head(training: Training, card: Card, work: Work, stage: StageTime) -> StageTime:
    """Add head and loss: 2·h·V/tp FLOPs, and logits that are moved about three times."""
    shape, mesh = training.shape, training.mesh
    columns = shape.vocab / mesh.tp
    heads = 1 + shape.mtp_layers
    product = 2.0 * shape.hidden * columns * work.tokens / card.flops / GEMM[card.family].expected
    logits = loss_bytes(training.batch.loss).expected * columns * work.tokens
    moved = logits / (card.hbm * HBM.expected)
    forward = Spent(heads * product, heads * moved)
    if shape.mtp_layers:
        kind = Kind(linear=False, moe=shape.routed is not None)
        one = layer_time(training, card, kind, work)
        forward = forward.plus(one.forward, shape.mtp_layers)
        stage = stage._replace(backward=stage.backward.plus(one.backward, shape.mtp_layers))
    backward = Spent(2.0 * heads * product, 2.0 * heads * moved)
    return StageTime(stage.forward.plus(forward), stage.backward.plus(backward), stage.host)


def _with_tower(
    training: Training, tower: Tower, card: Card, work: Work, stage: StageTime
) -> StageTime:
    """Add the vision tower: 2 FLOPs per parameter and patch, merge² patches per image token."""
    patches = work.tokens * work.image_share * tower.merge_size**2
    seconds = 2.0 * vision_tower(tower) * patches / (card.flops * 0.5 * GEMM[card.family].expected)
    one = Spent(seconds)
    trained = training.frozen == "nothing"
    backward = stage.backward.plus(one, 2.0 if trained else 0.0)
    return StageTime(stage.forward.plus(one), backward, stage.host)


def batch_time(training: Training, card: Card, work: Work, *, train: bool) -> Spent:
    """Return one batch through the pipeline: forward and backward, or forward only.

    m times the slowest stage, and once the others to fill and drain, divided by the chunks per
    stage when they are interleaved.
    """
    return through_pipeline(stage_times(training, card, work), training, work, train=train)


def through_pipeline(
    stages: tuple[StageTime, ...], training: Training, work: Work, *, train: bool
) -> Spent:
    """Return what ``batch_time`` does, for stages whose times are known."""
    totals = []
    for stage in stages:
        spent, host = stage.forward, stage.host / 3.0
        if train:
            spent, host = spent.plus(stage.backward), stage.host
        waiting = 0.0 if work.graphed else max(0.0, host - spent.total)
        totals.append(spent.plus(Spent(host=waiting)))
    slowest = max(totals, key=_total)
    filling = Spent()
    for spent in totals:
        filling = filling.plus(spent)
    filling = filling.plus(slowest, -1.0)
    chunks = training.mesh.vpp if train else 1
    return Spent().plus(slowest, work.micro_batches).plus(filling, 1.0 / chunks)


def _total(spent: Spent) -> float:
    return spent.total
