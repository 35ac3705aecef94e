"""What the memory estimate says of a job with one thing changed: the numbers fixes are made of.

Only the estimate is repeated here, not the plan: a tenth of the time, and rules ask for several.
Whoever offers a fix tries it on a whole plan again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from perf_doctor.estimate.fits import Fits, fits, worst
from perf_doctor.estimate.from_plan import optimizer_states
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.job import Job as Estimated
from perf_doctor.estimate.memory import MemoryEstimate, estimate_job
from perf_doctor.estimate.phases import Phase
from perf_doctor.estimate.shape import Recompute, Training
from perf_doctor.rules.job import Job

STEP_TOKENS = 512  # fixes are multiples of this
MOST_TOKENS = 262_144  # longer samples than models take
MARGIN = 0.95  # of a card: what a change that gives memory up may use at the high end

_TRAINS = frozenset({"init", "train", "optimizer", "weight_sync"})
_FORWARD = frozenset({"reference", "log_probs"})


def training(memory: MemoryEstimate) -> list[Phase]:
    """Return the phases of the role that trains, forward passes left out."""
    return [p for p in memory.phases if p.role == "actor" and p.phase in _TRAINS]


def forward(memory: MemoryEstimate) -> list[Phase]:
    """Return the forward-only passes of every role."""
    return [p for p in memory.phases if p.phase in _FORWARD]


def rollout(memory: MemoryEstimate) -> list[Phase]:
    """Return the engines at work."""
    return [p for p in memory.phases if p.phase == "rollout"]


def heaviest(phases: Iterable[Phase]) -> Phase | None:
    """Return the phase with the highest expected total; None without any."""
    return max(phases, key=lambda phase: phase.total_gib.expected, default=None)


def verdict(phases: Iterable[Phase], capacity: float) -> Fits:
    """Return the worst verdict of some phases."""
    return worst([fits(phase.total_gib, capacity) for phase in phases])


def _again(job: Job, change: Callable[[Training], Training]) -> MemoryEstimate | None:
    """Return the estimate with another trainer; None where there is none."""
    estimated = job.memory.job
    if estimated is None or estimated.actor is None:
        return None
    return estimate_job(estimated._replace(actor=change(estimated.actor), uncapped=None))


def without_offload(job: Job) -> MemoryEstimate | None:
    """Return the estimate with the whole optimizer on the GPU."""
    return _offloaded(job, 0.0)


def _offloaded(job: Job, fraction: float) -> MemoryEstimate | None:
    fp16 = job.plan.training.precision == "fp16"
    optimizer = replace(
        job.plan.training.optimizer, cpu_offload=fraction > 0, offload_fraction=fraction
    )
    states = optimizer_states(optimizer, fp16=fp16)
    return _again(job, lambda actor: actor._replace(states=states))


def without_recompute(job: Job, tokens: float | None = None) -> MemoryEstimate | None:
    """Return the estimate with all activations kept, and another token budget if one is given."""

    def change(actor: Training) -> Training:
        actor = actor._replace(recompute=Recompute())
        return actor if tokens is None else _with_tokens(job, actor, tokens)

    return _again(job, change)


def _with_tokens(job: Job, actor: Training, tokens: float) -> Training:
    """Return the trainer with ``tokens`` on each rank; one long sample stays what it is.

    Micro-batches fill their budget as in ``estimate.from_plan``: 0.95 to 1.02 of it.
    """
    budget = job.settings.value("--max-tokens-per-gpu")
    now = actor.batch.tokens
    alone = now.high if isinstance(budget, int) and now.high > 1.021 * budget else 0.0
    found = Interval(0.95 * tokens, tokens, max(1.02 * tokens, alone))
    return actor._replace(batch=actor.batch._replace(tokens=found))


def with_tokens(job: Job, tokens: float) -> MemoryEstimate | None:
    """Return the estimate with another ``--max-tokens-per-gpu``."""
    return _again(job, lambda actor: _with_tokens(job, actor, tokens))


def with_sample(job: Job, tokens: float) -> MemoryEstimate | None:
    """Return the estimate of a micro-batch that holds one sample of ``tokens``."""

    def change(actor: Training) -> Training:
        share = exactly(tokens / actor.mesh.cp)
        return actor._replace(batch=actor.batch._replace(tokens=share, forward_tokens=share))

    return _again(job, change)


def trains_within(memory: MemoryEstimate | None, share: float = 1.0) -> bool:
    """Tell whether the trainer fits this share of the card even at the high end."""
    if memory is None or memory.capacity_gib is None:
        return False
    phases = [*training(memory), *forward(memory)]
    return verdict(phases, share * memory.capacity_gib) == "yes"


def most_tokens(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest multiple of STEP_TOKENS in the range that ``holds``, else ``low`` itself.

    None where not even ``low`` does; more tokens never need less memory.
    """
    if low > high or not holds(low):
        return None
    below, above = low // STEP_TOKENS, high // STEP_TOKENS + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if holds(middle * STEP_TOKENS) else (below, middle)
    return max(low, below * STEP_TOKENS)


def partial_offload(job: Job) -> float | None:
    """Return the smallest quarter of the optimizer whose offload leaves a margin; None if none."""
    fractions = (0.25, 0.5, 0.75)
    return next((f for f in fractions if trains_within(_offloaded(job, f), MARGIN)), None)


def host_offload(job: Job) -> float | None:
    """Return the largest quarter of the optimizer whose offload fits the host and the card."""
    for fraction in (0.75, 0.5, 0.25):
        found = _offloaded(job, fraction)
        if found is not None and found.fits_host == "yes" and trains_within(found):
            return fraction
    return None


def engine_share(job: Job) -> float | None:
    """Return the ``--sglang-mem-fraction-static`` up to the usual one that lets engines work.

    In steps of 0.05; usual is 0.8 beside a trainer and 0.9 alone. None where none does.
    """
    estimated, capacity = job.memory.job, job.memory.capacity_gib
    if estimated is None or capacity is None:
        return None
    beside = any(engine.shares for engine in estimated.engines)
    for hundredths in range(80 if beside else 90, 20, -5):
        found = estimate_job(_shared(estimated, hundredths / 100))
        holding = all(memory is None or memory.short is False for memory in found.engines)
        if holding and verdict(rollout(found), capacity) == "yes":
            return hundredths / 100
    return None


def _shared(job: Estimated, share: float) -> Estimated:
    engines = [e._replace(mem_fraction=share) if e.kind == "rollout" else e for e in job.engines]
    return job._replace(engines=tuple(engines))
