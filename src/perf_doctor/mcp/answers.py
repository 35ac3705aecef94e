"""Structured answers, made of the documents that the command prints as JSON.

Those hold no secret any more; here every text in them becomes harmless as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.launch.secrets import Redactor
from perf_doctor.mcp.fence import harmless
from perf_doctor.mcp.outputs import (
    Compared,
    Diagnosed,
    Difference,
    Estimated,
    Explained,
    Finding,
    FlagChange,
    Head,
    Interval,
    Outcome,
    Phase,
    Tried,
)
from perf_doctor.report.agent import MAX_FINDINGS
from perf_doctor.report.context import context_line
from perf_doctor.report.document import document, estimate_document
from perf_doctor.report.notes import reading_notes
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.model import Rule

MAX_NOTES: Final = 5
_MAX_SETTINGS: Final = 20
_MAX_AT: Final = 4
_MAX_DOCUMENT_CHARS: Final = 40_000
_LEFT_OUT: Final = ("launch", "variants", "rules")
"""Of a full report: three quarters of it are flags as they stand and rules that do not apply."""

Body = Mapping[str, Any]


def diagnosed(diagnosis: Diagnosis, *, full: bool) -> Diagnosed:
    """Return one report."""
    body = _harmless(document(diagnosis))
    found, summary = body["findings"], body["summary"]
    shown = found if full else found[:MAX_FINDINGS]
    capacity = body["memory"]["capacity_gib"]
    return Diagnosed(
        script=body["script"],
        context=_context(diagnosis),
        outcome=outcome(body),
        critical=summary["critical"],
        warn=summary["warn"],
        info=summary["info"],
        suppressed=summary["suppressed"],
        findings=[finding(one, capacity) for one in shown],
        more_findings=len(found) - len(shown),
        top_action=summary["top_action"],
        needs_judgement=[r["id"] for r in body["rules"] if r["verdict"] == "needs-judgement"],
        notes=list(told_notes(diagnosis, full=full)),
        document=_full({k: v for k, v in body.items() if k not in _LEFT_OUT}) if full else None,
    )


def told_notes(diagnosis: Diagnosis, *, full: bool) -> Sequence[str]:
    """Return how a script was read, and its other launches; brief: the first few."""
    notes = [str(harmless(note)) for note in reading_notes(diagnosis)]
    if full or len(notes) <= MAX_NOTES:
        return notes
    return [*notes[:MAX_NOTES], f"and {len(notes) - MAX_NOTES} more notes"]


def estimated(diagnosis: Diagnosis, *, full: bool) -> Estimated:
    """Return one estimate."""
    body = _harmless(estimate_document(diagnosis, explained=full))
    memory, time = body["memory"], body["time"]
    assumed = (*body["context"]["assumptions"], *time["assumptions"])
    return Estimated(
        script=body["script"],
        context=_context(diagnosis),
        outcome=outcome(body),
        memory_phases=[
            Phase(
                phase=one["phase"],
                role=one["role"],
                pp_stage=one["pp_stage"],
                total_gib=_span(one["total_gib"]),
            )
            for one in memory["phases"]
        ],
        host_gib_per_node=_span(memory["host_gib_per_node"]),
        time_phases_s=time["phases"],
        bound_by=time["bound_by"],
        train_mfu=time["train_mfu"],
        tokens_per_gpu_s=time["tokens_per_gpu_s"],
        assumptions=list(dict.fromkeys(assumed)),
        document=_full(body) if full else None,
    )


def tried(text: str, *, full: bool) -> Tried:
    """Return what ``what_if_json`` says."""
    body = _harmless(json.loads(text))
    found, stopped = body["findings"], body["stopped_by"]
    return Tried(
        script=body["script"],
        effective=body["effective"],
        before=outcome(body["before"]),
        after=outcome(body["after"]),
        gain=_gain(body["gain"]),
        appeared=_heads(found["appeared"]),
        vanished=_heads(found["vanished"]),
        changed=_heads(found["changed"]),
        stopped_by_before=stopped["before"],
        stopped_by_after=stopped["after"],
        document=_full(body) if full else None,
    )


def compared(text: str, *, full: bool) -> Compared:
    """Return what ``compare_json`` says."""
    body = _harmless(json.loads(text))
    found, stopped, settings = body["findings"], body["stopped_by"], body["settings"]
    shown = settings[:_MAX_SETTINGS]
    return Compared(
        a=body["a"]["script"],
        b=body["b"]["script"],
        same=body["same"],
        outcome_a=outcome(body["a"]),
        outcome_b=outcome(body["b"]),
        gain=_gain(body["gain"]),
        settings=[_difference(one) for one in shown],
        more_settings=len(settings) - len(shown),
        only_a=_heads(found["only_a"]),
        only_b=_heads(found["only_b"]),
        changed=_heads(found["changed"]),
        stopped_by_a=stopped["a"],
        stopped_by_b=stopped["b"],
        document=_full(body) if full else None,
    )


def explained(diagnosis: Diagnosis, rule: Rule, judgement: Judgement) -> Explained:
    """Return the verdict of one rule."""
    body = _harmless(document(diagnosis))
    found = next((one for one in body["findings"] if one["rule"] == rule.id), None)
    capacity = body["memory"]["capacity_gib"]
    return Explained(
        script=body["script"],
        rule=rule.id,
        title=str(harmless(rule.title)),
        verdict=judgement.verdict,
        reason=next(one["reason"] for one in body["rules"] if one["id"] == rule.id),
        finding=None if found is None else finding(found, capacity),
    )


def outcome(body: Body) -> Outcome:
    """Return the verdicts of the estimates in a document."""
    memory, time = body["memory"], body["time"]
    return Outcome(
        fits=memory["fits"],
        peak_gib=_span(memory["peak_gib"]),
        capacity_gib=memory["capacity_gib"],
        step_s=_span(time["step_s"]),
    )


def finding(body: Body, capacity_gib: float | None) -> Finding:
    """Return a finding of a document."""
    after = body["after_fix"]
    return Finding(
        rule=body["rule"],
        severity=body["severity"],
        title=body["title"],
        stops_launch=body["blocks_launch"],
        at=[_row(row) for row in body["setting"][:_MAX_AT]],
        cost=body["cost"]["text"],
        fix=FlagChange(
            set={k: v if v is True else str(v) for k, v in body["fix"]["set"].items()},
            unset=body["fix"]["unset"],
        ),
        fix_text=body["fix"]["text"],
        after_fix=None
        if after is None
        else Outcome(
            fits=after["fits"],
            peak_gib=_span(after["peak_gib"]),
            capacity_gib=capacity_gib,
            step_s=_span(after["step_s"]),
        ),
    )


def _row(row: Body) -> str:
    value = [] if row["value"] in (True, None) else [str(row["value"])]
    words = Redactor().redact_words([row["flag"], *value])  # by its flag even a short secret is one
    return str(harmless(f"{' '.join(words)} (line {row['line']})"))


def _difference(body: Body) -> Difference:
    alone = body["alone"]
    return Difference(
        flag=body["flag"],
        a=_value(body["a"]),
        b=_value(body["b"]),
        gain=_gain(alone["gain"]),
        peak_gib=alone["peak_gib"],
        stopped_by=alone["stopped_by"],
    )


def _value(stored: object) -> str | None:
    if stored is None or isinstance(stored, str):
        return stored
    return json.dumps(stored, ensure_ascii=False)


def _heads(bodies: Sequence[Body]) -> list[Head]:
    return [
        Head(
            rule=one["rule"],
            severity=one["severity"],
            title=one["title"],
            stops_launch=one["blocks_launch"],
        )
        for one in bodies
    ]


def _span(body: Body) -> Interval:
    return Interval(low=body["low"], expected=body["expected"], high=body["high"])


def _gain(body: Body | None) -> Interval | None:
    return None if body is None else _span(body)


def _context(diagnosis: Diagnosis) -> str:
    return str(harmless(diagnosis.redactor.redact(context_line(diagnosis.plan))))


def _harmless(body: Mapping[str, object]) -> dict[str, Any]:
    """Return a document as a client may see it."""
    safe = harmless(dict(body))
    assert isinstance(safe, dict)
    return safe


def _full(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return a document, or nothing where it is larger than anybody reads."""
    return body if len(json.dumps(body)) <= _MAX_DOCUMENT_CHARS else None
