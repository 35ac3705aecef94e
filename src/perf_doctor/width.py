"""How wide text stands in a terminal: Chinese takes two cells a character and has no spaces."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from perf_doctor.inert import CUT, shortened

_NARROW: Final = re.compile("[\0-\u10ff\u2010-\u22ff\u2500-\u25ff]*")
"""Text of one cell a character for sure; most is, and counting cells needs a large table."""
_OPENING: Final = "（【《「『“‘"
_CLOSING: Final = "，。：；！？）】》」』”’、"
_WIDE: Final = (
    "\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\uffef\U0001f000-\U0003ffff"
)
_WORD: Final = rf"[^{_OPENING}{_CLOSING}{_WIDE}\s]+"
_PIECE: Final = re.compile(
    rf"[{_OPENING}]*(?:{_WORD}(?: %)?|[^{_OPENING}{_CLOSING}\s])[{_CLOSING}]*\s*"
    rf"|\s+|[{_OPENING}{_CLOSING}]+\s*"
)
"""What is not torn apart: a word or a wide character, with the punctuation that holds on to it."""


def narrow(text: str) -> bool:
    """Tell whether every character of a text takes one cell, and words end with spaces alone."""
    return _NARROW.fullmatch(text) is not None


def width(text: str) -> int:
    """Return how many cells a text takes."""
    if narrow(text):
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - English needs none of it

    return cell_len(text)


def left(text: str, cells: int) -> str:
    """Return a text at the left of so many cells."""
    return text + " " * (cells - width(text))


def right(text: str, cells: int) -> str:
    """Return a text at the right of so many cells."""
    return " " * (cells - width(text)) + text


def fitted(text: str, cells: int) -> str:
    """Return a text, cut in the middle where it takes more than so many cells."""
    if narrow(text):
        return shortened(text, cells)
    if width(text) <= cells:
        return text
    half = (cells - 1) // 2
    head, tail = text[:half], text[-half:]
    while width(head) > half:
        head = head[:-1]
    while width(tail) > half:
        tail = tail[1:]
    return f"{head}{CUT}{tail}"


def breaks(text: str, cells: int) -> list[int]:
    """Return where lines of so many cells begin, the first left out.

    A line may end behind any wide character, but punctuation stays where it belongs.
    """
    begins: list[int] = []
    used = 0
    for piece in _PIECE.finditer(text):
        needed = width(piece[0].rstrip())
        if used and used + needed > cells:
            begins.append(piece.start())
            used = 0
        if needed <= cells:
            used += width(piece[0])
            continue
        for at, char in enumerate(piece[0], piece.start()):
            if used and used + width(char) > cells:
                begins.append(at)
                used = 0
            used += width(char)
    return begins


def hanging(lead: str, text: str, cells: int) -> list[str]:
    """Return a text as lines of so many cells, the first behind its lead and the others below."""
    indent = " " * width(lead)
    if narrow(lead + text):
        return textwrap.wrap(lead + text, cells, subsequent_indent=indent, break_on_hyphens=False)
    edges = [0, *breaks(text, cells - len(indent)), len(text)]
    lines = [text[a:b].rstrip() for a, b in pairwise(edges)]
    return [f"{indent if number else lead}{line}" for number, line in enumerate(lines)]


def listed(lead: str, parts: Iterable[str], cells: int) -> list[str]:
    """Return parts, between commas behind a lead, as such lines; no part is torn apart."""
    indent = " " * width(lead)
    lines, line = [], lead
    for part in _followed(parts):
        if line != lead and width(line) + width(part) > cells:
            lines.append(line.rstrip())
            line = indent
        line += f"{part} "
    return [*lines, line.rstrip()]


def _followed(parts: Iterable[str]) -> list[str]:
    """Return the parts with a comma behind each but the last."""
    *others, last = parts
    return [*(f"{part}," for part in others), last]
