"""The memory estimate of a job: every phase, the peak, the host, and whether it fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perf_doctor.estimate.constants import GIB, SLEEPING_ENGINE_GIB, SLEEPING_TRAINER_GIB
from perf_doctor.estimate.engine import EngineMemory, engine_memory
from perf_doctor.estimate.fits import Fits, fits, worst
from perf_doctor.estimate.from_plan import job_of
from perf_doctor.estimate.host import host_gib, usable_gib
from perf_doctor.estimate.interval import Interval, exactly, independent_sum, larger
from perf_doctor.estimate.job import Job
from perf_doctor.estimate.phases import (
    Phase,
    forward_phases,
    holding_phase,
    neighbour_gib,
    rollout_phase,
    surroundings,
    sync_phase,
    trainer_phases,
)
from perf_doctor.estimate.shown import clauses, phase_line
from perf_doctor.estimate.training import Stage, stages
from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.plan.plan import Plan


@frozen
class MemoryEstimate:
    """Memory of a job; None everywhere is not known.

    ``fits`` is the worst of every phase and of ``fits_host``. ``peak`` is the phase with the
    highest expected total. ``engines``: what the engines' pools hold, in the order of
    ``job.engines``. ``reasons``: what else decided ``fits``, one clause each. ``unknown``: why
    there is no estimate.
    """

    capacity_gib: float | None = None
    fits: Fits | None = None
    fits_host: Fits | None = None
    peak: Phase | None = None
    phases: tuple[Phase, ...] = ()
    host_gib_per_node: Interval | None = None
    engines: tuple[EngineMemory | None, ...] = ()
    reasons: tuple[str, ...] = ()
    unknown: str | None = None
    job: Job | None = None
    stages: tuple[Stage, ...] = ()

    @property
    def peak_gib(self) -> Interval | None:
        """The interval of the peak."""
        return None if self.peak is None else self.peak.total_gib

    @property
    def peak_phase(self) -> str | None:
        """The name of the peak's phase."""
        return None if self.peak is None else self.peak.phase


def estimate_memory(plan: Plan, *, host_ram_gb: float | None = None) -> MemoryEstimate:
    """Return the estimate of a plan; ``host_ram_gb`` is the memory of one node, in GB (1e9)."""
    job = job_of(plan)
    if isinstance(job, str):
        return MemoryEstimate(capacity_gib=plan.gpu.usable_gib, unknown=job)
    if host_ram_gb is not None:
        job = job._replace(host_gib_per_node=host_ram_gb * 1e9 / GIB)
    return estimate_job(job)


def estimate_job(job: Job) -> MemoryEstimate:
    """Return the estimate of a job."""
    held = () if job.actor is None else stages(job.actor)
    residue = _residue(job, held)
    engines = _engines(job, residue)
    phases: list[Phase] = []
    host = None
    if job.actor is not None:
        around = surroundings(job.actor, neighbour_gib(job, engines))
        phases += trainer_phases(job, job.actor, held, around)
        if job.engines:
            beside = any(engine.shares for engine in job.engines)
            alone = surroundings(job.actor, SLEEPING_ENGINE_GIB if beside else exactly(0.0))
            weights = _synced_weights(job, engines)
            phases.append(sync_phase(job, job.actor.shape, held, alone, weights))
        host = host_gib(job, held)
    for role, training in job.forward_roles:
        phases += forward_phases(role, training, stages(training), surroundings(training))
    phases += _rollout(job, engines, residue)
    fits_host = None
    if host is not None and job.host_gib_per_node is not None:
        fits_host = fits(host, usable_gib(job.host_gib_per_node).expected)
    verdict, reasons = _verdict(job, phases, engines, fits_host)
    return MemoryEstimate(
        capacity_gib=job.capacity_gib,
        fits=verdict,
        fits_host=fits_host,
        peak=max(phases, key=_expected, default=None),
        phases=tuple(phases),
        host_gib_per_node=host,
        engines=engines,
        reasons=reasons,
        job=job,
        stages=held,
    )


def _residue(job: Job, held: tuple[Stage, ...]) -> Interval:
    """Return GiB that a trainer keeps on the GPU of an engine while that works."""
    if job.actor is None:
        return exactly(0.0)
    if job.sleep != "never":
        return SLEEPING_TRAINER_GIB
    return holding_phase("init", held, surroundings(job.actor)).total_gib


def _engines(job: Job, residue: Interval) -> tuple[EngineMemory | None, ...]:
    """Return one rank of each engine, None when its model or the GPU is not known.

    Engines of one GPU are put to sleep once they are loaded, so each takes its share of all that
    the trainer leaves.
    """
    found: list[EngineMemory | None] = []
    for engine in job.engines:
        if engine.shape is None or job.capacity_gib is None:
            found.append(None)
            continue
        free = exactly(job.capacity_gib)
        if engine.shares:
            free = larger(exactly(0.0), free - residue)
        found.append(engine_memory(engine, engine.shape, free * GIB))
    return tuple(found)


