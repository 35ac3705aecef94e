"""Each figure with its formula, the numbers put in. Computed when somebody asks, never before."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.estimate.activations import checkpoint_bytes, layer_bytes
from perf_doctor.estimate.constants import (
    CONSTANTS,
    FORWARD_LOGIT_BYTES,
    FRAGMENTATION,
    GIB,
)
from perf_doctor.estimate.engine import (
    kv_bytes_per_token,
    mem_fraction,
    state_bytes_per_request,
)
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.loss import loss_bytes
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.parameters import Kind, count_stages, kinds_by_stage
from perf_doctor.estimate.phases import Phase
from perf_doctor.estimate.shape import Training
from perf_doctor.estimate.states import HOST_ADAM_BYTES, optimizer_bytes
from perf_doctor.estimate.training import Stage
from perf_doctor.frozen import frozen


@frozen
class Explanation:
    """One figure of one phase: ``formula`` in words, ``numbers`` put in, and its GiB."""

    figure: str
    formula: str
    numbers: str
    gib: float

    def __str__(self) -> str:
        """One line."""
        return f"{self.figure}: {self.formula} = {self.numbers} = {self.gib:.2f} GiB"


def explain(estimate: MemoryEstimate, phase: Phase) -> tuple[Explanation, ...]:
    """Return how each figure of a phase comes about, for the phases of a trainer or an engine."""
    job = estimate.job
    if job is None:
        return ()
    if phase.role in ("rollout", "genrm", "teacher"):
        return tuple(_engine(estimate, phase))
    training = job.actor if phase.role == "actor" else dict(job.forward_roles)[phase.role]
    if training is None or phase.pp_stage is None or phase.phase == "weight_sync":
        return ()
    return tuple(_trainer(estimate, training, phase))


def _trainer(estimate: MemoryEstimate, training: Training, phase: Phase) -> Iterator[Explanation]:
    index = phase.pp_stage or 0
    mesh, states, held = training.mesh, training.states, phase.components
    count = count_stages(training.shape, mesh.stages)[index]
    local = f"({_n(count.split)} ÷ {mesh.tp} + {_n(count.whole)}"
    local += f" + {_n(count.expert)} ÷ {mesh.ep * mesh.etp})" if count.expert else ")"
    yield Explanation(
        "weights",
        "bytes × (split ÷ TP + whole + experts ÷ (EP × ETP))",
        f"{_n(states.weight + states.cast_copy)} × {local}",
        held.weights,
    )
    if held.gradients:
        trained = _n(held.gradients * GIB / states.gradient)
        yield Explanation(
            "gradients",
            "bytes × trained parameters of the rank",
            f"{_n(states.gradient)} × {trained}",
            held.gradients,
        )
    if held.optimizer:
        shards = f"dense ÷ {mesh.dense_shards}"
        if count.expert:
            shards += f" + experts ÷ {mesh.expert_shards}"
        yield Explanation(
            "optimizer",
            "bytes × (dense ÷ (DP × CP) + experts ÷ expert DP)",
            f"{_n(optimizer_bytes(states))} × ({shards})",
            held.optimizer,
        )
    if phase.phase == "train" and phase.role == "actor":
        yield from _activations(training, estimate.stages[index], phase)
    if held.logits:
        yield _logits(training, phase)
    yield from _around(phase)


def _activations(training: Training, stage: Stage, phase: Phase) -> Iterator[Explanation]:
    shape, mesh, batch = training.shape, training.mesh, training.batch
    recompute = training.recompute
    kinds = kinds_by_stage(shape, mesh.stages)[stage.pp_stage]
    if recompute.granularity == "full":
        terms = f"2h/u = {_n(checkpoint_bytes(shape, mesh))} per checkpoint"
    else:
        parts = []
        for kind, times in kinds:
            one = layer_bytes(shape, mesh, recompute, batch, kind)
            parts.append(f"{times} {_name(kind)} × {_n(sum(one))}")
        terms = " + ".join(parts)
    yield Explanation(
        "activations",
        "micro-batches in flight × tokens × bytes per token and layer, and one layer's backward",
        f"{stage.in_flight:.3g} × {_range(batch.tokens)} × ({terms})"
        + (f", imbalance {_range(training.imbalance)}" if shape.routed else ""),
        phase.components.activations,
    )


def _name(kind: Kind) -> str:
    return ("linear " if kind.linear else "") + ("expert" if kind.moe else "dense") + " layers"


def _logits(training: Training, phase: Phase) -> Explanation:
    batch = training.batch
    if phase.phase == "train":
        each, tokens = loss_bytes(batch.loss, scaled=batch.scaled_logits), batch.tokens
    else:
        each, tokens = FORWARD_LOGIT_BYTES, batch.tokens
        if phase.phase == "reference" and batch.forward_tokens is not None:
            tokens = batch.forward_tokens
    return Explanation(
        "logits",
        "bytes × tokens × vocabulary ÷ TP",
        f"{_range(each)} × {_range(tokens)} × {_n(training.shape.vocab)} ÷ {training.mesh.tp}",
        phase.components.logits,
    )


def _around(phase: Phase) -> Iterator[Explanation]:
    held = phase.components
    yield Explanation(
        "communication", "NCCL and DeepEP buffers", _constants("NCCL", "DeepEP"), held.communication
    )
    yield Explanation(
        "overhead",
        "workspaces, dummy weight gradients, fragments, context, sleeping neighbours",
        f"fragments {FRAGMENTATION.expected - 1:.0%} of what is allocated, "
        + _constants("workspace", "CUDA context", "a sleeping SGLang"),
        held.overhead,
    )


def _constants(*beginnings: str) -> str:
    found = (constant for constant in CONSTANTS if constant.name.startswith(beginnings))
    return ", ".join(f"{one.name} {_range(one.value)}" for one in found)


def _engine(estimate: MemoryEstimate, phase: Phase) -> Iterator[Explanation]:
    job = estimate.job
    for engine, memory in zip(job.engines if job else (), estimate.engines, strict=True):
        if engine.kind != phase.role or memory is None or engine.shape is None:
            continue
        yield Explanation(
            "weights",
            "bytes × parameters ÷ TP",
            f"{_n(engine.weight_bytes)} × parameters ÷ {engine.tp * engine.pp}",
            phase.components.weights,
        )
        fraction, free = mem_fraction(engine), memory.static * (1 / GIB)
        pool = f"{memory.kv_tokens.expected:,.0f} tokens of"
        pool += f" {kv_bytes_per_token(engine, engine.shape):,.0f} bytes"
        if memory.state_slots is not None:
            each = state_bytes_per_request(engine, engine.shape) / 1e6
            pool += f", {memory.state_slots.expected:,.0f} states of {each:.1f} MB"
        yield Explanation(
            "kv_cache",
            "static fraction × free memory − weights",
            f"{_range(fraction)} of the GPU is {_range(free)} GiB; holds {pool}",
            phase.components.kv_cache,
        )
        yield Explanation(
            "overhead",
            "graphs, activations, context, a sleeping trainer",
            _constants("SGLang outside", "a sleeping trainer", "CUDA context"),
            phase.components.overhead,
        )


def explain_host(estimate: MemoryEstimate) -> Explanation | None:
    """Return how the host memory of a node comes about."""
    host, job = estimate.host_gib_per_node, estimate.job
    if host is None or job is None or not estimate.stages:
        return None
    stage = max(estimate.stages, key=lambda one: one.states.resident)
    parts = [f"CPU Adam {stage.states.host / GIB:.1f} ({HOST_ADAM_BYTES:.0f} bytes per element)"]
    copies = job.weight_copies * stage.states.weights / GIB
    parts.append(f"{job.weight_copies} weight copies {copies:.1f}")
    if job.sleep != "never":
        parts.append(f"sleeping pool ({job.sleep})")
    parts.append(_constants("host memory per GPU") + " GiB")
    return Explanation(
        "host",
        "GPUs per node × (pinned copies of a rank + processes)",
        f"{job.gpus_per_node} × ({' + '.join(parts)})",
        host.expected,
    )


def _n(number: float) -> str:
    """A number as a person reads it: 2, 9.6, 1,234, 1.53e9."""
    if number >= 1e7:
        return f"{number:.4g}".replace("e+0", "e").replace("e+", "e")
    return f"{number:,.0f}" if number == int(number) or number >= 1000 else f"{number:.3g}"


def _range(interval: Interval) -> str:
    if interval.low == interval.high:
        return _n(interval.expected)
    return f"{_n(interval.expected)} ({_n(interval.low)}–{_n(interval.high)})"
