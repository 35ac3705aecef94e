"""What the kernels and links of one family of cards reach: the efficiencies as plain numbers.

A card carries them (``card``), so that a fit can estimate with others than the table's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate import efficiencies as of
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval


class Rates(NamedTuple):
    """Efficiencies of a training step; what each is and where it comes from: ``efficiencies``."""

    gemm: float
    attention: float
    hbm: float
    quantized: float
    operands: float
    grouped_half: float
    traffic_forward: float
    traffic_backward: float
    loss_traffic: float
    scan_bytes: float
    launch_dense_s: float
    launch_expert_s: float
    again_host: float
    sync_expert_s: float
    step_fixed_s: float
    link: float
    all_to_all: float
    deepep: float
    tp_exposed: float
    tp_overlapped: float
    cp_exposed: float
    dp_exposed: float
    hop_s: float


def ranges_of(family: Family) -> dict[str, Interval]:
    """Return the ranges from which ``rates_of`` takes the expected values, by field of Rates."""
    return {
        "gemm": of.GEMM[family],
        "attention": of.ATTENTION[family],
        "hbm": of.HBM,
        "quantized": of.QUANTIZED[family],
        "operands": of.OPERANDS,
        "grouped_half": of.GROUPED_HALF,
        "traffic_forward": of.TRAFFIC_FORWARD,
        "traffic_backward": of.TRAFFIC_BACKWARD,
        "loss_traffic": of.LOSS_TRAFFIC,
        "scan_bytes": of.SCAN_BYTES,
        "launch_dense_s": of.LAUNCH_DENSE_S,
        "launch_expert_s": of.LAUNCH_EXPERT_S,
        "again_host": of.AGAIN_HOST,
        "sync_expert_s": of.SYNC_EXPERT_S,
        "step_fixed_s": of.STEP_FIXED_S,
        "link": of.LINK,
        "all_to_all": of.ALL_TO_ALL,
        "deepep": of.DEEPEP,
        "tp_exposed": of.TP_EXPOSED,
        "tp_overlapped": of.TP_OVERLAPPED,
        "cp_exposed": of.CP_EXPOSED,
        "dp_exposed": of.DP_EXPOSED,
        "hop_s": of.HOP_S,
    }


@lru_cache(maxsize=8)
def rates_of(family: Family) -> Rates:
    """Return the expected efficiencies of a family."""
    return Rates(**{name: one.expected for name, one in ranges_of(family).items()})
