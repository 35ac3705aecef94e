"""SARIF 2.1.0, for code scanning (docs.oasis-open.org/sarif/sarif/v2.1.0).

A fingerprint is made of the rule, the flags and their arrays, and not of lines: a finding stays
the same one when the script grows above it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from os import sep
from os.path import normpath, relpath
from typing import Any, Final

from perf_doctor._version import __version__
from perf_doctor.diagnosis import Diagnosis
from perf_doctor.inert import prose
from perf_doctor.report.edits import edited
from perf_doctor.report.flags import changed_flags, fix_text
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Rule
from perf_doctor.rules.template import Template

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS: Final[Mapping[str, str]] = {"critical": "error", "warn": "warning", "info": "note"}
FINGERPRINT: Final = "perfDoctor/v1"
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
)

Object = dict[str, Any]


def render(report: Report) -> str:
    """Return one run with the results of all scripts; suppressed findings say so."""
    found = [
        (diagnosis, finding, finding in suppressed)
        for diagnosis in report.diagnoses
        for suppressed in [diagnosis.suppressed]
        for finding in (*diagnosis.findings, *suppressed)
    ]
    rules = _rules([(diagnosis, finding) for diagnosis, finding, _ in found])
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    driver = {
        "name": "perf-doctor",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
    }
    results = [
        _result(diagnosis, finding, index[finding.rule], suppressed=suppressed)
        for diagnosis, finding, suppressed in found
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rules(found: Sequence[tuple[Diagnosis, Finding]]) -> list[Object]:
    """Return each rule that has a result once, by id; what differs by job is in the results."""
    known = {rule.id: rule for rule in load_rules().rules}
    first = {finding.rule: (diagnosis, finding) for diagnosis, finding in reversed(found)}
    return [
        _rule(known[name]) if name in known else _unknown_rule(*first[name])
        for name in sorted(first)
    ]


def _rule(rule: Rule) -> Object:
    """Return a rule of the catalog; its usual level is the worst that it reports."""
    told = (("Why", rule.why), ("Fix", _unfilled(rule.fix)), ("Skip if", rule.skip_when))
    return {
        **_head(rule.id, rule.title),
        "fullDescription": {"text": rule.why},
        "help": _help(rule.id, told),
        "defaultConfiguration": {"level": LEVELS[rule.severity[-1]]},
        "properties": {"tags": [rule.category]},
    }


def _unknown_rule(diagnosis: Diagnosis, finding: Finding) -> Object:
    """Return a rule of the user's, of which the finding tells all that is known here."""
    title, skip_if = _clean(diagnosis, finding.title), _clean(diagnosis, finding.skip_if)
    return {
        **_head(finding.rule, title),
        "fullDescription": {"text": title},
        "help": _help(finding.rule, [("Skip if", skip_if)]),
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
        "properties": {"tags": [finding.category]},
    }


def _head(name: str, title: str) -> Object:
    words = re.findall("[A-Za-z0-9]+", title)
    camel = "".join(word[0].upper() + word[1:] for word in words)
    return {"id": name, "name": camel or name, "shortDescription": {"text": title}}


def _help(name: str, told: Sequence[tuple[str, str]]) -> Object:
    more = f"`perf-doctor rules show {name}` prints the rule."
    return {
        "text": "\n\n".join([*(f"{head}: {text}" for head, text in told), more]),
        "markdown": "\n\n".join([*(f"**{head}:** {prose(text)}" for head, text in told), more]),
    }


def _unfilled(fix: Template) -> str:
    """Return the prose of a fix without the values of a job."""
    return "".join(part if isinstance(part, str) else "…" for part in fix.parts)


def _result(diagnosis: Diagnosis, finding: Finding, index: int, *, suppressed: bool) -> Object:
    told = f"{finding.title}. {finding.cost.text} Fix: {fix_text(finding.fix)}"
    result: Object = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": _clean(diagnosis, told)},
        "locations": [_location(diagnosis, finding)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(diagnosis, finding)},
    }
    fixes = list(_fixes(diagnosis, finding))
    return {
        **result,
        **({"fixes": fixes} if fixes else {}),
        **({"suppressions": [{"kind": "inSource"}]} if suppressed else {}),
    }


def _location(diagnosis: Diagnosis, finding: Finding) -> Object:
    row = finding.setting[0] if finding.setting else None
    region = {"startLine": 1}
    if row is not None:
        region = {"startLine": row.line, "startColumn": row.column}
    file = diagnosis.script if row is None else row.file
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(diagnosis, file)}, "region": region}
    }


def _fingerprint(diagnosis: Diagnosis, finding: Finding) -> str:
    settings = sorted(f"{row.flag}\0{row.group or ''}" for row in finding.setting)
    parts = [finding.rule, _uri(diagnosis, diagnosis.script), *settings]
    return sha256("\n".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def _fixes(diagnosis: Diagnosis, finding: Finding) -> Iterator[Object]:
    """Yield the fix as an edit of whole lines; one that would write a masked secret is none."""
    files = {
        file: list(_replacements(diagnosis.texts[file], after))
        for file, after in edited(diagnosis, finding).items()
    }
    new = "".join(each["insertedContent"]["text"] for one in files.values() for each in one)
    if not files or diagnosis.redactor.redact(new) != new:
        return
    changed = [
        {"artifactLocation": {"uri": _uri(diagnosis, file)}, "replacements": replacements}
        for file, replacements in files.items()
    ]
    shown = _clean(diagnosis, changed_flags(finding.fix.changes))
    yield {"description": {"text": shown}, "artifactChanges": changed}


def _replacements(before: str, after: str) -> Iterator[Object]:
    """Yield the lines to delete and what to put there; lines end where places say they do."""
    old, new = ([f"{line}\n" for line in text.split("\n")] for text in (before, after))
    for kind, begin, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        if kind != "equal":
            region = {"startLine": begin + 1, "startColumn": 1, "endLine": end + 1, "endColumn": 1}
            yield {
                "deletedRegion": region,
                "insertedContent": {"text": "".join(new[first:last])},
            }


def _uri(diagnosis: Diagnosis, file: str) -> str:
    """Return a path as seen from the working folder; one that lies elsewhere stays as it is."""
    near = relpath(file)
    path = normpath(file) if near.split(sep)[0] == ".." else near
    shown = diagnosis.redactor.redact(path).replace(sep, "/").encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in shown)


def _clean(diagnosis: Diagnosis, text: str) -> str:
    """Return text without a secret, and without the ``[text](target)`` that SARIF links by."""
    return plain(diagnosis, text).replace("](", "] (")
