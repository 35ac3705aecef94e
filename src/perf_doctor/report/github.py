"""Annotations of a GitHub workflow: one for each finding, at the line it is about.

A workflow command ends with its line, so that everything a script says is escaped by GitHub's two
rules: ``%``, CR and LF everywhere, ``:`` and ``,`` in properties too (docs.github.com, workflow
commands; actions/toolkit, ``command.ts``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.report.flags import fix_text
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.rules.judgement import Finding

LEVELS: Final[Mapping[str, str]] = {"critical": "error", "warn": "warning", "info": "notice"}


def render(report: Report) -> str:
    """Return a workflow command for each finding; nothing where there is none."""
    return "".join(
        f"{_annotation(diagnosis, finding)}\n"
        for diagnosis in report.diagnoses
        for finding in diagnosis.findings
    )


def _annotation(diagnosis: Diagnosis, finding: Finding) -> str:
    properties = ",".join(
        f"{name}={_property(diagnosis, text)}" for name, text in _where(diagnosis, finding)
    )
    message = _data(diagnosis, f"{finding.cost.text} Fix: {fix_text(finding.fix)}")
    return f"::{LEVELS[finding.severity]} {properties}::{message}"


def _where(diagnosis: Diagnosis, finding: Finding) -> Iterator[tuple[str, str]]:
    row = finding.setting[0] if finding.setting else None
    yield "file", diagnosis.script if row is None else row.file
    if row is not None:
        yield "line", str(row.line)
        yield "col", str(row.column)
    yield "title", f"{finding.rule} — {finding.title}"


def _data(diagnosis: Diagnosis, text: str) -> str:
    return plain(diagnosis, text).replace("%", "%25")


def _property(diagnosis: Diagnosis, text: str) -> str:
    return _data(diagnosis, text).replace(":", "%3A").replace(",", "%2C")
