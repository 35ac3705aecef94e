"""Marks around what a script says, for readers that might take it for orders."""

from __future__ import annotations

import re
from typing import Final

from perf_doctor.inert import inert

_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_WORD: Final = r"[\w.+=:/,@\[\]-]*"
_PLAIN: Final = re.compile(rf"{_WORD}|--[\w-]+ {_WORD}")
_MARK: Final = re.compile(r"<(?=\s*/?\s*data\b)", re.IGNORECASE)


def unmarked(text: str) -> str:
    """Return text in which nothing can be taken for a mark."""
    return _MARK.sub("‹", text)


def data(text: str) -> str:
    """Return text that may be a script's on one line between marks that it cannot hold itself."""
    return f"<data>{unmarked(inert(text))}</data>"


def quoting(text: str) -> str:
    """Return a rule's sentence, marked as data where it quotes more than words.

    It quotes a script in code spans. A single word, or a flag with its value, tells nobody anything
    but itself; from more than that on the sentence is marked, and so is one whose quotation was
    cut.
    """
    spans = [match[2] for match in _SPAN.finditer(text)]
    clean = all(map(_PLAIN.fullmatch, spans)) and "`" not in _SPAN.sub("", text)
    return inert(text) if clean and not _MARK.search(text) else data(text)
