"""What the memory of a training process depends on, and nothing else.

A plan and a measured run both become these; see ``from_plan`` and ``points``. Every number is
known.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from perf_doctor.estimate.interval import Interval

Loss = Literal["rl", "sft", "sft-chunked", "megatron", "fused"]
Granularity = Literal["none", "full", "selective"]


class Latent(NamedTuple):
    """Multi-latent attention; ``q_lora_rank`` 0: queries are projected at once."""

    q_lora_rank: int
    kv_lora_rank: int
    qk_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int

    @property
    def query_head_dim(self) -> int:
        """Elements of a query head, with and without position."""
        return self.qk_head_dim + self.qk_rope_head_dim


class Linear(NamedTuple):
    """Gated DeltaNet."""

    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int

    @property
    def widths(self) -> tuple[int, int]:
        """Elements of a token's keys (and of its queries), and of its values."""
        return self.key_heads * self.key_head_dim, self.value_heads * self.value_head_dim


class Routed(NamedTuple):
    """Routed experts and what stands beside them; ``shared_ffn`` 0: no shared expert."""

    experts: int
    top_k: int
    ffn: int
    shared_ffn: int
    shared_gate: bool

    @property
    def met(self) -> float:
        """Share of the experts that one token visits; no job visits more than all of them."""
        return min(1.0, self.top_k / self.experts)


class Tower(NamedTuple):
    """A vision transformer on the first stage."""

    depth: int
    hidden: int
    ffn: int
    patch_size: int
    merge_size: int
    temporal_patch_size: int
    positions: int
    out_hidden: int


class Shape(NamedTuple):
    """The model. ``vocab`` is padded. ``linear_layers`` and ``moe_layers`` tell layer by layer."""

    layers: int
    hidden: int
    vocab: int
    heads: int
    groups: int
    head_dim: int
    ffn: int
    gated_mlp: bool = True
    linear_bias: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    output_gate: bool = False
    rms_norm: bool = True
    rotary: bool = True
    learned_positions: int = 0
    tied: bool = False
    mtp_layers: int = 0
    latent: Latent | None = None
    linear: Linear | None = None
    routed: Routed | None = None
    linear_layers: tuple[bool, ...] = ()
    moe_layers: tuple[bool, ...] = ()
    tower: Tower | None = None

    @property
    def mlp_matrices(self) -> int:
        """Matrices of a feed-forward block or an expert: gate, up and down, or up and down."""
        return 3 if self.gated_mlp else 2

    @property
    def full_attention_layers(self) -> int:
        """Layers that attend to all tokens before."""
        return self.layers - sum(self.linear_layers)


class Mesh(NamedTuple):
    """The processes. ``stages``: decoder layers of every pipeline stage.

    ``vpp``: model chunks per stage. ``group``: micro-batches that a chunk runs before the next
    chunk. ``dense_shards`` and ``expert_shards``: ranks that share one optimizer state.
    """

    tp: int
    cp: int
    pp: int
    ep: int
    etp: int
    dense_shards: int
    expert_shards: int
    sequence_parallel: bool
    stages: tuple[int, ...]
    vpp: int = 1
    group: int = 1


class States(NamedTuple):
    """Bytes per parameter: ``weight``, ``gradient``, and of the sharded optimizer the rest.

    ``master``, ``first_moment`` and ``second_moment`` live where the optimizer steps.
    ``main_gradient``: a wider copy of the gradients made for the step, 0 when none is.
    ``offload``: share of the state that steps on the CPU. ``device_master``: bytes of that share
    that stay on the GPU nonetheless. ``cast_copy``: of quantized copies of the weights.
    """

    weight: float = 2.0
    gradient: float = 4.0
    master: float = 4.0
    first_moment: float = 4.0
    second_moment: float = 4.0
    main_gradient: float = 0.0
    offload: float = 0.0
    device_master: float = 0.0
    cast_copy: float = 0.0


class Recompute(NamedTuple):
    """Which activations are computed again.

    ``layers``: of one checkpoint (uniform) or checkpointed per chunk (block). ``modules``: for
    the selective kind, as they reach the model.
    """

    granularity: Granularity = "none"
    method: Literal["uniform", "block"] = "uniform"
    layers: int = 1
    modules: frozenset[str] = frozenset()


class Batch(NamedTuple):
    """One optimizer step. ``tokens``: of one micro-batch on one CP rank.

    ``sequence``: tokens of one sequence on that rank, for attention that stores s × s.
    ``forward_tokens``: like ``tokens`` for passes without gradients. ``images``: samples hold
    images or video. ``fused_gradients``: weight gradients are added up inside the GEMM.
    ``quantized``: inputs of matrix products are kept in 8 bits.
    """

    tokens: Interval
    micro_batches: int
    loss: Loss
    sequence: float = 0.0
    flash: bool = True
    hidden_dropout: bool = False
    attention_dropout: bool = False
    forward_tokens: Interval | None = None
    images: bool = False
    scaled_logits: bool = False
    fused_gradients: bool = True
    quantized: bool = False


class Training(NamedTuple):
    """Everything that the memory of one training process depends on.

    ``deepep`` and ``tp_overlap``, that user buffers hide TP's traffic, matter to time.
    """

    shape: Shape
    mesh: Mesh
    states: States
    recompute: Recompute
    batch: Batch
    imbalance: Interval
    frozen: Literal["nothing", "tower", "base"] = "nothing"
    adapter_parameters: float = 0.0
    deepep: bool = False
    tp_overlap: bool = False
