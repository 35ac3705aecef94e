"""Seconds of collectives on one GPU: bytes over the link they cross."""

from __future__ import annotations

from perf_doctor.estimate.activations import spread
from perf_doctor.estimate.card import Card
from perf_doctor.estimate.shape import Mesh, Routed, Shape, Training


def _rate(card: Card, ranks: int) -> float:
    """Bytes per second of a ring of ``ranks`` neighbours: NVLink inside a node, else network."""
    return (card.nvlink if ranks <= card.domain else card.network) * card.rates.link


def tensor_parallel(training: Training, card: Card, tokens: float) -> float:
    """Return TP's seconds of one layer, forward; backward takes 1.5 times that with SP.

    Two gathers and two scatters (or two all-reduces) of 2·t·h·(tp − 1)/tp bytes.
    """
    mesh, rates = training.mesh, card.rates
    if mesh.tp == 1:
        return 0.0
    volume = 4 * 2 * tokens * training.shape.hidden * (mesh.tp - 1) / mesh.tp
    exposed = rates.tp_overlapped if training.tp_overlap else rates.tp_exposed
    return exposed * (volume / _rate(card, mesh.tp) + 4 * card.rates.hop_s)


def context_parallel(shape: Shape, mesh: Mesh, card: Card, tokens: float) -> float:
    """Return CP's seconds of one attention layer, forward; backward takes twice that.

    (cp − 1) blocks of keys and values travel a ring: 4·t·g·d/tp bytes each, partly hidden.
    """
    if mesh.cp == 1:
        return 0.0
    width = shape.groups * shape.head_dim
    if shape.latent is not None:
        width = shape.heads * (shape.latent.qk_head_dim + shape.latent.v_head_dim) // 2
    volume = (mesh.cp - 1) * 4 * tokens * max(1.0, width / mesh.tp)
    latency = 2 * (mesh.cp - 1) * card.rates.hop_s
    return card.rates.cp_exposed * (volume / _rate(card, mesh.tp * mesh.cp) + latency)


def expert_parallel(training: Training, routed: Routed, card: Card, tokens: float) -> float:
    """Return dispatch and combine of one expert layer, forward; backward takes the same.

    2·t·k·h/u bytes each way, of which (n − 1)/n leave the GPU and what is beyond the node goes
    over the network; DeepEP sends a token once per node there.
    """
    mesh, shape = training.mesh, training.shape
    ranks = mesh.ep * mesh.etp
    if ranks == 1:
        return 0.0
    volume = 2 * 2 * tokens * routed.top_k * shape.hidden / spread(mesh)
    inside = min(ranks, card.domain)
    near = volume * (inside - 1) / ranks / (card.nvlink * card.rates.link)
    far = volume * (ranks - inside) / ranks
    if training.deepep and far:
        nodes = ranks / inside
        met = (nodes - 1) * (1 - (1 - 1 / nodes) ** routed.top_k)
        far = volume / routed.top_k * met / (card.network * card.rates.deepep)
    else:
        far /= card.network * card.rates.all_to_all
    seconds = training.imbalance.expected * (near + far)
    return seconds + 4 * card.rates.hop_s


def pipeline_hop(shape: Shape, mesh: Mesh, card: Card, tokens: float) -> float:
    """Return one activation tensor between two stages: 2·t·h/u bytes."""
    if mesh.pp == 1:
        return 0.0
    volume = 2 * tokens * shape.hidden / spread(mesh)
    ranks = mesh.tp * mesh.cp * mesh.dense_shards // max(1, mesh.cp)
    return volume / _rate(card, ranks * mesh.pp) + card.rates.hop_s


def gradients(
    mesh: Mesh, card: Card, dense: float, expert: float, *, gradient_bytes: float, overlap: bool
) -> float:
    """Return reduction of gradients and gathering of weights of one optimizer step.

    (gradient bytes + 2)·P·(D − 1)/D, dense and expert parameters in their own groups.
    """
    seconds = 0.0
    for held, shards, near in (
        (dense, mesh.dense_shards, mesh.tp),
        (expert, mesh.expert_shards, mesh.ep * mesh.etp),
    ):
        if shards > 1 and held:
            volume = (gradient_bytes + 2.0) * held * (shards - 1) / shards
            seconds += volume / _rate(card, shards * near)
    return seconds * (card.rates.dp_exposed if overlap else 1.0)
