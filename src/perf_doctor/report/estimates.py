"""The estimates as a person reads them: memory by phase and component, the limit, the step."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.explain import explain, explain_host
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import MemoryEstimate, verdict_line
from perf_doctor.estimate.shown import phase_line
from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_explain import explain_time
from perf_doctor.estimate.time_text import step_line, timeline
from perf_doctor.inert import inert
from perf_doctor.language import said
from perf_doctor.report.context import context_line
from perf_doctor.width import left, right, width

_COLUMNS = {  # messages
    "weights": "weights",
    "gradients": "grads",
    "optimizer": "optim",
    "activations": "activ",
    "logits": "logits",
    "kv_cache": "kv",
    "communication": "comm",
    "overhead": "other",
}
_NAME, _WIDTH = 24, 8


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
        lines += ["", said("assumed"), *(f"  {inert(text)}" for text in assumed)]
    return diagnosis.redactor.redact("\n".join(lines)) + "\n"


def _table(memory: MemoryEstimate) -> Iterator[str]:
    if not memory.phases:
        return
    names = "".join(right(said(_COLUMNS[name]), _WIDTH) for name in _COLUMNS)
    ends = f"{right(said('low'), 9)}{right(said('expected'), 10)}{right(said('high'), 7)}"
    yield f"{left(said('GiB per GPU'), _NAME)}{names}{ends}"
    for phase in memory.phases:
        parts = phase.components._asdict()
        cells = "".join(f"{_gib(parts[name]):>{_WIDTH}}" for name in _COLUMNS)
        total = phase.total_gib
        mark = f"  ← {said('peak')}" if phase is memory.peak else ""
        yield (
            f"{left(phase_line(phase), _NAME)}{cells}{total.low:>9.1f}{total.expected:>10.1f}"
            f"{total.high:>7.1f}{mark}"
        )


def _gib(number: float) -> str:
    return "·" if number < 0.05 else f"{number:.1f}"


def _limits(memory: MemoryEstimate) -> Iterator[str]:
    yield ""
    limit, host, cache = said("limit"), said("host"), said("cache")
    lead = 2 + max(width(title) for title in (limit, host, cache))
    if memory.capacity_gib is not None:
        peak = memory.peak_gib
        told = said("{gib} GiB usable on each GPU", gib=f"{memory.capacity_gib:.1f}")
        if peak is not None:
            room = _range(_room(memory.capacity_gib, peak))
            told = said("{limit}; {gib} GiB left", limit=told, gib=room)
        yield f"{left(limit, lead)}{told}"
    if memory.host_gib_per_node is not None:
        told = said("{gib} GiB per node", gib=_range(memory.host_gib_per_node))
        yield f"{left(host, lead)}{told}"
    for engine, held in zip(memory.job.engines if memory.job else (), memory.engines, strict=False):
        if held is not None:
            tokens = _range(held.kv_tokens)
            told = said("the {role} engine holds {tokens} tokens", role=engine.kind, tokens=tokens)
            yield f"{left(cache, lead)}{told}"


def _room(capacity_gib: float, peak: Interval) -> Interval:
    return Interval(capacity_gib - peak.high, capacity_gib - peak.expected, capacity_gib - peak.low)


def _range(interval: Interval) -> str:
    return f"{interval.expected:,.0f} ({interval.low:,.0f}–{interval.high:,.0f})"


def _time_explanations(time: TimeEstimate, memory: MemoryEstimate) -> Iterator[str]:
    told = explain_time(time, memory)
    if told:
        yield ""
        yield said("seconds")
        yield from (f"  {one}" for one in told)


def _explanations(memory: MemoryEstimate) -> Iterator[str]:
    for phase in memory.phases:
        told = explain(memory, phase)
        if told:
            yield ""
            yield phase_line(phase)
            yield from (f"  {one}" for one in told)
    host = explain_host(memory)
    if host is not None:
        yield ""
        yield f"{said('host')}\n  {host}"
