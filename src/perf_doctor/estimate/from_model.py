"""The shape of a model as the plan knows it."""

from __future__ import annotations

from functools import lru_cache

from perf_doctor.estimate.shape import Latent, Linear, Routed, Shape, Tower
from perf_doctor.plan.architecture import (
    Architecture,
    ExpertLayers,
    LatentAttention,
    LinearAttention,
    VisionTower,
)
from perf_doctor.plan.layer_pattern import MOST_LAYERS


@lru_cache(maxsize=64)
def shape_of(model: Architecture, vocab: int) -> Shape | None:
    """Return the shape of a model with a padded vocabulary, None when a size is not known."""
    layers, hidden, heads = model.layers, model.hidden_size, model.attention_heads
    if layers is None or hidden is None or heads is None or model.head_dim is None:
        return None
    if layers > MOST_LAYERS:
        return None
    latent, linear, experts = model.latent_attention, model.linear_attention, model.experts
    routed = None if experts is None else _routed(experts)
    moe_layers = () if experts is None or experts.layers is None else experts.layers
    only_experts = bool(moe_layers) and all(moe_layers)
    unknown = (
        model.tied_embeddings is None,
        latent is None and model.query_groups is None,
        experts is not None and (routed is None or not moe_layers),
        model.ffn_hidden_size is None and not only_experts,
    )
    if any(unknown):
        return None
    return Shape(
        layers=layers,
        hidden=hidden,
        vocab=vocab,
        heads=heads,
        groups=model.query_groups or heads,
        head_dim=model.head_dim,
        ffn=model.ffn_hidden_size or 0,
        gated_mlp=model.gated_mlp is not False,
        linear_bias=bool(model.linear_bias),
        qkv_bias=bool(model.qkv_bias),
        qk_norm=bool(model.qk_layernorm),
        output_gate=bool(model.output_gate),
        rms_norm=model.rms_norm is not False,
        tied=bool(model.tied_embeddings),
        mtp_layers=model.mtp_layers or 0,
        latent=None if latent is None else _latent(latent),
        linear=None if linear is None else _linear(linear),
        routed=routed,
        linear_layers=() if linear is None else linear.layers,
        moe_layers=moe_layers,
        tower=None if model.vision is None else _tower(model.vision),
    )


def _routed(experts: ExpertLayers) -> Routed | None:
    if experts.top_k is None or experts.ffn_hidden_size is None:
        return None
    return Routed(
        experts=experts.num_experts,
        top_k=experts.top_k,
        ffn=experts.ffn_hidden_size,
        shared_ffn=experts.shared_ffn_hidden_size or 0,
        shared_gate=experts.shared_gate,
    )


def _latent(latent: LatentAttention) -> Latent:
    return Latent(
        latent.q_lora_rank or 0,
        latent.kv_lora_rank,
        latent.qk_head_dim,
        latent.qk_rope_head_dim,
        latent.v_head_dim,
    )


def _linear(linear: LinearAttention) -> Linear:
    return Linear(
        linear.key_heads,
        linear.value_heads,
        linear.key_head_dim,
        linear.value_head_dim,
        linear.conv_kernel,
    )


def _tower(vision: VisionTower) -> Tower | None:
    sizes = (
        vision.depth,
        vision.hidden_size,
        vision.ffn_hidden_size,
        vision.patch_size,
        vision.spatial_merge_size,
        vision.temporal_patch_size,
        vision.positions,
        vision.out_hidden_size,
    )
    if None in sizes:
        return None
    return Tower(*(size or 0 for size in sizes))
