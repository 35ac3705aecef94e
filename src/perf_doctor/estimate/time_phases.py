"""Seconds of every phase of a step, each by itself."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.lengths import Lengths
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.optimizer_time import optimizer_seconds
from perf_doctor.estimate.parameters import count_model
from perf_doctor.estimate.passes import Passage, passage, seconds_of
from perf_doctor.estimate.rl_efficiencies import CARRIED, POLL_S, SAVE_GB_S
from perf_doctor.estimate.rollout_time import Demand, Rollout, most_running, rollout
from perf_doctor.estimate.states import StateBytes
from perf_doctor.estimate.switch import copy_seconds, switch_seconds, sync_seconds
from perf_doctor.estimate.time_extras import weight_bytes_per_gpu
from perf_doctor.estimate.time_job import Engines, Evaluation, Saving, TimeJob
from perf_doctor.plan.plan import Plan


class Phases(NamedTuple):
    """Seconds of the phases by name, and what they were computed from.

    ``apart``: phases on GPUs of their own, beside the trainer's.
    """

    seconds: dict[str, Interval]
    apart: frozenset[str]
    train: Passage
    generated: Rollout | None


def phases_of(plan: Plan, job: TimeJob, memory: MemoryEstimate) -> Phases:
    """Return the phases of a step at the expected lengths."""
    lengths = job.lengths[1]
    seconds: dict[str, Interval] = {}
    generated = None
    if job.engines is not None and job.demand is not None:
        generated = generate(job, job.engines, job.demand, lengths, job.dropped.expected)
        seconds["rollout"] = generated.interval
        size = 2.0 * count_model(job.training.shape).total
        seconds["weight_sync"] = sync_seconds(size, same_gpus=bool(plan.roles.shares_gpus))
    train = passage(job, job.training, job.dp, job.token_budget, lengths)
    apart = set()
    for one in job.passes:
        own = train
        if one.own or one.token_budget != job.token_budget:
            own = passage(job, one.training, one.dp, one.token_budget, lengths)
        seconds[one.phase] = seconds_of(job, own.spent(train=False))
        if one.restores:
            size = one.restores * weight_bytes_per_gpu(one.training)
            seconds[one.phase] += copy_seconds(size, job.card.pcie)
        if one.own:
            apart.add(one.phase)
    seconds["train"] = seconds_of(job, train.spent(train=True))
    seconds["optimizer"] = _optimizer(plan, job, memory)
    switch = _switch(job, memory)
    if switch is not None:
        seconds["switch"] = switch
    if job.evaluation is not None and job.engines is not None:
        seconds["evaluation"] = _evaluation(job, job.engines)
    if job.saving is not None:
        seconds["saving"] = saving_seconds(job.saving, job.card.pcie)
    return Phases(seconds, frozenset(apart), train, generated)


def generate(
    job: TimeJob, engines: Engines, demand: Demand, lengths: Lengths, dropped: float = 0.0
) -> Rollout:
    """Return a rollout of the job's engines; a filter that drops groups asks for more of them.

    With staleness a weight update finds the longest answers unfinished, and part of them goes on
    beside the next rollout.
    """
    if dropped:
        prompts = demand.prompts / (1 - dropped)
        demand = demand._replace(prompts=prompts, started=max(demand.started, prompts))
    running = most_running(engines.kv_tokens, engines.limit, lengths)
    made = rollout(demand, lengths, engines.decode, engines.engines, running)
    if not job.staleness:
        return made
    flowing = demand._replace(interrupted=True)
    other = rollout(flowing, lengths, engines.decode, engines.engines, running)
    return made.towards(other, CARRIED.expected)


def _optimizer(plan: Plan, job: TimeJob, memory: MemoryEstimate) -> Interval:
    heaviest = max((stage.parameters for stage in memory.stages), key=sum)
    optimizer = plan.training.optimizer
    return job.optimizer_steps * optimizer_seconds(
        job.training,
        job.card,
        heaviest,
        overlap=bool(optimizer.overlap_grad_reduce),
        overlap_copies=bool(optimizer.overlap_transfers),
    )


def _switch(job: TimeJob, memory: MemoryEstimate) -> Interval | None:
    """Return the change between training and rollout on the same GPUs, polls included."""
    made = memory.job
    if made is None or made.sleep == "never" or job.mode == "sft":
        return None
    parked = max((stage.states for stage in memory.stages), key=_resident)
    size = parked.resident
    if made.sleep == "manual":
        size -= parked.gradients
    return switch_seconds(size, job.card.pcie, engines_sleep=made.engines_sleep) + POLL_S * 2.0


def _resident(states: StateBytes) -> float:
    return states.resident


def _evaluation(job: TimeJob, engines: Engines) -> Interval:
    """Return evaluation spread over the steps between two: answers as long as in training."""
    asked = job.evaluation
    if asked is None:
        return exactly(0.0)
    counts = (asked.prompts.low, asked.prompts.expected, asked.prompts.high)
    expected = _evaluated(job, engines, asked, counts[1], job.lengths[1])
    by_count = [_evaluated(job, engines, asked, one, job.lengths[1]) for one in counts[::2]]
    by_length = [_evaluated(job, engines, asked, counts[1], one) for one in job.lengths[::2]]
    below = hypot(expected - by_count[0], expected - by_length[0])
    above = hypot(by_count[1] - expected, by_length[1] - expected)
    return Interval(max(0.0, expected - below), expected, expected + above)


def _evaluated(
    job: TimeJob, engines: Engines, asked: Evaluation, prompts: float, usual: Lengths
) -> float:
    """Return seconds per step with so many prompts, answers as long for the cap as ``usual``."""
    mean = min(asked.cap, usual.mean * asked.cap / usual.cap)
    lengths = usual._replace(mean=mean, cap=asked.cap)
    demand = Demand(prompts, asked.group, prompts, partial=False, shared_prefix=True)
    return generate(job, engines, demand, lengths).seconds / asked.interval


def saving_seconds(saving: Saving, pcie: float) -> Interval:
    """Return a checkpoint spread over the steps between two.

    In the background only the copy to host memory holds the step up.
    """
    if saving.in_background:
        return copy_seconds(saving.gpu_bytes, pcie) * (1 / saving.interval)
    size, rate = saving.node_bytes / 1e9 / saving.interval, SAVE_GB_S
    return Interval(size / rate.high, size / rate.expected, size / rate.low)
