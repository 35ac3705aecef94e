"""Bytes that a decoder layer keeps for its backward pass, per token of one micro-batch.

Half precision, FlashAttention unless told otherwise. Counted are the tensors autograd saves, as
megatron-core 0.17.1 with Transformer Engine kernels does; equal within 5 % to real megatron-core
layers under saved-tensor hooks (``tools/oracle.py``). Left out: the rotary table, per-row
statistics of norms, and what a backward pass makes for itself (``training``).

u is TP with sequence parallel, else 1: what it divides lies on each TP rank in part or in full.
"""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.parameters import Kind
from perf_doctor.estimate.shape import Batch, Latent, Linear, Mesh, Recompute, Routed, Shape


class PerToken(NamedTuple):
    """Bytes per token: those every token costs, and those per token that experts receive.

    ``routed`` is for even routing and grows with imbalance.
    """

    fixed: float
    routed: float = 0.0


def layer_bytes(
    shape: Shape, mesh: Mesh, recompute: Recompute, batch: Batch, kind: Kind
) -> PerToken:
    """Return what one decoder layer keeps, modules that are computed again left out."""
    modules = recompute.modules if recompute.granularity == "selective" else frozenset[str]()
    if kind.linear and shape.linear is not None:
        attention = linear_attention(shape, shape.linear, mesh, modules)
    elif shape.latent is not None:
        attention = latent_attention(shape, shape.latent, mesh, batch, modules)
    else:
        attention = grouped_attention(shape, mesh, batch, modules)
    if kind.moe and shape.routed is not None:
        block = expert_block(shape, shape.routed, mesh, modules)
    else:
        block = PerToken(dense_mlp(shape, mesh, modules))
    dropout = 2 * shape.hidden / spread(mesh) if batch.hidden_dropout else 0.0
    fixed = attention + block.fixed + dropout
    if batch.quantized:
        # Norm outputs and the input of the second matrix are kept in 8 bits.
        fixed -= 2 * shape.hidden / spread(mesh) + (0 if kind.moe else shape.ffn / mesh.tp)
    return PerToken(fixed, block.routed)


def spread(mesh: Mesh) -> int:
    """Return u: TP with sequence parallel, else 1."""
    return mesh.tp if mesh.sequence_parallel else 1


def checkpoint_bytes(shape: Shape, mesh: Mesh) -> float:
    """Return what a checkpointed layer keeps: its input, 2h/u."""
    return 2 * shape.hidden / spread(mesh)


def norm_pair(shape: Shape, mesh: Mesh, modules: frozenset[str]) -> float:
    """Return the input and the output of a norm, 2h/u each; ``layernorm`` drops the output."""
    one = 2 * shape.hidden / spread(mesh)
    return one if "layernorm" in modules else 2 * one


def score_bytes(shape: Shape, batch: Batch, modules: frozenset[str]) -> float:
    """Return what attention keeps beside q, k, v and its output, before division by TP.

    FlashAttention: one fp32 log-sum-exp per head. Otherwise the softmax of every pair, 2·a·s, and
    with dropout its mask and its result, 3·a·s (Korthikanti et al. 2205.05198, eq. 2).
    """
    if "core_attn" in modules:
        return 0.0
    if batch.flash:
        return 4.0 * shape.heads
    return shape.heads * batch.sequence * (5 if batch.attention_dropout else 2)


def grouped_attention(shape: Shape, mesh: Mesh, batch: Batch, modules: frozenset[str]) -> float:
    """Return the attention half with grouped queries.

    norm pair + [2(a + 2g)d projected + 2(a + g)d rotated copies + 2ad output + scores]/tp; an
    output gate adds 4ad (itself and the gated output, fused). Where a rank holds several groups,
    taking queries and gates out of them copies each, 2ad, for a query norm and for the gate.
    """
    queries, keys = shape.heads * shape.head_dim, shape.groups * shape.head_dim
    body = 2 * (queries + 2 * keys) + 2 * queries + score_bytes(shape, batch, modules)
    if shape.rotary:
        body += 2 * (queries + keys)
    copies = 2 * queries if shape.groups > mesh.tp else 0
    if shape.output_gate:
        body += 4 * queries + copies
    if shape.qk_norm:
        body += copies
    return norm_pair(shape, mesh, modules) + body / mesh.tp


