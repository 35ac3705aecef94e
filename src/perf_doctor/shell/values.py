"""Values of variables: text in which some parts may be unknown, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_VALUE_CHARS
from perf_doctor.shell.model import Place, Unknown

Parts = tuple[str | Unknown, ...]
Kind = Literal["", "i", "A"]


class Origin(NamedTuple):
    """Where a word was written that is now a function's argument; group ``""`` on its command."""

    place: Place
    group: str


class Value(NamedTuple):
    """The text of a variable or a word.

    ``overridable_by`` names the environment variables (or positional parameters) whose
    default is in the text; ``undecided`` holds the branches that could not be decided and
    on which the text depends. ``origin`` is set while the text is a function's argument.
    """

    parts: Parts = ()
    overridable_by: tuple[str, ...] = ()
    undecided: tuple[int, ...] = ()
    origin: Origin | None = None

    @property
    def known(self) -> str | None:
        """The text, or None when a part of it is unknown."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        if any(isinstance(part, Unknown) for part in self.parts):
            return None
        return "".join(str(part) for part in self.parts)

    @property
    def text(self) -> str:
        """The text as it is shown, unknown parts written ``${NAME}``."""
        if len(self.parts) == 1:
            return str(self.parts[0])
        return "".join(map(str, self.parts))

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """The unknown parts, in order."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return ()
        return tuple(part for part in self.parts if isinstance(part, Unknown))

    @property
    def empty(self) -> bool | None:
        """Whether the text is empty; None when that cannot be known."""
        if any(isinstance(part, str) and part for part in self.parts):
            return False
        if not self.unknown:
            return True
        return False if any(part.required for part in self.unknown) else None

    def with_text(self, text: str) -> Value:
        """Return a text made from this one: it comes from the same defaults and branches."""
        return Value((text,) if text else (), self.overridable_by, self.undecided)


EMPTY = Value()


def literal(text: str) -> Value:
    """Return a value that is known to be ``text``."""
    return Value((text,)) if text else EMPTY


def join(values: Iterable[Value], separator: str = "") -> Value:
    """Return the concatenation, cut to an unknown where it grows beyond any sensible value."""
    values = list(values)
    if len(values) == 1:
        return values[0]
    texts: list[str] = []
    for value in values:
        known = value.known
        if known is None or value.overridable_by or value.undecided:
            return _join_marked(values, separator)
        texts.append(known)
    text = separator.join(texts)
    return literal(text) if len(text) <= MAX_VALUE_CHARS else _too_long()


_UNKNOWN_CHARS: Final = 1024  # an unknown part counts for this many: they, too, can double


def _join_marked(values: list[Value], separator: str) -> Value:
    parts: list[str | Unknown] = []
    overridable: dict[str, None] = {}
    undecided: dict[int, None] = {}
    length = 0
    for index, value in enumerate(values):
        if index and separator:
            parts.append(separator)
        for part in value.parts:
            parts.append(part)
            length += len(part) if isinstance(part, str) else _UNKNOWN_CHARS
        if value.overridable_by:
            overridable.update(dict.fromkeys(value.overridable_by))
        if value.undecided:
            undecided.update(dict.fromkeys(value.undecided))
    if length > MAX_VALUE_CHARS:
        parts = list(_too_long().parts)
    return Value(merged(parts), tuple(overridable), tuple(undecided))


def _too_long() -> Value:
    reason = said("longer than {limit} characters", limit=MAX_VALUE_CHARS)
    return Value((Unknown("too-long", reason),))


def merged(parts: Iterable[str | Unknown]) -> Parts:
    """Return the parts with neighbouring texts joined and empty ones dropped."""
    out: list[str | Unknown] = []
    text: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text.append(part)
            continue
        if text and (whole := "".join(text)):
            out.append(whole)
        text.clear()
        out.append(part)
    if text and (whole := "".join(text)):
        out.append(whole)
    return tuple(out)


class Element(NamedTuple):
    """A word of an array: its value, where it is written and the array it was written in."""

    value: Value
    place: Place
    group: str | None = None

    def argument(self) -> Value:
        """Return the value as a function gets it: it still knows where it was written."""
        if self.value.origin is not None:
            return self.value
        value = self.value
        origin = Origin(self.place, self.group or "")
        return Value(value.parts, value.overridable_by, value.undecided, origin)


@frozen
class Variable:
    """A shell variable: a scalar, or an array when ``elements`` is not None.

    ``kind`` is ``i`` for an integer and ``A`` for an associative array, which is not evaluated.
    """

    value: Value = EMPTY
    elements: tuple[Element, ...] | None = None
    place: Place | None = None
    exported: bool = False
    kind: Kind = ""

    @property
    def scalar(self) -> Value:
        """What ``$name`` expands to: the scalar, or the first element of an array."""
        if self.elements is None:
            return self.value
        return self.elements[0].value if self.elements else EMPTY

    def marked(self, site: int) -> Variable:
        """Return the variable as one that depends on the undecided branch ``site``."""
        elements = self.elements
        if elements is not None:
            elements = tuple(Element(_marked(e.value, site), e.place, e.group) for e in elements)
        return replace(self, value=_marked(self.value, site), elements=elements)


def _marked(value: Value, site: int) -> Value:
    return Value(value.parts, value.overridable_by, (*value.undecided, site))
