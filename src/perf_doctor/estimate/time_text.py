"""The time estimate in words: the verdict line, and a bar for every phase."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.estimate.gpu_split import even_split
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.shown import listed, word
from perf_doctor.estimate.time import PHASES, TimeEstimate
from perf_doctor.language import said


def step_line(estimate: TimeEstimate) -> str:
    """Return one line.

    ``Step: 214 s (170–290), rollout 61 %, train 27 %, bound by rollout; train MFU 0.31``.
    """
    step, phases = estimate.step_s, estimate.phases
    if step is None or phases is None:
        return said("Step: not known, {reason}", reason=estimate.unknown)
    largest = sorted(phases.items(), key=lambda item: -item[1].expected)[:2]
    shares = listed(f"{word(name)} {_share(one, step)}" for name, one in largest)
    return said(
        "Step: {seconds}, {shares}, bound by {phase}; train MFU {mfu}",
        seconds=spanned(step),
        shares=shares,
        phase=word(estimate.bound_by or ""),
        mfu=f"{estimate.train_mfu or 0.0:.2f}",
    )


def timeline(estimate: TimeEstimate, width: int = 30) -> Iterator[str]:
    """Yield one line per phase: name, bar, seconds and share of the step; then who waits."""
    from perf_doctor.width import left  # noqa: PLC0415 - the line of a plain run needs no table

    step, phases = estimate.step_s, estimate.phases
    if step is None or phases is None:
        return
    longest = max(one.expected for one in phases.values()) or 1.0
    for name in PHASES:
        one = phases.get(name)
        if one is not None:
            bar = "█" * max(1, round(width * one.expected / longest))
            yield f"{left(word(name), 20)} {bar:{width}} {spanned(one):24} {_share(one, step):>6}"
    yield from _balance(estimate)


def _balance(estimate: TimeEstimate) -> Iterator[str]:
    sides = estimate.sides
    if sides is None:
        return
    yield ""
    yield said(
        "at once: rollout {rollout}, trainer {trainer}",
        rollout=seconds(sides.rollout.expected),
        trainer=seconds(sides.trainer.expected),
    )
    split = even_split(estimate)
    job = estimate.job
    if split is None or job is None:
        return
    if split.actor_gpus == job.trainers:
        yield said("no other split of these GPUs is faster")
    else:
        yield said(
            "an even split: actor {actor}, rollout {rollout} GPUs, about {seconds} a step",
            actor=split.actor_gpus,
            rollout=split.rollout_gpus,
            seconds=seconds(split.step_s),
        )


def spanned(one: Interval) -> str:
    """Return ``214 s (170–290)``; a number that is known stands alone."""
    if one.low == one.high:
        return seconds(one.expected)
    return f"{seconds(one.expected)} ({_number(one.low)}–{_number(one.high)})"


def seconds(value: float) -> str:
    """Return seconds with as many digits as one can use."""
    return f"{_number(value)} s"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _share(one: Interval, step: Interval) -> str:
    return f"{one.expected / step.expected:.0%}".replace("%", " %")
