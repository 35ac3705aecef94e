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
from perf_doctor.estimate.flops import LayerFlops, layer_flops
from perf_doctor.estimate.loss import loss_bytes
from perf_doctor.estimate.parameters import Kind, Kinds, kinds_among, kinds_by_stage, vision_tower
from perf_doctor.estimate.shape import Batch, Recompute, Shape, Tower, Training
from perf_doctor.estimate.spent import Spent

_NONE = Recompute()
# Attention that stores its scores reads or writes 2 bytes of them so often: product, mask and
# softmax, dropout, product (Korthikanti et al. 2205.05198, section 4.1).
_SCORE_PASSES = 6


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


class _Products(NamedTuple):
    """Seconds of a layer's matrix products: multiplying, and moving operands and weights."""

    dense: float
    experts: float
    operands: float
    weights: float


def layer_time(training: Training, card: Card, kind: Kind, work: Work) -> LayerTime:
    """Return the seconds of one decoder layer.

    Matrices at the achievable rate after their operands have come from memory, attention by the
    tokens attended to, everything else by the bytes it moves, and its collectives. Backward
    multiplies and moves twice, and adds weight gradients up in fp32 (8 bytes per weight); where
    weights are frozen it multiplies once and adds up nothing.
    """
    shape, mesh, rates = training.shape, training.mesh, card.rates
    tokens, flops = work.tokens, layer_flops(shape, kind)
    products = _products(training, card, flops, tokens)
    core, scores = _attention(training, card, flops, work)
    dispatch = 0.0
    if kind.moe and shape.routed is not None:
        dispatch = expert_parallel(training, shape.routed, card, tokens)
    kept = _kept(shape, training, training.batch, kind) * tokens / (card.hbm * rates.hbm)
    if kind.linear:
        kept *= 1 + rates.scan_bytes
    ring = 0.0 if kind.linear else context_parallel(shape, mesh, card, tokens)
    across = tensor_parallel(training, card, tokens)
    matrix = products.dense + products.experts
    forward = Spent(
        matrix + core,
        rates.traffic_forward * kept + products.operands + products.weights + scores,
        across + ring + dispatch,
    )
    times, weights = (1.0, 1.0) if training.frozen == "base" else (2.0, 5.0)
    back = Spent(
        times * matrix + 2.5 * core,
        rates.traffic_backward * kept
        + times * products.operands
        + weights * products.weights
        + 2.0 * scores,
        (1.5 if mesh.sequence_parallel else 1.0) * across + 2.0 * ring + dispatch,
    )
    mlp = products.dense * flops.mlp / flops.dense + products.experts
    again = _again(training.recompute, forward, core, scores, mlp, dispatch)
    return LayerTime(forward, back, again)


def _products(training: Training, card: Card, flops: LayerFlops, tokens: float) -> _Products:
    """Return the matrix products of one forward pass over ``tokens``.

    Grouped products run slower the fewer tokens an expert gets. 16-bit weights are as many bytes
    as they cost FLOPs per token.
    """
    shape, mesh, rates = training.shape, training.mesh, card.rates
    gemm = card.flops * rates.gemm * (rates.quantized if training.batch.quantized else 1.0)
    stream, tp, routed = card.hbm * rates.hbm / rates.operands, mesh.tp, shape.routed
    operands = 2.0 * tokens * (flops.outer + flops.inner / tp)
    weights, experts = flops.dense / tp, 0.0
    if flops.experts and routed is not None:
        uneven, ranks = training.imbalance.expected, mesh.ep * mesh.etp
        each = tokens * routed.top_k * ranks / tp / routed.experts
        rate = gemm * each / (each + rates.grouped_half)
        experts = uneven * flops.experts * tokens / tp / rate
        copies = uneven * tokens * routed.top_k * mesh.etp / tp
        operands += 2.0 * copies * (flops.expert_outer + flops.expert_inner / mesh.etp)
        weights += flops.experts / routed.top_k * routed.experts / ranks
    return _Products(flops.dense * tokens / tp / gemm, experts, operands / stream, weights / stream)


def _attention(
    training: Training, card: Card, flops: LayerFlops, work: Work
) -> tuple[float, float]:
    """Return seconds of the attention core forward: products, and moving stored scores.

    Without FlashAttention all pairs are multiplied, masked ones too.
    """
    if not flops.pair:
        return 0.0, 0.0
    rates, tp = card.rates, training.mesh.tp
    core = flops.pair * work.attended * work.tokens / tp / (card.flops * rates.attention)
    if training.batch.flash:
        return core, 0.0
    pairs = training.shape.heads / tp * 2.0 * work.attended * work.tokens
    return 2.0 * core, 2.0 * _SCORE_PASSES * pairs / (card.hbm * rates.hbm)


