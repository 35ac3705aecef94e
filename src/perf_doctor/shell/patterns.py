"""Shell patterns: matching and stripping, in time linear in text × pattern, and replacing.

Replacing may look for the pattern at every character; what takes too long is given up. A
pattern is a list of tokens; quoted text is literal. Extended globs are not patterns here: no launch
script uses one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_PATTERN_WORK, MAX_VALUE_CHARS, TooMuch

_CLASSES = {
    "alpha": str.isalpha, "digit": str.isdigit, "alnum": str.isalnum, "upper": str.isupper,
    "lower": str.islower, "space": str.isspace,
}  # fmt: skip


@frozen
class Bracket:
    """``[…]``: single characters, ranges and named classes, perhaps negated."""

    characters: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]
    negated: bool

    def matches(self, char: str) -> bool:
        """Return whether the bracket accepts ``char``."""
        hit = (
            char in self.characters
            or any(low <= char <= high for low, high in self.ranges)
            or any(_CLASSES[name](char) for name in self.classes)
        )
        return hit != self.negated


ANY: Final = ("any character", "")
STAR: Final = ("any text", "")
Token = tuple[str, str] | Bracket  # ("=", c), ANY, STAR or a bracket
Pattern = tuple[Token, ...]


def compile_pattern(pieces: Iterable[tuple[str, bool]]) -> Pattern:
    """Return the pattern made of (text, quoted) pieces."""
    tokens: list[Token] = []
    for text, quoted in pieces:
        if quoted:
            tokens.extend(("=", char) for char in text)
        else:
            _compile_unquoted(text, tokens)
    return tuple(tokens)


def _compile_unquoted(text: str, tokens: list[Token]) -> None:
    at = 0
    while at < len(text):
        char = text[at]
        if char == "*":
            if not tokens or tokens[-1] != STAR:
                tokens.append(STAR)
        elif char == "?":
            tokens.append(ANY)
        elif char == "\\" and at + 1 < len(text):
            at += 1
            tokens.append(("=", text[at]))
        elif char == "[" and (parsed := _bracket(text, at)):
            bracket, at = parsed
            tokens.append(bracket)
        else:
            tokens.append(("=", char))
        at += 1


def _bracket(text: str, at: int) -> tuple[Bracket, int] | None:
    """Return the bracket that opens at ``at`` and the offset of its end."""
    at += 1
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    characters: set[str] = set()
    ranges: list[tuple[str, str]] = []
    classes: list[str] = []
    first = True
    while at < len(text) and (text[at] != "]" or first):
        first = False
        if text.startswith("[:", at) and (close := text.find(":]", at)) > 0:
            if (name := text[at + 2 : close]) in _CLASSES:
                classes.append(name)
            at = close + 2
        elif text[at + 1 : at + 2] == "-" and text[at + 2 : at + 3] not in ("", "]"):
            ranges.append((text[at], text[at + 2]))
            at += 3
        else:
            characters.add(text[at])
            at += 1
    if at >= len(text):
        return None
    return Bracket(frozenset(characters), tuple(ranges), tuple(classes), negated), at


def matches(pattern: Pattern, text: str) -> bool:
    """Return whether the whole text matches."""
    return len(text) in _match_ends(pattern, text, 0)


def strip_prefix(pattern: Pattern, text: str, *, longest: bool) -> str:
    """Return the text without its shortest or longest matching prefix."""
    ends = _match_ends(pattern, text, 0)
    return text[(max(ends) if longest else min(ends)) :] if ends else text


def strip_suffix(pattern: Pattern, text: str, *, longest: bool) -> str:
    """Return the text without its shortest or longest matching suffix."""
    return strip_prefix(pattern[::-1], text[::-1], longest=longest)[::-1]


def replace(
    pattern: Pattern, text: str, replacement: str, *, everywhere: bool, anchor: str = ""
) -> str:
    """Return the text with the longest match replaced, the first or every one.

    ``anchor`` is ``#`` or ``%`` where the match must stand at the start or the end.
    """
    if not pattern:
        return {"#": replacement + text, "%": text + replacement}.get(anchor, text)
    if not text:
        return replacement if matches(pattern, text) else text
    if len(text) * len(replacement) > MAX_VALUE_CHARS and everywhere:
        raise TooMuch(
            said("a replacement that may grow beyond {limit} characters", limit=MAX_VALUE_CHARS)
        )
    if not anchor and (plain := _plain_text(pattern)) is not None:
        return text.replace(plain, replacement, -1 if everywhere else 1)
    if anchor == "%":
        ends = _match_ends(pattern[::-1], text[::-1], 0)
        return text[: len(text) - max(ends)] + replacement if ends else text
    if anchor == "#":
        ends = _match_ends(pattern, text, 0)
        return replacement + text[max(ends) :] if ends else text
    return _replace_anywhere(pattern, text, replacement, everywhere=everywhere)


def _plain_text(pattern: Pattern) -> str | None:
    """Return the text a pattern consists of, None when it is more than text."""
    plain = [token[1] for token in pattern if not isinstance(token, Bracket) and token[0] == "="]
    return "".join(plain) if len(plain) == len(pattern) else None


def _replace_anywhere(pattern: Pattern, text: str, replacement: str, *, everywhere: bool) -> str:
    if len(text) ** 2 * len(pattern) > MAX_PATTERN_WORK:
        raise TooMuch(said("a pattern to be replaced in a long text"))
    out: list[str] = []
    at = 0
    while at < len(text):
        end = max(_match_ends(pattern, text, at), default=at)
        if end == at:
            out.append(text[at])
            at += 1
            continue
        out.append(replacement)
        at = end
        if not everywhere:
            break
    return "".join(out) + text[at:]


def _match_ends(pattern: Pattern, text: str, start: int) -> set[int]:
    """Return every offset at which a match that begins at ``start`` can end."""
    if len(pattern) * len(text) > MAX_PATTERN_WORK:
        raise TooMuch(said("a long pattern on a long text"))
    ends = {start}
    for token in pattern:
        if token == STAR:
            ends = set(range(min(ends), len(text) + 1))
        else:
            ends = {at + 1 for at in ends if at < len(text) and _accepts(token, text[at])}
        if not ends:
            break
    return ends


def _accepts(token: Token, char: str) -> bool:
    if isinstance(token, Bracket):
        return token.matches(char)
    return token == ANY or token[1] == char
