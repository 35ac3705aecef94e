"""Facts of the time estimate. What it leaves open is Unknown, with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from perf_doctor.estimate.flops import layer_flops
from perf_doctor.estimate.gpu_split import Split, even_split
from perf_doctor.estimate.parameters import Kind
from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.rules.check import NUMBER, TEXT
from perf_doctor.rules.estimated import Row, over, row
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Getter, Job


def _of(name: str, get: Callable[[Job, TimeEstimate], Value]) -> Getter:
    return over(name, lambda job: job.time, get)


def _phase(name: str) -> Getter:
    def get(_: Job, time: TimeEstimate) -> Value:
        found = (time.phases or {}).get(name)
        return None if found is None else _seconds(found.expected)

    return _of(f"{name}_s", get)


def _seconds(value: float) -> float:
    return round(value, 1) if value < 100 else round(value)


def _side(which: str) -> Getter:
    def get(_: Job, time: TimeEstimate) -> Value:
        return None if time.sides is None else _seconds(getattr(time.sides, which).expected)

    return _of(f"{which}_side_s", get)


def _split(get: Callable[[Job, Split], Value]) -> Callable[[Job, TimeEstimate], Value]:
    def read(job: Job, time: TimeEstimate) -> Value:
        found = even_split(time)
        return None if found is None else get(job, found)

    return read


def _resource(job: Job, split: Split) -> Value:
    resource = job.settings.value("--resource")
    if not isinstance(resource, Mapping):
        return None
    sides = {"actor": [1, split.actor_gpus], "rollout": [1, split.rollout_gpus]}
    return json.dumps({**resource, **sides})


def _lighter_last_stage(job: Job, _: TimeEstimate) -> Value:
    """Return layers of a last stage as much lighter as its head weighs, as far as they divide.

    Other stages share the remaining layers evenly; None where no such number is below today's.
    """
    actor = None if job.memory.job is None else job.memory.job.actor
    if actor is None or actor.mesh.pp == 1 or actor.mesh.vpp > 1:
        return None
    shape, stages = actor.shape, actor.mesh.pp
    one = layer_flops(shape, Kind(linear=False, moe=shape.routed is not None))
    head = 2.0 * shape.hidden * shape.vocab / (one.dense + one.experts)
    wanted = (shape.layers + head) / stages - head
    fitting = [n for n in range(1, actor.mesh.stages[-1]) if (shape.layers - n) % (stages - 1) == 0]
    return min(fitting, key=lambda n: abs(n - wanted), default=None)


ROWS: tuple[Row, ...] = (
    row("step_s", NUMBER, "Seconds of a step by the time estimate.",
        _of("step_s", lambda _, t: None if t.step_s is None else _seconds(t.step_s.expected)),
        unit="s"),
    row("bound_by", TEXT, "The longest phase, or the side that the others wait for.",
        _of("bound_by", lambda _, t: t.bound_by)),
    row("rollout_s", NUMBER, "Seconds of generation; None without.", _phase("rollout"), unit="s"),
    row("train_s", NUMBER, "Seconds of forward and backward passes.", _phase("train"), unit="s"),
    row("optimizer_s", NUMBER, "Seconds of all optimizer steps of a rollout.",
        _phase("optimizer"), unit="s"),
    row("reference_s", NUMBER, "Seconds of the reference's pass; None without.",
        _phase("reference_log_probs"), unit="s"),
    row("switch_s", NUMBER, "Seconds of handing shared GPUs over and back; None where they are not "
        "shared.", _phase("switch"), unit="s"),
    row("rollout_side_s", NUMBER, "Seconds that the engines need for a step in an asynchronous "
        "job; None in others.", _side("rollout"), unit="s"),
    row("trainer_side_s", NUMBER, "Seconds that the slowest of the trainer's roles needs; None "
        "where sides take turns.", _side("trainer"), unit="s"),
    row("even_actor_gpus", NUMBER, "GPUs of the actor in the division of today's GPUs with the "
        "shortest step; None where sides take turns.",
        _of("even_actor_gpus", _split(lambda _, s: s.actor_gpus)), ("--resource",)),
    row("even_rollout_gpus", NUMBER, "GPUs of the engines in that division.",
        _of("even_rollout_gpus", _split(lambda _, s: s.rollout_gpus))),
    row("even_side_s", NUMBER, "Seconds of the slower side in that division.",
        _of("even_side_s", _split(lambda _, s: _seconds(s.step_s))), unit="s"),
    row("resource_even", TEXT, "--resource with that division.",
        _of("resource_even", _split(_resource))),
    row("lighter_last_stage", NUMBER, "Layers of a last pipeline stage that weighs with its head "
        "about as much as the others; None where no smaller number divides.",
        _of("lighter_last_stage", _lighter_last_stage)),
)  # fmt: skip
