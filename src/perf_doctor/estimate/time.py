"""The time estimate of a job: seconds of every phase, of the step, and who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.lengths import Lengths, samples_of
from perf_doctor.estimate.memory import MemoryEstimate, estimate_memory
from perf_doctor.estimate.step import Sides, compose
from perf_doctor.estimate.time_from_plan import time_job
from perf_doctor.estimate.time_job import Given, TimeJob
from perf_doctor.estimate.time_phases import Phases, generate, phases_of
from perf_doctor.frozen import frozen
from perf_doctor.plan.plan import Plan

# Every phase that a job can have, in the order of a step.
PHASES = (
    "rollout", "weight_sync", "reference_log_probs", "teacher_log_probs", "log_probs", "train",
    "optimizer", "switch", "evaluation", "saving",
)  # fmt: skip
# Phases whose seconds go by the FLOPs of the samples.
_BY_FLOPS = ("reference_log_probs", "teacher_log_probs", "log_probs", "train")


@frozen
class TimeEstimate:
    """Seconds of one step; None is not known.

    ``phases``: what each takes by itself; where sides work at once (async, hybrid) they sum to
    more than ``step_s``. ``bound_by``: the longest phase, or there the side that is waited for.
    ``sides``: seconds that rollout and trainer need there. ``scenarios``: the step with short,
    expected and long answers, all else as expected: what to compare two plans by.
    ``tokens_per_gpu_s``: tokens of prompts and responses. ``unknown``: why there is no estimate.
    ``job`` and ``made``: what all this was computed from.
    """

    step_s: Interval | None = None
    phases: Mapping[str, Interval] | None = None
    bound_by: str | None = None
    train_mfu: float | None = None
    tokens_per_gpu_s: float | None = None
    sides: Sides | None = None
    scenarios: tuple[float, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown: str | None = None
    job: TimeJob | None = None
    made: Phases | None = None


def estimate_time(
    plan: Plan, memory: MemoryEstimate | None = None, *, lengths: Given | None = None
) -> TimeEstimate:
    """Return the estimate of a plan; ``lengths`` are those that somebody knows."""
    memory = memory or estimate_memory(plan)
    job = time_job(plan, memory, lengths or Given())
    if isinstance(job, str):
        return TimeEstimate(unknown=job)
    made = phases_of(plan, job, memory)
    low, high = (_at(job, made, one, at) for at, one in ((0, job.lengths[0]), (2, job.lengths[2])))
    phases = {
        name: _widened(one, low.get(name, one.expected), high.get(name, one.expected))
        for name, one in made.seconds.items()
    }
    step = compose(job, phases, made.apart)
    scenarios = tuple(
        compose(
            job,
            {name: exactly(at.get(name, one.expected)) for name, one in phases.items()},
            made.apart,
        ).seconds.expected
        for at in (low, {}, high)
    )
    return TimeEstimate(
        step_s=step.seconds,
        phases=phases,
        bound_by=step.bound_by,
        train_mfu=train_mfu(job, phases),
        tokens_per_gpu_s=job.samples
        * samples_of(job.lengths[1]).tokens
        / step.seconds.expected
        / job.gpus,
        sides=step.sides,
        scenarios=scenarios,
        assumptions=job.assumptions,
        job=job,
        made=made,
    )


def _at(job: TimeJob, made: Phases, lengths: Lengths, end: int) -> dict[str, float]:
    """Return seconds of the phases that lengths change, at the low or high ``end``.

    The trainer's passes go by their FLOPs. Without a range of lengths, and of dropped groups,
    nothing changes.
    """
    usual = job.lengths[1]
    dropped = (job.dropped.low, job.dropped.expected, job.dropped.high)[end]
    found: dict[str, float] = {}
    if lengths != usual:
        per_token, pair = model_flops(job.training.shape)
        before, after = samples_of(usual), samples_of(lengths)
        ratio = after.tokens * (per_token + pair * after.attended)
        ratio /= before.tokens * (per_token + pair * before.attended)
        seconds = made.seconds
        found = {name: ratio * seconds[name].expected for name in _BY_FLOPS if name in seconds}
    changed = lengths != usual or dropped != job.dropped.expected
    if changed and job.engines is not None and job.demand is not None:
        found["rollout"] = generate(job, job.engines, job.demand, lengths, dropped).seconds
    return found


def _widened(own: Interval, low: float, high: float) -> Interval:
    """Return an interval that also spans what other lengths would make of it."""
    return Interval(
        max(0.0, own.expected - hypot(own.expected - own.low, max(0.0, own.expected - low))),
        own.expected,
        own.expected + hypot(own.high - own.expected, max(0.0, high - own.expected)),
    )


def train_mfu(job: TimeJob, phases: Mapping[str, Interval]) -> float:
    """Return model FLOPs without recompute ÷ (seconds of training × peak × GPUs).

    By relax/utils/training/train_metric_utils.py:60-73.
    """
    whole = samples_of(job.lengths[1])
    per_token, pair = model_flops(job.training.shape)
    flops = 3.0 * (per_token + pair * whole.attended) * whole.tokens * job.samples
    seconds = phases["train"].expected + phases["optimizer"].expected
    return flops / (seconds * job.card.flops * job.trainers)
