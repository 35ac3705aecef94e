"""Seconds of one decode step of an engine, as a sum: launches, weights, KV, products, links.

rollout-formulas 2: a sum fits better than a roofline, because work of the host that grows with
the batch is not overlapped.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.efficiencies import (
    ACCEPTED,
    ALL_REDUCE_S,
    DECODE_COMPUTE,
    DECODE_EXPERT_LAYER_S,
    DECODE_KV,
    DECODE_LAYER_S,
    DECODE_SEQUENCE_S,
    DECODE_WEIGHTS,
    EAGER_LAYER_S,
    EXPERT_READ,
    H20_FEW,
    LINK,
    PREFILL,
)
from perf_doctor.estimate.engine import (
    Engine,
    kv_bytes_per_token,
    state_bytes_per_request,
    weight_bytes,
)
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.parameters import count_model
from perf_doctor.estimate.shape import Shape

# Requests below which H20 reads weights more slowly.
_FEW = 8.0


class Decoder(NamedTuple):
    """An engine's decode step in seconds.

    ``fixed``: launches, small collectives, dense weights. ``experts``: reading all experts of the
    rank, of which a token meets ``met``. ``sequence``: per running request. ``context``: per
    token in the KV cache. ``eager``: more above ``graph_limit`` requests. ``prefill``: per prompt
    token. ``draft`` and ``accepted``: tokens verified and accepted per step, 1 without speculation.
    ``few_dense`` and ``few_experts``: seconds more and a factor with fewer than eight requests.
    """

    fixed: float
    experts: float
    met: float
    sequence: float
    context: float
    eager: float
    graph_limit: float
    prefill: float
    product: float
    draft: float = 1.0
    accepted: float = 1.0
    few_dense: float = 0.0
    few_experts: float = 1.0

    def step(self, running: float, context: float) -> float:
        """Return seconds of one step of ``running`` requests with ``context`` tokens each."""
        tokens = running * self.draft
        seconds = self.fixed + running * self.sequence + running * context * self.context
        seconds += tokens * self.product
        experts = self.experts * (1 - (1 - self.met) ** tokens) if self.experts else 0.0
        if running < _FEW:
            seconds += self.few_dense
            experts *= self.few_experts
        seconds += experts
        if running > self.graph_limit:
            seconds += self.eager
        return seconds

    def per_token(self, running: float, context: float) -> float:
        """Return seconds until each of ``running`` requests has one more token."""
        drafting = 1 + 0.05 * (self.draft - 1)
        return self.step(running, context) * drafting / self.accepted


@lru_cache(maxsize=256)
def decoder(
    engine: Engine, shape: Shape, card: Card, graph_limit: float, draft: float = 1.0
) -> Decoder:
    """Return the decode step of an engine; ``draft``: tokens per step with speculation, else 1."""
    family, ranks = card.family, engine.tp
    count = count_model(shape)
    bandwidth = card.hbm * DECODE_WEIGHTS[family].expected
    few = H20_FEW.expected if family == "h20" else DECODE_WEIGHTS[family].expected
    own_experts = engine.weight_bytes * count.expert / ranks / engine.pp
    table = 0.0 if shape.tied else engine.weight_bytes * shape.vocab * shape.hidden / ranks
    dense = max(0.0, weight_bytes(engine, shape) - own_experts - table / engine.pp) * engine.pp
    routed = shape.routed
    launch = DECODE_LAYER_S if routed is None else DECODE_EXPERT_LAYER_S
    across = DECODE_SEQUENCE_S.expected
    fixed = launch.expected * shape.layers + dense / bandwidth
    eight_bit = 2.0 if engine.weight_bytes < 1.5 else 1.0
    groups = ranks // engine.attention_tp
    per_token = model_flops(shape)[0]
    rate = card.flops * DECODE_COMPUTE[family].expected * eight_bit * ranks
    link = 0.0
    if ranks > 1:
        fixed += 2 * shape.layers * ALL_REDUCE_S.expected
        near = card.nvlink if ranks <= card.domain else card.network
        volume = 2 * 2 * shape.layers * 2 * (ranks - 1) / ranks * shape.hidden
        link = volume / (near * LINK.expected)
    context = kv_bytes_per_token(engine, shape) / (card.hbm * DECODE_KV.expected) / groups
    state = 2 * state_bytes_per_request(engine, shape) / (card.hbm * DECODE_KV.expected) / groups
    return Decoder(
        fixed=fixed if engine.graphs else fixed + EAGER_LAYER_S.expected * shape.layers,
        experts=own_experts * engine.pp / (bandwidth * EXPERT_READ.expected),
        met=0.0 if routed is None else routed.top_k / routed.experts,
        sequence=across + link + state,
        context=context * engine.pp,
        eager=EAGER_LAYER_S.expected * shape.layers,
        graph_limit=graph_limit if engine.graphs else float("inf"),
        prefill=per_token / (card.flops * PREFILL[family].expected * eight_bit * ranks),
        product=per_token / rate,
        draft=draft,
        few_dense=dense / (card.hbm * few) - dense / bandwidth,
        few_experts=bandwidth / (card.hbm * few),
        accepted=1.0 if draft <= 1 else min(draft, ACCEPTED.expected),
    )
