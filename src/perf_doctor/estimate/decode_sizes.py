"""What a decode step of an engine reads, multiplies and sends: bytes and FLOPs."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.engine import Engine, weight_bytes
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.parameters import count_model
from perf_doctor.estimate.shape import Routed, Shape

# Expected maximum of so many standard normals: the fullest of the ranks that share the experts.
_FULLEST = ((2, 0.56), (4, 1.03), (8, 1.42), (16, 1.77), (64, 2.35))


class Serving(NamedTuple):
    """An engine on its cards.

    ``graph_limit``: requests up to which steps are CUDA graphs. ``draft``: tokens verified per
    step with speculation, else 1. ``expert_ranks``: ranks that share the experts whole (EP) and
    not in slices (TP).
    """

    engine: Engine
    shape: Shape
    card: Card
    graph_limit: float
    draft: float = 1.0
    expert_ranks: int = 1

    @property
    def text(self) -> Shape:
        """The model without what a step of its own does not pass: vision tower, MTP layers."""
        return self.shape._replace(mtp_layers=0, tower=None)

    @property
    def narrow(self) -> bool:
        """Whether weights have 8 bits or fewer."""
        return self.engine.weight_bytes < 1.5

    @property
    def multiplies_narrow(self) -> bool:
        """Whether products run in 8 bits; weights of 4 bits are widened first, as on Ampere."""
        return 0.9 < self.engine.weight_bytes < 1.5 and self.card.family != "ampere"


class Sizes(NamedTuple):
    """Bytes that one rank reads, and FLOPs per token of the whole model; ``head`` is in dense."""

    dense: float
    head: float
    experts: float
    dense_flops: float
    head_flops: float
    expert_flops: float


def sizes_of(engine: Engine, text: Shape) -> Sizes:
    """Return what a step reads and multiplies: no embedding, and the head in 16 bits."""
    count, ranks = count_model(text), engine.tp
    table = text.vocab * text.hidden
    experts = engine.weight_bytes * count.expert / ranks
    tables = engine.weight_bytes * table * (1 if text.tied else 2) / ranks
    head = 2.0 * table / ranks
    dense = max(0.0, weight_bytes(engine, text) * engine.pp - experts - tables) + head
    routed, flops = text.routed, model_flops(text)[0]
    met = 0.0 if routed is None else routed.met
    expert_flops = 2.0 * count.expert * met
    return Sizes(dense, head, experts, flops - expert_flops, 2.0 * table, expert_flops)


def expert_layers(text: Shape) -> int:
    """Return how many layers have experts."""
    if text.routed is None:
        return 0
    return sum(text.moe_layers) if text.moe_layers else text.layers


def pair_flops(text: Shape) -> float:
    """Return FLOPs of a new token per token in the cache; latent attention works on latents."""
    latent = text.latent
    if latent is None:
        return model_flops(text)[1]
    width = 2.0 * latent.kv_lora_rank + latent.qk_rope_head_dim
    return 2.0 * text.full_attention_layers * text.heads * width


def all_reduce_bytes(engine: Engine, text: Shape) -> float:
    """Return bytes of a token over links: two all-reduces of h elements per layer."""
    return 2 * 2 * text.layers * 2 * (engine.tp - 1) / engine.tp * text.hidden


def crowding(routed: Routed | None, expert_ranks: int) -> float:
    """Return z·√((n − 1)/k): how far the fullest of n ranks lies above the mean, × √tokens."""
    if routed is None or expert_ranks == 1:
        return 0.0
    fullest = next(z for ranks, z in reversed(_FULLEST) if ranks <= max(2, expert_ranks))
    return fullest * sqrt((expert_ranks - 1) / routed.top_k)
