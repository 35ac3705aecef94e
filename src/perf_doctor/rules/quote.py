"""Text of a script inside our own prose: quoted, short and inert.

The sentences of a finding are markdown. What comes from a script stands in them as a code span,
so that it can neither format the report, nor link, nor reach the terminal.
"""

from __future__ import annotations

import re

MAX_SHOWN = 160

_PLAIN = re.compile(r"(?!www\.)[A-Za-z0-9](?:[A-Za-z0-9_.+-]*[A-Za-z0-9])?")
_BACKTICKS = re.compile("`+")


class Prose(str):
    """Text that is markdown of our own already and is shown as it is."""

    __slots__ = ()


def quoted(text: str) -> str:
    """Return markdown that shows ``text``: a plain word as it is, anything else as code."""
    if isinstance(text, Prose) or (len(text) <= MAX_SHOWN and _PLAIN.fullmatch(text)):
        return text
    return as_code(text)


def as_code(text: str) -> str:
    """Return a code span with ``text``, shortened in the middle, on one line, nothing hidden."""
    half = MAX_SHOWN // 2
    short = text if len(text) <= MAX_SHOWN else f"{text[:half]}…{text[-half:]}"
    shown = "".join(c if c.isprintable() else _visible(c) for c in short)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or not shown.strip() or shown[0] == " " == shown[-1] else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _visible(character: str) -> str:
    return character.encode("unicode_escape", "replace").decode("ascii")
