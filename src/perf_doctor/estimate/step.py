"""How the phases of a step follow each other, mode by mode: relax-pipeline 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from perf_doctor.estimate.interval import Interval, exactly, independent_sum, larger
from perf_doctor.estimate.rl_efficiencies import POLL_S, ROLLOUT_VARIATION, STREAMED
from perf_doctor.estimate.time_job import TimeJob

# What an asynchronous job does after rollout and training, whichever was slower.
_BETWEEN = ("weight_sync", "evaluation", "saving")


class Sides(NamedTuple):
    """What works at once: seconds of the rollout, and of the slowest of the trainer's side."""

    rollout: Interval
    trainer: Interval


class Step(NamedTuple):
    """A step; ``bound_by``: the longest phase, or the side that the others wait for.

    ``sides``: None where one phase follows the other.
    """

    seconds: Interval
    bound_by: str
    sides: Sides | None = None


def compose(job: TimeJob, phases: Mapping[str, Interval], apart: frozenset[str]) -> Step:
    """Return the step that these phases make.

    Colocate, sync and SFT: one after the other. Fully asynchronous and hybrid: the slower side,
    then what lies between; what runs on GPUs of its own (``apart``) is part of the trainer's side.
    """
    if job.mode not in ("fully-async", "hybrid"):
        longest = max(phases, key=lambda name: phases[name].expected)
        return Step(in_turn([*phases.values()]), longest)
    made = phases["rollout"]
    chain = [name for name in phases if name not in ("rollout", *_BETWEEN) and name not in apart]
    own = in_turn([phases[name] for name in chain])
    trainer, slowest = own, "train"
    for name in apart:
        if phases[name].expected > trainer.expected:
            slowest = name
        trainer = larger(trainer, phases[name])
    between = in_turn([phases[name] for name in _BETWEEN if name in phases])
    bound = "rollout" if made.expected >= trainer.expected else slowest
    sides = Sides(made, trainer)
    if job.staleness == 0:
        return Step(in_turn([_on_policy(job, made, own, phases, apart), between]), bound, sides)
    slower = larger(made, trainer)
    waited = POLL_S if trainer.expected > made.expected else exactly(0.0)
    return Step(in_turn([slower + _stall(job, made, trainer), between, waited]), bound, sides)


def in_turn(parts: list[Interval]) -> Interval:
    """Sum phases; they share their lengths, so they err halfway together."""
    apart = independent_sum(*parts)
    low, high = sum([part.low for part in parts]), sum([part.high for part in parts])
    return Interval((apart.low + low) / 2, apart.expected, (apart.high + high) / 2)


def _on_policy(
    job: TimeJob,
    made: Interval,
    trainer: Interval,
    phases: Mapping[str, Interval],
    apart: frozenset[str],
) -> Interval:
    """Return rollout and training of the same samples: the trainer starts with the first groups.

    With K handovers at most (1 − 1/K) of the shorter side overlaps; groups end late, so less.
    """
    passed = in_turn([trainer, *(phases[name] for name in apart)])
    most = 1 - 1 / job.handovers
    shorter = min(made.expected, passed.expected)
    both = in_turn([made, passed])
    saved = STREAMED * (most * shorter)
    return Interval(
        max(made.low, both.low - saved.high),
        both.expected - saved.expected,
        both.high - saved.low,
    )


def _stall(job: TimeJob, made: Interval, trainer: Interval) -> Interval:
    """Return waiting because steps differ: T·c² ÷ (2·(S + 1)), none where one side is far slower.

    relax-pipeline 3, an approximation of two queues in a row; more staleness evens out more.
    """
    slower = max(made.expected, trainer.expected)
    even = min(made.expected, trainer.expected) / slower if slower else 0.0
    part = 0.5 * even * slower / (job.staleness + 1)
    low, expected, high = (
        value * value * part
        for value in (ROLLOUT_VARIATION.low, ROLLOUT_VARIATION.expected, ROLLOUT_VARIATION.high)
    )
    return Interval(low, expected, high)
