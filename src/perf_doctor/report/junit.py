"""Test results, as CI servers show them: a suite for each script, a case for each finding.

XML has no character for most control characters; plain text has none of them left.
"""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.report.flags import fix_text
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.rules.judgement import Finding

_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>'
_FAILS: Final = ("critical", "warn")
"""What counts as a failed test; an info is told and passes."""


def render(report: Report) -> str:
    """Return the XML that Jenkins, GitLab and others read; a script without a finding passes."""
    suites = "".join(map(_suite, report.diagnoses))
    return f'{_DECLARATION}\n<testsuites name="perf-doctor">\n{suites}</testsuites>\n'


def _suite(diagnosis: Diagnosis) -> str:
    findings = diagnosis.findings
    failures = sum(finding.severity in _FAILS for finding in findings)
    name = _attribute(diagnosis, diagnosis.script)
    cases = "".join(_case(diagnosis, finding, name) for finding in findings)
    if not findings:
        cases = f'    <testcase classname={name} name="no finding"/>\n'
    count = max(1, len(findings))
    head = f'  <testsuite name={name} tests="{count}" failures="{failures}" errors="0">\n'
    return f"{head}{cases}  </testsuite>\n"


def _case(diagnosis: Diagnosis, finding: Finding, script: str) -> str:
    title = _attribute(diagnosis, f"{finding.rule} — {finding.title}")
    row = finding.setting[0] if finding.setting else None
    told = [
        finding.cost.text,
        f"Fix: {fix_text(finding.fix)}",
        f"Skip if: {finding.skip_if}",
        *([f"At {row.file}:{row.line}"] if row is not None else []),
    ]
    text = "\n".join(escape(plain(diagnosis, line)) for line in told)
    kind = _attribute(diagnosis, finding.severity)
    body = (
        f"<failure type={kind} message={title}>{text}</failure>"
        if finding.severity in _FAILS
        else f"<system-out>{text}</system-out>"
    )
    return f"    <testcase classname={script} name={title}>{body}</testcase>\n"


def _attribute(diagnosis: Diagnosis, text: str) -> str:
    return quoteattr(plain(diagnosis, text))
