"""What decode and prefill reach on one family of cards: the efficiencies as plain numbers.

Kept apart from the formulas, so that a fit can estimate with others than the table's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate import decode_efficiencies as of
from perf_doctor.estimate import efficiencies as training
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval, exactly


class DecodeRates(NamedTuple):
    """Efficiencies of an engine's steps.

    What each is and where it comes from: ``decode_efficiencies``.
    """

    step_s: float
    layer_s: float
    expert_layer_s: float
    linear_layer_s: float
    eager_gap_s: float
    eager_host_s: float
    sequence_s: float
    weights: float
    narrow_read: float
    rows: float
    expert_read: float
    narrow_experts: float
    kv: float
    compute: float
    quantized: float
    attention: float
    attention_rows: float
    prefill: float
    prefill_experts: float
    prefill_layer_s: float
    prefill_expert_layer_s: float
    prefill_chunk: float
    all_reduce_s: float
    all_reduce_rank_s: float
    link: float


@lru_cache(maxsize=8)
def decode_ranges(family: Family) -> dict[str, Interval]:
    """Return the ranges from which ``decode_rates`` takes the expected values, by field."""
    return {
        "step_s": of.DECODE_STEP_S,
        "layer_s": of.DECODE_LAYER_S,
        "expert_layer_s": of.DECODE_EXPERT_LAYER_S,
        "linear_layer_s": of.DECODE_LINEAR_LAYER_S,
        "eager_gap_s": of.EAGER_GAP_S,
        "eager_host_s": of.EAGER_HOST_S,
        "sequence_s": of.DECODE_SEQUENCE_S,
        "weights": of.DECODE_WEIGHTS[family],
        "narrow_read": of.NARROW_READ,
        "rows": of.ROWS,
        "expert_read": of.EXPERT_READ[family],
        "narrow_experts": of.H20_NARROW_EXPERTS if family == "h20" else exactly(1.0),
        "kv": of.DECODE_KV,
        "compute": of.DECODE_COMPUTE[family],
        "quantized": training.QUANTIZED[family],
        "attention": training.ATTENTION[family],
        "attention_rows": of.ATTENTION_ROWS,
        "prefill": of.PREFILL[family],
        "prefill_experts": of.PREFILL_EXPERTS[family],
        "prefill_layer_s": of.PREFILL_LAYER_S,
        "prefill_expert_layer_s": of.PREFILL_EXPERT_LAYER_S,
        "prefill_chunk": of.PREFILL_CHUNK,
        "all_reduce_s": of.ALL_REDUCE_S,
        "all_reduce_rank_s": of.ALL_REDUCE_RANK_S,
        "link": training.LINK,
    }


@lru_cache(maxsize=8)
def decode_rates(family: Family) -> DecodeRates:
    """Return the expected efficiencies of a family."""
    return DecodeRates(**{name: one.expected for name, one in decode_ranges(family).items()})