def latent_attention(
    shape: Shape, latent: Latent, mesh: Mesh, batch: Batch, modules: frozenset[str]
) -> float:
    """Return the attention half with multi-latent attention.

    norm pair + [4·rq + 2(rkv + dr) + 2·rkv]/u + [4a(dn + dr) + 2a·dv, dropped by ``mla_up_proj``,
    + 2a·dv output + scores]/tp.
    """
    queries = shape.heads * latent.query_head_dim
    values = shape.heads * latent.v_head_dim
    down = 4 * latent.q_lora_rank + 4 * latent.kv_lora_rank + 2 * latent.qk_rope_head_dim
    up = 0.0 if "mla_up_proj" in modules else 4 * queries + 2 * values
    body = up + 2 * values + score_bytes(shape, batch, modules)
    return norm_pair(shape, mesh, modules) + down / spread(mesh) + body / mesh.tp


def linear_attention(shape: Shape, linear: Linear, mesh: Mesh, modules: frozenset[str]) -> float:
    """Return the attention half with Gated DeltaNet.

    norm pair + [2(2qk + v) into the convolution + 4qk + 4·nv·dk normalized and repeated q, k
    + 2v + 144·nv gates and chunk matrices + 2v + 2v, the latter dropped by ``gdn_norm_out``
    + 10v of an eager fp32 gate]/tp.
    """
    qk, v = linear.key_heads * linear.key_head_dim, linear.value_heads * linear.value_head_dim
    body = 2 * (2 * qk + v) + 4 * qk + 4 * linear.value_heads * linear.key_head_dim
    body += 4 * v + 144 * linear.value_heads + 10 * v
    if "gdn_norm_out" not in modules:
        body += 2 * v
    return norm_pair(shape, mesh, modules) + body / mesh.tp


def dense_mlp(shape: Shape, mesh: Mesh, modules: frozenset[str]) -> float:
    """Return the feed-forward half: norm pair + 6f/tp gated, 4f/tp otherwise.

    ``mlp`` keeps the norm pair alone.
    """
    body = 0.0 if "mlp" in modules else (6 if shape.gated_mlp else 4) * shape.ffn
    return norm_pair(shape, mesh, modules) + body / mesh.tp


def expert_block(shape: Shape, routed: Routed, mesh: Mesh, modules: frozenset[str]) -> PerToken:
    """Return the feed-forward half with experts.

    norm pair + 9E/u router + 6·fs/tp shared (+ 2h/u with a gate) + n·(2h dispatched + 6·fe/etp
    + 8), n = k/u copies of a token (times ETP, which gathers). Ungated experts keep 6·fe too:
    their activation is weighted in a step of its own (megatron/core/transformer/moe/experts.py).
    ``moe_act`` drops 2·fe, ``shared_experts`` the shared part, ``moe`` all but the norm pair.
    """
    pair = norm_pair(shape, mesh, modules)
    if "moe" in modules:
        return PerToken(pair)
    matrices = 3 if shape.gated_mlp else 2
    copies = routed.top_k / spread(mesh) * mesh.etp
    inner = 4 * routed.ffn + (0 if "moe_act" in modules else 2 * routed.ffn)
    shared = 0.0 if "shared_experts" in modules else 2 * matrices * routed.shared_ffn / mesh.tp
    if shared and routed.shared_gate:
        shared += 2 * shape.hidden / spread(mesh)
    return PerToken(
        pair + shared + 9 * routed.experts / spread(mesh),
        copies * (2 * shape.hidden + inner / mesh.etp + 8),
    )
