"""Seconds of one optimizer step on the GPU or on the host, gradient reduction included."""

from __future__ import annotations

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.communication import gradients
from perf_doctor.estimate.efficiencies import (
    CPU_ADAM_OVERLAP,
    CPU_ADAM_S,
    DP_EXPOSED,
    GPU_ADAM_BYTES,
    LINK,
    STEP_FIXED_S,
)
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.parameters import Local
from perf_doctor.estimate.shape import Training

# Seconds of traffic that nothing hides ÷ expected ones.
_IN_THE_OPEN = Interval(LINK.expected / LINK.high, 1.0, LINK.expected / LINK.low)


def optimizer_seconds(
    training: Training, card: Card, parameters: Local, *, overlap: bool, overlap_copies: bool
) -> Interval:
    """Return one step of the stage that holds ``parameters`` on each rank.

    GPU: its state's bytes over HBM. CPU: 1.3–2.0 s per 1e9 elements of a rank. Gradients are
    reduced and weights gathered once per step.
    """
    mesh, states = training.mesh, training.states
    dense, expert = parameters
    if training.frozen == "base":
        dense, expert = training.adapter_parameters / mesh.pp / mesh.tp, 0.0
    elements = dense / mesh.dense_shards + expert / mesh.expert_shards
    on_gpu = (1 - states.offload) * elements / (card.hbm * card.rates.hbm)
    on_cpu = states.offload * elements / 1e9
    adam = CPU_ADAM_S * on_cpu
    if overlap_copies:
        adam = adam * CPU_ADAM_OVERLAP
    reduced = gradients(mesh, card, dense, expert, gradient_bytes=states.gradient, overlap=overlap)
    loose = DP_EXPOSED if overlap else _IN_THE_OPEN
    low, high = loose.low / loose.expected, loose.high / loose.expected
    return independent_sum(
        exactly(0.0),
        GPU_ADAM_BYTES * on_gpu,
        adam,
        Interval(low * reduced, reduced, high * reduced),
        STEP_FIXED_S * (card.rates.step_fixed_s / STEP_FIXED_S.expected),
    )
