"""Seconds of handing the GPUs from training to rollout and back, and of weight updates."""

from __future__ import annotations

from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.rl_efficiencies import (
    ENGINE_SWITCH_S,
    GROUP_DELAY_S,
    GROUP_REBUILD_S,
    HOST_COPY_GB_S,
    SYNC_FIXED_S,
    SYNC_IPC_GB_S,
    SYNC_NETWORK_FIXED_S,
    SYNC_NETWORK_GB_S,
)

# Slower buses than PCIe 5 copy in proportion.
_PCIE_5 = 64e9


def copy_seconds(size: float, pcie: float) -> Interval:
    """Return seconds of copying ``size`` bytes of each GPU to or from pinned host memory."""
    slow = min(1.0, pcie / _PCIE_5) * 1e9
    rate = HOST_COPY_GB_S
    return Interval(
        size / (rate.high * slow), size / (rate.expected * slow), size / (rate.low * slow)
    )


def switch_seconds(parked: float, pcie: float, *, engines_sleep: bool) -> Interval:
    """Return sleep and wake-up of one step in colocate.

    The trainer's ``parked`` bytes leave the GPU and come back; process groups are destroyed twice
    with 2.0 s each and rebuilt twice; the engine releases and maps its memory.
    """
    engine = ENGINE_SWITCH_S if engines_sleep else exactly(0.0)
    return independent_sum(
        exactly(0.0),
        copy_seconds(2 * parked, pcie),
        GROUP_DELAY_S * 2.0,
        GROUP_REBUILD_S * 2.0,
        engine,
    )


def sync_seconds(size: float, *, same_gpus: bool) -> Interval:
    """Return one weight update of ``size`` bytes: T = fixed + bytes ÷ rate (rollout-formulas 4)."""
    fixed, rate = (
        (SYNC_FIXED_S, SYNC_IPC_GB_S) if same_gpus else (SYNC_NETWORK_FIXED_S, SYNC_NETWORK_GB_S)
    )
    moved = Interval(
        size / (rate.high * 1e9), size / (rate.expected * 1e9), size / (rate.low * 1e9)
    )
    return independent_sum(exactly(0.0), fixed, moved)
