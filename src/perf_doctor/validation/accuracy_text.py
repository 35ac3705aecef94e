"""How accurate the estimate is, as text: a table per quantity, and the runs it is worst on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from perf_doctor.validation.judged import (
    Judged,
    Quantity,
    score_fits,
    summarize,
    worst,
)
from perf_doctor.validation.subjects import SUBJECTS, Subject, Validation

_WORST = 8


def _family(one: Judged) -> str:
    return one.family or "card not stated"


# How the runs of a quantity are told apart.
_CUTS: Mapping[Quantity, tuple[Callable[[Judged], str], ...]] = {
    "memory": (lambda one: one.kind, lambda one: one.source),
    "train step": (_family, lambda one: one.source),
    "decode": (_family, lambda one: one.source),
    "rl phase": (_family, lambda one: one.metric, lambda one: f"{one.metric}, {_family(one)}"),
}


# What most likely stands behind an error beside what is assumed: the first that holds.
_CAUSES: Mapping[Quantity, tuple[tuple[Callable[[Judged], bool], str], ...]] = {
    "memory": (
        (lambda one: one.metric == "device", "what lies outside torch is known as a range only"),
        (lambda one: "muon" in one.id, "another optimizer than Adam"),
        (lambda one: one.experts, "routing and dispatcher buffers of experts"),
        (lambda _: True, "the formulas, or a setting that the run does not state"),
    ),
    "train step": (
        (lambda one: one.experts, "dispatcher, routing and host time of experts"),
        (lambda _: True, "fusions, overlap and versions, which the run does not state"),
    ),
    "decode": ((lambda _: True, "version of the engine, kernels tuned for the shape"),),
    "rl phase": (
        (lambda one: one.metric == "weight_sync", "how the weights travel, over which links"),
        (lambda one: one.metric == "switch", "buses, and what is parked"),
        (lambda one: one.metric == "generation" and one.family == "h20",
         "hundreds of requests per engine, which its host serves"),
        (lambda _: True, "lengths, of which a mean is known at best"),
    ),
}  # fmt: skip


def likely_cause(one: Judged) -> str:
    """Return what most likely stands behind an error: what the run leaves open, and its kind."""
    if one.quantity == "memory" and one.assumptions:
        return "; ".join(one.assumptions)
    usual = next(cause for holds, cause in _CAUSES[one.quantity] if holds(one))
    return "; ".join([*(a for a in one.assumptions if not a.startswith("optimizer of")), usual])


def groups(quantity: Quantity, judged: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """Return all runs, the full layouts of memory, and the runs by what tells them apart."""
    yield "all", list(judged)
    if quantity == "memory":
        yield "tier A", [one for one in judged if one.tier == "A"]
    for cut in _CUTS[quantity]:
        names = sorted({cut(one) for one in judged})
        for name in names if len(names) > 1 else ():
            yield name, [one for one in judged if cut(one) == name]


def as_text(found: Validation) -> str:
    """Return the tables that ``validate`` prints, of the quantities of which there are runs."""
    parts = [
        "\n".join(_section(one, found.judged[one.quantity], found.left_out.get(one.quantity, ())))
        for one in SUBJECTS
        if found.judged[one.quantity]
    ]
    return "\n\n\n".join(parts) or "no run states memory, the seconds of a step or a speed"


def _section(
    subject: Subject, judged: Sequence[Judged], left_out: Sequence[Judged]
) -> Iterator[str]:
    yield f"{subject.title:34} runs eligible covered  median     p90    bias  inside  width"
    for name, some in groups(subject.quantity, judged):
        yield from _row(name, some)
    if left_out:
        yield "each by rates that have not seen its source:"
        for name, some in groups(subject.quantity, left_out):
            yield from _row(name, some)
    apart = Counter(one.apart for one in judged if one.apart)
    if apart:
        yield "shown, not judged:"
        for name in sorted(apart):
            shown = [replace(one, eligible=True) for one in judged if one.apart == name]
            yield from _row(name, shown)
    yield from _notes(subject, judged)


def _row(name: str, judged: Sequence[Judged]) -> Iterator[str]:
    summary = summarize(judged)
    if not summary.eligible:
        return
    width = "–" if summary.width is None else f"{summary.width:.1f}×"
    yield (
        f"  {name:32} {summary.points:4} {summary.eligible:8} {_percent(summary.covered):>7}"
        f" {_percent(summary.median_abs_error, 1):>7} {_percent(summary.p90_abs_error, 1):>7}"
        f" {_percent(summary.bias, 1, sign=True):>7} {_percent(summary.inside):>7} {width:>6}"
    )


def _notes(subject: Subject, judged: Sequence[Judged]) -> Iterator[str]:
    """Return what became of fits, what was skipped and why, and the worst runs."""
    if subject.quantity == "memory":
        score = score_fits(judged)
        if score.points:
            yield f"fits and out-of-memory: {score.points} runs, right on {_percent(score.right)}"
    reasons = Counter(one.skipped_because for one in judged if one.skipped_because)
    if reasons:
        yield "skipped:"
        yield from (f"  {count:4}  {reason}" for reason, count in reasons.most_common())
    bad = worst(judged, _WORST)
    if bad:
        yield "worst:"
        yield from map(_off, bad)


def _off(one: Judged) -> str:
    assert one.predicted is not None
    predicted = one.predicted
    expected, low, high, measured = (
        _amount(value, one.unit)
        for value in (predicted.expected, predicted.low, predicted.high, one.measured or 0.0)
    )
    phase = f", {one.metric}" if one.quantity == "rl phase" else ""
    return (
        f"  {_percent(one.error, 1, sign=True):>7}  {one.id}{phase}: {expected}"
        f" ({low}–{high}) against {measured} {one.unit}; {likely_cause(one)}"
    )


def _amount(value: float, unit: str) -> str:
    """Return a number with as many digits as its unit and size are known to."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if unit == "GiB" or value >= 10 else f"{value:.2f}"


def _percent(fraction: float | None, digits: int = 0, *, sign: bool = False) -> str:
    if fraction is None:
        return "–"
    return f"{fraction:+.{digits}%}" if sign else f"{fraction:.{digits}%}"
