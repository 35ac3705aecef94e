"""The report for coding agents: few words, the script's text marked as data, what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.memory import verdict_line
from perf_doctor.estimate.time_text import step_line
from perf_doctor.inert import CUT, shortened
from perf_doctor.report.context import context_line
from perf_doctor.report.fence import data, quoting
from perf_doctor.report.flags import changed_flags, row_text
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.report.top_action import NOTHING_TO_DO, top_action
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.severity import WORST_FIRST

MAX_FINDINGS: Final = 5
_MAX_COST_CHARS: Final = 240
_MAX_SETTING_CHARS: Final = 80
_MAX_ROWS: Final = 2


def render(report: Report) -> str:
    """Return a few hundred tokens on each script; text between ``<data>`` marks is the script's."""
    return "\n".join(
        _one(diagnosis, everything=report.everything) for diagnosis in report.diagnoses
    )


def _one(diagnosis: Diagnosis, *, everything: bool) -> str:
    findings = diagnosis.findings
    shown = findings if everything else findings[:MAX_FINDINGS]
    counts = ", ".join(f"{diagnosis.count(severity)} {severity}" for severity in WORST_FIRST)
    action = top_action(diagnosis)
    lines = [
        f"script: {_data(diagnosis, diagnosis.script)}",
        f"context: {_data(diagnosis, context_line(diagnosis.plan))}",
        _verdict(diagnosis, verdict_line(diagnosis.memory), known=not diagnosis.memory.unknown),
        _verdict(diagnosis, step_line(diagnosis.time), known=diagnosis.time.step_s is not None),
        f"findings: {counts}; {len(diagnosis.suppressed)} suppressed",
        *(line for finding in shown for line in _finding(diagnosis, finding)),
        f"top action: {NOTHING_TO_DO if action is None else _quoting(diagnosis, str(action))}",
        *_next(diagnosis, len(findings) - len(shown)),
    ]
    return "".join(f"{line}\n" for line in lines)


def _verdict(diagnosis: Diagnosis, line: str, *, known: bool) -> str:
    """Return a line on the estimate; why there is none may quote the script."""
    return plain(diagnosis, line) if known else _data(diagnosis, line)


def _finding(diagnosis: Diagnosis, finding: Finding) -> Iterator[str]:
    stops = ", stops the launch" if finding.blocks_launch else ""
    yield f"- {finding.severity} {finding.rule}{stops}: {plain(diagnosis, finding.title)}"
    if finding.setting:
        rows = "; ".join(
            f"{shortened(row_text(row, diagnosis.redactor), _MAX_SETTING_CHARS)} (line {row.line})"
            for row in finding.setting[:_MAX_ROWS]
        )
        yield f"  at {_data(diagnosis, rows)}"
    yield f"  cost: {quoting(_cost(diagnosis, finding))}"
    flags = changed_flags(finding.fix.changes)
    yield f"  fix: {_quoting(diagnosis, flags or finding.fix.text)}"


def _cost(diagnosis: Diagnosis, finding: Finding) -> str:
    """Return the cost, shortened where it is long; the two figures that were compared stay."""
    text = plain(diagnosis, finding.cost.text)
    compared = "" if finding.effect is None else str(finding.effect)
    if len(text) <= _MAX_COST_CHARS or not compared or compared not in text:
        return _beginning(text, _MAX_COST_CHARS)
    before = text.partition(compared)[0].rstrip()
    return f"{_beginning(before, _MAX_COST_CHARS - len(compared))} {compared}"


def _beginning(text: str, limit: int) -> str:
    """Return as many whole sentences as there is room for, or as many words of the first."""
    if len(text) <= limit:
        return text
    kept = text[:limit].rpartition(". ")[0]
    words = text[: limit - 2].rpartition(" ")[0]
    return f"{kept}." if kept else f"{words} {CUT}" if words else shortened(text, limit)


def _data(diagnosis: Diagnosis, text: str) -> str:
    """Return text of a script between marks that it cannot hold itself."""
    return data(diagnosis.redactor.redact(text))


def _quoting(diagnosis: Diagnosis, text: str) -> str:
    return quoting(diagnosis.redactor.redact(text))


def _next(diagnosis: Diagnosis, more: int) -> Iterator[str]:
    """Yield the commands that go on from here, made by us: only the path is the user's."""
    script = plain(diagnosis, shlex.quote(diagnosis.script))
    if more:
        yield f"more: {more} findings; perf-doctor {script} --format agent --all"
    if diagnosis.findings:
        yield f"next: perf-doctor explain {diagnosis.findings[0].rule} {script}"
    open_ones = [j.rule for j in diagnosis.judgements if j.verdict == "needs-judgement"]
    if open_ones:
        yield f"for a reader to judge: {', '.join(open_ones)} (perf-doctor rules show ID)"
