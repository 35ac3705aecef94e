"""Bytes of weights, gradients and optimizer state on the GPU and on the host of one rank."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.parameters import Local
from perf_doctor.estimate.shape import Mesh, States

# Of the share that steps on the CPU: fp32 copy, pinned fp32 gradient, two moments
# (megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py:83-115, 251-300).
HOST_ADAM_BYTES = 16.0


class StateBytes(NamedTuple):
    """Bytes of one rank. ``step``: what the GPU holds besides while the optimizer steps."""

    weights: float
    gradients: float
    optimizer: float
    host: float
    step: float

    @property
    def resident(self) -> float:
        """Bytes on the GPU between steps."""
        return self.weights + self.gradients + self.optimizer


def optimizer_bytes(states: States) -> float:
    """Return the bytes on the GPU per element of the optimizer shard.

    (1 − q)·(master + m + v) + q·(master that stays): Megatron without precision-aware states keeps
    the fp32 master of offloaded elements on the GPU, with them nothing. Published steady memory of
    Qwen3-30B at five fractions q: within 1 %.
    """
    moments = states.master + states.first_moment + states.second_moment
    return (1 - states.offload) * moments + states.offload * states.device_master


def state_bytes(trained: Local, frozen: Local, mesh: Mesh, states: States) -> StateBytes:
    """Return the states of one rank.

    weight·(trained + frozen) + gradient·trained + optimizer·trained ÷ shards, the shards of dense
    parameters being DP × CP and those of experts the expert DP. Left out: padding of DDP buckets
    (below 64 MiB).
    """
    shard = trained.dense / mesh.dense_shards + trained.expert / mesh.expert_shards
    mine = trained.dense + trained.expert
    held = mine + frozen.dense + frozen.expert
    return StateBytes(
        weights=(states.weight + states.cast_copy) * held,
        gradients=states.gradient * mine,
        optimizer=optimizer_bytes(states) * shard,
        host=states.offload * HOST_ADAM_BYTES * shard,
        step=states.main_gradient * shard,
    )
