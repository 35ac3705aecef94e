"""The default report: markdown, in exactly the shape people know."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from typing import Final

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.inert import code, inert, plain_or_code, prose, shortened
from perf_doctor.language import said
from perf_doctor.report.context import context_line
from perf_doctor.report.flags import changed_flags, row_text
from perf_doctor.report.formats import Report
from perf_doctor.report.top_action import NOTHING_TO_DO, top_action
from perf_doctor.rules.judgement import Finding, SettingRow
from perf_doctor.rules.severity import WORST_FIRST

MAX_CHARS: Final = 8_000
MAX_ROWS: Final = 8
"""Settings that a finding shows; JSON has them all."""
_SECTIONS: Final = (
    ("performance", "## 🚀 Performance findings"),
    ("memory", "## 💾 Memory findings"),
)


def render(report: Report) -> str:
    """Return the reports on all scripts, one behind the other."""
    return "\n".join(markdown_report(d, everything=report.everything) for d in report.diagnoses)


def markdown_report(diagnosis: Diagnosis, *, everything: bool = False) -> str:
    """Return the report; without ``everything`` it is kept below 8,000 characters.

    The least important findings give way first, and a line says how many.
    """
    findings = diagnosis.findings
    shown = len(findings)
    text = _report(diagnosis, findings, shown)
    while not everything and len(text) > MAX_CHARS and shown > 1:
        shown -= 1
        text = _report(diagnosis, findings, shown)
    return text


def _report(diagnosis: Diagnosis, findings: tuple[Finding, ...], shown: int) -> str:
    blocks = [
        f"# perf-doctor: {plain_or_code(os.path.basename(diagnosis.script))}",
        f"**Context:** {context_line(diagnosis.plan)}",
        "---",
    ]
    for category, heading in _SECTIONS:
        blocks.append(heading)
        blocks.extend(_section(diagnosis, findings[:shown], findings[shown:], category))
    blocks.append("---")
    blocks.append(_summary(diagnosis))
    return diagnosis.redactor.redact("\n\n".join(blocks)) + "\n"


def _section(
    diagnosis: Diagnosis, shown: Iterable[Finding], hidden: Iterable[Finding], category: str
) -> list[str]:
    blocks = [_finding(diagnosis, finding) for finding in shown if finding.category == category]
    more = sum(finding.category == category for finding in hidden)
    suppressed = sum(finding.category == category for finding in diagnosis.suppressed)
    if not blocks and not more:
        blocks.append("None.")
    last = left_out(suppressed, more)
    return [*blocks, last] if last else blocks


def left_out(suppressed: int, more: int) -> str:
    """Return what a section does not show, and how to see it."""
    told = [said("{n} suppressed", n=suppressed)] * bool(suppressed)
    return " · ".join([*told, said("{n} more: --all", n=more)] if more else told)


def _finding(diagnosis: Diagnosis, finding: Finding) -> str:
    return "\n".join(
        (
            f"### [{finding.severity.upper()}] {finding.rule} — {prose(finding.title)}",
            f"- **Setting:** {_settings(diagnosis, finding.setting)}{_reason(finding)}",
            f"- **Cost:** {prose(finding.cost.text)}",
            f"- **Fix:** {_fix(finding)}",
            f"- **Skip if:** {prose(finding.skip_if)}",
        )
    )


def _reason(finding: Finding) -> str:
    """Return the script's own reason for the setting, quoted."""
    if finding.reason_in_script is None:
        return ""
    return f" — {said('the script says: {text}', text=code(finding.reason_in_script))}"


def _settings(diagnosis: Diagnosis, rows: tuple[SettingRow, ...]) -> str:
    if not rows:
        return said("not set")
    shown = [_setting(diagnosis, row) for row in rows[:MAX_ROWS]]
    more = len(rows) - len(shown)
    return "; ".join([*shown, said("{n} more", n=more)] if more else shown)


def _setting(diagnosis: Diagnosis, row: SettingRow) -> str:
    text = shortened(row_text(row, diagnosis.redactor))
    here = row.file == diagnosis.script
    where = said("line {n}", n=row.line) if here else f"{row.file}:{row.line}"
    group = f", {row.group}" if row.group else ""
    return f"{code(text)} ({inert(where + group)})"


def _fix(finding: Finding) -> str:
    flags = changed_flags(finding.fix.changes)
    text = prose(finding.fix.text)
    return f"{code(flags)} — {text}" if flags and flags not in finding.fix.text else text


def _summary(diagnosis: Diagnosis) -> str:
    counts = " · ".join(
        f"{severity.capitalize()}: {diagnosis.count(severity)}" for severity in WORST_FIRST
    )
    return f"## Summary\n- {counts}\n- **Top action:** {_top_action(diagnosis)}"


def _top_action(diagnosis: Diagnosis) -> str:
    action = top_action(diagnosis)
    if action is None:
        return NOTHING_TO_DO
    shown = code(action.flags) if action.flags else prose(action.text)
    return f"{shown} ({action.rule})"
