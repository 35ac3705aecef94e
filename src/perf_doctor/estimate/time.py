"""The time estimate of a job: seconds of every phase, of the step, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, hypot, sqrt

from perf_doctor.estimate.efficiencies import POLL_S, ROLLOUT_OVERHEAD
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.interval import Interval, independent_sum
from perf_doctor.estimate.lengths import Lengths, samples_of
from perf_doctor.estimate.memory import MemoryEstimate, estimate_memory
from perf_doctor.estimate.optimizer_time import optimizer_seconds
from perf_doctor.estimate.parameters import count_model
from perf_doctor.estimate.rollout_time import Rollout, rollout
from perf_doctor.estimate.spent import interval_of
from perf_doctor.estimate.states import StateBytes
from perf_doctor.estimate.switch import switch_seconds, sync_seconds
from perf_doctor.estimate.time_job import Engines, Given, TimeJob, time_job
from perf_doctor.estimate.train_time import Work, stage_times, through_pipeline
from perf_doctor.plan.plan import Plan

# Expected maximum of so many standard normals: the fullest of the data-parallel ranks.
_FULLEST = ((1, 0.0), (2, 0.56), (4, 1.03), (8, 1.42), (16, 1.77), (64, 2.35))
_TRAINER = ("reference_log_probs", "log_probs", "train", "optimizer")
# Of a micro-batch's budget that packed samples fill.
_FILLED = 0.92
_NAMES = (
    "rollout", "weight_sync", "reference_log_probs", "log_probs", "train", "optimizer", "switch",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """Seconds of one step; None is not known.

    ``phases``: what each takes by itself; where sides work at once (async, hybrid) they sum to
    more than ``step_s``. ``bound_by``: the longest phase, or there the side that is waited for.
    ``balance``: seconds that rollout and trainer need. ``unknown``: why there is no estimate.
    """

    step_s: Interval | None = None
    phases: Mapping[str, Interval] | None = None
    bound_by: str | None = None
    train_mfu: float | None = None
    tokens_per_gpu_s: float | None = None
    rollout: Rollout | None = None
    balance: tuple[float, float] | None = None
    assumptions: tuple[str, ...] = ()
    unknown: str | None = None


def estimate_time(
    plan: Plan, memory: MemoryEstimate | None = None, *, lengths: Given | None = None
) -> TimeEstimate:
    """Return the estimate of a plan; ``lengths`` are those that somebody knows."""
    memory = memory or estimate_memory(plan)
    job = time_job(plan, memory, lengths or Given())
    if isinstance(job, str):
        return TimeEstimate(unknown=job)
    own, generated = _phases(plan, memory, job, job.lengths[1])
    low, high = (_relative(job, own, generated, one) for one in (job.lengths[0], job.lengths[2]))
    phases = {
        name: _widened(one, low.get(name, one.expected), high.get(name, one.expected))
        for name, one in own.items()
    }
    staleness = plan.batch.max_staleness or 0
    step = _compose(job, phases, staleness)
    expected = {name: one.expected for name, one in phases.items()}
    trainer = sum([expected.get(name, 0.0) for name in _TRAINER])
    sides = None
    bound = max(expected, key=expected.__getitem__)
    if job.mode in ("fully-async", "hybrid"):
        sides = (expected.get("rollout", 0.0), trainer)
        bound = "rollout" if sides[0] >= sides[1] else "train"
    return TimeEstimate(
        step_s=step,
        phases=phases,
        bound_by=bound,
        train_mfu=_mfu(job, expected),
        tokens_per_gpu_s=job.samples * samples_of(job.lengths[1]).tokens / step.expected / job.gpus,
        rollout=generated,
        balance=sides,
        assumptions=job.assumptions,
    )


def _phases(
    plan: Plan, memory: MemoryEstimate, job: TimeJob, lengths: Lengths
) -> tuple[dict[str, Interval], Rollout | None]:
    """Return the phases at these lengths, and the rollout among them."""
    training, card, family = job.training, job.card, job.card.family
    experts = training.shape.routed is not None
    phases: dict[str, Interval] = {}
    generated = None
    if job.engines is not None:
        generated = _rollout(job, job.engines, lengths)
        overhead = ROLLOUT_OVERHEAD * (1 / ROLLOUT_OVERHEAD.expected)
        phases["rollout"] = overhead * generated.seconds
        size = 2.0 * count_model(training.shape).total
        shares = bool(plan.roles.shares_gpus)
        phases["weight_sync"] = sync_seconds(size, same_gpus=shares)
    made = memory.job
    work = _work(plan, job, lengths)
    stages = stage_times(training, card, work)
    forward = through_pipeline(stages, training, work, train=False)
    both = through_pipeline(stages, training, work, train=True)
    for name, wanted in (
        ("reference_log_probs", made is not None and made.reference_pass),
        ("log_probs", made is not None and made.log_probs_pass),
    ):
        if wanted and job.mode != "sft":
            phases[name] = interval_of(forward, family, experts=experts) * job.optimizer_steps
    phases["train"] = interval_of(both, family, experts=experts) * job.optimizer_steps
    heaviest = max((stage.parameters for stage in memory.stages), key=sum)
    optimizer = plan.training.optimizer
    phases["optimizer"] = job.optimizer_steps * optimizer_seconds(
        training,
        card,
        heaviest,
        overlap=bool(optimizer.overlap_grad_reduce),
        overlap_copies=bool(optimizer.overlap_transfers),
    )
    if made is not None and made.sleep != "never":
        parked = max((stage.states for stage in memory.stages), key=_resident)
        size = (
            parked.resident if made.sleep == "memory-saver" else parked.resident - parked.gradients
        )
        switch = switch_seconds(size, card.pcie, engines_sleep=made.engines_sleep)
        phases["switch"] = switch + POLL_S * 2.0
    return phases, generated


def _resident(states: StateBytes) -> float:
    return states.resident


def _rollout(job: TimeJob, engines: Engines, lengths: Lengths) -> Rollout:
    most = engines.kv_tokens / (lengths.prompt + lengths.mean / 2)
    running = max(1.0, min(engines.limit, most))
    return rollout(job.demand, lengths, engines.decode, engines.engines, running)


def _relative(
    job: TimeJob, own: Mapping[str, Interval], generated: Rollout | None, lengths: Lengths
) -> dict[str, float]:
    """Return seconds of the phases that lengths change: the trainer's passes go by their FLOPs."""
    if lengths == job.lengths[1]:
        return {}
    per_token, pair = model_flops(job.training.shape)
    usual, other = samples_of(job.lengths[1]), samples_of(lengths)
    ratio = other.tokens * (per_token + pair * other.attended)
    ratio /= usual.tokens * (per_token + pair * usual.attended)
    passes = ("reference_log_probs", "log_probs", "train")
    found = {name: ratio * own[name].expected for name in passes if name in own}
    if job.engines is not None and generated is not None:
        found["rollout"] = _rollout(job, job.engines, lengths).seconds
    return found


