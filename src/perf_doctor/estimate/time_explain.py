"""The seconds of each phase with what they were computed from. Worked out when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

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
from perf_doctor.estimate.shown import listed, word
from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_job import Engines, Evaluation, Pass, TimeJob
from perf_doctor.estimate.time_phases import Phases
from perf_doctor.language import said
from perf_doctor.wording import counted


class Told(NamedTuple):
    """One phase: ``text`` says how its ``seconds`` come about."""

    phase: str
    text: str
    seconds: float

    def __str__(self) -> str:
        """One line."""
        return said(
            "{phase}: {text} = {seconds} s",
            phase=word(self.phase),
            text=self.text,
            seconds=f"{self.seconds:,.1f}",
        )


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
        text = said(
            "fixed part + {size} GB ÷ {rate} GB/s", size=f"{gb:,.1f}", rate=f"{rate.expected:g}"
        )
        yield "weight_sync", text
    for one in job.passes:
        yield one.phase, _forward(one)
    yield "train", _train(job, made)
    yield "optimizer", _optimizer(job, memory)
    if "switch" in made.seconds:
        gb = max((stage.states.resident for stage in memory.stages), default=0.0) / 1e9
        text = said(
            "up to {size} GB per GPU to host memory and back at {rate} GB/s + process groups"
            " rebuilt twice + engines' sleep + polls",
            size=f"{gb:,.1f}",
            rate=f"{HOST_COPY_GB_S.expected:g}",
        )
        yield "switch", text
    if job.evaluation is not None:
        yield "evaluation", _evaluation(job.evaluation)
    if job.saving is not None:
        way = "background" if job.saving.in_background else "node"
        size, every = job.saving.node_bytes / 1e9, counted(job.saving.interval, "step")
        yield "saving", said(_SAVED[way], size=f"{size:,.0f}", every=every)


_SAVED: Final = {
    "background": "{size} GB copied in the background every {every}",
    "node": "{size} GB written by each node every {every}",
}  # messages


def _rollout(job: TimeJob, engines: Engines, made: Rollout) -> str:
    lengths = job.lengths[1]
    step = engines.decode.step(made.running, lengths.prompt + lengths.mean / 2)
    alone = engines.decode.step(1.0, made.longest)
    return said(
        "{engines} with {running} requests at once each (cache {cache} tokens, limit {limit}),"
        " answers of {mean} tokens, the longest {longest}; a decode step {step} ms, with one"
        " request {alone} ms; (prefill {prefill} + bulk {bulk} + tail {tail} s), {factor} ×"
        " included for log-probs, router and uneven engines",
        engines=counted(engines.engines, "engine"),
        running=f"{made.running:,.0f}",
        cache=f"{engines.kv_tokens:,.0f}",
        limit=f"{engines.limit:,.0f}",
        mean=f"{lengths.mean:,.0f}",
        longest=f"{made.longest:,.0f}",
        step=f"{1e3 * step:.1f}",
        alone=f"{1e3 * alone:.1f}",
        prefill=f"{made.prefill:,.1f}",
        bulk=f"{made.bulk:,.1f}",
        tail=f"{made.tail:,.1f}",
        factor=f"{ROLLOUT_OVERHEAD.expected:g}",
    )


def _evaluation(asked: Evaluation) -> str:
    return said(
        "{prompts} prompts × {answers} of up to {cap} tokens, every {every}",
        prompts=f"{asked.prompts.expected:,.0f}",
        answers=counted(asked.group, "answer"),
        cap=f"{asked.cap:,.0f}",
        every=counted(asked.interval, "step"),
    )


def _forward(one: Pass) -> str:
    if one.own:
        text = said("one forward pass over all samples on GPUs of its own, micro-batches")
    else:
        text = said("one forward pass over all samples by the actor, micro-batches")
    if one.token_budget:
        budget = f"{one.token_budget:,}"
        text = said("{batches} of up to {budget} tokens", batches=text, budget=budget)
    if one.restores:
        text = said(
            "{batches}, weights from host memory {times} ×", batches=text, times=one.restores
        )
    return text


_SPENT: Final = (
    "products {seconds}",
    "memory traffic {seconds}",
    "links {seconds}",
    "waiting for the host {seconds}",
)  # messages


def _train(job: TimeJob, made: Phases) -> str:
    work, whole = made.train.work, samples_of(job.lengths[1])
    spent = made.train.spent(train=True)
    per_token, pair = model_flops(job.training.shape)
    flops = 3.0 * (per_token + pair * whole.attended) * whole.tokens * job.samples
    parts = listed(
        said(_SPENT[index], seconds=f"{seconds * job.optimizer_steps:,.1f}")
        for index, seconds in enumerate(spent)
        if seconds
    )
    return said(
        "{tflop} TFLOP of the model per GPU; {steps} × {micro_batches} micro-batches of {tokens}"
        " tokens per CP rank through {stages}: seconds of {parts}",
        tflop=f"{flops / job.trainers / 1e12:,.0f}",
        steps=job.optimizer_steps,
        micro_batches=f"{work.micro_batches:,.0f}",
        tokens=f"{work.tokens:,.0f}",
        stages=counted(job.training.mesh.pp, "stage"),
        parts=parts,
    )


def _optimizer(job: TimeJob, memory: MemoryEstimate) -> str:
    mesh, states = job.training.mesh, job.training.states
    dense, expert = max((stage.parameters for stage in memory.stages), key=sum)
    elements = dense / mesh.dense_shards + expert / mesh.expert_shards
    where = said("on the GPU")
    if states.offload:
        where = said("{share} % of them on the CPU", share=f"{100 * states.offload:.0f}")
    return said(
        "{steps} × (gradients reduced, weights gathered, {elements} M elements per GPU updated,"
        " {where})",
        steps=job.optimizer_steps,
        elements=f"{elements / 1e6:,.0f}",
        where=where,
    )
