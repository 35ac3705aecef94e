"""The functions a rule may call: one table, and the documentation of each.

Each function is pure. It sees the flags of the launch through a ``Flags`` and nothing else.
An unknown argument makes the result unknown before the function is called; an absent one (None)
makes it absent, unless the table says that the function takes absent values itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from perf_doctor.rules.quote import Prose
from perf_doctor.shell.model import Unknown
from perf_doctor.wording import counted

Scalar = bool | int | float | str | None
Value = Scalar | tuple[Scalar, ...] | Mapping[str, object] | Unknown


class Flags(Protocol):
    """What the functions ask about the options of a launch."""

    def value(self, flag: str) -> Value:
        """Return the value in effect: given, or the default; None when there is none."""
        ...

    def given(self, flag: str) -> bool:
        """Tell whether the launch passes the option, by this name or another of the same option."""
        ...

    def on(self, flag: str) -> bool | Unknown:
        """Tell whether a switch is on, its negative forms considered."""
        ...


class Function(NamedTuple):
    """A function of the language.

    ``takes`` names the kind of each argument (the last one repeats when ``variadic``); ``gives``
    the kind of the result, ``first`` for the kind of the first argument, ``option`` for the kind
    of the option named. What is ``words`` stands there as a text of the rule itself.
    """

    takes: tuple[str, ...]
    gives: str
    doc: str
    call: Callable[..., Value]
    variadic: bool = False
    takes_absent: bool = False
    sees_flags: bool = False


def _item(value: Mapping[str, object] | tuple[Scalar, ...], key: str) -> Value:
    found = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(found, list):
        return tuple(part for part in found if isinstance(part, (bool, int, float, str)))
    return found if isinstance(found, (bool, int, float, str, Mapping)) else None


def _largest_divisor(number: float, limit: float) -> int | None:
    """Return the largest whole divisor of ``number`` that is at most ``limit``."""
    whole, top = int(number), int(limit)
    if whole < 1 or top < 1:
        return None
    return max(d for d in range(1, min(whole, top, 65_536) + 1) if whole % d == 0)


def _rounded(number: float, step: float, up: bool) -> float | None:
    if step == 0:
        return None
    whole = math.ceil(number / step) if up else math.floor(number / step)
    return whole * step


def _names(flags: str | tuple[str, ...]) -> tuple[str, ...]:
    return (flags,) if isinstance(flags, str) else flags


def _given(launch: Flags, *flags: str | tuple[str, ...]) -> bool:
    return any(launch.given(flag) for group in flags for flag in _names(group))


def _which(launch: Flags, *flags: str | tuple[str, ...]) -> tuple[Scalar, ...]:
    return tuple(flag for group in flags for flag in _names(group) if launch.given(flag))


FUNCTIONS: Mapping[str, Function] = {
    "value": Function(
        ("flag",),
        "option",
        "The value of an option: as given, else its default; None when it has none.",
        lambda launch, flag: launch.value(flag),
        sees_flags=True,
    ),
    "given": Function(
        ("flags",),
        "bool",
        "Whether the launch passes at least one of these options. `flags` stands for the rule's "
        "own Flags.",
        _given,
        variadic=True,
        sees_flags=True,
    ),
    "on": Function(
        ("flag",),
        "bool",
        "Whether a switch is on; its `--no-…` and `--disable-…` forms are considered.",
        lambda launch, flag: launch.on(flag),
        sees_flags=True,
    ),
    "which": Function(
        ("flags",),
        "list",
        "Those of these options that the launch passes.",
        _which,
        variadic=True,
        sees_flags=True,
    ),
    "min": Function(("number",), "number", "The smallest.", min, variadic=True),
    "max": Function(("number",), "number", "The largest.", max, variadic=True),
    "ceil": Function(("number",), "number", "Rounded up to a whole number.", math.ceil),
    "floor": Function(("number",), "number", "Rounded down to a whole number.", math.floor),
    "abs": Function(("number",), "number", "Without its sign.", abs),
    "log2": Function(
        ("number",),
        "number",
        "The logarithm to base 2; None for zero and below.",
        lambda number: math.log2(number) if number > 0 else None,
    ),
    "len": Function(("collection",), "number", "How many entries, or letters.", len),
    "default": Function(
        ("any", "any"),
        "first",
        "The first value, or the second where the first is None.",
        lambda value, other: other if value is None else value,
        takes_absent=True,
    ),
    "item": Function(
        ("json", "text"), "any", "The entry of a JSON value under a key; None without one.", _item
    ),
    "counted": Function(
        ("number", "words"),
        "text",
        "The number with a noun of ours in the form that goes with it: 1 GPU, 8 GPUs.",
        lambda number, noun: Prose(counted(number, noun)),
    ),
    "largest_divisor": Function(
        ("number", "number"),
        "number",
        "The largest whole divisor of the first number that is at most the second.",
        _largest_divisor,
    ),
    "round_up": Function(
        ("number", "number"),
        "number",
        "The first number, up to the next multiple of the second.",
        lambda number, step: _rounded(number, step, up=True),
    ),
    "round_down": Function(
        ("number", "number"),
        "number",
        "The first number, down to a multiple of the second.",
        lambda number, step: _rounded(number, step, up=False),
    ),
}