def _work(plan: Plan, job: TimeJob, lengths: Lengths) -> Work:
    """Return one optimizer step on the fullest data-parallel rank."""
    whole, mesh, batch = samples_of(lengths), job.training.mesh, plan.batch
    samples = job.samples / job.optimizer_steps / job.dp
    uneven = 1.02
    if not batch.balanced:
        spread = next((z for ranks, z in reversed(_FULLEST) if ranks <= job.dp), 0.0)
        uneven = 1 + whole.variation * spread / sqrt(max(1.0, samples))
    tokens = samples * whole.tokens * uneven
    if batch.token_budget:
        count = float(max(1, ceil(tokens / (_FILLED * max(batch.token_budget, whole.tokens)))))
    else:
        count = max(1.0, samples / (batch.micro_batch_size or 1))
    images = 0.3 if job.training.batch.images else 0.0
    return Work(tokens / count / mesh.cp, count, whole.attended, images)


def _widened(own: Interval, low: float, high: float) -> Interval:
    """Return an interval that also spans what other lengths would make of it."""
    return Interval(
        max(0.0, own.expected - hypot(own.expected - own.low, max(0.0, own.expected - low))),
        own.expected,
        own.expected + hypot(own.high - own.expected, max(0.0, high - own.expected)),
    )


def _compose(job: TimeJob, phases: Mapping[str, Interval], staleness: int) -> Interval:
    """Return the step: one after the other, or the slower side and the weight update.

    With staleness 0 an asynchronous job overlaps nothing but the hand-over of groups, which is
    left out here.
    """
    if job.mode not in ("fully-async", "hybrid") or staleness == 0:
        return _sum([*phases.values()])
    trainer = _sum([phases[name] for name in _TRAINER if name in phases])
    made, sync = phases["rollout"], phases["weight_sync"]
    slower = Interval(
        max(made.low, trainer.low),
        max(made.expected, trainer.expected),
        max(made.high, trainer.high),
    )
    return slower + sync


def _sum(parts: list[Interval]) -> Interval:
    """Sum phases; they share their lengths, so they err halfway together."""
    apart = independent_sum(*parts)
    together = Interval(sum([p.low for p in parts]), apart.expected, sum([p.high for p in parts]))
    return Interval(
        (apart.low + together.low) / 2, apart.expected, (apart.high + together.high) / 2
    )


def _mfu(job: TimeJob, expected: Mapping[str, float]) -> float:
    """Return model FLOPs without recompute ÷ (seconds of training × peak × GPUs).

    By relax/utils/training/train_metric_utils.py:60-73.
    """
    whole = samples_of(job.lengths[1])
    per_token, pair = model_flops(job.training.shape)
    flops = 3.0 * (per_token + pair * whole.attended) * whole.tokens * job.samples
    seconds = expected["train"] + expected["optimizer"]
    return flops / (seconds * job.card.flops * job.trainers)


def step_line(estimate: TimeEstimate) -> str:
    """Return one line.

    ``Step: 214 s (170–290), rollout 61 %, train 27 %, bound by rollout; train MFU 0.31``.
    """
    step, phases = estimate.step_s, estimate.phases
    if step is None or phases is None:
        return f"Step: not known, {estimate.unknown}"
    largest = sorted(phases.items(), key=lambda item: -item[1].expected)[:2]
    shares = ", ".join(
        f"{name.replace('_', ' ')} {one.expected / step.expected:.0%}".replace("%", " %")
        for name, one in largest
    )
    bound = (estimate.bound_by or "").replace("_", " ")
    line = f"Step: {_s(step.expected)} s ({_s(step.low)}–{_s(step.high)}), {shares}"
    return f"{line}, bound by {bound}; train MFU {estimate.train_mfu or 0.0:.2f}"


def timeline(estimate: TimeEstimate, width: int = 40) -> list[str]:
    """Return one line per phase: name, bar, seconds and share of the step."""
    step, phases = estimate.step_s, estimate.phases
    if step is None or phases is None:
        return []
    longest = max(one.expected for one in phases.values()) or 1.0
    lines = []
    for name in _NAMES:
        one = phases.get(name)
        if one is None:
            continue
        bar = "█" * max(1, round(width * one.expected / longest))
        span = f"{_s(one.expected)} s ({_s(one.low)}–{_s(one.high)})"
        share = f"{one.expected / step.expected:.0%}".replace("%", " %")
        lines.append(f"{name.replace('_', ' '):20} {bar:{width}} {span} {share}")
    return lines


def _s(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.1f}"
