"""GiB on one GPU, phase by phase, role by role, pipeline stage by pipeline stage."""

from __future__ import annotations

from math import sqrt
from typing import Literal, NamedTuple

from perf_doctor.estimate.constants import (
    COMMUNICATION_GIB,
    COMMUNICATION_SMALL_GIB,
    CONTEXT_GIB,
    DEEPEP_GIB,
    FORMULAS,
    FRAGMENTATION,
    GIB,
    SLEEPING_ENGINE_GIB,
)
from perf_doctor.estimate.engine import Engine, EngineMemory
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.job import Job, Role
from perf_doctor.estimate.shape import Shape, Training
from perf_doctor.estimate.training import Stage, forward_pass

PhaseName = Literal[
    "init", "rollout", "weight_sync", "reference", "log_probs", "train", "optimizer"
]
_NOTHING = exactly(0.0)
_FORMULAS_BELOW, _FORMULAS_ABOVE = (1 - FORMULAS.low) ** 2, (FORMULAS.high - 1) ** 2
_FRAGMENTS = (FRAGMENTATION.low - 1, FRAGMENTATION.expected - 1, FRAGMENTATION.high - 1)


class Components(NamedTuple):
    """GiB by what they are for, most likely values; they add up to the phase's expected total.

    ``kv_cache`` includes the state pool of linear attention; ``overhead`` is workspaces,
    fragments of the allocator, contexts, and what a sleeping neighbour keeps.
    """

    weights: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    activations: float = 0.0
    logits: float = 0.0
    kv_cache: float = 0.0
    communication: float = 0.0
    overhead: float = 0.0


class Phase(NamedTuple):
    """One GPU in one phase; ``pp_stage`` None where stages do not differ."""

    phase: PhaseName
    role: Role
    pp_stage: int | None
    total_gib: Interval
    components: Components


class Surroundings(NamedTuple):
    """GiB around a trainer's allocator, whatever the phase; its parts err on their own.

    ``below`` and ``above``: squares of how far the sum may lie from ``expected``.
    """

    communication: float
    overhead: float
    below: float
    above: float


def communication_gib(training: Training) -> Interval:
    """Return NCCL and DeepEP buffers of a trainer rank."""
    mesh = training.mesh
    alone = mesh.tp == mesh.pp == mesh.cp == mesh.ep == 1
    groups = COMMUNICATION_SMALL_GIB if alone else COMMUNICATION_GIB
    return independent_sum(groups, DEEPEP_GIB) if training.deepep else groups


def surroundings(training: Training, neighbour: Interval = _NOTHING) -> Surroundings:
    """Return what lies around the trainer's allocator."""
    communication = communication_gib(training)
    parts = (CONTEXT_GIB, communication, neighbour)
    return Surroundings(
        communication=communication.expected,
        overhead=CONTEXT_GIB.expected + neighbour.expected,
        below=sum([(part.expected - part.low) ** 2 for part in parts]),
        above=sum([(part.high - part.expected) ** 2 for part in parts]),
    )


def neighbour_gib(job: Job, engines: tuple[EngineMemory | None, ...]) -> Interval:
    """Return what engines on the trainer's GPU keep while it works: a residue, or everything."""
    kept = _NOTHING
    for engine, memory in zip(job.engines, engines, strict=True):
        if not engine.shares:
            continue
        if job.engines_sleep or memory is None:
            kept = kept + SLEEPING_ENGINE_GIB
        else:
            kept = kept + (memory.static + memory.extra) * (1 / GIB)
    return kept


def trainer_phases(
    job: Job, training: Training, stages: tuple[Stage, ...], around: Surroundings
) -> list[Phase]:
    """Return the phases of the role that trains.

    Training stage by stage. Of the others, which hold the states and little besides, only the
    stages that can be the heaviest: the one with the most states, and the last with its logits.
    """
    heaviest = max(stages, key=_resident)
    phases = [_holding("init", heaviest, around)]
    passes: list[tuple[PhaseName, Interval]] = []
    if job.reference_pass:
        passes.append(("reference", training.batch.forward_tokens or training.batch.tokens))
    if job.log_probs_pass:
        passes.append(("log_probs", training.batch.tokens))
    last = stages[-1]
    for name, tokens in passes:
        for stage in (heaviest,) if heaviest is last else (heaviest, last):
            moment = forward_pass(training, tokens, last=stage is last)
            phases.append(_forward(name, "actor", stage, around, moment))
    phases += [_train(stage, around) for stage in stages]
    phases.append(_holding("optimizer", max(stages, key=_stepping), around))
    return phases


def forward_phases(
    role: Role, training: Training, stages: tuple[Stage, ...], around: Surroundings
) -> list[Phase]:
    """Return the phases of a role that only runs forward passes: it holds weights alone."""
    name: PhaseName = "reference" if role == "reference" else "log_probs"
    phases = []
    for stage in stages:
        moment = forward_pass(training, training.batch.tokens, last=stage is stages[-1])
        phases.append(_forward(name, role, stage, around, moment, weights_only=True))
    return phases


def _stepping(stage: Stage) -> float:
    return stage.states.resident + stage.states.step


def holding_phase(name: PhaseName, stages: tuple[Stage, ...], around: Surroundings) -> Phase:
    """Return the heaviest stage in a phase that holds the states and little besides."""
    return _holding(name, max(stages, key=_resident), around)


