"""The geometry of horizontal bars: where a page draws what the estimates say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from perf_doctor.estimate.shown import word
from perf_doctor.language import said

ROW_PX: Final = 50
"""Height of a row: its line of text and its bar."""
_AXIS_PX: Final = 26
_TOP_PX: Final = 24
_LABELLED: Final = 7.0
"""Percent of the width from which a segment has room for its number."""
_MOST_TICKS: Final = 6

Doc = Mapping[str, Any]


class Segment(NamedTuple):
    """A part of a bar: its kind (a name of the project's), place and width in percent."""

    kind: str
    x: float
    width: float
    label: str


class Bar(NamedTuple):
    """A row of a chart; ``low`` and ``high`` (percent) span what it may be, None where nobody says.

    ``y`` is in px.
    """

    y: int
    name: str
    total: str
    segments: tuple[Segment, ...]
    low: float | None = None
    high: float | None = None
    is_peak: bool = False


class Tick(NamedTuple):
    """A number below the axis; ``x`` in percent."""

    x: float
    label: str


class Chart(NamedTuple):
    """Bars over one axis; ``limit`` is the line that they should stay left of."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    limit: Tick | None
    height: int


def memory_chart(memory: Doc) -> Chart:
    """Return a row for each phase and stage, its components one behind the other, in GiB."""
    capacity: float | None = memory["capacity_gib"]
    phases: Sequence[Doc] = memory["phases"]
    heights = [phase["total_gib"]["high"] or 0.0 for phase in phases]
    scale = max([*heights, capacity or 0.0]) * 1.02 or 1.0
    peak = memory["peak_gib"]["expected"]
    bars = []
    for row, phase in enumerate(phases):
        total = phase["total_gib"]
        bars.append(
            Bar(
                y=_y(row),
                name=phase_name(phase),
                total=spanned(total, "GiB"),
                segments=tuple(_stacked(phase["components"].items(), scale)),
                low=_percent(total["low"], scale),
                high=_percent(total["high"], scale),
                is_peak=phase["phase"] == memory["peak_phase"] and total["expected"] == peak,
            )
        )
    limit = (
        None
        if capacity is None
        else Tick(_percent(capacity, scale), said("GPU capacity {gib} GiB", gib=figure(capacity)))
    )
    return Chart(tuple(bars), _ticks(scale), limit, _height(bars))


def time_chart(time: Doc) -> Chart:
    """Return a row for each phase that takes time, in seconds.

    Where phases follow each other, a bar begins where the one before it ends; where sides work at
    once, all begin at zero.
    """
    phases = [(name, seconds) for name, seconds in time["phases"].items() if seconds]
    at_once = time["balance"] is not None
    longest = max((seconds for _, seconds in phases), default=0.0)
    scale = (longest if at_once else sum(seconds for _, seconds in phases)) * 1.02 or 1.0
    bars, begin = [], 0.0
    for row, (name, seconds) in enumerate(phases):
        kind = "bound" if name == time["bound_by"] else "phase"
        part = Segment(kind, _percent(begin, scale), _percent(seconds, scale), "")
        bars.append(Bar(_y(row), word(name), f"{figure(seconds)} s", (part,)))
        begin += 0.0 if at_once else seconds
    return Chart(tuple(bars), _ticks(scale), None, _height(bars))


def phase_name(phase: Doc) -> str:
    """Return ``train, stage 0``; a role stands there where the phase does not tell it."""
    line = word(phase["phase"])
    if phase["role"] not in ("actor", phase["phase"]):
        line = said("{phase} {role}", phase=line, role=word(phase["role"]))
    if phase["pp_stage"] is None:
        return line
    return said("{phase}, stage {stage}", phase=line, stage=phase["pp_stage"])


def spanned(interval: Doc, unit: str) -> str:
    """Return ``72.95 GiB (68.01–79.00)``, the figures of the JSON."""
    low, expected, high = interval["low"], interval["expected"], interval["high"]
    if expected is None:
        return said("not known")
    span = "" if low == high else f" ({figure(low)}–{figure(high)})"
    return f"{figure(expected)} {unit}{span}"


def figure(value: float | None, digits: int = 2) -> str:
    """Return a number with the decimals that the JSON has."""
    return said("not known") if value is None else f"{value:.{digits}f}"


def _stacked(parts: Iterable[tuple[str, float]], scale: float) -> Iterable[Segment]:
    begin = 0.0
    for kind, amount in parts:
        if amount > 0:
            width = _percent(amount, scale)
            label = f"{amount:.1f}" if width >= _LABELLED else ""
            yield Segment(kind, _percent(begin, scale), width, label)
            begin += amount


def _ticks(scale: float) -> tuple[Tick, ...]:
    """Return round numbers from zero on, at most six steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(scale / _MOST_TICKS))
    step = next(power * m for m in (1, 2, 5, 10) if scale / (power * m) <= _MOST_TICKS)
    return tuple(
        Tick(_percent(index * step, scale), f"{index * step:g}")
        for index in range(int(scale / step) + 1)
    )


def _percent(amount: float, scale: float) -> float:
    return round(100 * amount / scale, 3)


def _y(row: int) -> int:
    return _TOP_PX + row * ROW_PX


def _height(bars: Sequence[Bar]) -> int:
    return _y(len(bars)) + _AXIS_PX
