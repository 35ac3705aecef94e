"""Each fix as a unified diff of the files it changes: printed, never applied.

Secrets are masked in it, so that a line which holds one is no line of the script.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.inert import inert
from perf_doctor.language import said
from perf_doctor.report.edits import edited
from perf_doctor.report.flags import fix_text
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.rules.judgement import Finding


def render(report: Report) -> str:
    """Return the diffs of all scripts, one for each finding, each from the script as it is.

    A line that begins with ``#`` says what the diff below it is for; patch and git pass over it.
    """
    return "".join(f"{line}\n" for diagnosis in report.diagnoses for line in _lines(diagnosis))


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.findings:
        yield plain(diagnosis, f"# {diagnosis.script}: {said('nothing to change')}")
    for finding in diagnosis.findings:
        yield plain(diagnosis, f"# {diagnosis.script}: {finding.rule} {finding.title}")
        hunks = list(_diff(diagnosis, finding))
        yield from hunks or [plain(diagnosis, f"# {_no_edit(finding)}")]


def _no_edit(finding: Finding) -> str:
    return said("no edit of this script: {fix}", fix=fix_text(finding.fix))


def _diff(diagnosis: Diagnosis, finding: Finding) -> Iterator[str]:
    for file, after in edited(diagnosis, finding).items():
        before = diagnosis.texts[file].split("\n")
        name = plain(diagnosis, file)
        for line in unified_diff(before, after.split("\n"), f"a/{name}", f"b/{name}", lineterm=""):
            yield _shown(diagnosis, line)


def _shown(diagnosis: Diagnosis, line: str) -> str:
    """Return a line of the script without secrets and harmless; its tabs are part of a diff."""
    return "\t".join(map(inert, diagnosis.redactor.redact(line).split("\t")))
