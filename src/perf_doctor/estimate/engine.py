"""What one rank of an SGLang engine holds: weights, KV pool, state pool, graphs.

``mem_fraction_static`` F: weights and pools together take F of what is free before loading
(sglang 0.5.12 model_runner: pool = free after load − free before load · (1 − F)).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from perf_doctor.estimate.constants import (
    CONTEXT_GIB,
    DEFAULT_MEM_FRACTION,
    ENGINE_EXTRA_EAGER_GIB,
    ENGINE_EXTRA_GIB,
    GIB,
)
from perf_doctor.estimate.interval import Interval, exactly, independent_sum, larger
from perf_doctor.estimate.parameters import (
    Count,
    count_model,
    grouped_attention,
    latent_attention,
)
from perf_doctor.estimate.shape import Shape

EngineKind = Literal["rollout", "genrm", "teacher"]
# Of what remains beside the weights, state ÷ KV (``--mamba-full-memory-ratio``, SGLang's default).
STATE_RATIO = 0.9


class Engine(NamedTuple):
    """An inference engine; ``mem_fraction`` None: SGLang picks it.

    ``attention_tp``: ranks that share one attention (TP ÷ DP with DP attention). ``shares``: it
    lies on the trainer's GPUs. ``weight_bytes``, ``kv_bytes``, ``state_bytes``: per element.
    """

    kind: EngineKind
    shape: Shape | None
    tp: int
    pp: int
    attention_tp: int
    mem_fraction: float | None
    graphs: bool
    shares: bool
    weight_bytes: float = 2.0
    kv_bytes: float = 2.0
    state_bytes: float = 4.0
    state_ratio: float = STATE_RATIO
    max_total_tokens: int | None = None
    longest_sample: float | None = None


class EngineMemory(NamedTuple):
    """One rank of an engine, bytes.

    ``kv_tokens``: what the pool holds; ``state_slots``: requests, None if no layer has a state.
    """

    weights: float
    static: Interval
    kv: Interval
    state: Interval
    kv_tokens: Interval
    state_slots: Interval | None
    extra: Interval

    @property
    def short(self) -> bool | None:
        """True when the weights exceed the static share, None when they do in part of its range."""
        if self.weights > self.static.high:
            return True
        return None if self.weights > self.static.low else False


def weight_bytes(engine: Engine, shape: Shape) -> float:
    """Return weights of one rank: bytes · (split ÷ tp + whole + experts ÷ tp) ÷ pp.

    With DP attention the attention is split over ``attention_tp`` only. Qwen3-30B: 56.87 GiB
    computed, 56.98 logged.
    """
    count = count_model(shape)
    local = count.split / engine.tp + count.whole + count.expert / engine.tp
    if engine.attention_tp != engine.tp:
        attention = _attention(shape)
        local += attention.split * (1 / engine.attention_tp - 1 / engine.tp)
    return engine.weight_bytes * local / engine.pp


def _attention(shape: Shape) -> Count:
    one = (
        grouped_attention(shape) if shape.latent is None else latent_attention(shape, shape.latent)
    )
    return Count().plus(one, shape.full_attention_layers)


def kv_bytes_per_token(engine: Engine, shape: Shape) -> float:
    """Return KV bytes of one token on one rank.

    Full-attention layers · 2 · max(1, g/tp) · d · bytes; latent: layers · (rkv + dr) · bytes on
    every rank. Two logs agree to three digits.
    """
    layers = (shape.full_attention_layers) / engine.pp
    if shape.latent is not None:
        width = float(shape.latent.kv_lora_rank + shape.latent.qk_rope_head_dim)
        return layers * width * engine.kv_bytes
    heads = max(1.0, shape.groups / engine.attention_tp)
    return layers * 2 * heads * shape.head_dim * engine.kv_bytes


def state_bytes_per_request(engine: Engine, shape: Shape) -> float:
    """Return state bytes of one running request on one rank.

    Linear layers · [(2qk + v)·(conv − 1)·2 + nv·dk·dv·bytes] ÷ tp; 0 without linear attention.
    """
    linear = shape.linear
    if linear is None:
        return 0.0
    qk, v = linear.widths
    window = (2 * qk + v) * (linear.conv_kernel - 1) * 2
    state = linear.value_heads * linear.key_head_dim * linear.value_head_dim * engine.state_bytes
    return sum(shape.linear_layers) * (window + state) / engine.attention_tp / engine.pp


def extra_bytes(engine: Engine) -> Interval:
    """Return what lies outside the static share: context, graphs, activations."""
    extra = ENGINE_EXTRA_GIB if engine.graphs else ENGINE_EXTRA_EAGER_GIB
    return independent_sum(extra, CONTEXT_GIB) * GIB


def mem_fraction(engine: Engine) -> Interval:
    """Return F, a range when SGLang picks it."""
    given = engine.mem_fraction
    return DEFAULT_MEM_FRACTION if given is None else Interval(given, given, given)


def engine_memory(engine: Engine, shape: Shape, free: Interval) -> EngineMemory:
    """Return what a rank holds when ``free`` bytes of the GPU are free before it loads."""
    static = mem_fraction(engine) * free
    weights = weight_bytes(engine, shape)
    rest = larger(exactly(0.0), static + exactly(-weights))
    per_request = state_bytes_per_request(engine, shape)
    ratio = engine.state_ratio if per_request else 0.0
    state, kv = rest * (ratio / (1 + ratio)), rest * (1 / (1 + ratio))
    tokens = kv * (1 / kv_bytes_per_token(engine, shape))
    if engine.max_total_tokens is not None:
        cap = float(engine.max_total_tokens)
        tokens = Interval(min(cap, tokens.low), min(cap, tokens.expected), min(cap, tokens.high))
        kv = tokens * kv_bytes_per_token(engine, shape)
    return EngineMemory(
        weights=weights,
        static=static,
        kv=kv,
        state=state,
        kv_tokens=tokens,
        state_slots=state * (1 / per_request) if per_request else None,
        extra=extra_bytes(engine),
    )