def _resident(stage: Stage) -> float:
    return stage.states.resident


def _phase(
    name: PhaseName,
    role: Role,
    stage: int | None,
    held: Components,
    around: Surroundings,
    *uncertain: Interval,
) -> Phase:
    """Add fragments and surroundings to what the allocator holds.

    ``held``: GiB that are allocated; ``uncertain``: bytes among them that are not known exactly.
    """
    allocated = sum(held)
    low, more, high = _FRAGMENTS
    square = allocated * allocated
    below = around.below + ((more - low) ** 2 + _FORMULAS_BELOW) * square
    above = around.above + ((high - more) ** 2 + _FORMULAS_ABOVE) * square
    for part in uncertain:
        below += ((part.expected - part.low) / GIB) ** 2
        above += ((part.high - part.expected) / GIB) ** 2
    fragments = more * allocated
    total = allocated + fragments + around.communication + around.overhead
    weights, gradients, optimizer, activations, logits, kv_cache, _, overhead = held
    return Phase(
        name,
        role,
        stage,
        Interval(total - sqrt(below), total, total + sqrt(above)),
        Components(
            weights, gradients, optimizer, activations, logits, kv_cache,
            around.communication, overhead + fragments + around.overhead,
        ),
    )  # fmt: skip


def _train(stage: Stage, around: Surroundings) -> Phase:
    states, logits, working = stage.states, stage.logits, stage.working
    in_loss = logits.expected >= working.expected
    activations = stage.kept.expected + (0.0 if in_loss else working.expected)
    held = Components(
        weights=states.weights / GIB,
        gradients=states.gradients / GIB,
        optimizer=states.optimizer / GIB,
        activations=activations / GIB,
        logits=logits.expected / GIB if in_loss else 0.0,
        overhead=stage.fixed.expected / GIB,
    )
    moment = logits if in_loss else working
    return _phase("train", "actor", stage.pp_stage, held, around, stage.kept, moment, stage.fixed)


def _holding(name: PhaseName, stage: Stage, around: Surroundings) -> Phase:
    """A phase that holds the states: after start-up, and while the optimizer steps."""
    states = stage.states
    step = states.step if name == "optimizer" else 0.0
    held = Components(
        weights=states.weights / GIB,
        gradients=states.gradients / GIB,
        optimizer=(states.optimizer + step) / GIB,
        overhead=stage.fixed.expected / GIB,
    )
    return _phase(name, "actor", stage.pp_stage, held, around, stage.fixed)


def _forward(
    name: PhaseName,
    role: Role,
    stage: Stage,
    around: Surroundings,
    moment: tuple[Interval, Interval],
    *,
    weights_only: bool = False,
) -> Phase:
    """A pass without gradients: the states that stay, one layer's activations or the logits."""
    states, (working, logits) = stage.states, moment
    in_loss = logits.expected >= working.expected
    held = Components(
        weights=states.weights / GIB,
        gradients=0.0 if weights_only else states.gradients / GIB,
        optimizer=0.0 if weights_only else states.optimizer / GIB,
        activations=0.0 if in_loss else working.expected / GIB,
        logits=logits.expected / GIB if in_loss else 0.0,
        overhead=stage.fixed.expected / GIB,
    )
    worst = logits if in_loss else working
    return _phase(name, role, stage.pp_stage, held, around, worst, stage.fixed)


def rollout_phase(engine: Engine, memory: EngineMemory, beside: Interval) -> Phase:
    """Return an engine at work; ``beside``: GiB of everything else on its GPU."""
    static, extra = memory.static * (1 / GIB), memory.extra * (1 / GIB)
    weights = memory.weights / GIB
    # A share that is too small does not hold the weights: what it holds of them counts.
    held = min(weights, static.expected)
    components = Components(
        weights=held,
        kv_cache=static.expected - held,
        overhead=extra.expected + beside.expected,
    )
    return Phase("rollout", engine.kind, None, independent_sum(static, extra, beside), components)


def sync_phase(
    job: Job, shape: Shape, stages: tuple[Stage, ...], around: Surroundings, weights: float
) -> Phase:
    """Return a weight update: two chunks and the largest gathered tensor beside the weights.

    With a trainer that sleeps the engine's weights (``weights``, bytes of one rank) are back and
    the trainer's come from the host; otherwise the trainer's states stay
    (relax/backends/megatron/weight_update/update_weight_from_tensor.py:155-203).
    """
    gathered = 2.0 * shape.vocab * shape.hidden
    if shape.routed is not None:
        gathered = max(gathered, 4.0 * shape.routed.experts * shape.hidden * shape.routed.ffn)
    buffers = Interval(job.sync_bytes, 2 * job.sync_bytes, 2 * job.sync_bytes + gathered)
    heaviest = max(stages, key=_resident)
    held = Components(weights=weights / GIB, overhead=buffers.expected / GIB)
    if job.sleep == "never":
        states = heaviest.states
        held = Components(
            states.weights / GIB, states.gradients / GIB, states.optimizer / GIB,
            overhead=buffers.expected / GIB,
        )  # fmt: skip
    return _phase("weight_sync", "actor", heaviest.pp_stage, held, around, buffers)
