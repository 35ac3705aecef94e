"""Facts of the memory estimate: what a job needs, and what it would need with one thing changed.

The estimate is made when a rule asks. What it leaves open is Unknown here, with its reason; None
is what a job does not have, such as a trainer. GiB are most likely values, ``_low`` and ``_high``
the ends of their interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, get_args

from perf_doctor.estimate.constants import GIB
from perf_doctor.estimate.efficiencies import CPU_ADAM_OVERLAP, CPU_ADAM_S
from perf_doctor.estimate.engine import EngineMemory
from perf_doctor.estimate.fits import Fits
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.phases import Phase
from perf_doctor.language import said
from perf_doctor.rules import experiments
from perf_doctor.rules.check import NUMBER, TEXT, Type
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Getter, Job, estimate_failed
from perf_doctor.rules.sizes import sample_limit
from perf_doctor.shell.model import Unknown

Row = tuple[str, Type, str, Getter, tuple[str, ...], None, str]

_FITS = Type("text", get_args(Fits))
_TRAIN_TFLOP = 6.0 * 1e9 / 1e12  # TFLOP that 1e9 parameters take per token, forward and backward
_SLOWEST = 0.2  # of the card's bf16 peak: a trainer that is slower has another problem


class _Estimate(Protocol):
    """What both estimates say when there is none."""

    @property
    def unknown(self) -> str | None: ...


E = TypeVar("E", bound=_Estimate)


def over(name: str, estimate: Callable[[Job], E], get: Callable[[Job, E], Value]) -> Getter:
    """Return a getter over an estimate: Unknown without one, or where it fails."""

    def read(job: Job) -> Value:
        found = estimate(job)
        if found.unknown is not None:
            return Unknown(name, found.unknown)
        try:
            return get(job, found)
        except Exception as error:  # the report is worth more than one fact
            return Unknown(name, estimate_failed(error))

    return read


def _of(name: str, get: Callable[[Job, MemoryEstimate], Value]) -> Getter:
    return over(name, lambda job: job.memory, get)


def _no_card(name: str) -> Unknown:
    return Unknown(name, said("the memory of the card is not known"))


def _gib(size: float) -> float:
    return round(size, 1)


Phases = Callable[[MemoryEstimate], list[Phase]]


def _verdict(name: str, phases: Phases) -> Getter:
    def get(_: Job, memory: MemoryEstimate) -> Value:
        found = phases(memory)
        if memory.capacity_gib is None:
            return _no_card(name)
        return experiments.verdict(found, memory.capacity_gib) if found else None

    return _of(name, get)


def _part(name: str, phases: Phases, part: Callable[[Phase], Value]) -> Getter:
    def get(_: Job, memory: MemoryEstimate) -> Value:
        found = experiments.heaviest(phases(memory))
        return None if found is None else part(found)

    return _of(name, get)


def _interval(
    name: str, doc: str, get: Callable[[Job, MemoryEstimate], Interval | None]
) -> tuple[Row, ...]:
    """Return three facts: the most likely value, the low end and the high end."""

    def end(attribute: str) -> Callable[[Job, MemoryEstimate], Value]:
        def read(job: Job, memory: MemoryEstimate) -> Value:
            found = get(job, memory)
            return None if found is None else _gib(getattr(found, attribute))

        return read

    ends = (("", "expected", doc), ("_low", "low", f"The low end of {name}."),
            ("_high", "high", f"The high end of {name}."))  # fmt: skip
    return tuple(
        (name + suffix, NUMBER, text, _of(name + suffix, end(attribute)), (), None, "GiB")
        for suffix, attribute, text in ends
    )


def _total(phases: Phases) -> Callable[[Job, MemoryEstimate], Interval | None]:
    def get(_: Job, memory: MemoryEstimate) -> Interval | None:
        found = experiments.heaviest(phases(memory))
        return None if found is None else found.total_gib

    return get


def _trainer(change: Callable[[Job], MemoryEstimate | None]) -> Callable[
    [Job, MemoryEstimate], Interval | None
]:  # fmt: skip
    def get(job: Job, _: MemoryEstimate) -> Interval | None:
        found = change(job)
        phase = None if found is None else experiments.heaviest(experiments.training(found))
        return None if phase is None else phase.total_gib

    return get


# ---------------------------------------------------------------- engines


def _tightest(memory: MemoryEstimate) -> EngineMemory | None:
    """Return the rank of an engine whose share leaves the least beside its weights."""
    known = [engine for engine in memory.engines if engine is not None]
    return min(known, key=lambda engine: engine.static.expected - engine.weights, default=None)


def _share_fits(_: Job, memory: MemoryEstimate) -> Value:
    engine = _tightest(memory)
    if engine is None:
        unknown = any(found is None for found in memory.engines)
        why = said("what an engine holds is not known")
        return Unknown("engine_holds", why) if unknown else None
    return {True: "no", None: "borderline", False: "yes"}[engine.short]


def _engine(part: Callable[[EngineMemory], Value]) -> Callable[[Job, MemoryEstimate], Value]:
    def get(_: Job, memory: MemoryEstimate) -> Value:
        engine = _tightest(memory)
        return None if engine is None else part(engine)

    return get


def _host_fits(_: Job, memory: MemoryEstimate) -> Value:
    if memory.fits_host is None and memory.host_gib_per_node is not None:
        why = said("the memory of a node is not in the script: --host-ram")
        return Unknown("host_fits", why)
    return memory.fits_host


def _host_size(_: Job, memory: MemoryEstimate) -> Value:
    size = None if memory.job is None else memory.job.host_gib_per_node
    if size is None:
        return Unknown("host_ram_gib", said("nobody told it: --host-ram"))
    return round(size)


# ---------------------------------------------------------------- experiments


def _budget(job: Job) -> tuple[int, int, int] | None:
    """Return the token budget, the one that holds a sample, and CP; None without a budget."""
    budget, cp = job.settings.value("--max-tokens-per-gpu"), job.plan.parallel.mesh.cp
    limit = sample_limit(job)
    if not isinstance(budget, int) or not job.plan.batch.dynamic_batch or cp is None:
        return None
    return budget, -(-limit // cp) if isinstance(limit, int) else 1024, cp


def _fitting_tokens(job: Job, _: MemoryEstimate) -> Value:
    sizes = _budget(job)
    if sizes is None:
        return None
    budget, floor, _cp = sizes
    return experiments.most_tokens(
        floor, budget - 1, lambda t: experiments.trains_within(experiments.with_tokens(job, t))
    )


def _tokens_without_recompute(job: Job, _: MemoryEstimate) -> Value:
    sizes = _budget(job)
    if sizes is None:
        return None
    budget, floor, _cp = sizes
    within = experiments.trains_within
    return experiments.most_tokens(
        floor,
        max(budget, floor),
        lambda t: within(experiments.without_recompute(job, t), experiments.MARGIN),
    )


def _fitting_sample(job: Job, _: MemoryEstimate) -> Value:
    if job.memory.capacity_gib is None:
        return _no_card("fitting_sample")
    most = experiments.most_tokens(
        experiments.STEP_TOKENS,
        experiments.MOST_TOKENS,
        lambda t: experiments.trains_within(experiments.with_sample(job, t)),
    )
    return 0 if most is None else most


def _without(name: str, change: Callable[[Job], MemoryEstimate | None]) -> Getter:
    """Return a getter: yes only when the trainer would keep a margin."""

    def get(job: Job, memory: MemoryEstimate) -> Value:
        if memory.capacity_gib is None:
            return _no_card(name)
        found = change(job)
        if found is None:
            return None
        if experiments.trains_within(found, experiments.MARGIN):
            return "yes"
        plain = experiments.verdict(experiments.training(found), memory.capacity_gib)
        return "no" if plain == "no" else "borderline"

    return _of(name, get)


def _adam_seconds(job: Job, memory: MemoryEstimate) -> Value:
    """Return the least that CPU Adam takes: its elements on a rank × seconds per 1e9."""
    if not memory.stages or memory.job is None or memory.job.actor is None:
        return None
    mesh, offload = memory.job.actor.mesh, memory.job.actor.states.offload
    elements = max(
        stage.parameters[0] / mesh.dense_shards + stage.parameters[1] / mesh.expert_shards
        for stage in memory.stages
    )
    overlap = CPU_ADAM_OVERLAP.low if job.plan.training.optimizer.overlap_transfers else 1.0
    return round(CPU_ADAM_S.low * overlap * offload * elements / 1e9, 2)


def _train_seconds(job: Job, _: MemoryEstimate) -> Value:
    """Return the most that the passes of a step take, if every sample filled a micro-batch."""
    sizes, peak = _budget(job), job.plan.gpu.bf16_tflops
    samples, world = job.plan.batch.global_batch_size, job.plan.parallel.mesh.world_size
    parameters = job.plan.model.parameters
    if sizes is None or peak is None or samples is None or world is None or parameters is None:
        return Unknown("train_s_at_most", said("a size of the step is not known"))
    recomputed = 8 / 6 if job.plan.training.recompute.granularity == "full" else 1.0
    tflop = _TRAIN_TFLOP * recomputed * parameters.active / 1e9 * samples * sizes[0] * sizes[2]
    return round(tflop / (world * peak * _SLOWEST), 2)


# ---------------------------------------------------------------- the table

_BUDGET = ("--max-tokens-per-gpu", "--context-parallel-size")
_TRAINS = (*_BUDGET, "--rollout-max-context-len", "--rollout-max-response-len",
           "--recompute-granularity", "--optimizer-cpu-offload")  # fmt: skip
_SHARE = ("--sglang-mem-fraction-static", "--rollout-num-gpus-per-engine")
_HOST = ("--optimizer-cpu-offload", "--use-kl-loss", "--manual-offload")


def row(
    name: str, kind: Type, doc: str, get: Getter, flags: tuple[str, ...] = (), unit: str = ""
) -> Row:
    """Return a row of the table of facts."""
    return (name, kind, doc, get, flags, None, unit)


ROWS: tuple[Row, ...] = (
    row("fits", _FITS, "Whether the job fits by the memory estimate, in every phase.",
         _of("fits", lambda _, m: _no_card("fits") if m.fits is None else m.fits)),
    row("uncapped", TEXT, "The length that nothing in the script limits: sample or context; None "
         "when all are limited.",
         _of("uncapped", lambda _, m: None if m.job is None else m.job.uncapped)),
    *_interval("peak_gib", "The heaviest phase of all.", lambda _, m: m.peak_gib),
    row("peak_phase", TEXT, "The name of that phase.",
         _of("peak_phase", lambda _, m: m.peak_phase)),
    row("headroom_gib", NUMBER, "Memory of the card less the high end of the heaviest phase.",
         _of("headroom_gib", lambda _, m: _no_card("headroom_gib") if m.capacity_gib is None
             else _gib(m.capacity_gib - max(p.total_gib.high for p in m.phases))), unit="GiB"),
    row("excess_gib", NUMBER, "What the heaviest phase most likely needs beyond the card; 0 where "
         "it fits.", _of("excess_gib", lambda _, m: _no_card("excess_gib")
             if m.capacity_gib is None or m.peak is None
             else max(0.0, m.peak.total_gib.expected - m.capacity_gib)), unit="GiB"),
    row("train_fits", _FITS, "Whether training, optimizer step and weight update fit; None "
         "without a trainer.", _verdict("train_fits", experiments.training), _TRAINS),
    *_interval("train_gib", "The heaviest phase of training.", _total(experiments.training)),
    row("train_phase", TEXT, "The name of that phase.",
         _part("train_phase", experiments.training, lambda p: p.phase)),
    row("train_stage", NUMBER, "The pipeline stage of that phase.",
         _part("train_stage", experiments.training, lambda p: p.pp_stage)),
    row("state_gib", NUMBER, "Weights, gradients and optimizer in that phase.",
         _part("state_gib", experiments.training, lambda p: _gib(
             p.components.weights + p.components.gradients + p.components.optimizer)), unit="GiB"),
    row("optimizer_gib", NUMBER, "The optimizer's part of them.",
         _part("optimizer_gib", experiments.training, lambda p: _gib(p.components.optimizer)),
         unit="GiB"),
    row("activations_gib", NUMBER, "Activations in that phase.",
         _part("activations_gib", experiments.training,
               lambda p: _gib(p.components.activations)), unit="GiB"),
    row("logits_gib", NUMBER, "Logits and what the loss keeps of them in that phase; 0 where the "
         "peak lies elsewhere.",
         _part("logits_gib", experiments.training, lambda p: _gib(p.components.logits)),
         unit="GiB"),
    row("forward_fits", _FITS, "Whether the forward-only passes fit; None without any.",
         _verdict("forward_fits", experiments.forward), ("--log-probs-max-tokens-per-gpu",)),
    *_interval("forward_gib", "The heaviest forward-only pass.", _total(experiments.forward)),
    row("rollout_fits", _FITS, "Whether the engines fit beside what the trainer leaves; None "
         "without engines.", _verdict("rollout_fits", experiments.rollout), _SHARE),
    *_interval("rollout_gib", "The engines at work.", _total(experiments.rollout)),
    row("engine_holds", _FITS, "Whether the share of each engine holds its weights; None without "
         "engines.", _of("engine_holds", _share_fits), _SHARE),
    row("engine_weights_gib", NUMBER, "Weights on a rank of the tightest engine.",
         _of("engine_weights_gib", _engine(lambda e: _gib(e.weights / GIB))), unit="GiB"),
    row("engine_share_gib", NUMBER, "Its share of the card, for weights and cache.",
         _of("engine_share_gib", _engine(lambda e: _gib(e.static.expected / GIB))), unit="GiB"),
    row("kv_tokens", NUMBER, "Tokens that its cache holds.",
         _of("kv_tokens", _engine(lambda e: round(e.kv_tokens.expected))), unit="tokens"),
    row("engine_share", NUMBER, "The largest usual --sglang-mem-fraction-static with which the "
         "engines hold their weights and fit; None where none does.",
         _of("engine_share", lambda job, _: experiments.engine_share(job))),
    row("host_fits", _FITS, "Whether a node's host memory suffices; None without a trainer.",
         _of("host_fits", _host_fits), _HOST),
    *_interval("host_gib", "Host memory of a node that trains.",
               lambda _, m: m.host_gib_per_node),
    row("host_ram_gib", NUMBER, "Memory of a node, as --host-ram says.",
         _of("host_ram_gib", _host_size), unit="GiB"),
    row("fitting_tokens", NUMBER, "The largest smaller --max-tokens-per-gpu that holds a sample "
         "and fits; None where none does.", _of("fitting_tokens", _fitting_tokens),
         unit="tokens"),
    row("fitting_sample", NUMBER, "The longest sample whose training fits, however long samples "
         "are.", _of("fitting_sample", _fitting_sample), unit="tokens"),
    row("fits_without_offload", _FITS, "Whether training would fit, with 5 % of the card left, "
         "with the whole optimizer on the GPU.",
         _without("fits_without_offload", experiments.without_offload)),
    *_interval("without_offload_gib", "Training with the whole optimizer on the GPU.",
               _trainer(experiments.without_offload)),
    row("fits_without_recompute", _FITS, "Whether training would fit, with 5 % of the card left, "
         "with all activations kept.",
         _without("fits_without_recompute", experiments.without_recompute)),
    *_interval("without_recompute_gib", "Training with all activations kept.",
               _trainer(experiments.without_recompute)),
    row("tokens_without_recompute", NUMBER, "The largest --max-tokens-per-gpu up to today's that "
         "holds a sample and leaves 5 % of the card with all activations kept; None where none "
         "does.", _of("tokens_without_recompute", _tokens_without_recompute), unit="tokens"),
    row("partial_offload", NUMBER, "The smallest of 0.25, 0.5 and 0.75 of the optimizer whose "
         "offload leaves 5 % of the card; None where none does.",
         _of("partial_offload", lambda job, _: experiments.partial_offload(job))),
    row("host_offload", NUMBER, "The largest of 0.75, 0.5 and 0.25 of the optimizer whose offload "
         "fits card and host; None where none does.",
         _of("host_offload", lambda job, _: experiments.host_offload(job))),
    row("cpu_adam_s", NUMBER, "The least that an optimizer step takes on the CPU.",
         _of("cpu_adam_s", _adam_seconds), unit="s"),
    row("train_s_at_most", NUMBER, "The most that the passes of an optimizer step take: every "
         "sample a whole micro-batch, at a fifth of the card's peak.",
         _of("train_s_at_most", _train_seconds), unit="s"),
)  # fmt: skip
