"""The model's shape from the flags on the command line."""

from __future__ import annotations

from perf_doctor.launch.settings import Settings
from perf_doctor.plan.architecture import Architecture, ExpertLayers, LatentAttention
from perf_doctor.plan.layer_pattern import layer_pattern
from perf_doctor.plan.reading import absent, exactly, given_whole, switch, text, whole
from perf_doctor.shell.model import Unknown


def from_flags(settings: Settings) -> Architecture | None:
    """Return the shape that the flags describe, None when they do not describe a model."""
    if not (settings.given("--num-layers") and settings.given("--hidden-size")):
        return None
    layers = whole(settings, "--num-layers")
    heads = whole(settings, "--num-attention-heads")
    hidden = whole(settings, "--hidden-size")
    latent = _latent_attention(settings)
    norm = text(settings, "--normalization")
    return Architecture(
        source="flags",
        layers=layers,
        hidden_size=hidden,
        attention_heads=heads,
        query_groups=None if latent else _query_groups(settings, heads),
        head_dim=_head_dim(settings, hidden, heads),
        ffn_hidden_size=_ffn(settings, hidden),
        vocab_size=whole(settings, "--vocab-size"),
        tied_embeddings=_not(switch(settings, "--untie-embeddings-and-output-weights")),
        gated_mlp=switch(settings, "--swiglu"),
        qk_layernorm=switch(settings, "--qk-layernorm"),
        qkv_bias=_qkv_bias(settings),
        linear_bias=_not(switch(settings, "--disable-bias-linear")),
        output_gate=switch(settings, "--attention-output-gate"),
        rms_norm=None if norm is None else norm == "RMSNorm",
        mtp_layers=_mtp_layers(settings),
        experts=_experts(settings, layers),
        latent_attention=latent,
    )


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _query_groups(settings: Settings, heads: int | None) -> int | None:
    """Without grouped queries every head has its own keys and values."""
    grouped = switch(settings, "--group-query-attention")
    if grouped is None:
        return None
    return whole(settings, "--num-query-groups") if grouped else heads


def _head_dim(settings: Settings, hidden: int | None, heads: int | None) -> int | None:
    if absent(settings, "--kv-channels"):
        return exactly(hidden, heads)
    return whole(settings, "--kv-channels")


def _ffn(settings: Settings, hidden: int | None) -> int | None:
    """Megatron's default is 4 × hidden, two thirds of it in multiples of 64 for SwiGLU."""
    if not absent(settings, "--ffn-hidden-size"):
        return whole(settings, "--ffn-hidden-size")
    gated = switch(settings, "--swiglu")
    if hidden is None or gated is None:
        return None
    return int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden


def _qkv_bias(settings: Settings) -> bool | None:
    """``--add-qkv-bias`` or a bias on every linear layer."""
    own, none = switch(settings, "--add-qkv-bias"), switch(settings, "--disable-bias-linear")
    if own or none is False:
        return True
    return None if own is None or none is None else False


def _mtp_layers(settings: Settings) -> int | None:
    return 0 if absent(settings, "--mtp-num-layers") else whole(settings, "--mtp-num-layers", 0)


def _experts(settings: Settings, layers: int | None) -> ExpertLayers | None:
    count = given_whole(settings, "--num-experts")
    if count is None:
        return None
    shared = "--moe-shared-expert-intermediate-size"
    ffn = "--moe-ffn-hidden-size"
    hidden = whole(settings, "--hidden-size")
    return ExpertLayers(
        num_experts=count,
        top_k=whole(settings, "--moe-router-topk"),
        ffn_hidden_size=_ffn(settings, hidden) if absent(settings, ffn) else whole(settings, ffn),
        shared_ffn_hidden_size=0 if absent(settings, shared) else whole(settings, shared),
        shared_gate=bool(switch(settings, "--moe-shared-expert-gate")),
        layers=_moe_layers(settings, layers),
    )


def _moe_layers(settings: Settings, layers: int | None) -> tuple[bool, ...] | None:
    value = settings.value("--moe-layer-freq")
    return None if isinstance(value, Unknown) else layer_pattern(value, layers)


def _latent_attention(settings: Settings) -> LatentAttention | None:
    if not switch(settings, "--multi-latent-attention"):
        return None
    ranks = [
        whole(settings, flag)
        for flag in ("--kv-lora-rank", "--qk-head-dim", "--qk-pos-emb-head-dim", "--v-head-dim")
    ]
    if None in ranks:
        return None
    kv_lora, qk, rope, v = (rank or 0 for rank in ranks)
    return LatentAttention(
        q_lora_rank=whole(settings, "--q-lora-rank"),
        kv_lora_rank=kv_lora,
        qk_head_dim=qk,
        qk_rope_head_dim=rope,
        v_head_dim=v,
    )
