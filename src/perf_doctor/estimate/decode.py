"""Seconds of one decode step of an engine, as a sum: launches, weights, KV, products, links.

rollout-formulas 2: a sum fits better than a roofline, because little of a step overlaps. Left
out: all-to-all of DeepEP, offloaded KV, adapters, images.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.decode_efficiencies import ACCEPTANCE
from perf_doctor.estimate.decode_rates import DecodeRates, decode_rates
from perf_doctor.estimate.decode_sizes import (
    Serving,
    Sizes,
    all_reduce_bytes,
    crowding,
    expert_layers,
    pair_flops,
    sizes_of,
)
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.engine import Engine, kv_bytes_per_token, state_bytes_per_request
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.shape import Shape

# Rows that a Hopper tensor core multiplies at once (wgmma's M), needed or not.
_ROWS = 64.0


class Decoder(NamedTuple):
    """An engine's decode step in seconds, by what it is spent on.

    ``launch``: kernels and the host. ``collective``: latency of all-reduces. ``dense``: reading
    all that every token meets, ``product`` multiplying it per token, together at least ``least``.
    ``experts``: reading all experts of the rank, of which a token meets ``met``; the fullest of
    the ranks ``crowded`` ÷ √tokens more. ``expert_product``: per token. ``sequence``: per running
    request, its state included; ``link``: per token; ``context``: per token in the KV cache,
    ``tiled`` where multiplying with it takes longer than reading it.
    Beyond ``graph_limit`` requests a step takes ``gap`` more and at least ``host``.
    ``prefill``: per prompt token, ``prefill_pair`` per token and token before it. ``draft`` and
    ``accepted``: tokens verified and accepted per step, 1 without speculation; ``drafting``: of
    all drafts of a step, ``drafting_token`` more per request.
    """

    launch: float
    collective: float
    dense: float
    product: float
    least: float
    experts: float
    met: float
    crowded: float
    expert_product: float
    sequence: float
    link: float
    context: float
    gap: float
    host: float
    graph_limit: float
    prefill: float
    prefill_pair: float
    family: Family
    draft: float = 1.0
    accepted: float = 1.0
    drafting: float = 0.0
    drafting_token: float = 0.0
    tiled: bool = False

    def step(self, running: float, context: float) -> float:
        """Return seconds of one step of ``running`` requests with ``context`` tokens each."""
        tokens = running * self.draft
        seconds = self.launch + self.collective + tokens * self.link
        seconds += running * (self.sequence + context * self.context)
        seconds += max(self.least, self.dense + tokens * self.product)
        if self.experts:
            seconds += self.experts * self.covered(tokens) + tokens * self.expert_product
        if running > self.graph_limit:
            return max(seconds + self.gap, self.host)
        return seconds

    def covered(self, tokens: float) -> float:
        """Return the share of the experts of the fullest rank that so many tokens meet.

        Routing is taken as uniform: 1 − (1 − k/E)^tokens.
        """
        met: float = 1.0 - (1.0 - self.met) ** tokens
        return min(1.0, met * (1 + self.crowded / sqrt(tokens))) if self.crowded else met

    def per_token(self, running: float, context: float) -> float:
        """Return seconds until each of ``running`` requests has one more token."""
        drafting = self.drafting + running * self.drafting_token
        return (self.step(running, context) + drafting) / self.accepted

    def prefill_s(self, prompt: float) -> float:
        """Return seconds until one prompt of so many tokens is in the cache."""
        return prompt * (self.prefill + prompt / 2 * self.prefill_pair)


def decoder(
    engine: Engine,
    shape: Shape,
    card: Card,
    graph_limit: float,
    draft: float = 1.0,
    expert_ranks: int = 1,
) -> Decoder:
    """Return the decode step of an engine; the arguments are those of ``Serving``."""
    serving = Serving(engine, shape, card, graph_limit, draft, expert_ranks)
    return decoder_of(serving, decode_rates(card.family))


class _Speeds(NamedTuple):
    """Bytes per second of one rank, FLOP/s of all: reading weights and experts, multiplying."""

    read: float
    expert_read: float
    kv: float
    peak: float
    wide: float
    link: float


def _speeds(serving: Serving, rates: DecodeRates) -> _Speeds:
    card, ranks = serving.card, serving.engine.tp
    narrow, near = serving.narrow, ranks <= card.domain
    return _Speeds(
        read=card.hbm * rates.weights * (rates.narrow_read if narrow else 1.0),
        expert_read=card.hbm * rates.expert_read * (rates.narrow_experts if narrow else 1.0),
        kv=card.hbm * rates.kv * (ranks // serving.engine.attention_tp),
        peak=card.flops * ranks,
        wide=rates.quantized if serving.multiplies_narrow else 1.0,
        link=(card.nvlink if near else card.network) * rates.link,
    )


@lru_cache(maxsize=256)
def decoder_of(serving: Serving, rates: DecodeRates) -> Decoder:
    """Return the decode step of an engine at given efficiencies."""
    engine, text = serving.engine, serving.text
    sizes, speeds = sizes_of(engine, text), _speeds(serving, rates)
    routed, draft, experts = text.routed, serving.draft, expert_layers(text)
    rate = speeds.peak * rates.compute * speeds.wide
    state = state_bytes_per_request(engine, text) * engine.pp / speeds.kv
    kv = kv_bytes_per_token(engine, text) * engine.pp / speeds.kv
    layers = rates.layer_s * (text.layers - experts) + rates.expert_layer_s * experts
    linear = rates.linear_layer_s * sum(text.linear_layers)
    products = _products_of_attention(serving, speeds, rates)
    link = all_reduce_bytes(engine, text) / speeds.link
    # A draft is one more layer, and the head.
    layer = (sizes.dense - sizes.head) / text.layers
    layer_flops = (sizes.dense_flops - sizes.head_flops + sizes.expert_flops) / text.layers
    return Decoder(
        launch=rates.step_s + layers + linear,
        collective=_all_reduces(engine, text, rates),
        dense=sizes.dense / speeds.read,
        product=sizes.dense_flops / rate,
        least=_ROWS * sizes.dense_flops / _row_rate(serving, speeds, rates),
        experts=sizes.experts / speeds.expert_read,
        met=0.0 if routed is None else routed.met,
        crowded=crowding(routed, serving.expert_ranks),
        expert_product=sizes.expert_flops / rate,
        sequence=rates.sequence_s + (1 + draft) * state,
        link=link,
        context=max(kv, products),
        gap=rates.eager_gap_s * (text.layers + experts),
        host=rates.eager_host_s * (text.layers + experts),
        graph_limit=serving.graph_limit if engine.graphs else 0.0,
        prefill=_prefill(text, sizes, speeds, rates) + link,
        prefill_pair=model_flops(text)[1] / (speeds.peak * rates.attention),
        family=serving.card.family,
        draft=draft,
        accepted=accepted_tokens(draft),
        drafting=(draft - 1) * (layers / text.layers + (sizes.head + layer) / speeds.read),
        drafting_token=(draft - 1) * (sizes.head_flops + layer_flops) / rate,
        tiled=products > kv,
    )


def _products_of_attention(serving: Serving, speeds: _Speeds, rates: DecodeRates) -> float:
    """Seconds per token in the cache of multiplying with it, while the next ones are read.

    A tile multiplies at least so many query rows, of which the heads of one KV head fill as many
    as there are (FlashAttention-3's kBlockM). H20 alone notices: SGLang #5630 halves by it.
    """
    text, own = serving.text, serving.engine.attention_tp
    keys = 1.0 if text.latent is not None else max(1.0, text.groups / own)
    rows = serving.draft * text.heads / own / keys
    padded = max(1.0, rates.attention_rows / rows)
    return padded * serving.draft * pair_flops(text) / (speeds.peak * rates.attention)


def _row_rate(serving: Serving, speeds: _Speeds, rates: DecodeRates) -> float:
    """FLOP/s of all ranks at products of few rows; 8 bits double them."""
    return speeds.peak * rates.rows * (2.0 if serving.multiplies_narrow else 1.0)


def accepted_tokens(draft: float, acceptance: float = ACCEPTANCE.expected) -> float:
    """Return tokens per verified step: 1 + a + … + a^(draft − 1) (Leviathan et al. 2023)."""
    if draft <= 1:
        return 1.0
    tokens: float = (1 - acceptance**draft) / (1 - acceptance)
    return tokens


def _all_reduces(engine: Engine, text: Shape, rates: DecodeRates) -> float:
    """Seconds of latency: two all-reduces per layer."""
    if engine.tp == 1:
        return 0.0
    return 2 * text.layers * (rates.all_reduce_s + rates.all_reduce_rank_s * (engine.tp - 1))


def _prefill(text: Shape, sizes: Sizes, speeds: _Speeds, rates: DecodeRates) -> float:
    """Seconds per prompt token: products, and its part of a chunk's launches and weights."""
    experts = expert_layers(text)
    chunk = rates.prefill_layer_s * (text.layers - experts) + rates.prefill_expert_layer_s * experts
    chunk += (sizes.dense + sizes.experts) / speeds.read
    peak = speeds.peak * speeds.wide
    seconds = (sizes.dense_flops - sizes.head_flops) / (peak * rates.prefill)
    seconds += sizes.expert_flops / (peak * rates.prefill_experts)
    return seconds + chunk / rates.prefill_chunk
