"""Two jobs side by side, as a person reads them: the verdict, what changes, what is found.

What is the same to the digits that are shown is folded into one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import fits_word
from perf_doctor.explore.pair import Pair, Row
from perf_doctor.language import said
from perf_doctor.report.cells import (
    ABSENT,
    count,
    gib,
    grown,
    grown_by_whole,
    number,
    ratio,
    seconds,
    share,
    share_of,
    spanned_gib,
    spanned_s,
    whole,
    words,
)
from perf_doctor.report.verdicts import MAX_COLUMNS, no_memory, no_step, verdicts
from perf_doctor.width import left, listed, right

_NAME, _SIDE, _CHANGE = 24, 25, 15


class Titles(NamedTuple):
    """What the two jobs are called."""

    before: str
    after: str


class _Line(NamedTuple):
    """A line of the table; lines with two equal cells are folded."""

    name: str
    before: str
    after: str
    change: str = ""


def side_by_side(pair: Pair, titles: Titles) -> list[str]:
    """Return the verdict, then memory and time of both jobs, phase by phase.

    Of an estimate that one of them does not have only the reason is told. One line says so where no
    figure differs.
    """
    memory = [] if any(map(no_memory, (pair.before, pair.after))) else [*_memory(pair)]
    time = [] if any(map(no_step, (pair.before, pair.after))) else [*_time(pair)]
    told = [*verdicts(pair)]
    if all(line.before == line.after for line in (*memory, *time)):
        return told or [said("no phase changes in memory or time")]
    return [
        *told,
        "",
        _columns("", titles.before, titles.after, said("change")),
        *_block(said("memory, GiB per GPU"), memory),
        *_block(said("time, s"), time),
    ]


def _columns(name: str, before: str, after: str, change: str) -> str:
    return "".join(
        (left(name, _NAME), right(before, _SIDE), right(after, _SIDE), right(change, _CHANGE))
    )


def _block(title: str, lines: list[_Line]) -> Iterator[str]:
    """Yield the lines that differ under a title, and the others as one."""
    moved = [line for line in lines if line.before != line.after]
    kept = [line for line in lines if line.before == line.after and line.before != ABSENT]
    if not lines:
        return
    yield title
    for line in moved:
        yield _columns(f"  {line.name}", line.before, line.after, line.change).rstrip()
    if kept:
        yield from paragraph(said("unchanged: "), (f"{line.name} {line.before}" for line in kept))


def _memory(pair: Pair) -> Iterator[_Line]:
    before, after = pair.before.memory, pair.after.memory
    for row in pair.memory_rows:
        yield _line(_held(row.name), row, gib, grown)
    peak = Row("peak", before.peak_gib, after.peak_gib)
    yield _line(said("peak"), peak, spanned_gib, grown)
    if before.capacity_gib != after.capacity_gib:
        yield _Line(said("usable"), number(before.capacity_gib), number(after.capacity_gib))
    yield _Line(said("fits"), fits_word(before.fits), fits_word(after.fits))
    host = Row("host", before.host_gib_per_node, after.host_gib_per_node)
    yield _line(said("host per node"), host, whole, grown_by_whole)
    if before.fits_host or after.fits_host:
        host_fits = fits_word(before.fits_host), fits_word(after.fits_host)
        yield _Line(said("fits the host"), *host_fits)


def _held(name: str) -> str:
    """Return a phase, and its role where the name has one."""
    phase, _, role = name.partition(" ")
    return said("{phase} {role}", phase=words(phase), role=words(role)) if role else words(phase)


def _time(pair: Pair) -> Iterator[_Line]:
    before, after = pair.before.time, pair.after.time
    for row in pair.time_rows:
        line = _line(words(row.name), row, seconds, share)
        if {line.before, line.after} != {"0.0"}:
            yield line
    step = Row("step", before.step_s, after.step_s)
    yield _line(said("step"), step, spanned_s, share)
    yield _Line(said("bound by"), words(before.bound_by), words(after.bound_by))
    yield _Line(said("train MFU"), ratio(before.train_mfu), ratio(after.train_mfu))
    tokens = before.tokens_per_gpu_s, after.tokens_per_gpu_s
    yield _Line(said("tokens/s per GPU"), count(tokens[0]), count(tokens[1]), share_of(*tokens))


def _line(
    name: str, row: Row, cell: Callable[[Interval | None], str], change: Callable[[Row], str]
) -> _Line:
    return _Line(name, cell(row.before), cell(row.after), change(row))


def paragraph(lead: str, parts: Iterable[str]) -> list[str]:
    """Return parts, between commas, as indented lines; no part is torn apart."""
    return [f"  {line}" for line in listed(lead, parts, MAX_COLUMNS - 2)]
