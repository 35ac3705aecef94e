"""How many parameters lie on one rank of each pipeline stage. Exact.

Split over TP: column- and row-parallel matrices. On every TP rank: norms, biases of row-parallel
layers, router, gate of the shared expert, MLA's down-projections (megatron-core 0.17.1,
``transformer/`` and ``ssm/``). Experts are split over EP × ETP. Equal to megatron-core models
(``tools/oracle.py``). Left out: the bias that corrects expert selection (a buffer, no parameter)
and LoRA, which ``states`` adds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate.shape import Latent, Linear, Mesh, Routed, Shape, Tower


class Count(NamedTuple):
    """Parameters by how they are divided: over TP, not at all, over EP × ETP."""

    split: int = 0
    whole: int = 0
    expert: int = 0

    def plus(self, other: Count, times: int = 1) -> Count:
        """Return this and ``times`` the other."""
        return Count(
            self.split + times * other.split,
            self.whole + times * other.whole,
            self.expert + times * other.expert,
        )

    @property
    def total(self) -> int:
        """Parameters of the model, wherever they lie."""
        return self.split + self.whole + self.expert


class Local(NamedTuple):
    """Parameters of one rank: dense ones, and those of its experts."""

    dense: float
    expert: float


def norm(shape: Shape) -> int:
    """Parameters of one norm: h for RMSNorm, 2h for LayerNorm."""
    return shape.hidden if shape.rms_norm else 2 * shape.hidden


def attention_matrices(shape: Shape) -> Count:
    """Weights of the matrices of full attention, without biases and norms.

    Grouped queries: h·a·d for queries (twice with an output gate), 2·h·g·d for keys and values,
    a·d·h out. Latent: the same through ranks rq and rkv, down-projections not split.
    """
    hidden, heads, latent = shape.hidden, shape.heads, shape.latent
    if latent is None:
        wide = heads * (3 if shape.output_gate else 2) + 2 * shape.groups
        return Count(hidden * wide * shape.head_dim)
    rank = latent.q_lora_rank
    queries = (rank or hidden) * heads * latent.query_head_dim
    keys_values = latent.kv_lora_rank * heads * (latent.qk_head_dim + latent.v_head_dim)
    out = heads * latent.v_head_dim * hidden
    down = hidden * (rank + latent.kv_lora_rank + latent.qk_rope_head_dim)
    return Count(queries + keys_values + out, down)


def grouped_attention(shape: Shape) -> Count:
    """Parameters of attention with grouped queries; biases and query-key norms on request."""
    queries = shape.heads * shape.head_dim * (2 if shape.output_gate else 1)
    bias = queries + 2 * shape.groups * shape.head_dim if shape.qkv_bias else 0
    norms = 2 * shape.head_dim if shape.qk_norm else 0
    own = Count(bias, norms + (shape.hidden if shape.linear_bias else 0))
    return attention_matrices(shape).plus(own)


def latent_attention(shape: Shape, latent: Latent) -> Count:
    """Parameters of multi-latent attention; the norms of both ranks are not split."""
    return attention_matrices(shape).plus(Count(whole=latent.q_lora_rank + latent.kv_lora_rank))


def linear_attention(shape: Shape, linear: Linear) -> Count:
    """Parameters of Gated DeltaNet.

    h·(2qk + 2v + 2nv) in, convolution over q, k and v, two gates per value head, a gated norm,
    v·h out.
    """
    qk, v = linear.widths
    split = (
        shape.hidden * (2 * qk + 2 * v + 2 * linear.value_heads)
        + (2 * qk + v) * linear.conv_kernel
        + 2 * linear.value_heads
        + v * shape.hidden
    )
    return Count(split, linear.value_head_dim)


def dense_mlp(shape: Shape) -> Count:
    """Parameters of a dense feed-forward block: 3·h·f gated, else 2·h·f."""
    split = shape.mlp_matrices * shape.hidden * shape.ffn
    if not shape.linear_bias:
        return Count(split)
    return Count(split + (shape.mlp_matrices - 1) * shape.ffn, shape.hidden)


def expert_block(shape: Shape, routed: Routed) -> Count:
    """Parameters of the experts, the router, and the shared expert with its gate."""
    matrices = shape.mlp_matrices
    one = matrices * shape.hidden * routed.ffn
    if shape.linear_bias:
        one += (matrices - 1) * routed.ffn + shape.hidden
    shared = matrices * shape.hidden * routed.shared_ffn
    gate = shape.hidden if routed.shared_ffn and routed.shared_gate else 0
    return Count(shared, shape.hidden * routed.experts + gate, routed.experts * one)


def vision_tower(tower: Tower) -> int:
    """Parameters of the vision tower of Qwen3.5 and 3.6; equal to the published checkpoint.

    Left out: the extra mergers of Qwen3-VL, towers of other families differ.
    """
    hidden, ffn = tower.hidden, tower.ffn
    patch = 3 * tower.temporal_patch_size * tower.patch_size**2 * hidden + hidden
    attention = 3 * hidden * hidden + 3 * hidden + hidden * hidden + hidden
    block = 4 * hidden + attention + 2 * hidden * ffn + ffn + hidden
    merged = hidden * tower.merge_size**2
    merger = 2 * hidden + merged * merged + merged + merged * tower.out_hidden + tower.out_hidden
    return patch + tower.positions * hidden + tower.depth * block + merger


def decoder_layer(shape: Shape, *, linear: bool, moe: bool) -> Count:
    """Parameters of one decoder layer: attention, feed-forward block, two norms."""
    if linear and shape.linear is not None:
        attention = linear_attention(shape, shape.linear)
    elif shape.latent is not None:
        attention = latent_attention(shape, shape.latent)
    else:
        attention = grouped_attention(shape)
    routed = shape.routed
    block = expert_block(shape, routed) if moe and routed is not None else dense_mlp(shape)
    return attention.plus(block).plus(Count(whole=2 * norm(shape)))


def mtp_layer(shape: Shape) -> Count:
    """Parameters of one multi-token-prediction layer.

    A projection of 2h to h, three norms, and a decoder layer with full attention that has experts
    if the model's last layer does.
    """
    moe = shape.routed is not None and (not shape.moe_layers or shape.moe_layers[-1])
    own = Count(2 * shape.hidden * shape.hidden, 3 * norm(shape))
    return decoder_layer(shape, linear=False, moe=moe).plus(own)


class Kind(NamedTuple):
    """Which kind of decoder layer."""

    linear: bool
    moe: bool


# How many layers of each kind a stage holds.
Kinds = tuple[tuple[Kind, int], ...]


@lru_cache(maxsize=256)
def kinds_by_stage(shape: Shape, stages: tuple[int, ...]) -> tuple[Kinds, ...]:
    """Return how many layers of each kind every stage holds."""
    start, result = 0, []
    for held in stages:
        counts: dict[Kind, int] = {}
        for index in range(start, start + held):
            kind = Kind(
                bool(shape.linear_layers) and shape.linear_layers[index],
                shape.routed is not None and (not shape.moe_layers or shape.moe_layers[index]),
            )
            counts[kind] = counts.get(kind, 0) + 1
        result.append(tuple(counts.items()))
        start += held
    return tuple(result)


def kinds_among(by_stage: tuple[Kinds, ...]) -> set[Kind]:
    """Return every kind of layer that the stages hold."""
    return {kind for kinds in set(by_stage) for kind, _ in kinds}


@lru_cache(maxsize=256)
def count_stages(shape: Shape, stages: tuple[int, ...]) -> tuple[Count, ...]:
    """Return the parameters of every stage, embedding copies of a tied model included.

    The embedding lies on the first stage, final norm and head on the last; a tied model holds
    a copy of the embedding there when there is more than one stage, as MTP does.
    """
    table = shape.vocab * shape.hidden
    last = len(stages) - 1
    counts = []
    for stage, kinds in enumerate(kinds_by_stage(shape, stages)):
        count = Count()
        for kind, times in kinds:
            count = count.plus(decoder_layer(shape, linear=kind.linear, moe=kind.moe), times)
        if stage == 0:
            tower = 0 if shape.tower is None else vision_tower(shape.tower)
            count = count.plus(Count(table, shape.learned_positions * shape.hidden + tower))
        if stage == last:
            head = 0 if shape.tied and last == 0 else table
            count = count.plus(Count(head, norm(shape)))
            if shape.mtp_layers:
                copy = table if last and not shape.tied else 0
                count = count.plus(mtp_layer(shape), shape.mtp_layers).plus(Count(copy))
        counts.append(count)
    return tuple(counts)


def count_model(shape: Shape) -> Count:
    """Return the parameters of the model, each counted once."""
    return count_stages(shape, (shape.layers,))[0]


def on_one_rank(count: Count, mesh: Mesh) -> Local:
    """Return the parameters of one rank: split ones over TP, experts over EP × ETP."""
    return Local(count.split / mesh.tp + count.whole, count.expert / (mesh.ep * mesh.etp))
