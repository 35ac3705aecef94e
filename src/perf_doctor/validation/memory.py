"""GPU memory of measured runs: how much, and whether it fitted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from perf_doctor.estimate.constants import CONTEXT_GIB, FRAGMENTATION, GIB
from perf_doctor.estimate.engine import Engine, kv_bytes_per_token, weight_bytes
from perf_doctor.estimate.fits import Fits, fits
from perf_doctor.estimate.interval import Interval, exactly, excess, independent_sum
from perf_doctor.estimate.phases import communication_gib
from perf_doctor.estimate.shape import Training
from perf_doctor.estimate.training import Stage, allocated, stages, uncertain
from perf_doctor.plan.gpu import UnknownGpuError, find_gpu
from perf_doctor.validation.judged import Judged, judge_each, row_of
from perf_doctor.validation.run import Point, Run, is_eligible, run_of

# Which memory: what torch has allocated at the peak or between steps, reserved, or the device's.
Metric = Literal["allocated", "steady", "reserved", "device", "serve"]
_UNITS = {"gb": 1e9, "gib": GIB, "mib": 2.0**20, "mb": 1e6}
# What a run may have measured, the first one found counts.
_METRICS: tuple[tuple[str, Metric], ...] = (
    ("peak_mem", "allocated"),
    ("steady_mem", "steady"),
    ("peak_reserved", "reserved"),
    ("nvidia_smi", "device"),
    ("device_used", "device"),
)
MEMORY_KINDS = (
    "train_memory",
    "train_memory+time",
    "optimizer_offload",
    "rl_memory",
    "serve_memory",
)


def judge_memory(points: Iterable[Point]) -> tuple[Judged, ...]:
    """Return every memory point, judged."""
    return judge_each(points, _judge, "memory", "GiB")


def is_about_memory(point: Point) -> bool:
    """Tell whether a run says how much memory it took, or whether it fitted."""
    return _fitted(point) is not None or (
        point.get("kind") in MEMORY_KINDS and _metric(point) is not None
    )


def _fitted(point: Point) -> bool | None:
    measured = point.get("measured") or {}
    if "oom" in measured:
        return not measured["oom"]
    return bool(measured["fits"]) if "fits" in measured else None


def _metric(point: Point) -> tuple[Metric, float] | None:
    """Return what was measured and how much of it, GiB."""
    measured = point.get("measured") or {}
    for name, metric in _METRICS:
        for key, value in measured.items():
            unit = key.rsplit("_", 1)[-1]
            exact = key.rpartition("_")[0] == name
            if exact and unit in _UNITS and isinstance(value, (int, float)):
                serve = point.get("kind") == "serve_memory"
                return "serve" if serve else metric, value * _UNITS[unit] / GIB
    return None


def _judge(point: Point) -> Iterable[Judged]:
    if not is_about_memory(point):
        return
    found, fitted, run = _metric(point), _fitted(point), run_of(point)
    skipped = run if isinstance(run, str) else None
    if found is None:
        skipped = "states whether it fitted, and no amount"
    judged = replace(
        row_of(point, "memory", "GiB", skipped_because=skipped),
        metric=found[0] if found else "",
        measured=found[1] if found else None,
        eligible=found is not None and is_eligible(point),
        fitted=fitted,
        fits=None if fitted is None else _fits(point),
    )
    if isinstance(run, str) or found is None:
        yield judged
        return
    yield replace(
        judged,
        predicted=predict(point, run, found[0]),
        assumptions=run.assumptions,
        experts=run.training.shape.routed is not None,
    )


def predict(point: Point, run: Run, metric: Metric) -> Interval:
    """Return GiB of what was measured."""
    if metric == "serve":
        return _serve(point, run)
    own = _predict(run, run.training, metric)
    others = [
        _predict(run, run.training._replace(states=states), metric) for states in run.alternatives
    ]
    if not others:
        return own
    low = min(own.low, *(other.low for other in others))
    return Interval(low, own.expected, max(own.high, *(other.high for other in others)))


def _predict(run: Run, training: Training, metric: Metric) -> Interval:
    held = stages(training)
    if metric == "steady":
        heaviest = held[-1] if run.last_rank_only else max(held, key=_resident)
        size = heaviest.states.resident
        return independent_sum(exactly(size), heaviest.fixed, uncertain(size)) * (1 / GIB)
    chosen = allocated(held[-1] if run.last_rank_only else max(held, key=_expected))
    peak = independent_sum(chosen, uncertain(chosen.expected)) * (1 / GIB)
    if metric == "allocated":
        return peak
    reserved = independent_sum(peak, _fragments(peak))
    return reserved if metric == "reserved" else _device(reserved, training)


def _expected(stage: Stage) -> float:
    return allocated(stage).expected


def _resident(stage: Stage) -> float:
    return stage.states.resident


def _fragments(peak: Interval) -> Interval:
    return excess(FRAGMENTATION, peak.expected)


def _device(reserved: Interval, training: Training) -> Interval:
    return independent_sum(reserved, CONTEXT_GIB, communication_gib(training))


def _serve(point: Point, run: Run) -> Interval:
    """Return weights and the KV cache of one sequence, with a little around them."""
    shape, tp = run.training.shape, run.training.mesh.tp
    engine = Engine("rollout", shape, tp, 1, tp, None, graphs=False, shares=False)
    tokens = float(point["seq"]) * float(point["mbs"])
    held = weight_bytes(engine, shape) + tokens * kv_bytes_per_token(engine, shape)
    return Interval(0.97 * held, held, 1.1 * held) * (1 / GIB)


def _fits(point: Point) -> Fits | None:
    """Return whether a run fits its GPU, beside an engine that keeps its share if there is one.

    A run that states no batch is taken with one usual micro-batch.
    """
    run, capacity = run_of(point, tokens_needed=False), capacity_gib(str(point.get("gpu")))
    if isinstance(run, str) or capacity is None:
        return None
    device = predict(point, run, "device")
    return fits(device + exactly(run.neighbour_share * capacity), capacity)


def capacity_gib(gpu: str) -> float | None:
    """Return usable GiB of a GPU as measured runs name it: ``H100-SXM-80GB``, ``80GB-class``."""
    try:
        return find_gpu(gpu).usable_gib
    except UnknownGpuError:
        number = gpu.rpartition("GB")[0].rsplit("-", 1)[-1]
        return 0.988 * float(number) if number.isdecimal() else None
