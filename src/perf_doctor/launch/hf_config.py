"""A Hugging Face ``config.json`` in Megatron's flags: the dimensions a launch would pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Megatron flag ← names of the same number in config.json, the first present one counts.
_NUMBERS: dict[str, tuple[str, ...]] = {
    "--num-layers": ("num_hidden_layers",),
    "--hidden-size": ("hidden_size",),
    "--ffn-hidden-size": ("intermediate_size",),
    "--num-attention-heads": ("num_attention_heads",),
    "--num-query-groups": ("num_key_value_heads",),
    "--kv-channels": ("head_dim",),
    "--vocab-size": ("vocab_size",),
    "--num-experts": ("num_experts", "n_routed_experts", "num_local_experts"),
    "--moe-router-topk": ("num_experts_per_tok", "num_experts_per_token"),
    "--moe-ffn-hidden-size": ("moe_intermediate_size",),
    "--moe-shared-expert-intermediate-size": ("shared_expert_intermediate_size",),
    "--q-lora-rank": ("q_lora_rank",),
    "--kv-lora-rank": ("kv_lora_rank",),
    "--qk-head-dim": ("qk_nope_head_dim",),
    "--qk-pos-emb-head-dim": ("qk_rope_head_dim",),
    "--v-head-dim": ("v_head_dim",),
}
_GDN = {
    "full_attention_interval": "full_attention_interval",
    "key_heads": "linear_num_key_heads",
    "value_heads": "linear_num_value_heads",
    "key_head_dim": "linear_key_head_dim",
    "value_head_dim": "linear_value_head_dim",
    "conv_kernel": "linear_conv_kernel_dim",
}
_VISION = ("depth", "hidden_size", "intermediate_size", "num_heads", "patch_size",
           "spatial_merge_size", "temporal_patch_size", "num_position_embeddings",
           "out_hidden_size")  # fmt: skip
# Families whose attention normalises queries and keys although config.json does not say so.
_QK_NORM = ("qwen3", "minimax", "hunyuan")


def architecture(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row as ``data/architectures.json`` has them, without name and source.

    ``flags`` are Megatron's. ``gdn`` is the linear attention of Qwen3-Next and Qwen3.5
    (every ``full_attention_interval``-th layer is full attention), ``vision`` the tower's
    dimensions, True where there is one of unknown size. Raises KeyError where the file
    lacks layers, hidden size or heads.
    """
    text = _text_config(config)
    flags: dict[str, Any] = {}
    for flag, names in _NUMBERS.items():
        value = next((text[name] for name in names if text.get(name)), None)
        if value is not None:
            flags[flag] = value
    for needed in ("--num-layers", "--hidden-size", "--num-attention-heads"):
        if needed not in flags:
            raise KeyError(f"config.json has no {_NUMBERS[needed][0]}")
    _experts(flags, text)
    if "--kv-lora-rank" in flags:  # latent attention: its heads have sizes of their own
        for unused in ("--kv-channels", "--num-query-groups"):
            flags.pop(unused, None)
    else:
        size = flags["--hidden-size"] // flags["--num-attention-heads"]
        flags.setdefault("--kv-channels", size)
    _switches(flags, text, tied=config.get("tie_word_embeddings"))
    gdn = {ours: text[theirs] for ours, theirs in _GDN.items() if theirs in text}
    vision = config.get("vision_config")
    return {
        "flags": flags,
        "gdn": gdn if "value_heads" in gdn else None,
        "vision": {k: vision[k] for k in _VISION if k in vision} or True if vision else False,
        "audio": bool(config.get("audio_config")),
        "mtp_layers": text.get("mtp_num_hidden_layers", text.get("num_nextn_predict_layers")),
        "max_positions": text.get("max_position_embeddings"),
    }


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the language model's part of a multimodal configuration."""
    inner = config.get("thinker_config", config)
    text: Mapping[str, Any] = inner.get("text_config", inner)
    return text


def _experts(flags: dict[str, Any], text: Mapping[str, Any]) -> None:
    """Add what the expert layers need: their width, the shared expert, which layers they are."""
    if "--num-experts" not in flags:
        return
    width = flags.setdefault("--moe-ffn-hidden-size", flags.get("--ffn-hidden-size"))
    flags.setdefault("--ffn-hidden-size", width)
    if shared := text.get("n_shared_experts"):
        flags["--moe-shared-expert-intermediate-size"] = shared * width
    dense = text.get("first_k_dense_replace") or 0
    layers = flags["--num-layers"]
    flags["--moe-layer-freq"] = f"[0]*{dense}+[1]*{layers - dense}" if dense else f"[1]*{layers}"


def _switches(flags: dict[str, Any], text: Mapping[str, Any], *, tied: object) -> None:
    model_type = str(text.get("model_type", ""))
    switches = {
        "--untie-embeddings-and-output-weights": not text.get("tie_word_embeddings", tied),
        "--multi-latent-attention": "--kv-lora-rank" in flags,
        "--qk-layernorm": text.get("use_qk_norm", model_type.startswith(_QK_NORM)),
        "--add-qkv-bias": text.get("attention_bias", model_type.startswith("qwen2")),
        "--attention-output-gate": text.get("attn_output_gate", False),
        "--moe-shared-expert-gate": "shared_expert_intermediate_size" in text
        and bool(text["shared_expert_intermediate_size"]),
    }
    if switches["--multi-latent-attention"]:
        switches["--qk-layernorm"] = True
    flags.update({flag: True for flag, given in switches.items() if given})
