"""The inference engines of a plan."""

from __future__ import annotations

from functools import lru_cache

from perf_doctor.estimate.engine import STATE_RATIO, Engine
from perf_doctor.estimate.from_model import shape_of
from perf_doctor.estimate.shape import Shape
from perf_doctor.plan.engines import Engines
from perf_doctor.plan.known_models import from_row, known_row
from perf_doctor.plan.plan import Plan
from perf_doctor.plan.reading import number, text


def engines_of(plan: Plan, longest_sample: float | None) -> tuple[Engine, ...]:
    """Return the engines that the job starts, of rollout, reward model and managed teacher."""
    shares = bool(plan.roles.shares_gpus)
    found = []
    for engines in (plan.engines, plan.genrm, plan.teacher):
        if engines is None or engines.tp is None or engines.pp is None:
            continue
        same_gpus = shares and (engines.kind == "rollout" or plan.roles.genrm == "shared")
        found.append(_engine(plan, engines, longest_sample, shares=same_gpus))
    return tuple(found)


def _engine(plan: Plan, engines: Engines, longest_sample: float | None, *, shares: bool) -> Engine:
    tp, dp = engines.tp or 1, engines.dp or 1
    weights, own = _weight_bytes(engines), engines.kind == "rollout"
    fraction = engines.mem_fraction_static
    ratio = number(plan.settings, "--sglang-mamba-full-memory-ratio")
    state = text(plan.settings, "--sglang-mamba-ssm-dtype")
    return Engine(
        kind=engines.kind,
        shape=_engine_shape(plan) if own else _named_shape(engines.checkpoint),
        tp=tp,
        pp=engines.pp or 1,
        attention_tp=max(1, tp // dp) if engines.dp_attention else tp,
        mem_fraction=fraction if fraction is not None and 0 < fraction <= 1 else None,
        graphs=engines.cuda_graph is not False,
        shares=shares,
        weight_bytes=weights,
        kv_bytes=1.0 if "fp8" in (engines.kv_cache_dtype or "") else 2.0,
        state_bytes=2.0 if state in ("bfloat16", "float16") else 4.0,
        state_ratio=STATE_RATIO if ratio is None else ratio,
        max_total_tokens=engines.max_total_tokens,
        longest_sample=longest_sample if own else None,
    )


# Checkpoints that are published in few bits and say so nowhere in their name.
_NATIVE = (
    ("kimi-k2.5", 0.55),
    ("kimi-k2.6", 0.55),
    ("kimi-k2-thinking", 0.55),
    ("kimi-k2", 1.01),
    ("deepseek-v3", 1.01),
    ("deepseek-r1-distill", 2.0),
    ("deepseek-r1", 1.01),
    ("minimax-m2", 1.01),
)


def _weight_bytes(engines: Engines) -> float:
    """Bytes per weight: by the quantization asked for, else by the checkpoint's name.

    Scales included: 1 % with 8 bits, a tenth with 4.
    """
    name = (engines.checkpoint or "").rstrip("/").rsplit("/", 1)[-1].lower()
    said = f"{engines.quantization or ''} {name}".lower()
    if "bf16" in said:
        return 2.0
    if "fp8" in said or "int8" in said:
        return 1.01
    if "int4" in said or "awq" in said or "gptq" in said or "fp4" in said:
        return 0.55
    return next((size for known, size in _NATIVE if name.startswith(known)), 2.0)


def _engine_shape(plan: Plan) -> Shape | None:
    model = plan.model.architecture
    if model is None or model.vocab_size is None:
        return None
    shape = shape_of(model, model.vocab_size)
    draft = plan.engines is not None and plan.engines.speculative is not None
    if shape is None or draft or not shape.mtp_layers:
        return shape
    return shape._replace(mtp_layers=0)


@lru_cache(maxsize=64)
def _named_shape(checkpoint: str | None) -> Shape | None:
    """The shape of another model than the trained one, by the last part of its path."""
    row = known_row(checkpoint.rstrip("/").rsplit("/", 1)[-1]) if checkpoint else None
    model = None if row is None else from_row(row, "table")
    if model is None or model.vocab_size is None:
        return None
    return shape_of(model, model.vocab_size)
