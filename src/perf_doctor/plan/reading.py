"""Values of options as the derivations need them: checked for type and range, or not known.

Every function returns None where the value holds an unknown part, where nothing was given and
no default exists, and where what was given cannot be meant (``problems.py`` reports that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from perf_doctor.launch.settings import Settings
from perf_doctor.shell.model import Unknown

# Above this a count is no count of anything in a cluster; arithmetic stays exact and cheap.
MOST = 10**12


def is_whole(value: object, least: int = 1) -> TypeGuard[int]:
    """Tell whether ``value`` is a whole number from ``least`` on (a truth value is none)."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST


def known(settings: Settings, flag: str) -> bool:
    """Tell whether the option's value holds no unknown part."""
    return not isinstance(settings.value(flag), Unknown)


def absent(settings: Settings, flag: str) -> bool:
    """Tell whether the option has neither been given nor a default."""
    return settings.value(flag) is None


def whole(settings: Settings, flag: str, least: int = 1) -> int | None:
    """Return a whole number from ``least`` on."""
    value = settings.value(flag)
    return value if is_whole(value, least) else None


def given_whole(settings: Settings, flag: str, least: int = 1) -> int | None:
    """Return a whole number that the script itself writes; a default does not count."""
    return whole(settings, flag, least) if settings.given(flag) else None


def number(settings: Settings, flag: str) -> float | None:
    """Return a finite number."""
    value = settings.value(flag)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= MOST else None


def text(settings: Settings, flag: str) -> str | None:
    """Return a text that is not empty."""
    value = settings.value(flag)
    return value if isinstance(value, str) and value else None


def switch(settings: Settings, flag: str) -> bool | None:
    """Return whether the switch is on."""
    value = settings.on(flag)
    return value if isinstance(value, bool) else None


def mapping(settings: Settings, flag: str) -> Mapping[str, Any] | None:
    """Return a JSON object."""
    value = settings.value(flag)
    return value if isinstance(value, Mapping) else None


def product(*factors: int | None) -> int | None:
    """Return the product, None as soon as one factor is not known."""
    result = 1
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result


def exactly(whole_number: int | None, divisor: int | None) -> int | None:
    """Return the quotient where the division leaves no rest; None otherwise or if not known."""
    if whole_number is None or not divisor or whole_number % divisor:
        return None
    return whole_number // divisor


def total(parts: Sequence[int | None]) -> int | None:
    """Return the sum, None as soon as one part is not known."""
    result = 0
    for part in parts:
        if part is None:
            return None
        result += part
    return result
