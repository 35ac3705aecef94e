"""Two jobs side by side, as a person reads them: the verdict, what changes, what is found.

What is the same to the digits that are shown is folded into one line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from perf_doctor.estimate.interval import Interval
from perf_doctor.explore.pair import Pair, Row
from perf_doctor.report.cells import (
    ABSENT,
    UNKNOWN,
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

_NAME, _SIDE, _CHANGE = 24, 25, 15
_NOTHING: Final = "no phase changes in memory or time"


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
        return told or [_NOTHING]
    head = f"{'':<{_NAME}}{titles.before:>{_SIDE}}{titles.after:>{_SIDE}}{'change':>{_CHANGE}}"
    return [
        *told,
        "",
        head,
        *_block("memory, GiB per GPU", memory),
        *_block("time, s", time),
    ]


def _block(title: str, lines: list[_Line]) -> Iterator[str]:
    """Yield the lines that differ under a title, and the others as one."""
    moved = [line for line in lines if line.before != line.after]
    kept = [line for line in lines if line.before == line.after and line.before != ABSENT]
    if not lines:
        return
    yield title
    for line in moved:
        yield (
            f"  {line.name:<{_NAME - 2}}{line.before:>{_SIDE}}{line.after:>{_SIDE}}"
            f"{line.change:>{_CHANGE}}"
        ).rstrip()
    if kept:
        yield from paragraph("unchanged: ", (f"{line.name} {line.before}" for line in kept))


def _memory(pair: Pair) -> Iterator[_Line]:
    before, after = pair.before.memory, pair.after.memory
    for row in pair.memory_rows:
        yield _line(row, gib, grown)
    yield _line(Row("peak", before.peak_gib, after.peak_gib), spanned_gib, grown)
    if before.capacity_gib != after.capacity_gib:
        yield _Line("usable", number(before.capacity_gib), number(after.capacity_gib))
    yield _Line("fits", before.fits or UNKNOWN, after.fits or UNKNOWN)
    host = Row("host per node", before.host_gib_per_node, after.host_gib_per_node)
    yield _line(host, whole, grown_by_whole)
    if before.fits_host or after.fits_host:
        yield _Line("fits the host", before.fits_host or UNKNOWN, after.fits_host or UNKNOWN)


def _time(pair: Pair) -> Iterator[_Line]:
    before, after = pair.before.time, pair.after.time
    for row in pair.time_rows:
        line = _line(row, seconds, share)
        if {line.before, line.after} != {"0.0"}:
            yield line
    yield _line(Row("step", before.step_s, after.step_s), spanned_s, share)
    yield _Line("bound by", words(before.bound_by), words(after.bound_by))
    yield _Line("train MFU", ratio(before.train_mfu), ratio(after.train_mfu))
    tokens = before.tokens_per_gpu_s, after.tokens_per_gpu_s
    yield _Line("tokens/s per GPU", count(tokens[0]), count(tokens[1]), share_of(*tokens))


def _line(row: Row, cell: Callable[[Interval | None], str], change: Callable[[Row], str]) -> _Line:
    return _Line(words(row.name), cell(row.before), cell(row.after), change(row))


def paragraph(lead: str, parts: Iterable[str]) -> list[str]:
    """Return parts, between commas, as indented lines; no part is torn apart."""
    text = ", ".join(part.replace(" ", "\xa0") for part in parts)
    lines = textwrap.wrap(
        lead + text,
        MAX_COLUMNS - 2,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"  {line}".replace("\xa0", " ") for line in lines]
