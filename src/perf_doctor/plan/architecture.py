"""The shape of the model that is trained, wherever it can be learned from."""

from __future__ import annotations

from typing import Literal

from perf_doctor.frozen import frozen

Source = Literal["flags", "table", "config.json"]


@frozen
class LatentAttention:
    """Multi-latent attention; ``q_lora_rank`` None: queries are projected at once."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@frozen
class LinearAttention:
    """Gated DeltaNet layers; ``layers`` tells layer by layer which ones are linear."""

    layers: tuple[bool, ...]
    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int


@frozen
class ExpertLayers:
    """The routed experts; ``layers`` tells layer by layer which ones have them.

    ``shared_ffn_hidden_size``: 0 without shared experts. None: not known.
    """

    num_experts: int
    top_k: int | None
    ffn_hidden_size: int | None
    shared_ffn_hidden_size: int | None
    shared_gate: bool
    layers: tuple[bool, ...] | None

    @property
    def moe_layers(self) -> int | None:
        """Number of layers with experts."""
        return None if self.layers is None else sum(self.layers)


@frozen
class VisionTower:
    """A vision transformer in front of the language model; sizes are None when not known."""

    depth: int | None
    hidden_size: int | None
    ffn_hidden_size: int | None
    heads: int | None
    patch_size: int | None
    spatial_merge_size: int | None
    temporal_patch_size: int | None
    positions: int | None
    out_hidden_size: int | None


@frozen
class Architecture:
    """The model: the language model in full, the towers in front of it by the vision's sizes.

    None: not known. ``query_groups``: key-value heads, None with latent attention. ``experts``
    and ``latent_attention``: None when the model has none; ``linear_attention``, ``vision`` also
    when only flags describe it, which cannot tell. ``mtp_layers``: multi-token-prediction layers
    that the job trains, 0 for none. ``vocab_size``: before padding.
    """

    source: Source
    layers: int | None
    hidden_size: int | None
    attention_heads: int | None
    query_groups: int | None
    head_dim: int | None
    ffn_hidden_size: int | None
    vocab_size: int | None
    tied_embeddings: bool | None
    gated_mlp: bool | None
    qk_layernorm: bool | None
    qkv_bias: bool | None
    linear_bias: bool | None
    output_gate: bool | None
    rms_norm: bool | None
    mtp_layers: int | None
    experts: ExpertLayers | None = None
    latent_attention: LatentAttention | None = None
    linear_attention: LinearAttention | None = None
    vision: VisionTower | None = None

    @property
    def kind(self) -> Literal["moe", "dense"]:
        """``moe`` with routed experts, else ``dense``."""
        return "dense" if self.experts is None else "moe"

    @property
    def dense_layers(self) -> int | None:
        """Number of layers with a dense feed-forward block."""
        moe = 0 if self.experts is None else self.experts.moe_layers
        return None if self.layers is None or moe is None else self.layers - moe
