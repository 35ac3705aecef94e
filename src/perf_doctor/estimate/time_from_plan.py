"""The plan as the time estimate sees it, or why its time cannot be told."""

from __future__ import annotations

from functools import reduce

from perf_doctor.estimate.card import Card, card_of
from perf_doctor.estimate.decode import decoder
from perf_doctor.estimate.interval import exactly
from perf_doctor.estimate.job import Job
from perf_doctor.estimate.lengths_from_plan import lengths_of
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.rl_efficiencies import DROPPED
from perf_doctor.estimate.rollout_time import Demand
from perf_doctor.estimate.time_extras import evaluation_of, saving_of
from perf_doctor.estimate.time_job import Engines, Given, Pass, TimeJob
from perf_doctor.language import said
from perf_doctor.plan.plan import Plan
from perf_doctor.plan.reading import switch, text

# Graphs that SGLang captures unless told otherwise; what it may have, within a factor of two.
_GRAPHS = 256.0
_ASYNC = ("fully-async", "hybrid")


def time_job(plan: Plan, memory: MemoryEstimate, given: Given) -> TimeJob | str:
    """Return the job, or why its time cannot be told."""
    card, job = card_of(plan.gpu), memory.job
    if card is None:
        return said("the rates of {gpu} are not published", gpu=plan.gpu.name)
    if memory.unknown is not None or job is None or job.actor is None:
        return memory.unknown or said("the job trains nothing")
    batch, mesh, mode = plan.batch, plan.parallel.mesh, plan.mode
    sft = mode == "sft"
    samples = batch.global_batch_size if sft else batch.samples_per_rollout
    steps = 1 if sft else batch.optimizer_steps_per_rollout
    if mode is None or samples is None or steps is None or mesh.dp is None:
        return said("its batches are not known or do not divide")
    found = lengths_of(plan, given)
    if isinstance(found, str):
        return found
    lengths, told = found
    engines = None if sft else _engines(plan, memory, card)
    if not sft and engines is None:
        return said("the engines or their model are not known")
    evaluation, assumed = (None, ()) if sft else evaluation_of(plan)
    filtered = not sft and bool(text(plan.settings, "--dynamic-sampling-filter-path"))
    if filtered:
        assumed = (*assumed, _drops())
    return TimeJob(
        mode=mode,
        card=card,
        training=job.actor,
        dp=mesh.dp,
        gpus=plan.cluster.gpus_created or mesh.world_size or 1,
        trainers=mesh.world_size or 1,
        samples=float(samples),
        optimizer_steps=steps,
        token_budget=batch.token_budget,
        micro_batch_size=batch.micro_batch_size or 1,
        balanced=bool(batch.balanced),
        images=job.actor.batch.images,
        passes=() if sft else tuple(_passes(plan, job, steps)),
        demand=None if sft else _demand(plan, samples),
        engines=engines,
        lengths=lengths,
        dropped=DROPPED if filtered else exactly(0.0),
        handovers=_handovers(plan),
        staleness=(batch.max_staleness or 0) if mode in _ASYNC else 0,
        evaluation=evaluation,
        saving=saving_of(plan, job.actor),
        assumptions=(*told, *assumed, *_left_out(plan)),
    )


def _drops() -> str:
    return said(
        "The filter drops {share} % of the groups ({low} %–{high} %) assumed.",
        share=f"{100 * DROPPED.expected:.0f}",
        low=f"{100 * DROPPED.low:.0f}",
        high=f"{100 * DROPPED.high:.0f}",
    )


def _left_out(plan: Plan) -> tuple[str, ...]:
    """Return what takes time in this job and is not estimated."""
    parts = []
    if plan.genrm is not None:
        parts.append(said("the reward model"))
    if plan.teacher is not None:
        parts.append(said("the teacher's engines"))
    if any(setting.flag.startswith("--agentic") for setting in plan.settings):
        parts.append(said("tools and environments"))
    if not parts:
        return ()
    left_out = reduce(lambda one, other: said("{one} and {other}", one=one, other=other), parts)
    return (said("Time of {parts} is left out.", parts=left_out),)


def _demand(plan: Plan, samples: int) -> Demand:
    batch = plan.batch
    prompts = batch.rollout_batch_size or samples
    return Demand(
        prompts=float(prompts),
        group=batch.n_samples_per_prompt or 1,
        started=float(max(prompts, batch.over_sampling_batch_size or prompts)),
        partial=bool(batch.partial_rollout),
        shared_prefix=plan.engines is None or plan.engines.radix_cache is not False,
    )


def _handovers(plan: Plan) -> int:
    """Parts of a rollout that the trainer gets one by one: all groups ÷ those of one put."""
    groups, prompts = plan.batch.handover_groups, plan.batch.rollout_batch_size
    return max(1, prompts // groups) if groups and prompts else 1


def _passes(plan: Plan, job: Job, steps: int) -> list[Pass]:
    """Return every forward pass: the actor's own, with its copies of weights, then other roles.

    Colocate brings weights from host memory once per pass, hybrid once per pass and window
    (relax/backends/megatron/actor.py:703-768 and 961-1013).
    """
    batch, mesh, actor = plan.batch, plan.parallel.mesh, job.actor
    found: list[Pass] = []
    if actor is None or mesh.dp is None:
        return found
    restores = 0 if not job.weight_copies else steps if plan.mode == "hybrid" else 1
    wide = batch.log_probs_token_budget
    teacher = bool(switch(plan.settings, "--use-opd"))
    for phase, wanted, budget in (
        ("reference_log_probs", job.reference_pass, wide),
        ("teacher_log_probs", teacher and text(plan.settings, "--opd-type") == "megatron", wide),
        ("log_probs", job.log_probs_pass, batch.token_budget),
    ):
        if wanted:
            found.append(Pass(phase, actor, mesh.dp, budget, restores=restores))
    for role, training in job.forward_roles:
        limit = batch.forward_max_tokens_per_gpu
        own = training.mesh
        budget = limit * own.cp if limit and batch.dynamic_batch else None
        phase = "log_probs" if role == "actor_fwd" else "reference_log_probs"
        found.append(Pass(phase, training, own.dense_shards // own.cp, budget, own=True))
    return found


def _engines(plan: Plan, memory: MemoryEstimate, card: Card) -> Engines | None:
    job, engines = memory.job, plan.engines
    if job is None or engines is None or not engines.engines:
        return None
    for engine, held in zip(job.engines, memory.engines, strict=True):
        if engine.kind != "rollout" or engine.shape is None or held is None:
            continue
        groups = max(1, engine.tp // engine.attention_tp)
        limits = [(engines.in_flight or 1 << 30) / engines.engines]
        if engines.max_running_requests is not None:
            limits.append(float(engines.max_running_requests))
        if held.state_slots is not None:
            limits.append(held.state_slots.expected * groups)
        speculative = engines.speculative
        draft = 1.0 if speculative is None else float(speculative.num_draft_tokens or 4)
        sizes = engines.cuda_graph_batch_sizes
        graphs = float(engines.cuda_graph_max_batch_size or (max(sizes) if sizes else _GRAPHS))
        return Engines(
            decode=decoder(engine, engine.shape, card, graphs, draft, engines.ep or 1),
            engines=engines.engines,
            gpus=engines.gpus or 1,
            kv_tokens=held.kv_tokens.expected * groups,
            limit=max(1.0, min(limits)),
        )
    return None
