"""The estimates as a person reads them: memory by phase and component, the limit, the step."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.explain import explain, explain_host
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import MemoryEstimate, verdict_line
from perf_doctor.estimate.phases import Phase
from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_explain import explain_time
from perf_doctor.estimate.time_text import step_line, timeline
from perf_doctor.inert import inert
from perf_doctor.report.context import context_line

_COLUMNS = {
    "weights": "weights",
    "gradients": "grads",
    "optimizer": "optim",
    "activations": "activ",
    "logits": "logits",
    "kv_cache": "kv",
    "communication": "comm",
    "overhead": "other",
}
_WIDTH = 8


def estimate_report(diagnosis: Diagnosis, *, explained: bool = False) -> str:
    """Return the table of phases, GiB on the heaviest GPU, and what it is measured against.

    With ``explained`` every figure follows with its formula and the numbers put in.
    """
    time = diagnosis.time
    lines = [
        inert(diagnosis.script),
        context_line(diagnosis.plan),
        verdict_line(diagnosis.memory),
        step_line(time),
        "",
        *_table(diagnosis.memory),
        *_limits(diagnosis.memory),
        "",
        *timeline(time),
    ]
    if explained:
        lines += _explanations(diagnosis.memory)
        lines += _time_explanations(time, diagnosis.memory)
    assumed = [*diagnosis.plan.assumptions, *time.assumptions]
    if assumed:
        lines += ["", "assumed", *(f"  {inert(text)}" for text in assumed)]
    return diagnosis.redactor.redact("\n".join(lines)) + "\n"


def _table(memory: MemoryEstimate) -> Iterator[str]:
    if not memory.phases:
        return
    names = [f"{title:>{_WIDTH}}" for title in _COLUMNS.values()]
    yield f"{'GiB per GPU':<24}{''.join(names)}{'low':>9}{'expected':>10}{'high':>7}"
    for phase in memory.phases:
        parts = phase.components._asdict()
        cells = "".join(f"{_gib(parts[name]):>{_WIDTH}}" for name in _COLUMNS)
        total = phase.total_gib
        mark = "  ← peak" if phase is memory.peak else ""
        yield (
            f"{_name(phase):<24}{cells}{total.low:>9.1f}{total.expected:>10.1f}"
            f"{total.high:>7.1f}{mark}"
        )


def _gib(number: float) -> str:
    return "·" if number < 0.05 else f"{number:.1f}"


def _name(phase: Phase) -> str:
    role = "" if phase.role in ("actor", phase.phase) else f" {phase.role}"
    stage = "" if phase.pp_stage is None else f", stage {phase.pp_stage}"
    return f"{phase.phase}{role}{stage}"


def _limits(memory: MemoryEstimate) -> Iterator[str]:
    yield ""
    if memory.capacity_gib is not None:
        peak = memory.peak_gib
        room = "" if peak is None else f"; {_range(_room(memory.capacity_gib, peak))} GiB left"
        yield f"limit  {memory.capacity_gib:.1f} GiB usable on each GPU{room}"
    if memory.host_gib_per_node is not None:
        yield f"host   {_range(memory.host_gib_per_node)} GiB per node"
    for engine, held in zip(memory.job.engines if memory.job else (), memory.engines, strict=False):
        if held is not None:
            yield f"cache  the {engine.kind} engine holds {_range(held.kv_tokens)} tokens"


def _room(capacity_gib: float, peak: Interval) -> Interval:
    return Interval(capacity_gib - peak.high, capacity_gib - peak.expected, capacity_gib - peak.low)


def _range(interval: Interval) -> str:
    return f"{interval.expected:,.0f} ({interval.low:,.0f}–{interval.high:,.0f})"


def _time_explanations(time: TimeEstimate, memory: MemoryEstimate) -> Iterator[str]:
    told = explain_time(time, memory)
    if told:
        yield ""
        yield "seconds"
        yield from (f"  {one}" for one in told)


def _explanations(memory: MemoryEstimate) -> Iterator[str]:
    for phase in memory.phases:
        told = explain(memory, phase)
        if told:
            yield ""
            yield _name(phase)
            yield from (f"  {one}" for one in told)
    host = explain_host(memory)
    if host is not None:
        yield ""
        yield f"host\n  {host}"
