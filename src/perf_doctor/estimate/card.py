"""A GPU as the time estimate sees it: rates in units per second."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.rates import Rates, rates_of
from perf_doctor.plan.gpu import Gpu

_AMPERE = ("A100", "A800")
_HOPPER = ("H100", "H200", "H800")
_BLACKWELL = ("B200", "B300", "GB200", "GB300")
# GPUs that share one NVLink fabric over several machines.
_DOMAIN = {"GB200": 72, "GB300": 72}
# PCIe to the next GPU where there is no NVLink, bytes per second.
_NO_NVLINK = 25e9


class Card(NamedTuple):
    """Peak rates of one GPU: FLOP/s in bf16, bytes per second of memory and links.

    ``domain``: GPUs that NVLink connects. ``rates``: what of all this a training step reaches.
    """

    family: Family
    flops: float
    hbm: float
    nvlink: float
    network: float
    pcie: float
    domain: int
    rates: Rates


@lru_cache(maxsize=64)
def card_of(gpu: Gpu) -> Card | None:
    """Return the card, None when nobody publishes its compute or its memory rate."""
    if not gpu.bf16_tflops or not gpu.hbm_tb_s:
        return None
    family = family_of(gpu.name)
    return Card(
        family=family,
        flops=gpu.bf16_tflops * 1e12,
        hbm=gpu.hbm_tb_s * 1e12,
        nvlink=(gpu.nvlink_gb_s or 0.0) * 1e9 or _NO_NVLINK,
        network=(gpu.network_gb_s or 25.0) * 1e9,
        pcie=(gpu.pcie_gb_s or 32.0) * 1e9,
        domain=_DOMAIN.get(gpu.name, gpu.gpus_per_node),
        rates=rates_of(family),
    )


def family_of(name: str) -> Family:
    """Return the family of a card."""
    if name == "H20":
        return "h20"
    if name in _HOPPER:
        return "hopper"
    if name in _AMPERE:
        return "ampere"
    return "blackwell" if name in _BLACKWELL else "other"
