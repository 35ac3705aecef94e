"""FLOPs of a forward pass per token, by what they are spent on. A training pass is three times it.

cost-formulas 8: within 0.3 % of 178 published rows (Llama 3, Qwen3, DeepSeek-V3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate.parameters import Kind, attention_matrices, kinds_by_stage
from perf_doctor.estimate.shape import Shape


class LayerFlops(NamedTuple):
    """One decoder layer, forward: per token, and ``pair`` per token and token attended to.

    ``outer`` and ``inner``: elements per token that dense matrix products read and write, of
    which TP divides the inner ones. ``expert_outer`` and ``expert_inner``: of one expert.
    """

    dense: float
    experts: float
    mlp: float
    pair: float
    outer: float = 0.0
    inner: float = 0.0
    expert_outer: float = 0.0
    expert_inner: float = 0.0


@lru_cache(maxsize=256)
def layer_flops(shape: Shape, kind: Kind) -> LayerFlops:
    """Return the FLOPs of one layer.

    ``dense``: 2 × parameters of the matrices that every token passes, ``mlp`` those of them in the
    feed-forward half, ``experts``: 2 × 3·h·fe·k, ``pair``: 2·a·(dqk + dv). Gated DeltaNet: its
    projections, convolution and 4·nv·dk·dv of state.
    """
    hidden = shape.hidden
    matrices = shape.mlp_matrices
    pair = 0.0
    linear, latent, routed = shape.linear, shape.latent, shape.routed
    if kind.linear and linear is not None:
        qk, v = linear.widths
        attention = hidden * (2 * qk + 2 * v + 2 * linear.value_heads) + v * hidden
        attention += linear.conv_kernel * (2 * qk + v)
        attention += 4 * linear.value_heads * linear.key_head_dim * linear.value_head_dim
        outer, inner = 2.0 * hidden, 2.0 * qk + 3.0 * v
    else:
        attention = attention_matrices(shape).total
        outer, inner = 2.0 * hidden, (2.0 * shape.heads + 2.0 * shape.groups) * shape.head_dim
        width = 2 * shape.head_dim
        if latent is not None:
            width = latent.query_head_dim + latent.v_head_dim
            outer += hidden + 2.0 * (latent.q_lora_rank + latent.kv_lora_rank)
            inner = float(shape.heads * (width + latent.qk_head_dim + latent.v_head_dim))
        pair = 2.0 * shape.heads * width
    if kind.moe and routed is not None:
        mlp = matrices * hidden * routed.shared_ffn + hidden * routed.experts
        experts = 2.0 * matrices * hidden * routed.ffn * routed.top_k
        ffn, routed_ffn = routed.shared_ffn, routed.ffn
    else:
        mlp, experts = matrices * hidden * shape.ffn, 0.0
        ffn, routed_ffn = shape.ffn, 0
    return LayerFlops(
        dense=2.0 * (attention + mlp),
        experts=experts,
        mlp=2.0 * mlp,
        pair=pair,
        outer=outer + (2.0 * hidden if ffn else 0.0),
        inner=inner + matrices * ffn,
        expert_outer=2.0 * hidden if routed_ffn else 0.0,
        expert_inner=float(matrices * routed_ffn),
    )


@lru_cache(maxsize=256)
def model_flops(shape: Shape) -> tuple[float, float]:
    """Return forward FLOPs per token of the whole model, and per token attended to.

    The head counts, the embedding does not; MTP adds a layer, a projection and a head each.
    """
    per_token = pair = 0.0
    for kind, times in kinds_by_stage(shape, (shape.layers,))[0]:
        one = layer_flops(shape, kind)
        per_token += times * (one.dense + one.experts)
        pair += times * one.pair
    per_token += 2.0 * shape.hidden * shape.vocab * (1 + shape.mtp_layers)
    if shape.mtp_layers:
        one = layer_flops(shape, Kind(linear=False, moe=shape.routed is not None))
        per_token += shape.mtp_layers * (one.dense + one.experts + 4.0 * shape.hidden**2)
        pair += shape.mtp_layers * one.pair
    return per_token, pair
