"""What one training process holds on the GPU: states, activations, logits, at its peaks.

Everything here is what torch's allocator counts as allocated; ``phases`` adds what lies around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate.activations import PerToken, checkpoint_bytes, layer_bytes
from perf_doctor.estimate.constants import FORMULAS, GIB, GROUPED_GEMM_GIB, WORKSPACE_GIB
from perf_doctor.estimate.interval import Interval, exactly, excess, independent_sum, larger
from perf_doctor.estimate.loss import forward_logits, logits_in_loss, mtp_logits
from perf_doctor.estimate.parameters import (
    Count,
    Kind,
    Kinds,
    Local,
    attention_matrices,
    count_stages,
    kinds_among,
    kinds_by_stage,
    on_one_rank,
    vision_tower,
)
from perf_doctor.estimate.schedule import chunks_in_flight
from perf_doctor.estimate.shape import Shape, Training
from perf_doctor.estimate.states import StateBytes, state_bytes
from perf_doctor.estimate.tower import tower_bytes

_NOTHING = exactly(0.0)


class Stage(NamedTuple):
    """One rank of a pipeline stage; everything in bytes.

    ``kept``: activations of all micro-batches in flight. ``logits`` and ``working``: what the loss
    and what one layer's backward pass need on top of them; they do not meet. ``fixed``: buffers
    and workspaces that stay.
    """

    pp_stage: int
    parameters: Local
    states: StateBytes
    in_flight: float
    kept: Interval
    logits: Interval
    working: Interval
    fixed: Interval

    @property
    def moment(self) -> Interval:
        """The larger of the loss and one layer's backward pass."""
        return larger(self.logits, self.working)


class _Common(NamedTuple):
    """What stages of a job share: computed once, and once per kind of stage."""

    per_token: dict[Kind, PerToken]
    fixed: Interval
    input_bytes: float
    passing: Interval
    tower: Interval
    states: dict[tuple[Count, bool], tuple[Local, StateBytes]]
    activations: dict[Kinds, tuple[Interval, Interval]]


def stages(training: Training) -> tuple[Stage, ...]:
    """Return every pipeline stage of a job."""
    shape, mesh, batch = training.shape, training.mesh, training.batch
    counts = count_stages(shape, mesh.stages)
    kinds = kinds_by_stage(shape, mesh.stages)
    recompute = training.recompute
    input_bytes = checkpoint_bytes(shape, mesh)
    common = _Common(
        per_token={
            kind: layer_bytes(shape, mesh, recompute, batch, kind) for kind in kinds_among(kinds)
        },
        fixed=fixed_buffers(shape, mesh.tp, fused_gradients=batch.fused_gradients),
        input_bytes=input_bytes,
        passing=batch.tokens * (2 * input_bytes),
        tower=_NOTHING if shape.tower is None else tower_bytes(training, shape.tower),
        states={},
        activations={},
    )
    return tuple(
        [
            _stage(training, index, count, held, common)
            for index, (count, held) in enumerate(zip(counts, kinds, strict=True))
        ]
    )


def _stage(training: Training, index: int, count: Count, kinds: Kinds, common: _Common) -> Stage:
    mesh, batch, shape = training.mesh, training.batch, training.shape
    parameters, states = _states(training, count, common, first=index == 0)
    in_flight = chunks_in_flight(mesh.pp, index, batch.micro_batches, mesh.vpp, mesh.group)
    found = common.activations.get(kinds)
    if found is None:
        found = common.activations[kinds] = _activations(training, kinds, common)
    kept, working = found[0] * in_flight, found[1]
    if index == 0 and shape.tower is not None:
        kept = kept + common.tower * in_flight
    logits = _NOTHING
    if index == mesh.pp - 1:
        columns = shape.vocab / mesh.tp
        logits = logits_in_loss(batch.loss, batch.tokens, columns, scaled=batch.scaled_logits)
        working = larger(working, _head_backward(training, columns))
        if shape.mtp_layers:
            kept = kept + _mtp(training, common)
            logits = logits + mtp_logits(batch.tokens, columns) * shape.mtp_layers
    return Stage(index, parameters, states, in_flight, kept, logits, working, common.fixed)


def forward_pass(training: Training, tokens: Interval, *, last: bool) -> tuple[Interval, Interval]:
    """Return activations and logits of a pass without gradients over ``tokens``, bytes.

    About one layer's activations at a time; then, on the last stage, the logits.
    """
    shape, mesh, batch = training.shape, training.mesh, training.batch
    kinds = kinds_among(kinds_by_stage(shape, mesh.stages))
    layers = [layer_bytes(shape, mesh, training.recompute, batch, kind) for kind in kinds]
    logits = forward_logits(tokens, shape.vocab / mesh.tp) if last else _NOTHING
    return _one_layer(training, layers, tokens), logits


def _states(
    training: Training, count: Count, common: _Common, *, first: bool
) -> tuple[Local, StateBytes]:
    """Return parameters and states of one rank; stages in the middle are often alike."""
    found = common.states.get((count, first))
    if found is None:
        mesh = training.mesh
        trained, frozen = _trained(training, on_one_rank(count, mesh), first=first)
        held = Local(trained.dense + frozen.dense, trained.expert + frozen.expert)
        found = held, state_bytes(trained, frozen, mesh, training.states)
        common.states[count, first] = found
    return found


