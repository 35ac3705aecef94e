"""Which kind of accelerator a launch is written for, and what says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from perf_doctor.language import said
from perf_doctor.launch.filename import read_file_name
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.reading import text

Accelerator = Literal["gpu", "npu", "klx"]

# Besides the file's name: options of the engines, sourced entry scripts, environment variables.
# Kunlun presents itself as CUDA to everything else.
_KINDS: dict[str, Accelerator] = {"npu": "npu", "klx": "klx"}
_BACKENDS: dict[str, Accelerator] = {"ascend": "npu", "kunlun": "klx"}
_SOURCED: dict[str, Accelerator] = {"local-npu.sh": "npu", "local-klx.sh": "klx"}
_ENVIRONMENT: dict[Accelerator, tuple[str, ...]] = {
    "npu": ("ASCEND_", "HCCL_"),
    "klx": ("XMLIR_", "BKCL_"),
}


def accelerator_evidence(
    settings: Settings,
    *,
    script: str = "",
    files: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> tuple[tuple[Accelerator, str], ...]:
    """Return what points to another accelerator than CUDA, the strongest first."""
    found: list[tuple[Accelerator, str]] = []
    named = _KINDS.get(read_file_name(script).accelerator or "")
    if named:
        found.append((named, said("file name")))
    if text(settings, "--sglang-device") == "npu":
        found.append(("npu", said("sglang flags")))
    else:
        backend = _BACKENDS.get(text(settings, "--sglang-attention-backend") or "")
        if backend:
            found.append((backend, said("sglang flags")))
    for file in files:
        sourced = _SOURCED.get(file.rpartition("/")[2])
        if sourced:
            found.append((sourced, said("sources {file}", file=file.rpartition("/")[2])))
    for kind, prefixes in _ENVIRONMENT.items():
        if any(variable.startswith(prefixes) for variable in environment or ()):
            found.append((kind, said("environment")))
    return tuple(found)


def accelerator(evidence: Sequence[tuple[Accelerator, str]]) -> Accelerator:
    """Return the kind that most of the evidence names, the earliest of equals; CUDA without any."""
    kinds = [kind for kind, _ in evidence]
    return max(kinds, key=lambda kind: (kinds.count(kind), -kinds.index(kind)), default="gpu")
