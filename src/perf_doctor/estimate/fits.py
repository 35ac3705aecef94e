"""Does it fit: yes, no, or borderline, from the interval and not from its middle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from perf_doctor.estimate.interval import Interval

Fits = Literal["yes", "no", "borderline"]
_WORSE: dict[Fits, int] = {"yes": 0, "borderline": 1, "no": 2}


def fits(total: Interval, capacity: float) -> Fits:
    """Return yes when even the high end fits, no when not even the low end does."""
    if total.high <= capacity:
        return "yes"
    return "no" if total.low > capacity else "borderline"


def worst(verdicts: Iterable[Fits]) -> Fits:
    """Return the worst of the verdicts, yes for none."""
    return max(verdicts, key=_WORSE.__getitem__, default="yes")
