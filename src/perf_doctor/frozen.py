"""Frozen data classes with slots that cost little to define.

``@dataclass(frozen=True, slots=True)`` writes and compiles seven methods for every class. With a
hundred classes that is half the start of the program. Here only ``__init__`` is written for each;
the other methods are the same for all. The type checker refuses assignments, as for a frozen
dataclass; at run time nothing prevents them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Return the class as a dataclass with slots, equal and hashed by its fields."""
    made = dataclass(slots=True, repr=False, eq=False)(cls)
    compared = [each.name for each in fields(made) if each.compare]  # type: ignore[arg-type]
    values = attrgetter(*compared)

    def equal(self: T, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is made else NotImplemented

    def hashed(self: T) -> int:
        return hash(values(self))

    for name, method in (("__eq__", equal), ("__hash__", hashed), ("__repr__", _shown)):
        setattr(made, name, method)
    return made


def _shown(self: object) -> str:
    """Return the class with its fields: ``Place(file='run.sh', line=3, column=1)``."""
    shown = (each for each in fields(self) if each.repr)  # type: ignore[arg-type]
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in shown)
    return f"{type(self).__qualname__}({values})"
