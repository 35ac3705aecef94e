"""Two jobs in JSON: what the commands that compare have in common."""

from __future__ import annotations

from collections.abc import Mapping

from perf_doctor.explore.pair import Pair
from perf_doctor.launch.secrets import Redactor
from perf_doctor.report.document import memory_object, time_object
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.template import FlagChanges


def changes_object(changes: FlagChanges, redactor: Redactor) -> dict[str, object]:
    """Return what is set and removed, secrets masked."""
    shown: dict[str, object] = {}
    for flag, value in changes.set.items():
        shown[flag] = value if value is True else redactor.redact_words([flag, str(value)])[1]
    return {"set": shown, "unset": list(changes.unset)}


def estimate_object(pair: Pair, which: str) -> dict[str, object]:
    """Return memory and time of the job ``before`` or ``after``, as a report has them."""
    job = pair.before if which == "before" else pair.after
    return {"memory": memory_object(job.memory), "time": time_object(job.time)}


def gain_object(pair: Pair) -> Mapping[str, float] | None:
    """Return the share of the step that goes away, None where it is not known."""
    gain = pair.gain
    if gain is None:
        return None
    return {name: round(getattr(gain, name), 3) for name in ("low", "expected", "high")}


def findings_object(pair: Pair, appears: str, vanishes: str) -> dict[str, object]:
    """Return the findings of one job alone, under these names, and those that weigh otherwise."""
    changes = pair.finding_changes
    return {
        appears: [_finding(finding) for finding in changes.appeared],
        vanishes: [_finding(finding) for finding in changes.vanished],
        "changed": [
            {**_finding(new), "severity_before": old.severity} for old, new in changes.changed
        ],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "title": finding.title,
        "blocks_launch": finding.blocks_launch,
    }
