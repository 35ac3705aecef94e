"""A plan as the time estimate sees it."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.card import Card, card_of
from perf_doctor.estimate.decode import Decoder, decoder
from perf_doctor.estimate.efficiencies import MEAN_SHARE, PROMPT_TOKENS, SIGMA
from perf_doctor.estimate.lengths import Lengths
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.rollout_time import Demand
from perf_doctor.estimate.shape import Training
from perf_doctor.plan.plan import Plan
from perf_doctor.plan.roles import Mode

# Graphs that SGLang captures unless told otherwise; what it may have, within a factor of two.
_GRAPHS = 256.0


class Given(NamedTuple):
    """Lengths that somebody knows, in tokens; None: the usual one is assumed."""

    mean_response: float | None = None
    response_sigma: float | None = None
    prompt: float | None = None


class Engines(NamedTuple):
    """The rollout engines; ``most_running``: requests that one has at once."""

    decode: Decoder
    engines: int
    gpus: int
    kv_tokens: float
    limit: float


class TimeJob(NamedTuple):
    """Everything that the time of a step depends on; ``lengths``: low, expected and high."""

    mode: Mode
    card: Card
    training: Training
    dp: int
    trainers: int
    gpus: int
    samples: float
    optimizer_steps: int
    demand: Demand
    engines: Engines | None
    lengths: tuple[Lengths, Lengths, Lengths]
    assumptions: tuple[str, ...]


def time_job(plan: Plan, memory: MemoryEstimate, given: Given) -> TimeJob | str:
    """Return the job, or why its time cannot be told."""
    card, job = card_of(plan.gpu), memory.job
    if card is None:
        return f"the rates of {plan.gpu.name} are not published"
    if memory.unknown is not None or job is None or job.actor is None:
        return memory.unknown or "the job trains nothing"
    batch, mesh, mode = plan.batch, plan.parallel.mesh, plan.mode
    sft = mode == "sft"
    samples = batch.global_batch_size if sft else batch.samples_per_rollout
    steps = 1 if sft else batch.optimizer_steps_per_rollout
    if mode is None or samples is None or steps is None or mesh.dp is None:
        return "its batches are not known or do not divide"
    lengths, said = _lengths(plan, given)
    if isinstance(lengths, str):
        return lengths
    engines = None if sft else _engines(plan, memory, card)
    if not sft and engines is None:
        return "the engines or their model are not known"
    prompts, group = batch.rollout_batch_size or samples, batch.n_samples_per_prompt or 1
    demand = Demand(
        prompts=float(prompts),
        group=group,
        started=float(max(prompts, batch.over_sampling_batch_size or prompts)),
        partial=bool(batch.partial_rollout),
        shared_prefix=plan.engines is None or plan.engines.radix_cache is not False,
    )
    return TimeJob(
        mode=mode,
        card=card,
        training=job.actor,
        dp=mesh.dp,
        trainers=mesh.world_size or 1,
        gpus=plan.cluster.gpus_created or mesh.world_size or 1,
        samples=float(samples),
        optimizer_steps=steps,
        demand=demand,
        engines=engines,
        lengths=lengths,
        assumptions=said,
    )


def _lengths(
    plan: Plan, given: Given
) -> tuple[tuple[Lengths, Lengths, Lengths] | str, tuple[str, ...]]:
    """Return lengths low, expected and high; one value three times where it is given."""
    limits, said = plan.lengths, []
    cap = limits.context if limits.response is None else limits.response
    if cap is None:
        cap = limits.seq_length if plan.task == "sft" else None
    if cap is None:
        return "no length limits a response", ()
    means = tuple(share * cap for share in (MEAN_SHARE.low, MEAN_SHARE.expected, MEAN_SHARE.high))
    if given.mean_response is not None:
        means = (min(given.mean_response, float(cap)),) * 3
    else:
        low, middle, high = means
        said.append(
            f"Mean response {middle:,.0f} tokens ({low:,.0f}–{high:,.0f}) of at most {cap:,}"
            " assumed: --mean-response-len."
        )
    sigma = SIGMA.expected if given.response_sigma is None else given.response_sigma
    if given.response_sigma is None:
        said.append(f"Spread of response lengths {sigma} (log-normal) assumed.")
    prompt = min(PROMPT_TOKENS.expected, float(limits.prompt or PROMPT_TOKENS.expected))
    if given.prompt is not None:
        prompt = given.prompt
    else:
        said.append(f"Prompts of {prompt:,.0f} tokens assumed: --prompt-len.")
    first, second, third = (Lengths(prompt, mean, sigma, float(cap)) for mean in means)
    return (first, second, third), tuple(said)


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
            decode=decoder(engine, engine.shape, card, graphs, draft),
            engines=engines.engines,
            gpus=engines.gpus or 1,
            kv_tokens=held.kv_tokens.expected * groups,
            limit=max(1.0, min(limits)),
        )
    return None
