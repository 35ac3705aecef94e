"""Launches of our own, as short lines of words, and the plans they give."""

from __future__ import annotations

import json
import shlex
from typing import Any

from perf_doctor.launch.settings import Settings, read_settings
from perf_doctor.plan.plan import Plan, build_plan
from perf_doctor.shell.model import Place, Unknown, Word

# A dense and an expert model with sizes that are easy to compute with.
DENSE = (
    "--num-layers 8 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 8"
    " --group-query-attention --num-query-groups 2 --kv-channels 16 --vocab-size 1000 --swiglu"
    " --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights"
)
MOE = DENSE + " --num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 32"


def words_of(line: str) -> list[Word]:
    """Split a line as a shell would; ``${NAME}`` is a part that nobody knows."""
    words = []
    for number, text in enumerate(shlex.split(line)):
        names = [part.partition("}")[0] for part in text.split("${")[1:]]
        unknown = tuple(Unknown(name, "not set") for name in names)
        words.append(Word(text, Place("run.sh", 1, number + 1), unknown=unknown))
    return words


def settings_of(line: str) -> Settings:
    return read_settings(words_of(line))


def plan_of(line: str, **about: Any) -> Plan:
    return build_plan(settings_of(line), **about)


def resource(**roles: Any) -> str:
    """``--resource`` with ``[1, GPUs]`` for each role; anything but a number stays as it is."""
    entries = {role: [1, gpus] if isinstance(gpus, int) else gpus for role, gpus in roles.items()}
    return f"--resource {shlex.quote(json.dumps(entries))}"
