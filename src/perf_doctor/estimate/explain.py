"""Each figure with its formula, the numbers put in. Computed when somebody asks, never before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perf_doctor.estimate.activations import checkpoint_bytes, layer_bytes
from perf_doctor.estimate.constants import (
    COMMUNICATION_GIB,
    CONTEXT_GIB,
    DEEPEP_GIB,
    ENGINE_EXTRA_GIB,
    FORWARD_LOGIT_BYTES,
    FRAGMENTATION,
    GIB,
    GROUPED_GEMM_GIB,
    HOST_BASE_GIB,
    SLEEPING_ENGINE_GIB,
    SLEEPING_TRAINER_GIB,
    WORKSPACE_GIB,
)
from perf_doctor.estimate.engine import (
    kv_bytes_per_token,
    mem_fraction,
    state_bytes_per_request,
)
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.loss import loss_bytes
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.parameters import count_stages, kinds_by_stage
from perf_doctor.estimate.phases import Phase
from perf_doctor.estimate.shape import Training
from perf_doctor.estimate.shown import listed, named
from perf_doctor.estimate.states import HOST_ADAM_BYTES, optimizer_bytes
from perf_doctor.estimate.training import Stage
from perf_doctor.frozen import frozen
from perf_doctor.language import said


@frozen
class Explanation:
    """One figure of one phase: ``formula`` in words, ``numbers`` put in, and its GiB."""

    figure: str
    formula: str
    numbers: str
    gib: float

    def __str__(self) -> str:
        """One line."""
        return said(
            "{figure}: {formula} = {numbers} = {gib} GiB",
            figure=named(self.figure),
            formula=self.formula,
            numbers=self.numbers,
            gib=f"{self.gib:.2f}",
        )


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
        said("bytes × (split ÷ TP + whole + experts ÷ (EP × ETP))"),
        f"{_n(states.weight + states.cast_copy)} × {local}",
        held.weights,
    )
    if held.gradients:
        trained = _n(held.gradients * GIB / states.gradient)
        yield Explanation(
            "gradients",
            said("bytes × trained parameters of the rank"),
            f"{_n(states.gradient)} × {trained}",
            held.gradients,
        )
    if held.optimizer:
        shards = said("dense ÷ {shards}", shards=mesh.dense_shards)
        if count.expert:
            shards += " + " + said("experts ÷ {shards}", shards=mesh.expert_shards)
        yield Explanation(
            "optimizer",
            said("bytes × (dense ÷ (DP × CP) + experts ÷ expert DP)"),
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
        terms = said("2h/u = {bytes} per checkpoint", bytes=_n(checkpoint_bytes(shape, mesh)))
    else:
        parts = []
        for kind, times in kinds:
            one = layer_bytes(shape, mesh, recompute, batch, kind)
            parts.append(said(_LAYERS[kind.linear, kind.moe], count=times, bytes=_n(sum(one))))
        terms = " + ".join(parts)
    numbers = f"{stage.in_flight:.3g} × {_range(batch.tokens)} × ({terms})"
    if shape.routed:
        imbalance = _range(training.imbalance)
        numbers = said("{numbers}, imbalance {imbalance}", numbers=numbers, imbalance=imbalance)
    yield Explanation(
        "activations",
        said(
            "micro-batches in flight × tokens × bytes per token and layer, and one layer's backward"
        ),
        numbers,
        phase.components.activations,
    )


_LAYERS: Final = {
    (False, False): "{count} dense layers × {bytes}",
    (False, True): "{count} expert layers × {bytes}",
    (True, False): "{count} linear dense layers × {bytes}",
    (True, True): "{count} linear expert layers × {bytes}",
}  # messages


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
        said("bytes × tokens × vocabulary ÷ TP"),
        f"{_range(each)} × {_range(tokens)} × {_n(training.shape.vocab)} ÷ {training.mesh.tp}",
        phase.components.logits,
    )


def _around(phase: Phase) -> Iterator[Explanation]:
    held = phase.components
    yield Explanation(
        "communication",
        said("NCCL and DeepEP buffers"),
        _listed(
            (said("NCCL and process groups of a trainer"), COMMUNICATION_GIB),
            (said("DeepEP buffers"), DEEPEP_GIB),
        ),
        held.communication,
    )
    yield Explanation(
        "overhead",
        said("workspaces, dummy weight gradients, fragments, context, sleeping neighbours"),
        said(
            "fragments {share} of what is allocated, {constants}",
            share=f"{FRAGMENTATION.expected - 1:.0%}",
            constants=_listed(
                (said("workspace"), WORKSPACE_GIB),
                (said("workspace of grouped GEMMs"), GROUPED_GEMM_GIB),
                (said("CUDA context and modules"), CONTEXT_GIB),
                (said("a sleeping SGLang engine"), SLEEPING_ENGINE_GIB),
            ),
        ),
        held.overhead,
    )


def _listed(*constants: tuple[str, Interval]) -> str:
    """Return constants with their values, by the names that their table gives them."""
    return listed(f"{name} {_range(value)}" for name, value in constants)


def _engine(estimate: MemoryEstimate, phase: Phase) -> Iterator[Explanation]:
    job = estimate.job
    for engine, memory in zip(job.engines if job else (), estimate.engines, strict=True):
        if engine.kind != phase.role or memory is None or engine.shape is None:
            continue
        yield Explanation(
            "weights",
            said("bytes × parameters ÷ TP"),
            said(
                "{bytes} × parameters ÷ {ranks}",
                bytes=_n(engine.weight_bytes),
                ranks=engine.tp * engine.pp,
            ),
            phase.components.weights,
        )
        fraction, free = mem_fraction(engine), memory.static * (1 / GIB)
        pool = said(
            "{fraction} of the GPU is {gib} GiB; holds {tokens} tokens of {bytes} bytes",
            fraction=_range(fraction),
            gib=_range(free),
            tokens=f"{memory.kv_tokens.expected:,.0f}",
            bytes=f"{kv_bytes_per_token(engine, engine.shape):,.0f}",
        )
        if memory.state_slots is not None:
            pool = said(
                "{pool}, {states} states of {size} MB",
                pool=pool,
                states=f"{memory.state_slots.expected:,.0f}",
                size=f"{state_bytes_per_request(engine, engine.shape) / 1e6:.1f}",
            )
        yield Explanation(
            "kv_cache",
            said("static fraction × free memory − weights"),
            pool,
            phase.components.kv_cache,
        )
        yield Explanation(
            "overhead",
            said("graphs, activations, context, a sleeping trainer"),
            _listed(
                (said("CUDA context and modules"), CONTEXT_GIB),
                (said("a sleeping trainer, NCCL groups destroyed"), SLEEPING_TRAINER_GIB),
                (said("SGLang outside its static share: graphs, activations"), ENGINE_EXTRA_GIB),
            ),
            phase.components.overhead,
        )


def explain_host(estimate: MemoryEstimate) -> Explanation | None:
    """Return how the host memory of a node comes about."""
    host, job = estimate.host_gib_per_node, estimate.job
    if host is None or job is None or not estimate.stages:
        return None
    stage = max(estimate.stages, key=lambda one: one.states.resident)
    adam, copies = stage.states.host / GIB, job.weight_copies * stage.states.weights / GIB
    parts = [
        said(
            "CPU Adam {gib} ({bytes} bytes per element)",
            gib=f"{adam:.1f}",
            bytes=f"{HOST_ADAM_BYTES:.0f}",
        ),
        said("{copies} weight copies {gib}", copies=job.weight_copies, gib=f"{copies:.1f}"),
    ]
    if job.sleep != "never":
        parts.append(said("sleeping pool ({mode})", mode=job.sleep))
    each = said("host memory per GPU for processes, engine, Ray, object store")
    parts.append(f"{_listed((each, HOST_BASE_GIB))} GiB")
    return Explanation(
        "host",
        said("GPUs per node × (pinned copies of a rank + processes)"),
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
