"""A number with its noun, as the spoken language has it."""

from __future__ import annotations

from collections.abc import Iterable

from perf_doctor.language import ENGLISH, said, spoken


def counted(number: float, noun: str) -> str:
    """Return a number with a noun in the form that goes with it: 1 GPU, 8 GPUs, 2 processes.

    Other languages have a message ``{n} GPU`` for each noun.
    """
    shown = f"{number:.0f}" if float(number).is_integer() else f"{number:.4g}"
    if spoken() != ENGLISH:
        return said("{n} " + noun, n=shown)
    return f"{shown} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def sentences(texts: Iterable[str]) -> str:
    """Return sentences one behind the other: a Chinese full stop brings its own space."""
    joined = ""
    for text in filter(None, texts):
        joined += text if not joined or joined.endswith("。") else f" {text}"
    return joined
