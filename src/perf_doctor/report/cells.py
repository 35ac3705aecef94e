"""How the figures of two jobs are written: one cell each, and what lies between them."""

from __future__ import annotations

from typing import Final

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.shown import word
from perf_doctor.explore.pair import Row
from perf_doctor.language import said

ABSENT: Final = "·"


def unknown() -> str:
    """Return what stands in the place of a figure that is not known."""
    return said("not known")


def grown(row: Row) -> str:
    """Return by how much a figure grows, to the tenth; nothing where one side lacks it."""
    if row.before is None or row.after is None:
        return ""
    return f"{row.after.expected - row.before.expected:+,.1f}"


def grown_by_whole(row: Row) -> str:
    """Return the same in whole numbers."""
    if row.before is None or row.after is None:
        return ""
    return f"{row.after.expected - row.before.expected:+,.0f}"


def share(row: Row) -> str:
    """Return the same as a share of what it was: ``+19 %``."""
    if row.before is None or row.after is None:
        return ""
    return share_of(row.before.expected, row.after.expected)


def share_of(before: float | None, after: float | None) -> str:
    """Return the growth between two numbers as a share of the first."""
    if not before or after is None:
        return ""
    percent = round(100 * (after / before - 1))
    return f"{percent:+,} %" if percent else "0 %"


def number(value: float | None) -> str:
    """Return a number with as many digits as one can use."""
    if value is None:
        return unknown()
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def gib(one: Interval | None) -> str:
    """Return most likely GiB to the tenth."""
    return ABSENT if one is None else f"{one.expected:.1f}"


def whole(one: Interval | None) -> str:
    """Return the most likely value as a whole number."""
    return ABSENT if one is None else f"{one.expected:,.0f}"


def seconds(one: Interval | None) -> str:
    """Return most likely seconds."""
    return ABSENT if one is None else number(one.expected)


def spanned_gib(one: Interval | None) -> str:
    """Return GiB with both ends: ``72.3 (70.2–74.6)``."""
    return unknown() if one is None else f"{one.expected:.1f} ({one.low:.1f}–{one.high:.1f})"


def spanned_s(one: Interval | None) -> str:
    """Return seconds with both ends."""
    if one is None:
        return unknown()
    return f"{number(one.expected)} ({number(one.low)}–{number(one.high)})"


def ratio(value: float | None) -> str:
    """Return a share as a fraction: ``0.31``."""
    return ABSENT if value is None else f"{value:.2f}"


def count(value: float | None) -> str:
    """Return a number without its fraction."""
    return ABSENT if value is None else f"{value:,.0f}"


def words(name: str | None) -> str:
    """Return a name as people write it."""
    return ABSENT if name is None else word(name)
