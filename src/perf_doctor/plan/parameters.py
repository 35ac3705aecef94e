"""How many parameters a model has.

Exact for Megatron's GPT models with grouped or latent attention, Gated DeltaNet, dense and expert
layers; equal to megatron-core on the cases of ``tests/plan``. Left out: towers, and MTP layers.
"""

from __future__ import annotations

from perf_doctor.frozen import frozen
from perf_doctor.plan.architecture import Architecture, ExpertLayers, LatentAttention


@frozen
class Parameters:
    """Parameter counts; ``active`` are those that one token uses."""

    total: float
    active: float


def count_parameters(model: Architecture) -> Parameters | None:
    """Return the counts, None when a size they need is not known.

    Embedding and head are V·h each (one if tied); a layer has its attention, its feed-forward
    block and two norms; one norm more at the end.
    """
    layers, hidden, vocab = model.layers, model.hidden_size, model.vocab_size
    if layers is None or hidden is None or vocab is None or model.tied_embeddings is None:
        return None
    full = attention_parameters(model)
    experts = None if model.experts is None else expert_parameters(hidden, model.experts)
    dense = 0 if model.dense_layers == 0 else _dense_mlp(model, hidden)
    if full is None or dense is None or model.dense_layers is None:
        return None
    if model.experts is not None and experts is None:
        return None
    routed, beside, used = experts or (0, 0, 0)
    moe_layers = layers - model.dense_layers
    linear_layers = 0 if model.linear_attention is None else sum(model.linear_attention.layers)
    attention = full * (layers - linear_layers) + linear_layers * linear_parameters(model)
    around = vocab * hidden * (1 if model.tied_embeddings else 2) + norm_parameters(model)
    always = (
        around
        + attention
        + layers * 2 * norm_parameters(model)
        + model.dense_layers * dense
        + moe_layers * beside
    )
    return Parameters(total=always + moe_layers * routed, active=always + moe_layers * used)


def norm_parameters(model: Architecture) -> int:
    """Parameters of one norm: h, twice that for LayerNorm."""
    return (model.hidden_size or 0) * (1 if model.rms_norm else 2)


def attention_parameters(model: Architecture) -> int | None:
    """Parameters of one full-attention block, its query-key norms included."""
    hidden, heads = model.hidden_size, model.attention_heads
    if hidden is None or heads is None:
        return None
    if model.latent_attention is not None:
        return _latent(model.latent_attention, hidden, heads)
    groups, size = model.query_groups, model.head_dim
    if groups is None or size is None:
        return None
    queries = heads * size * (2 if model.output_gate else 1)
    keys_values = 2 * groups * size
    bias = (queries + keys_values if model.qkv_bias else 0) + (hidden if model.linear_bias else 0)
    norms = 2 * size if model.qk_layernorm else 0
    return hidden * (queries + keys_values) + heads * size * hidden + bias + norms


def _latent(latent: LatentAttention, hidden: int, heads: int) -> int:
    head = latent.qk_head_dim + latent.qk_rope_head_dim
    rank = latent.q_lora_rank
    queries = hidden * heads * head if rank is None else rank * (hidden + heads * head + 1)
    kv = hidden * (latent.kv_lora_rank + latent.qk_rope_head_dim)
    kv += latent.kv_lora_rank * (heads * (latent.qk_head_dim + latent.v_head_dim) + 1)
    return queries + kv + heads * latent.v_head_dim * hidden


def linear_parameters(model: Architecture) -> int:
    """Parameters of one Gated DeltaNet block.

    h·(2qk + 2v + 2nv) in, convolution over q, k and v, two gates per value head, a gated norm,
    v·h out.
    """
    linear, hidden = model.linear_attention, model.hidden_size
    if linear is None or hidden is None:
        return 0
    qk, v = linear.key_heads * linear.key_head_dim, linear.value_heads * linear.value_head_dim
    return (
        hidden * (2 * qk + 2 * v + 2 * linear.value_heads)
        + (2 * qk + v) * linear.conv_kernel
        + 2 * linear.value_heads
        + linear.value_head_dim
        + v * hidden
    )


def _dense_mlp(model: Architecture, hidden: int) -> int | None:
    if model.ffn_hidden_size is None or model.gated_mlp is None:
        return None
    inner = 2 if model.gated_mlp else 1
    bias = inner * model.ffn_hidden_size + hidden if model.linear_bias else 0
    return (inner + 1) * hidden * model.ffn_hidden_size + bias


def expert_parameters(hidden: int, experts: ExpertLayers) -> tuple[int, int, int] | None:
    """Return the routed experts of one layer, what lies beside them, and the routed ones in use."""
    ffn, shared = experts.ffn_hidden_size, experts.shared_ffn_hidden_size
    if ffn is None or shared is None or experts.top_k is None:
        return None
    one = 3 * hidden * ffn
    gate = hidden if shared and experts.shared_gate else 0
    beside = hidden * experts.num_experts + 3 * hidden * shared + gate
    return experts.num_experts * one, beside, experts.top_k * one
