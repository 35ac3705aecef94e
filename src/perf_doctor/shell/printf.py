"""The ``printf`` builtin: formats that launch scripts use to build lists and names."""

from __future__ import annotations

import re
from typing import Final

from perf_doctor.shell.limits import MAX_WORDS
from perf_doctor.shell.model import Unknown
from perf_doctor.shell.values import Value, join, literal

_DIRECTIVE: Final = re.compile(
    r"%(?P<flags>[-+ 0#]*)(?P<width>\d{0,3})(?:\.(?P<precision>\d{0,3}))?(?P<kind>.)"
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", '"': '"', "a": "\a"}


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


def _unknown() -> Value:
    return Value((Unknown("printf", "a format that is not evaluated"),))


def _pieces(text: str) -> list[str | re.Match[str]]:
    """Return literal texts, escapes resolved, and directives in order."""
    pieces: list[str | re.Match[str]] = []
    at = 0
    while at < len(text):
        if text[at] == "%" and (match := _DIRECTIVE.match(text, at)):
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
        value = argument if argument is not None else literal("")
        known = value.known
        if known is None:
            return value if not width else None
        if kind == "b":
            known = known.replace("\\n", "\n").replace("\\t", "\t")
        if match["precision"] is not None:
            known = known[: int(match["precision"] or 0)]
        padded = known.ljust(width) if left else known.rjust(width)
        return Value((padded,) if padded else (), value.overridable_by, value.undecided)
    if kind in "dixXo":
        return _number(match, argument, width)
    return None


def _number(match: re.Match[str], argument: Value | None, width: int) -> Value | None:
    text = argument.known if argument is not None else "0"
    try:
        number = int(text or "0", 0) if text is not None else None
    except ValueError:
        return None
    if number is None:
        return None
    kind = "d" if match["kind"] == "i" else match["kind"]
    zero = "0" if "0" in match["flags"] and "-" not in match["flags"] else ""
    plain = format(number, f"{zero}{width or ''}{kind}")
    if "-" in match["flags"]:
        plain = format(number, kind).ljust(width)
    mark = argument if argument is not None else Value()
    return Value((plain,), mark.overridable_by, mark.undecided)
