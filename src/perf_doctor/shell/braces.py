"""Brace expansion: ``{a,b}`` and ``{1..8}``, before anything else is expanded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_NESTING, MAX_WORDS, TooMuch
from perf_doctor.shell.words import Literal, Parameter, Part

_RANGE = r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$"
_LETTERS = r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$"
_NAME_GOES_ON = r"[A-Za-z0-9_]+"


def expand_braces(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    """Return the words that brace expansion makes of one word; mostly that word alone."""
    if not any(
        isinstance(part, Literal) and not part.quoted and "{" in part.text for part in parts
    ):
        return [tuple(parts)]
    pieces: list[Part] = []
    for part in parts:
        if isinstance(part, Literal) and not part.quoted:
            pieces.extend(
                Literal(text, quoted=False) for text in re.split(r"([{},])", part.text) if text
            )
        else:
            pieces.append(part)
    return _expand(pieces)


def _expand(pieces: list[Part], depth: int = 0) -> list[tuple[Part, ...]]:
    for begin, piece in enumerate(pieces):
        if not _is(piece, "{"):
            continue
        group = _group(pieces, begin)
        if group is None:
            continue
        end, alternatives = group
        tails = _expand(pieces[end + 1 :], depth + 1)
        inner = [
            one
            for alternative in alternatives
            for one in (_expand(alternative, depth + 1) if depth < MAX_NESTING else [alternative])
        ]
        if len(inner) * len(tails) > MAX_WORDS:
            raise TooMuch(said("braces that expand to more than {limit} words", limit=MAX_WORDS))
        return [_glued([*pieces[:begin], *one, *tail]) for one in inner for tail in tails]
    return [_glued(pieces)]


def _glued(pieces: Sequence[Part]) -> tuple[Part, ...]:
    """Return the pieces with a bare ``$name`` and the letters that now stand behind it as one.

    bash expands braces in the text of a word: ``$A{,x}`` means ``$A`` and ``$Ax``.
    """
    out: list[Part] = []
    for piece in pieces:
        before = out[-1] if out else None
        if (
            isinstance(piece, Literal)
            and not piece.quoted
            and isinstance(before, Parameter)
            and before.bare
            and not before.quoted
            and (match := re.match(_NAME_GOES_ON, piece.text))
        ):
            out[-1] = before._replace(name=before.name + match.group())
            if rest := piece.text[match.end() :]:
                out.append(Literal(rest, quoted=False))
        else:
            out.append(piece)
    return tuple(out)


def _is(piece: Part, mark: str) -> bool:
    return isinstance(piece, Literal) and not piece.quoted and piece.text == mark


def _group(pieces: list[Part], begin: int) -> tuple[int, list[list[Part]]] | None:
    """Return the end of the group that opens at ``begin`` and its alternatives."""
    depth = 0
    alternatives: list[list[Part]] = [[]]
    for at in range(begin, len(pieces)):
        piece = pieces[at]
        if _is(piece, "{"):
            depth += 1
            if depth == 1:
                continue
        elif _is(piece, "}"):
            depth -= 1
            if not depth:
                if len(alternatives) > 1:
                    return at, alternatives
                sequence = _sequence(alternatives[0])
                return (at, sequence) if sequence else None
        elif depth == 1 and _is(piece, ","):
            alternatives.append([])
            continue
        alternatives[-1].append(piece)
    return None


def _sequence(pieces: list[Part]) -> list[list[Part]] | None:
    if not all(isinstance(piece, Literal) and not piece.quoted for piece in pieces):
        return None
    text = "".join(piece.text for piece in pieces if isinstance(piece, Literal))
    if match := re.match(_RANGE, text):
        first, last = int(match[1]), int(match[2])
        step = abs(int(match[3] or 1)) or 1
        width = max(len(end) for end in match.groups()[:2]) if _padded(match) else 0
        if abs(last - first) // step > MAX_WORDS:
            raise TooMuch(said("braces that expand to more than {limit} words", limit=MAX_WORDS))
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        return [[Literal(f"{number:0{width}d}", quoted=False)] for number in numbers]
    if match := re.match(_LETTERS, text):
        low, high = ord(match[1]), ord(match[2])
        step = abs(int(match[3] or 1)) or 1
        codes = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        return [[Literal(chr(code), quoted=False)] for code in codes]
    return None


def _padded(match: re.Match[str]) -> bool:
    return any(len(end.lstrip("-")) > 1 and end.lstrip("-")[0] == "0" for end in match.groups()[:2])
