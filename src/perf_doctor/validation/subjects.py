"""What the estimate is judged on: memory, training steps, decode speeds and phases of RL steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from perf_doctor.data import table
from perf_doctor.validation.judged import Judged, Quantity
from perf_doctor.validation.memory import judge_memory
from perf_doctor.validation.rl_phases import judge_phases
from perf_doctor.validation.run import Point
from perf_doctor.validation.serving import judge_speeds
from perf_doctor.validation.step import judge_steps


class Subject(NamedTuple):
    """A quantity: ``key`` in JSON, ``title`` in the text, the bundled runs, and their judge."""

    quantity: Quantity
    key: str
    title: str
    bundled: str
    judge: Callable[[Iterable[Point]], tuple[Judged, ...]]


SUBJECTS = (
    Subject("memory", "memory", "memory", "measured_memory", judge_memory),
    Subject("train step", "time", "training steps", "measured_time", judge_steps),
    Subject("decode", "decode", "decode speeds", "measured_decode", judge_speeds),
    Subject("rl phase", "rl_phases", "phases of RL steps", "measured_rl", judge_phases),
)


class Validation(NamedTuple):
    """Judged runs, and the same by efficiencies that have not seen their source, if asked for."""

    judged: Mapping[Quantity, Sequence[Judged]]
    left_out: Mapping[Quantity, Sequence[Judged]]


def validate_bundled(*, cross: bool = False) -> Validation:
    """Return the bundled runs, judged; ``cross`` takes seconds."""
    judged = {one.quantity: one.judge(table(one.bundled)["points"]) for one in SUBJECTS}
    return Validation(judged, _left_out() if cross else {})


def validate(points: Sequence[Point]) -> Validation:
    """Return runs of one's own, judged on all that they state."""
    return Validation({one.quantity: one.judge(points) for one in SUBJECTS}, {})


def _left_out() -> dict[Quantity, Sequence[Judged]]:
    from perf_doctor.validation.decode_rates import SPEED_FIT, speed_cases  # noqa: PLC0415
    from perf_doctor.validation.fit import leave_one_source_out  # noqa: PLC0415 - few ask for it
    from perf_doctor.validation.step_rates import STEP_FIT, step_cases  # noqa: PLC0415

    steps, speeds = table("measured_time")["points"], table("measured_decode")["points"]
    return {
        "train step": leave_one_source_out(STEP_FIT, step_cases(steps)),
        "decode": leave_one_source_out(SPEED_FIT, speed_cases(speeds)),
    }
