"""How accurate the estimate is, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perf_doctor.estimate.validate import Judged, Summary, score_fits, summarize


def as_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the object of ``validate --format json``; memory in GiB, errors as fractions."""
    memory, score = summarize(judged), score_fits(judged)
    return {
        "summary": {
            "memory": {
                "points": memory.points,
                "eligible": memory.eligible,
                "covered": memory.covered,
                "median_abs_error": memory.median_abs_error,
                "p90_abs_error": memory.p90_abs_error,
                "bias": memory.bias,
            },
            "fits": {"points": score.points, "right": score.right},
        },
        "points": [
            {
                "id": one.id,
                "kind": one.kind,
                "predicted": None if one.predicted is None else one.predicted.expected,
                "measured": one.measured,
                "error": one.error,
                "skipped_because": one.skipped_because,
                "fits": one.fits,
                "fitted": one.fitted,
                "assumptions": list(one.assumptions),
            }
            for one in judged
        ],
    }


def likely_cause(one: Judged) -> str:
    """Return what most likely stands behind an error, from what the run leaves open."""
    if one.assumptions:
        return "; ".join(one.assumptions)
    if one.metric == "device":
        return "what lies outside torch is known as a range only"
    if "muon" in one.id:
        return "another optimizer than Adam"
    if one.experts:
        return "routing and dispatcher buffers of experts"
    return "the formulas, or a setting that the run does not state"


def worst(judged: Sequence[Judged], count: int = 10) -> tuple[Judged, ...]:
    """Return the runs with the largest errors, the worst first."""
    known = [one for one in judged if one.error is not None]
    return tuple(sorted(known, key=lambda one: -abs(one.error or 0.0))[:count])


def groups(judged: Sequence[Judged]) -> Iterator[tuple[str, Summary]]:
    """Return the summary of all runs, of the full layouts, of each kind, and of each source."""
    yield "all", summarize(judged)
    yield "tier A", summarize([one for one in judged if one.tier == "A"])
    for kind in sorted({one.kind for one in judged}):
        yield kind, summarize([one for one in judged if one.kind == kind])
    for source in sorted({one.source for one in judged}):
        yield source, summarize([one for one in judged if one.source == source])


def as_text(judged: Sequence[Judged]) -> str:
    """Return the table that ``validate`` prints."""
    lines = [f"{'memory':32} runs eligible covered  median     p90    bias  inside"]
    for name, summary in groups(judged):
        if not summary.eligible:
            continue
        lines.append(
            f"{name:32} {summary.points:4} {summary.eligible:8} {_percent(summary.covered):>7}"
            f" {_percent(summary.median_abs_error, 1):>7} {_percent(summary.p90_abs_error, 1):>7}"
            f" {_percent(summary.bias, 1, sign=True):>7} {_percent(summary.inside):>7}"
        )
    score = score_fits(judged)
    right = _percent(score.right)
    lines += ["", f"fits and out-of-memory: {score.points} runs, right on {right}", "", "worst:"]
    for one in worst(judged):
        if one.predicted is None or one.measured is None:
            continue
        low, high = one.predicted.low, one.predicted.high
        lines.append(
            f"  {_percent(one.error, 1, sign=True):>7}  {one.id}: {one.predicted.expected:.1f}"
            f" ({low:.1f}–{high:.1f}) against {one.measured:.1f} GiB; {likely_cause(one)}"
        )
    return "\n".join(lines)


def _percent(fraction: float | None, digits: int = 0, *, sign: bool = False) -> str:
    if fraction is None:
        return "–"
    return f"{fraction:+.{digits}%}" if sign else f"{fraction:.{digits}%}"
