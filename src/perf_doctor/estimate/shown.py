"""What phases, components and roles are called where people read of them.

Their names are keys that programs compare. English shows them as they are, or with spaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final

from perf_doctor.estimate.phases import Phase
from perf_doctor.language import ENGLISH, said, spoken

_WORDS: Final = {
    "init": "init",
    "rollout": "rollout",
    "weight_sync": "weight sync",
    "reference": "reference",
    "log_probs": "log probs",
    "reference_log_probs": "reference log probs",
    "teacher_log_probs": "teacher log probs",
    "train": "train",
    "optimizer": "optimizer",
    "switch": "switch",
    "evaluation": "evaluation",
    "saving": "saving",
    "weights": "weights",
    "gradients": "gradients",
    "activations": "activations",
    "logits": "logits",
    "kv_cache": "kv cache",
    "communication": "communication",
    "overhead": "overhead",
    "host": "host",
}  # messages


def word(name: str) -> str:
    """Return a phase or component as people write it; a role stays as the job names it."""
    return said(_WORDS[name]) if name in _WORDS else name.replace("_", " ")


def named(name: str) -> str:
    """Return it as a table names it: in English its key."""
    return name if spoken() == ENGLISH else word(name)


def phase_line(phase: Phase) -> str:
    """Return ``train, stage 0``; a role stands there where the phase does not tell it."""
    line = named(phase.phase)
    if phase.role not in ("actor", phase.phase):
        line = said("{phase} {role}", phase=line, role=phase.role)
    if phase.pp_stage is None:
        return line
    return said("{phase}, stage {stage}", phase=line, stage=phase.pp_stage)


def listed(parts: Iterable[str]) -> str:
    """Return parts between commas; nothing for none."""
    found = [*parts]
    return reduce(lambda one, other: said("{one}, {other}", one=one, other=other), found or [""])


def clauses(parts: Iterable[str]) -> str:
    """Return parts, of which there are some, between semicolons."""
    return reduce(lambda one, other: said("{one}; {other}", one=one, other=other), parts)
