"""Extended regular expressions of ``[[ text =~ pattern ]]``: the part that scripts use.

Only patterns that mean the same to bash and to Python, and that cannot take long, are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from perf_doctor.shell.limits import MAX_REGEX_REPEATS, MAX_REGEX_TEXT_CHARS

_PIECE: Final = (
    r"[A-Za-z0-9_ ,:=/@%&!~#<>'\"-]|[.^$|()?]|\\[.^$|()?*+\[\]{}/-]|(?P<repeat>[*+])"
    r"|\[\^?(?:\[:(?P<name>[a-z]+):\]|[A-Za-z0-9_ .,:=/@%+-])+\]"
)
_CLASSES: Final = {"[:digit:]": "0-9", "[:alpha:]": "A-Za-z", "[:alnum:]": "A-Za-z0-9",
                   "[:upper:]": "A-Z", "[:lower:]": "a-z", "[:space:]": r"\s"}  # fmt: skip


def search(pieces: Iterable[tuple[str, bool]], text: str) -> tuple[str, ...] | bool | None:
    """Return what ``BASH_REMATCH`` holds after a match, False without one, None if not known.

    The pieces are (text, quoted); quoted text stands for itself.
    """
    pattern = ""
    for piece, quoted in pieces:
        translated = re.escape(piece) if quoted else _translated(piece)
        if translated is None:
            return None
        pattern += translated
    repeats = len(re.findall(r"(?<!\\)[*+]", pattern))
    if len(text) > MAX_REGEX_TEXT_CHARS or repeats > MAX_REGEX_REPEATS:
        return None
    try:
        match = re.search(pattern, text, re.ASCII)
    except re.error:
        return None
    return (match[0], *(group or "" for group in match.groups())) if match else False


def _translated(text: str) -> str | None:
    at = 0
    while at < len(text):
        match = re.compile(_PIECE).match(text, at)
        if match is None or (match["repeat"] and text[at - 1 : at] in (")", "")):
            return None
        if match["name"] and f"[:{match['name']}:]" not in _CLASSES:
            return None
        at = match.end()
    for name, members in _CLASSES.items():
        text = text.replace(name, members)
    return text.replace("$", r"\Z") if "\\$" not in text else None
