"""The ``printf`` builtin: formats that launch scripts use to build lists and names."""

from __future__ import annotations

import re
from typing import Final

from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_WORDS
from perf_doctor.shell.model import Unknown
from perf_doctor.shell.values import EMPTY, Value, join, literal

_DIRECTIVE: Final = (
    r"%(?P<flags>[-+ 0#]*)(?P<width>\d{0,3})(?:\.(?P<precision>\d{0,3}))?(?P<kind>.)"
)
_NUMBER: Final = r"[-+]?(?:0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,20}|[1-9][0-9]{0,18})?"
_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "a": "\a", "b": "\b",
    "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}  # fmt: skip


def format_words(arguments: list[Value]) -> Value:
    """Return what ``printf FORMAT ARGUMENT…`` prints; the format is reused for further ones.

    A directive outside ``%s %d %i %b %x %o %%`` or an unknown format makes the text unknown.
    """
    text = arguments[0].known if arguments else ""
    if text is None:
        return _unknown()
    pieces = _pieces(text)
    rest = arguments[1:]
    out: list[Value] = []
    while True:
        before = len(rest)
        for piece in pieces:
            if isinstance(piece, str):
                out.append(literal(piece))
                continue
            made = _directive(piece, rest.pop(0) if rest else None)
            if made is None:
                return _unknown()
            out.append(made)
        if not rest or len(rest) == before or len(out) > MAX_WORDS:
            return join(out)


_ESCAPE: Final = (
    r"(?s)\\(?:(?P<plain>[\\abefnrtvE\"'?])|x(?P<hex>[0-9A-Fa-f]{1,2})"
    r"|(?P<octal>0?[0-7]{1,3})|(?P<other>.|$))"
)

# An end of output, a character by its number, or a byte above ASCII.
_UNSURE: Final = (
    r"(?<!\\)(?:\\\\)*\\"
    r"(?:[cuU]|x[89A-Fa-f]|0?[2-7][0-7][0-7]|[1-9])"
)


def unescape(text: str) -> str | None:
    """Return the text with escapes as ``echo -e`` and ``%b`` resolve them; None when unsure."""
    if re.search(_UNSURE, text):
        return None
    return re.sub(_ESCAPE, _resolved, text)


def _resolved(match: re.Match[str]) -> str:
    if (plain := match["plain"]) is not None:
        return _ESCAPES.get(plain, match.group())
    if match["hex"] or match["octal"]:
        return chr(int(match["hex"], 16) if match["hex"] else int(match["octal"], 8))
    return match.group()


def _unknown() -> Value:
    return Value((Unknown("printf", said("a format that is not evaluated")),))


def _pieces(text: str) -> list[str | re.Match[str]]:
    """Return literal texts, escapes resolved, and directives in order."""
    pieces: list[str | re.Match[str]] = []
    at = 0
    while at < len(text):
        if text[at] == "%" and (match := re.compile(_DIRECTIVE).match(text, at)):
            pieces.append("%" if match["kind"] == "%" else match)
            at = match.end()
        elif text[at] == "\\" and at + 1 < len(text):
            pieces.append(_ESCAPES.get(text[at + 1], "\\" + text[at + 1]))
            at += 2
        else:
            stop = re.compile(r"[%\\]").search(text, at + 1)
            end = stop.start() if stop else len(text)
            pieces.append(text[at:end])
            at = end
    return pieces


def _directive(match: re.Match[str], argument: Value | None) -> Value | None:
    kind = match["kind"]
    width, left = int(match["width"] or 0), "-" in match["flags"]
    if kind in "sb":
        value = argument if argument is not None else EMPTY
        known = value.known
        if known is None:
            return value if not width else None
        if kind == "b":
            unescaped = unescape(known)
            if unescaped is None:
                return None
            known = unescaped
        if match["precision"] is not None:
            known = known[: int(match["precision"] or 0)]
        padded = known.ljust(width) if left else known.rjust(width)
        return value.with_text(padded)
    if kind in "dixXo":
        return _number(match, argument, width)
    return None


def _number(match: re.Match[str], argument: Value | None, width: int) -> Value | None:
    text = argument.known if argument is not None else "0"
    if text is None or not re.fullmatch(_NUMBER, text):
        return None
    number = int(text or "0", 8 if text.lstrip("+-")[:1] == "0" and "x" not in text.lower() else 0)
    if not -(1 << 63) <= number < 1 << 63:
        return None
    flags, kind = match["flags"], "d" if match["kind"] == "i" else match["kind"]
    if "#" in flags or match["precision"] is not None:
        return None
    if number < 0 and kind != "d":
        number += 1 << 64
    sign = "+" if "+" in flags and kind == "d" else " " if " " in flags and kind == "d" else ""
    zero = "0" if "0" in flags and "-" not in flags else ""
    plain = format(number, f"{sign}{zero}{width or ''}{kind}")
    if "-" in flags:
        plain = format(number, sign + kind).ljust(width)
    return (argument if argument is not None else EMPTY).with_text(plain)
