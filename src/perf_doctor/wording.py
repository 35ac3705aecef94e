"""English as the reports need it: a number with its noun."""

from __future__ import annotations


def counted(number: float, noun: str) -> str:
    """Return a number with a noun in the form that goes with it: 1 GPU, 8 GPUs, 2 processes."""
    shown = f"{number:.0f}" if float(number).is_integer() else f"{number:.4g}"
    return f"{shown} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