def _trained(training: Training, local: Local, *, first: bool) -> tuple[Local, Local]:
    """Return the parameters of a rank that are trained, and those that are not."""
    if training.frozen == "base":
        adapters = training.adapter_parameters / training.mesh.pp / training.mesh.tp
        return Local(adapters, 0.0), local
    tower = training.shape.tower
    if training.frozen == "tower" and tower is not None and first:
        still = float(vision_tower(tower))
        return Local(local.dense - still, local.expert), Local(still, 0.0)
    return local, Local(0.0, 0.0)


def _activations(training: Training, kinds: Kinds, common: _Common) -> tuple[Interval, Interval]:
    """Return what one micro-batch keeps on a stage, and what one layer's backward adds.

    Full recompute keeps 2h/u per checkpoint and, while a checkpoint is computed again, all
    activations of its layers; block recompute does so for the first layers of each chunk only.
    """
    recompute, per_token = training.recompute, common.per_token
    tokens, layers = training.batch.tokens, sum([times for _, times in kinds])
    fixed = sum([per_token[kind].fixed * times for kind, times in kinds])
    routed = sum([per_token[kind].routed * times for kind, times in kinds])
    working = common.passing
    if recompute.granularity == "full" and layers:
        again = _one_layer(training, [per_token[kind] for kind, _ in kinds], tokens)
        if recompute.method == "block":
            checkpointed = min(layers, recompute.layers * training.mesh.vpp)
            share = 1 - checkpointed / layers
            fixed, routed = fixed * share + common.input_bytes * checkpointed, routed * share
            working = working + again
        else:
            size = min(recompute.layers, -(-layers // training.mesh.vpp))
            fixed, routed = common.input_bytes * -(-layers // size), 0.0
            working = working + again * size
    return _bytes(training, fixed, routed, tokens), working


def _bytes(training: Training, fixed: float, routed: float, tokens: Interval) -> Interval:
    """Return (fixed + imbalance · routed) · tokens."""
    uneven = training.imbalance
    return Interval(
        (fixed + uneven.low * routed) * tokens.low,
        (fixed + uneven.expected * routed) * tokens.expected,
        (fixed + uneven.high * routed) * tokens.high,
    )


def _one_layer(training: Training, layers: Iterable[PerToken], tokens: Interval) -> Interval:
    """Return all activations of the heaviest of the layers."""
    heaviest = max(layers, key=sum)
    return _bytes(training, heaviest.fixed, heaviest.routed, tokens)


def _mtp(training: Training, common: _Common) -> Interval:
    """Return what multi-token prediction keeps: a layer, two normed inputs and their projection."""
    layer = max(common.per_token.values(), key=sum)
    whole = training.recompute.granularity == "full"
    fixed = common.input_bytes if whole else layer.fixed
    extra = 4 * common.input_bytes
    times = training.shape.mtp_layers
    return _bytes(
        training,
        (fixed + extra) * times,
        0.0 if whole else layer.routed * times,
        training.batch.tokens,
    )


def _head_backward(training: Training, columns: float) -> Interval:
    """Return the backward pass of the head: a moment that can exceed the loss itself.

    Gradient of the logits 2·t·V/tp, a weight gradient of the head's size 2·V·h/tp, the hidden
    states (gathered over TP) and their gradient, 2h each.
    """
    hidden, tokens = training.shape.hidden, training.batch.tokens
    if training.batch.loss == "sft-chunked":
        return tokens * (4 * hidden) + exactly(2 * columns * hidden)
    return tokens * (2 * columns + 4 * hidden) + exactly(2 * columns * hidden)


@lru_cache(maxsize=128)
def fixed_buffers(shape: Shape, tp: int, *, fused_gradients: bool) -> Interval:
    """Return buffers and workspaces that stay, whatever the batch."""
    size = WORKSPACE_GIB * GIB
    if shape.routed is not None:
        size = size + GROUPED_GEMM_GIB * GIB
    return size + exactly(weight_gradient_buffers(shape, tp) if fused_gradients else 0.0)


def weight_gradient_buffers(shape: Shape, tp: int) -> float:
    """Return bytes of Transformer Engine's dummy weight gradients.

    With fused gradient accumulation one bf16 buffer stays per distinct shape of weight: qkv, out,
    fc1, fc2 and the fc1 and fc2 of one expert. 6 % of a 405B layer slice.
    """
    hidden, routed, matrices = shape.hidden, shape.routed, shape.mlp_matrices
    weights = attention_matrices(shape)
    attention = weights.split / tp + weights.whole
    has_dense = routed is None or (bool(shape.moe_layers) and not all(shape.moe_layers))
    block = matrices * hidden * shape.ffn / tp if has_dense else 0.0
    experts = matrices * hidden * routed.ffn if routed is not None else 0.0
    return 2.0 * (attention + block + experts)


def allocated(stage: Stage) -> Interval:
    """Return torch's peak of allocated bytes in a training step."""
    states = exactly(stage.states.resident)
    training = independent_sum(states, stage.fixed, stage.kept, stage.moment)
    return larger(training, states + stage.fixed + exactly(stage.states.step))


def uncertain(size: float) -> Interval:
    """Return how far formulas err on ``size`` bytes, around 0."""
    return excess(FORMULAS, size)