def _again(
    recompute: Recompute,
    forward: Spent,
    core: float,
    scores: float,
    mlp: float,
    dispatch: float,
) -> Spent:
    """Return what a layer computes twice."""
    if recompute.granularity == "full":
        return forward
    if recompute.granularity == "none":
        return Spent()
    modules = recompute.modules
    matrix = link = memory = 0.0
    if "core_attn" in modules:
        matrix, memory = matrix + core, memory + scores
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
    """One micro-batch on one stage; ``host``: seconds the host needs to launch it all.

    ``idle``: seconds that the GPU waits for the host, forward and backward, however much work it
    has: the host must know how many tokens the experts get before it launches what follows.
    """

    forward: Spent
    backward: Spent
    host: float
    idle: tuple[float, float] = (0.0, 0.0)


def stage_times(training: Training, card: Card, work: Work) -> tuple[StageTime, ...]:
    """Return every stage; equal stages in the middle are computed once."""
    mesh = training.mesh
    by_stage = kinds_by_stage(training.shape, mesh.stages)
    layers = {kind: layer_time(training, card, kind, work) for kind in kinds_among(by_stage)}
    hop = Spent(link=mesh.vpp * pipeline_hop(training.shape, mesh, card, work.tokens))
    middle: dict[Kinds, StageTime] = {}
    found = []
    last = len(by_stage) - 1
    for index, kinds in enumerate(by_stage):
        stage = middle.get(kinds)
        if stage is None:
            stage = middle[kinds] = _stage(training, card, layers, kinds, hop)
        if index == 0 and training.shape.tower is not None and work.image_share:
            stage = _with_tower(training, training.shape.tower, card, work, stage)
        if index == last:
            stage = _with_head(training, card, work, stage)
        found.append(stage)
    return tuple(found)


def _stage(
    training: Training, card: Card, layers: dict[Kind, LayerTime], kinds: Kinds, hop: Spent
) -> StageTime:
    forward, backward, host, idle = hop, hop, 0.0, 0.0
    recompute, count = training.recompute, sum([times for _, times in kinds])
    share = 1.0
    if recompute.granularity == "full" and recompute.method == "block" and count:
        share = min(1.0, recompute.layers * training.mesh.vpp / count)
    again = 1.0 / 3.0 if recompute.granularity == "full" else 0.0
    if recompute.granularity == "selective":
        again = min(1.0 / 3.0, card.rates.again_host * len(recompute.modules))
    for kind, times in kinds:
        one = layers[kind]
        forward = forward.plus(one.forward, times)
        backward = backward.plus(one.backward, times).plus(one.again, times * share)
        launch = card.rates.launch_expert_s if kind.moe else card.rates.launch_dense_s
        host += times * launch * (1 + again * share)
        if kind.moe:
            idle += times * card.rates.sync_expert_s
    whole = recompute.granularity == "full" or "moe" in recompute.modules
    return StageTime(forward, backward, host, (idle, share * idle if whole else 0.0))


def _with_head(training: Training, card: Card, work: Work, stage: StageTime) -> StageTime:
    """Add head and loss: 2·h·V/tp FLOPs, and passes over the logits."""
    shape, mesh, rates = training.shape, training.mesh, card.rates
    columns = shape.vocab / mesh.tp
    heads = 1 + shape.mtp_layers
    product = 2.0 * shape.hidden * columns * work.tokens / card.flops / rates.gemm
    logits = loss_bytes(training.batch.loss).expected * columns * work.tokens
    moved = rates.loss_traffic * logits / (card.hbm * rates.hbm)
    forward = Spent(heads * product, heads * moved)
    backward = Spent(2.0 * heads * product, heads * moved)
    if shape.mtp_layers:
        kind = Kind(linear=False, moe=shape.routed is not None)
        one = layer_time(training, card, kind, work)
        forward = forward.plus(one.forward, shape.mtp_layers)
        backward = backward.plus(one.backward, shape.mtp_layers)
        backward = backward.plus(one.again, shape.mtp_layers)
    launch = rates.launch_expert_s if shape.routed is not None else rates.launch_dense_s
    return stage._replace(
        forward=stage.forward.plus(forward),
        backward=stage.backward.plus(backward),
        host=stage.host + shape.mtp_layers * launch,
    )


def _with_tower(
    training: Training, tower: Tower, card: Card, work: Work, stage: StageTime
) -> StageTime:
    """Add the vision tower: 2 FLOPs per parameter and patch, merge² patches per image token."""
    patches = work.tokens * work.image_share * tower.merge_size**2
    seconds = 2.0 * vision_tower(tower) * patches / (card.flops * 0.5 * card.rates.gemm)
    one = Spent(seconds)
    trained = training.frozen == "nothing"
    backward = stage.backward.plus(one, 2.0 if trained else 0.0)
    return stage._replace(forward=stage.forward.plus(one), backward=backward)


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
        spent, host, idle = stage.forward, stage.host / 3.0, stage.idle[0]
        if train:
            spent, host, idle = spent.plus(stage.backward), stage.host, sum(stage.idle)
        waiting = 0.0 if work.graphed else max(idle, host - spent.total)
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
