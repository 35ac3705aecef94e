"""The JSON contract as a JSON Schema, written by hand: what other programs may rely on.

``REPORT_SCHEMA`` is strict, for tests: a report has these fields and no others. ``published``
allows more, as fields are only ever added.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def obj(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties, all of them required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def null_or(schema: Schema) -> Schema:
    """Return the schema of a value that may be unknown."""
    return {"anyOf": [schema, {"type": "null"}]}


def items(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def one_of(*values: object) -> Schema:
    """Return the schema of an enumeration."""
    return {"enum": list(values)}


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "string", "pattern": "^-"}
COUNT: Schema = null_or({"type": "integer"})
GIVEN: Schema = {"type": "number"}
NUMBER: Schema = null_or(GIVEN)
TRUTH: Schema = {"type": "boolean"}
ANY: Schema = {}
INTERVAL = obj(low=NUMBER, expected=NUMBER, high=NUMBER)
GIVEN_INTERVAL = obj(low=GIVEN, expected=GIVEN, high=GIVEN)
FITS = null_or(one_of("yes", "no", "borderline"))
ROW = obj(
    flag=FLAG, value=ANY, file=TEXT, line={"type": "integer"}, column={"type": "integer"},
    group=null_or(TEXT),
)  # fmt: skip
CHANGES: Schema = obj(set={"type": "object"}, unset=items(FLAG))
CONTEXT = obj(
    model=null_or(TEXT),
    architecture=null_or(one_of("dense", "moe")),
    parameters=obj(total=NUMBER, active=NUMBER),
    modality=null_or(one_of("text", "image", "video", "audio", "omni")),
    task=null_or(one_of("rl", "sft")),
    mode=null_or(one_of("colocate", "fully-async", "hybrid", "sync", "sft")),
    gpus=COUNT, nodes=COUNT, gpus_per_node=COUNT,
    roles=null_or({"type": "object", "additionalProperties": COUNT}),
    tp=COUNT, pp=COUNT, vpp=COUNT, cp=COUNT, ep=COUNT, etp=COUNT, dp=COUNT, edp=COUNT,
    max_response_len=COUNT, max_tokens_per_gpu=COUNT,
    framework=obj(name=TEXT, version=null_or(TEXT), assumed=TRUTH),
    gpu=obj(name=TEXT, memory_gb={"type": "integer"}, assumed=TRUTH),
    assumptions=items(TEXT),
)  # fmt: skip
WRITTEN = obj(value=ANY, file=TEXT, line={"type": "integer"}, group=null_or(TEXT))
SETTING = obj(
    value=ANY, file=TEXT, line={"type": "integer"}, group=null_or(TEXT),
    overrides=items(WRITTEN), overridable_by=items(TEXT),
)  # fmt: skip
LAUNCH = obj(
    program=items(TEXT),
    argv=items(TEXT),
    flags={"type": "object", "additionalProperties": SETTING},
    unknown_flags=items(obj(flag=TEXT, file=TEXT, line={"type": "integer"}, nearest=null_or(FLAG))),
)
PHASE = obj(
    phase=TEXT, role=TEXT, pp_stage=COUNT, total_gib=GIVEN_INTERVAL,
    components=obj(
        weights=GIVEN, gradients=GIVEN, optimizer=GIVEN, activations=GIVEN, logits=GIVEN,
        kv_cache=GIVEN, communication=GIVEN, overhead=GIVEN,
    ),
)  # fmt: skip
MEMORY = obj(
    capacity_gib=NUMBER, fits=FITS, fits_host=FITS, peak_gib=INTERVAL, peak_phase=null_or(TEXT),
    phases=items(PHASE), host_gib_per_node=INTERVAL,
)  # fmt: skip
TIME = obj(
    step_s=INTERVAL,
    phases=obj(
        rollout=NUMBER, weight_sync=NUMBER, reference_log_probs=NUMBER, log_probs=NUMBER,
        train=NUMBER, optimizer=NUMBER, switch=NUMBER, teacher_log_probs=NUMBER,
        evaluation=NUMBER, saving=NUMBER,
    ),
    bound_by=null_or(TEXT), train_mfu=NUMBER, tokens_per_gpu_s=NUMBER,
    balance=null_or(obj(
        rollout_s=INTERVAL, trainer_s=INTERVAL,
        even_split=null_or(obj(
            actor_gpus={"type": "integer"}, rollout_gpus={"type": "integer"}, step_s=GIVEN,
        )),
    )),
    assumptions=items(TEXT),
)  # fmt: skip
AFTER = null_or(obj(fits=FITS, peak_gib=INTERVAL, step_s=INTERVAL))
FINDING = obj(
    rule={"type": "string", "pattern": r"^R-[CMPS]\d{2,}$"},
    title=TEXT,
    category=one_of("performance", "memory"),
    severity=one_of("critical", "warn", "info"),
    verdict=one_of("applies", "borderline"),
    blocks_launch=TRUTH,
    setting=items(ROW),
    basis=one_of("arithmetic", "estimate", "experience"),
    cost=obj(text=TEXT, step_time_fraction=NUMBER, memory_gib=NUMBER, startup_s=NUMBER),
    fix=obj(text=TEXT, set={"type": "object"}, unset=items(FLAG), alternatives=items(CHANGES)),
    skip_if=TEXT,
    after_fix=AFTER,
    reason_in_script=null_or(TEXT),
)
VERDICT = one_of("applies", "borderline", "not-applicable", "needs-judgement", "suppressed")
SUMMARY = obj(
    critical={"type": "integer"}, warn={"type": "integer"}, info={"type": "integer"},
    suppressed={"type": "integer"}, top_action=TEXT, all_fixes=AFTER,
)  # fmt: skip
_BODY: dict[str, Schema] = {
    "schema_version": one_of("1"),
    "tool": obj(name=one_of("perf-doctor"), version=TEXT),
    "script": TEXT,
    "context": CONTEXT,
    "launch": LAUNCH,
    "memory": MEMORY,
    "time": TIME,
    "findings": items(FINDING),
    "rules": items(obj(id=TEXT, verdict=VERDICT, reason=TEXT)),
    "summary": SUMMARY,
    "notes": items(TEXT),
}
REPORT_SCHEMA: Schema = obj(**_BODY, variants=items(obj(**_BODY, condition=TEXT)))
"""One report: a script, with its other launches."""

SEVERAL_SCHEMA: Schema = obj(
    schema_version=one_of("1"),
    tool=obj(name=one_of("perf-doctor"), version=TEXT),
    reports=items(REPORT_SCHEMA),
)


def published() -> Schema:
    """Return the JSON Schema of what ``--format json`` prints: one report, or several.

    Fields that it does not name are allowed.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "perf-doctor report, schema version 1",
        "anyOf": [_open(REPORT_SCHEMA), _open(SEVERAL_SCHEMA)],
    }


def _open(schema: Any) -> Any:
    """Return the schema without the ban on further fields."""
    if isinstance(schema, list):
        return [_open(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _open(value)
        for key, value in schema.items()
        if not (key == "additionalProperties" and value is False)
    }