def _synced_weights(job: Job, engines: tuple[EngineMemory | None, ...]) -> float:
    """Return weights of the rollout engine that are back on the trainer's GPU, bytes."""
    pairs = zip(job.engines, engines, strict=True)
    back = [m.weights for e, m in pairs if m is not None and e.shares and e.kind == "rollout"]
    return sum(back)


def _rollout(job: Job, engines: tuple[EngineMemory | None, ...], residue: Interval) -> list[Phase]:
    """Return the engines at work; those of one GPU side by side unless they take turns."""
    together = exactly(0.0)
    for engine, memory in zip(job.engines, engines, strict=True):
        if memory is not None and engine.shares and not job.engines_alternate:
            together = together + (memory.static + memory.extra) * (1 / GIB)
    phases = []
    for engine, memory in zip(job.engines, engines, strict=True):
        if memory is None:
            continue
        beside = exactly(0.0)
        if engine.shares:
            own = (memory.static + memory.extra) * (1 / GIB)
            others = exactly(max(0.0, together.expected - own.expected))
            beside = independent_sum(residue, others)
        phases.append(rollout_phase(engine, memory, beside))
    return phases


def _expected(phase: Phase) -> float:
    return phase.total_gib.expected


def _verdict(
    job: Job,
    phases: list[Phase],
    engines: tuple[EngineMemory | None, ...],
    fits_host: Fits | None,
) -> tuple[Fits | None, tuple[str, ...]]:
    """Return the verdict over everything that can go wrong, and the clauses that explain it."""
    if job.capacity_gib is None or not phases:
        return None, ()
    verdicts = [fits(phase.total_gib, job.capacity_gib) for phase in phases]
    reasons = []
    for engine, memory in zip(job.engines, engines, strict=True):
        if memory is None:
            continue
        need, share = memory.weights / GIB, memory.static.expected / GIB
        if memory.short is not False:
            verdicts.append("no" if memory.short else "borderline")
            reasons.append(
                said(
                    "the {role} engine's share of {share} GiB does not hold its weights of {need}",
                    role=engine.kind, share=f"{share:.0f}", need=f"{need:.0f}",
                )
            )  # fmt: skip
        elif engine.longest_sample and memory.kv_tokens.low < engine.longest_sample:
            verdicts.append("borderline")
            reasons.append(
                said(
                    "the {role} engine's cache holds {held} tokens and one sample may have {most}",
                    role=engine.kind,
                    held=f"{memory.kv_tokens.expected:,.0f}",
                    most=f"{engine.longest_sample:,.0f}",
                )
            )
    if job.uncapped is not None:
        verdicts.append("borderline")
        reasons.append(said(_UNLIMITED[job.uncapped], setting=job.cap))
    if fits_host is not None:
        verdicts.append(fits_host)
    return worst(verdicts), tuple(reasons)


_UNLIMITED: Final = {
    "sample": "nothing limits the length of a sample; {setting} would",
    "context": "nothing limits the length of a context; {setting} would",
}  # messages
_FITS: Final = {"yes": "yes", "borderline": "borderline", "no": "no"}  # messages


def fits_word(fits: str | None) -> str:
    """Return whether a job fits as people read it."""
    return said("not known") if fits is None else said(_FITS[fits])


def verdict_line(estimate: MemoryEstimate) -> str:
    """Return one line: ``Fits: yes, 71 (68–75) of 95 GiB, train, stage 0; host 640 GiB per node``.

    Clauses follow that decided the verdict and are not in these numbers.
    """
    if estimate.unknown is not None:
        return said("Fits: not known, {reason}", reason=estimate.unknown)
    peak = estimate.peak
    if peak is None:
        return said("Fits: not known, the job holds nothing that is modelled")
    verdict = fits_word(estimate.fits)
    needed = _of_capacity(peak.total_gib, estimate.capacity_gib)
    line = said(
        "Fits: {verdict}, {gib}, {phase}", verdict=verdict, gib=needed, phase=phase_line(peak)
    )
    return clauses([line, *_host_clause(estimate), *estimate.reasons])


def _of_capacity(total: Interval, capacity: float | None) -> str:
    needed = f"{total.expected:.0f} ({total.low:.0f}–{total.high:.0f})"
    if capacity is None:
        return f"{needed} GiB"
    return said("{needed} of {capacity} GiB", needed=needed, capacity=f"{capacity:.0f}")


def _host_clause(estimate: MemoryEstimate) -> Iterator[str]:
    host, job = estimate.host_gib_per_node, estimate.job
    if host is None:
        return
    needed, size = f"{host.expected:.0f}", None if job is None else job.host_gib_per_node
    if size is None:
        yield said("host {needed} GiB per node", needed=needed)
    else:
        yield said("host {needed} GiB per node of {size}", needed=needed, size=f"{size:.0f}")
