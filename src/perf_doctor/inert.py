"""Makes text that came from a script harmless, wherever it is shown.

A script is untrusted: its values may hold terminal escapes, text that runs right to left, and
markdown. Everything a report shows and the project did not write goes through here.
"""

from __future__ import annotations

import re
from typing import Final

MAX_SHOWN_CHARS: Final = 160
CUT: Final = "…"
"""What stands where a text was shortened."""

_MARKUP = re.compile(r"([\\<\[\]*`]|(?<![^\W_])_|_(?![^\W_])|~(?=~))")
"""What begins markup inside a line; an underscore between letters does not."""
_PLAIN = re.compile(r"(?!www\.)[A-Za-z0-9](?:[A-Za-z0-9_.+-]*[A-Za-z0-9])?")
_BACKTICKS = re.compile("`+")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_WIDE_SPACE = "\u3000"  # the space of Chinese text
_NAMES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def inert(text: str) -> str:
    """Return the text on one line, with every character that is not plain text made visible.

    That is what terminals obey, what turns the direction of writing, and what cannot be seen.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == _WIDE_SPACE else _visible(c) for c in text)


def _visible(char: str) -> str:
    if char in _NAMES:
        return _NAMES[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, limit: int = MAX_SHOWN_CHARS) -> str:
    """Return the text, cut in the middle where it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[:half]}{CUT}{text[-half:]}"


def code(text: str) -> str:
    """Return markdown that shows the text literally, whatever it holds."""
    shown = inert(text)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or not shown.strip() or shown[0] == " " == shown[-1] else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def plain_or_code(text: str) -> str:
    """Return a plain word or file name as it is, and anything else shown literally."""
    return text if _PLAIN.fullmatch(text) else code(text)


def prose(text: str) -> str:
    """Return a rule's sentence as markdown: its code spans stand, all other markup is literal."""
    text = inert(text)
    out: list[str] = []
    done = 0
    for span in _CODE_SPAN.finditer(text):
        out += [_literal(text[done : span.start()]), span.group()]
        done = span.end()
    return "".join([*out, _literal(text[done:])])


def _literal(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)
