"""The card the job runs on: the one that was named, or an assumed one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from perf_doctor.data import table
from perf_doctor.frozen import frozen
from perf_doctor.plan.accelerator import Accelerator

# What Relax's own recipes run on, by kind of accelerator.
ASSUMED = {"gpu": ("H20", 96), "npu": ("Ascend-910C", 64), "klx": ("P800", 96)}
# Cards that a job sees as several devices: Ray, Megatron and SGLang count those, and so does the
# table; a person may name the card by the memory of all of them.
DEVICES_PER_CARD = {"Ascend-910C": 2}


class UnknownGpuError(ValueError):
    """A ``--gpu`` that names no card or several; the message is one line and lists near names."""


@frozen
class Gpu:
    """One device as the job counts them; numbers are per device, None where nobody publishes one.

    ``usable_gib``: what torch reports as total. Bandwidths are GB/s (1e9 bytes) per direction,
    ``hbm_tb_s`` TB/s, compute dense TFLOPS. ``gpus_per_node``: devices of a usual machine.
    ``assumed``: nobody named it.
    """

    name: str
    memory_gb: int
    accelerator: Accelerator
    usable_gib: float | None
    hbm_tb_s: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    nvlink_gb_s: float | None
    network_gb_s: float | None
    pcie_gb_s: float | None
    gpus_per_node: int
    vendor: str
    aliases: tuple[str, ...] = ()
    assumed: bool = False

    @property
    def label(self) -> str:
        """The name with its memory, as ``--gpu`` takes it: ``H20-96GB``."""
        return f"{self.name}-{self.memory_gb}GB"


@cache
def known_gpus() -> tuple[Gpu, ...]:
    """Return every card of ``data/gpus.json``."""
    return tuple(_gpu(row) for row in table("gpus")["gpus"])


def _gpu(row: dict[str, Any]) -> Gpu:
    return Gpu(
        name=row["name"],
        memory_gb=int(row["memory_gb"]),
        accelerator=row["accelerator"],
        usable_gib=row["usable_gib"],
        hbm_tb_s=row["hbm_tb_s"],
        bf16_tflops=row["bf16_dense_tflops"],
        fp8_tflops=row["fp8_dense_tflops"],
        nvlink_gb_s=row["nvlink_gb_s_per_dir"],
        network_gb_s=row["net_gb_s_per_gpu"],
        pcie_gb_s=row["pcie_gb_s_per_dir"],
        gpus_per_node=row["gpus_per_node"],
        vendor=row["vendor"],
        aliases=tuple(row["aliases"]),
    )


def assumed_gpu(accelerator: Accelerator) -> Gpu:
    """Return the card that is assumed when nobody names one."""
    return _assumed(accelerator)


@cache
def _assumed(accelerator: Accelerator) -> Gpu:
    return next(
        replace(gpu, assumed=True)
        for gpu in known_gpus()
        if (gpu.name, gpu.memory_gb) == ASSUMED[accelerator]
    )


def find_gpu(asked: str) -> Gpu:
    """Return the card that a person means: a name, or a name and its memory, in any case.

    A bare name with several memory sizes is the card that would be assumed anyway, if that is
    one of them. Raises UnknownGpuError when no card or more than one is left.
    """
    plain = _plain(asked)
    exact = [gpu for gpu in known_gpus() if _names(gpu, plain, with_memory=True)]
    by_name = [gpu for gpu in known_gpus() if _names(gpu, plain, with_memory=False)]
    found = exact or by_name
    if len(found) > 1:
        usual = [gpu for gpu in found if (gpu.name, gpu.memory_gb) in ASSUMED.values()]
        found = usual or found
    if len(found) == 1:
        return found[0]
    shown = asked if len(asked) <= 40 else f"{asked[:39]}…"
    if found:
        options = ", ".join(gpu.label for gpu in found)
        raise UnknownGpuError(f"--gpu {shown!r} has several memory sizes: say {options}")
    raise UnknownGpuError(f"--gpu {shown!r} is not a known card: did you mean {_near(plain)}?")


def _plain(written: str) -> str:
    """Upper case without separators and without the maker's name."""
    letters = "".join(char for char in written.upper() if char.isalnum())
    return letters.removeprefix("NVIDIA")


def _names(gpu: Gpu, plain: str, *, with_memory: bool) -> bool:
    """Tell whether ``plain`` names the card, with its memory behind or without."""
    for label in (gpu.name, *gpu.aliases):
        name = _plain(label)
        if not with_memory:
            if plain == name:
                return True
        elif plain.startswith(name) and _is_memory(gpu, plain[len(name) :]):
            return True
    return False


def _is_memory(gpu: Gpu, rest: str) -> bool:
    digits = rest.removesuffix("GIB").removesuffix("GB").removesuffix("G")
    devices = DEVICES_PER_CARD.get(gpu.name, 1)
    return digits in (str(gpu.memory_gb), str(gpu.memory_gb * devices))


def _near(plain: str) -> str:
    """The labels most like ``plain``, all of them when none is."""
    import difflib  # noqa: PLC0415  only on the way to an error message

    labels = {_plain(gpu.label): gpu.label for gpu in known_gpus()}
    near = difflib.get_close_matches(plain, list(labels), 3, 0.5)
    return ", ".join(labels[name] for name in near) if near else ", ".join(labels.values())
