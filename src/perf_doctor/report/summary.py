"""Many scripts at a glance: a table with a line for each, which is markdown as well."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Final

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.inert import shortened
from perf_doctor.language import said
from perf_doctor.report.cells import count, gib, number
from perf_doctor.report.context import shown
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.report.top_action import top_action
from perf_doctor.rules.severity import WORST_FIRST

_MAX_ACTION_CHARS: Final = 60
_COLUMNS: Final = 10_000
"""Wider than any line: a table that is broken is hard to read and no markdown."""


def render(report: Report) -> str:
    """Return the table; each launch of a script beyond its first is named by its condition."""
    launches = [one for whole in report.diagnoses for one in (whole, *whole.variants)]
    table = Table(box=MARKDOWN)
    table.add_column(said("script"))
    table.add_column(said("GPUs"), justify="right")
    table.add_column(said("mode"))
    for severity in WORST_FIRST:
        table.add_column(severity, justify="right")
    table.add_column(said("step, s"), justify="right")
    table.add_column(said("peak, GiB"), justify="right")
    table.add_column(said("top action"))
    for diagnosis in launches:
        table.add_row(*map(Text, _cells(diagnosis)))
    file = StringIO()
    Console(
        file=file, width=_COLUMNS, color_system=None, markup=False, highlight=False, emoji=False
    ).print(table)
    rows = file.getvalue().split("\n")
    return "".join(f"{row.strip()}\n" for row in rows if row.strip())


def _cells(diagnosis: Diagnosis) -> Iterator[str]:
    plan, step_s, peak_gib = diagnosis.plan, diagnosis.time.step_s, diagnosis.memory.peak_gib
    condition = f" ({diagnosis.condition})" if diagnosis.condition else ""
    yield _cell(diagnosis, f"{diagnosis.script}{condition}")
    yield shown(plan.cluster.gpus)
    yield plan.mode or "?"
    yield from (str(diagnosis.count(severity)) for severity in WORST_FIRST)
    yield "?" if step_s is None else number(step_s.expected)
    yield "?" if peak_gib is None else f"{gib(peak_gib)} / {count(diagnosis.memory.capacity_gib)}"
    action = top_action(diagnosis)
    yield "" if action is None else shortened(_cell(diagnosis, str(action)), _MAX_ACTION_CHARS)


def _cell(diagnosis: Diagnosis, text: str) -> str:
    """Return a text as a cell has it: a bar in it would begin another cell."""
    return plain(diagnosis, text).replace("|", "\\|")
