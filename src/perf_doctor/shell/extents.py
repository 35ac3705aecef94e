"""Where words, quotes and expansions end in the text of a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_doctor.shell.limits import MAX_NESTING

if TYPE_CHECKING:
    from perf_doctor.shell.source import Source


def split(source: Source, start: int, end: int, breaks: str = "") -> list[tuple[int, int]]:
    """Return the ranges of the words in a text; a character of ``breaks`` is a word of its own."""
    text = source.text
    ranges: list[tuple[int, int]] = []
    at = begin = start
    while at < end:
        char = text[at]
        if char in " \t\n\r" or char in breaks or text.startswith("\\\n", at):
            if begin < at:
                ranges.append((begin, at))
            if char in breaks:
                ranges.append((at, at + 1))
            at += 2 if char == "\\" else 1
            begin = at
            continue
        at = _behind(source, at, end)
    if begin < end:
        ranges.append((begin, end))
    return ranges


def behind_escapes(text: str, end: int) -> int:
    """Return the end of a word, escaped blanks included that the syntax tree leaves out."""
    while text.startswith("\\", end) and text[end + 1 : end + 2] not in ("", "\n"):
        end += 2
    return end


def _behind(source: Source, at: int, end: int) -> int:
    """Return the offset behind the character, quoted string or expansion at ``at``."""
    text = source.text
    char = text[at]
    if char == "\\":
        return at + 2
    if char == "'":
        return _skip_single(text, at, end) + 1
    if char == '"':
        return _closing_quote(source, at, end, 0) + 1
    if (substitution := source.substitution_end(at)) is not None:
        return substitution
    if text.startswith("${", at):
        return closing_brace(source, at, end, quoted=False) + 1
    if text.startswith("$(", at):
        return closing(text, at + 1, end)
    return at + 1


_BRACKETS = {"(": ")", "[": "]"}


def closing(text: str, at: int, end: int) -> int:
    """Return the offset behind the bracket that closes the one at ``at``, minding quotes."""
    open_, close = text[at], _BRACKETS[text[at]]
    depth = 0
    while at < end:
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'":
            at = _skip_single(text, at, end)
        elif char == '"':
            at = _skip_double(text, at, end)
        elif char == open_:
            depth += 1
        elif char == close:
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return end


def closing_brace(source: Source, at: int, end: int, *, quoted: bool, depth: int = 0) -> int:
    """Return the offset of the brace that closes the ``${`` at ``at``, or ``end``.

    Inside double quotes a single quote is an ordinary character.
    """
    text = source.text
    at += 2
    while at < end and depth < MAX_NESTING:
        char = text[at]
        if char == "}":
            return at
        if char == "\\":
            at += 1
        elif char == "'" and not quoted:
            at = _skip_single(text, at, end)
        elif text.startswith("${", at):
            at = closing_brace(source, at, end, quoted=quoted, depth=depth + 1)
        elif (substitution := source.substitution_end(at)) is not None:
            at = substitution - 1
        elif char == '"':
            at = _closing_quote(source, at, end, depth + 1)
        at += 1
    return end


def _closing_quote(source: Source, at: int, end: int, depth: int) -> int:
    """Return the offset of the quote that closes the one at ``at``, minding ``${…}`` inside."""
    text = source.text
    at += 1
    while at < end and text[at] != '"':
        if text[at] == "\\":
            at += 1
        elif text.startswith("${", at):
            at = closing_brace(source, at, end, quoted=True, depth=depth)
        elif (substitution := source.substitution_end(at)) is not None:
            at = substitution - 1
        at += 1
    return at


def _skip_single(text: str, at: int, end: int) -> int:
    close = text.find("'", at + 1, end)
    return end if close < 0 else close


def _skip_double(text: str, at: int, end: int) -> int:
    at += 1
    while at < end and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at
