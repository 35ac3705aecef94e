"""The JSON report: the contract that other programs build on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from perf_doctor._version import __version__
from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.explain import explain
from perf_doctor.estimate.gpu_split import even_split
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.time import PHASES, TimeEstimate
from perf_doctor.estimate.time_explain import explain_time
from perf_doctor.launch.secrets import Redactor
from perf_doctor.launch.settings import Setting
from perf_doctor.report.context import context_object
from perf_doctor.report.fixes import all_fixes
from perf_doctor.report.flags import value_text
from perf_doctor.report.formats import Report
from perf_doctor.report.top_action import NOTHING_TO_DO, top_action
from perf_doctor.rules.effect import Effect
from perf_doctor.rules.judgement import Finding, SettingRow
from perf_doctor.rules.severity import WORST_FIRST
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.model import Unknown

SCHEMA_VERSION: Final = "1"
_TOOL: Final = {"name": "perf-doctor", "version": __version__}


def render(report: Report) -> str:
    """Return the whole report on each script as JSON."""
    return _together([document(diagnosis) for diagnosis in report.diagnoses])


def json_estimate(diagnoses: Sequence[Diagnosis], *, explained: bool = False) -> str:
    """Return the estimate of each script as JSON; ``explained`` tells how figures come about."""
    return _together([estimate_document(one, explained=explained) for one in diagnoses])


def _together(documents: Sequence[Mapping[str, object]]) -> str:
    """Return one document as it is, and several as the ``reports`` of one object."""
    return as_json(documents[0] if len(documents) == 1 else {**head_object(), "reports": documents})


def as_json(whole: Mapping[str, object]) -> str:
    """Return an object as JSON.

    Every character beyond ASCII is written as an escape, so no text of a script can do harm.
    """
    return json.dumps(whole, indent=2, default=str) + "\n"


def head_object() -> dict[str, object]:
    """Return what every document begins with."""
    return {"schema_version": SCHEMA_VERSION, "tool": _TOOL}


def document(diagnosis: Diagnosis) -> dict[str, object]:
    """Return one report as the contract has it, the variants of the script included."""
    head = {"condition": diagnosis.condition} if diagnosis.condition else {}
    body = {
        "context": dict(context_object(diagnosis.plan)),
        "launch": _launch(diagnosis),
        "memory": memory_object(diagnosis.memory),
        "time": time_object(diagnosis.time),
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "rules": [
            {"id": j.rule, "verdict": j.verdict, "reason": j.reason} for j in diagnosis.judgements
        ],
        "summary": _summary(diagnosis),
        "notes": [str(note) for note in diagnosis.notes],
    }
    hidden = {key: masked(value, diagnosis.redactor) for key, value in body.items()}
    variants = [document(variant) for variant in diagnosis.variants]
    return {
        **head_object(),
        "script": diagnosis.script,
        **head,
        **hidden,
        **({"variants": variants} if diagnosis.condition is None else {}),
    }


def estimate_document(diagnosis: Diagnosis, *, explained: bool = False) -> dict[str, object]:
    """Return the estimate alone, with how each figure comes about when ``explained``."""
    body: dict[str, object] = {
        "context": dict(context_object(diagnosis.plan)),
        "memory": memory_object(diagnosis.memory),
        "time": time_object(diagnosis.time),
    }
    if explained:
        body["explanations"] = [
            {
                "phase": p.phase,
                "role": p.role,
                "pp_stage": p.pp_stage,
                "figures": list(map(str, told)),
            }
            for p in diagnosis.memory.phases
            if (told := explain(diagnosis.memory, p))
        ]
        body["time_explanations"] = list(map(str, explain_time(diagnosis.time, diagnosis.memory)))
    hidden = {key: masked(value, diagnosis.redactor) for key, value in body.items()}
    return {**head_object(), "script": diagnosis.script, **hidden}


def masked(value: object, redactor: Redactor) -> object:
    """Return the value with the secrets of every text in it masked."""
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, dict):
        return {redactor.redact(key): masked(inner, redactor) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, redactor) for inner in value]
    return value


def _launch(diagnosis: Diagnosis) -> dict[str, object]:
    trainer, settings = diagnosis.trainer, diagnosis.plan.settings
    return {
        "program": list(trainer.program),
        "argv": diagnosis.redactor.redact_words(word.text for word in trainer.argv),
        "flags": {
            setting.flag: _flag(setting)
            for setting in settings
            if settings.given(setting.flag) is setting
        },
        "unknown_flags": [
            {
                "flag": unknown.flag,
                "file": unknown.word.place.file,
                "line": unknown.word.place.line,
                "nearest": unknown.nearest,
            }
            for unknown in settings.unknown_flags
        ],
    }


def _flag(setting: Setting) -> dict[str, object]:
    return {
        "value": _value(setting),
        "file": setting.place.file,
        "line": setting.place.line,
        "group": setting.group,
        "overrides": [
            {
                "value": _value(earlier),
                "file": earlier.place.file,
                "line": earlier.place.line,
                "group": earlier.group,
            }
            for earlier in setting.overrides
        ],
        "overridable_by": sorted({n for word in setting.words for n in word.overridable_by}),
    }


def _value(setting: Setting) -> object:
    return setting.text if isinstance(setting.value, Unknown) else setting.value


def _row(row: SettingRow) -> dict[str, object]:
    value = row.value if not isinstance(row.value, Unknown) else value_text(row.value)
    return {**asdict(row), "value": value}


def _changes(changes: FlagChanges) -> dict[str, object]:
    return {"set": dict(changes.set), "unset": list(changes.unset)}


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "title": finding.title,
        "category": finding.category,
        "severity": finding.severity,
        "verdict": finding.verdict,
        "blocks_launch": finding.blocks_launch,
        "setting": [_row(row) for row in finding.setting],
        "basis": finding.basis,
        "cost": asdict(finding.cost),
        "fix": {
            "text": finding.fix.text,
            **_changes(finding.fix.changes),
            "alternatives": [
                _changes(other) for other in (*finding.fix.alternatives, *finding.fix.instead)
            ],
        },
        "skip_if": finding.skip_if,
        "after_fix": _after(finding.effect),
        "reason_in_script": finding.reason_in_script,
    }


def _after(effect: Effect | None) -> dict[str, object] | None:
    """Return what the estimates say of a job with a fix; None where nothing was tried."""
    if effect is None:
        return None
    memory, time = effect.after.memory, effect.after.time
    return {
        "fits": memory.fits,
        "peak_gib": interval_object(memory.peak_gib),
        "step_s": interval_object(time.step_s),
    }


def memory_object(memory: MemoryEstimate) -> dict[str, object]:
    """Return an estimate of memory as the contract has it."""
    return {
        "capacity_gib": memory.capacity_gib,
        "fits": memory.fits,
        "fits_host": memory.fits_host,
        "peak_gib": interval_object(memory.peak_gib),
        "peak_phase": memory.peak_phase,
        "phases": [
            {
                "phase": phase.phase,
                "role": phase.role,
                "pp_stage": phase.pp_stage,
                "total_gib": interval_object(phase.total_gib),
                "components": {k: round(v, 3) for k, v in phase.components._asdict().items()},
            }
            for phase in memory.phases
        ],
        "host_gib_per_node": interval_object(memory.host_gib_per_node),
    }


def interval_object(interval: Interval | None) -> dict[str, float | None]:
    """Return an interval to the hundredth, which is finer than it is known."""
    if interval is None:
        return {"low": None, "expected": None, "high": None}
    return {
        "low": round(interval.low, 2),
        "expected": round(interval.expected, 2),
        "high": round(interval.high, 2),
    }


def time_object(time: TimeEstimate) -> dict[str, object]:
    """Return an estimate of time as the contract has it."""
    return {
        "step_s": interval_object(time.step_s),
        "phases": {name: _seconds(time, name) for name in PHASES},
        "bound_by": time.bound_by,
        "train_mfu": None if time.train_mfu is None else round(time.train_mfu, 3),
        "tokens_per_gpu_s": (
            None if time.tokens_per_gpu_s is None else round(time.tokens_per_gpu_s, 1)
        ),
        "balance": _balance(time),
        "assumptions": list(time.assumptions),
    }


def _balance(time: TimeEstimate) -> dict[str, object] | None:
    """Return what each side of an asynchronous job needs, and the GPUs that would even it out."""
    sides, split = time.sides, even_split(time)
    if sides is None:
        return None
    return {
        "rollout_s": interval_object(sides.rollout),
        "trainer_s": interval_object(sides.trainer),
        "even_split": None if split is None else split._asdict(),
    }


def _seconds(time: TimeEstimate, name: str) -> float | None:
    """Return the expected seconds of a phase; 0 for one that this job does not have."""
    if time.phases is None:
        return None
    interval = time.phases.get(name)
    return 0.0 if interval is None else round(interval.expected, 2)


def _summary(diagnosis: Diagnosis) -> dict[str, object]:
    action = top_action(diagnosis)
    return {
        **{severity: diagnosis.count(severity) for severity in WORST_FIRST},
        "suppressed": len(diagnosis.suppressed),
        "top_action": NOTHING_TO_DO if action is None else str(action),
        "all_fixes": _after(all_fixes(diagnosis)),
    }
