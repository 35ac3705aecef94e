"""Makes text that came from a script harmless, wherever it is shown.

A script is untrusted: its values may hold terminal escapes, text that runs right to left, and
markdown. Everything a report shows and the project did not write goes through here.
"""

from __future__ import annotations

import re
from typing import Final

MAX_SHOWN_CHARS: Final = 160

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: terminal control
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"  # invisible, or turns the direction
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_MARKUP = re.compile(r"([\\<\[\]*]|(?<!\w)_|_(?!\w)|~(?=~))")
"""What begins markup inside a line; an underscore within a word does not."""
_USUAL_NAME = re.compile(r"(?!www\.)[A-Za-z0-9<][A-Za-z0-9_.+>-]*")
_BACKTICKS = re.compile("`+")
_NAMES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def inert(text: str) -> str:
    """Return the text on one line, with every character that is not plain text made visible."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    char = match[0]
    if char in _NAMES:
        return _NAMES[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, limit: int = MAX_SHOWN_CHARS) -> str:
    """Return the text, cut in the middle where it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def code(text: str) -> str:
    """Return markdown that shows the text literally, whatever it holds."""
    shown = inert(text)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or not shown.strip() or shown[0] == " " == shown[-1] else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def name(text: str) -> str:
    """Return a file's name as markdown: plain where it is a usual one, else shown literally."""
    return text if _USUAL_NAME.fullmatch(text) else code(text)


def prose(text: str) -> str:
    """Return a rule's sentence as markdown: its code spans stand, all other markup is literal."""
    pieces = inert(text).split("`")
    if len(pieces) % 2 == 0:
        pieces = [*pieces[:-2], pieces[-2] + "'" + pieces[-1]]
    for index in range(0, len(pieces), 2):
        pieces[index] = _MARKUP.sub(r"\\\1", pieces[index])
    return "`".join(pieces)
