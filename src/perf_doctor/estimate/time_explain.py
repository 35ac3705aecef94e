"""The seconds of each phase with what they were computed from. Worked out when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.lengths import samples_of
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.parameters import count_model
from perf_doctor.estimate.rl_efficiencies import (
    HOST_COPY_GB_S,
    ROLLOUT_OVERHEAD,
    SYNC_IPC_GB_S,
    SYNC_NETWORK_GB_S,
)
from perf_doctor.estimate.rollout_time import Rollout
from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_job import Engines, Evaluation, Pass, TimeJob
from perf_doctor.estimate.time_phases import Phases
from perf_doctor.wording import counted


class Told(NamedTuple):
    """One phase: ``text`` says how its ``seconds`` come about."""

    phase: str
    text: str
    seconds: float

    def __str__(self) -> str:
        """One line."""
        return f"{self.phase.replace('_', ' ')}: {self.text} = {self.seconds:,.1f} s"


def explain_time(estimate: TimeEstimate, memory: MemoryEstimate) -> tuple[Told, ...]:
    """Return how the seconds of each phase come about, none where there is no estimate."""
    job, made, phases = estimate.job, estimate.made, estimate.phases
    if job is None or made is None or phases is None:
        return ()
    texts = dict(_texts(job, made, memory))
    return tuple(
        Told(name, texts[name], one.expected) for name, one in phases.items() if name in texts
    )


def _texts(job: TimeJob, made: Phases, memory: MemoryEstimate) -> Iterator[tuple[str, str]]:
    if made.generated is not None and job.engines is not None:
        yield "rollout", _rollout(job, job.engines, made.generated)
        gb = 2.0 * count_model(job.training.shape).total / 1e9
        rate = SYNC_IPC_GB_S if "switch" in made.seconds else SYNC_NETWORK_GB_S
        yield "weight_sync", f"fixed part + {gb:,.1f} GB ÷ {rate.expected:g} GB/s"
    for one in job.passes:
        yield one.phase, _forward(one)
    yield "train", _train(job, made)
    yield "optimizer", _optimizer(job, memory)
    if "switch" in made.seconds:
        gb = max((stage.states.resident for stage in memory.stages), default=0.0) / 1e9
        rate = HOST_COPY_GB_S
        moved = f"up to {gb:,.1f} GB per GPU to host memory and back at {rate.expected:g} GB/s"
        yield "switch", f"{moved} + process groups rebuilt twice + engines' sleep + polls"
    if job.evaluation is not None:
        yield "evaluation", _evaluation(job.evaluation)
    if job.saving is not None:
        way = "copied in the background" if job.saving.in_background else "written by each node"
        gb = job.saving.node_bytes / 1e9
        yield "saving", f"{gb:,.0f} GB {way} every {counted(job.saving.interval, 'step')}"


def _rollout(job: TimeJob, engines: Engines, made: Rollout) -> str:
    lengths = job.lengths[1]
    step = engines.decode.step(made.running, lengths.prompt + lengths.mean / 2)
    alone = engines.decode.step(1.0, made.longest)
    return (
        f"{counted(engines.engines, 'engine')} with {made.running:,.0f} requests at once each"
        f" (cache {engines.kv_tokens:,.0f} tokens, limit {engines.limit:,.0f}), answers of"
        f" {lengths.mean:,.0f} tokens, the longest {made.longest:,.0f}; a decode step"
        f" {1e3 * step:.1f} ms, with one request {1e3 * alone:.1f} ms;"
        f" (prefill {made.prefill:,.1f} + bulk {made.bulk:,.1f} + tail {made.tail:,.1f} s),"
        f" {ROLLOUT_OVERHEAD.expected:g} × included for log-probs, router and uneven engines"
    )


def _evaluation(asked: Evaluation) -> str:
    answers = f"{asked.prompts.expected:,.0f} prompts × {counted(asked.group, 'answer')}"
    every = counted(asked.interval, "step")
    return f"{answers} of up to {asked.cap:,.0f} tokens, every {every}"


def _forward(one: Pass) -> str:
    budget = f" of up to {one.token_budget:,} tokens" if one.token_budget else ""
    where = "on GPUs of its own" if one.own else "by the actor"
    restored = f", weights from host memory {one.restores} ×" if one.restores else ""
    return f"one forward pass over all samples {where}, micro-batches{budget}{restored}"


def _train(job: TimeJob, made: Phases) -> str:
    work, whole = made.train.work, samples_of(job.lengths[1])
    spent = made.train.spent(train=True)
    per_token, pair = model_flops(job.training.shape)
    flops = 3.0 * (per_token + pair * whole.attended) * whole.tokens * job.samples
    parts = ", ".join(
        f"{name} {seconds * job.optimizer_steps:,.1f}"
        for name, seconds in zip(
            ("products", "memory traffic", "links", "waiting for the host"), spent, strict=True
        )
        if seconds
    )
    return (
        f"{flops / job.trainers / 1e12:,.0f} TFLOP of the model per GPU; {job.optimizer_steps} ×"
        f" {work.micro_batches:,.0f} micro-batches of {work.tokens:,.0f} tokens per CP rank"
        f" through {counted(job.training.mesh.pp, 'stage')}: seconds of {parts}"
    )


def _optimizer(job: TimeJob, memory: MemoryEstimate) -> str:
    mesh, states = job.training.mesh, job.training.states
    dense, expert = max((stage.parameters for stage in memory.stages), key=sum)
    elements = dense / mesh.dense_shards + expert / mesh.expert_shards
    where = "on the GPU"
    if states.offload:
        where = f"{states.offload:.0%} of them on the CPU".replace("%", " %")
    return (
        f"{job.optimizer_steps} × (gradients reduced, weights gathered,"
        f" {elements / 1e6:,.0f} M elements per GPU updated, {where})"
    )
