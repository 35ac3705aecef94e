"""Programs that turn standard input into standard output: ``tr``, ``cut``, ``head`` and so on.

Each is a pure function of its arguments and a text, and only the part of the program that launch
scripts use. None means that a form is not evaluated; the output is then unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

Filter = Callable[[list[str], str], str | None]

_CLASSES: Final = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789", "[:space:]": " \t\n\v\f\r", "[:blank:]": " \t",
}  # fmt: skip
_CLASSES["[:alpha:]"] = _CLASSES["[:upper:]"] + _CLASSES["[:lower:]"]
_CLASSES["[:alnum:]"] = _CLASSES["[:digit:]"] + _CLASSES["[:alpha:]"]
_TR_PIECE: Final = r"(?s)(\[:[a-z]+:\])|\\(.)|([!-\[\]-~])-([!-\[\]-~])|(.)"
_TR_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_META: Final = frozenset(".[]*^$\\&")


def lines(text: str) -> list[str]:
    """Return the lines of a text; a last one without newline counts."""
    found = text.split("\n")
    if not found[-1]:
        found.pop()
    return found


def _joined(found: list[str]) -> str:
    return "".join(f"{line}\n" for line in found)


def _tr(arguments: list[str], text: str) -> str | None:
    options = "".join(a[1:] for a in arguments if re.fullmatch(r"-[dsc]+", a))
    sets = [_characters(a) for a in arguments if not re.fullmatch(r"-[dsc]+", a)]
    if len(sets) != (1 if set(options) & set("ds") else 2) or not all(sets) or not text.isascii():
        return None
    first = sets[0] or ""
    if "c" in options:
        if "d" not in options:
            return None
        return "".join(char for char in text if char in first)
    if "d" in options:
        return None if "s" in options else "".join(char for char in text if char not in first)
    if "s" in options:
        return re.sub(f"([{re.escape(first)}])\\1+", r"\1", text)
    second = sets[1] or ""
    second += second[-1] * (len(first) - len(second))
    table = dict(zip(first, second, strict=False))
    return "".join(table.get(char, char) for char in text)


def _characters(text: str) -> str | None:
    """Return the characters that a set of ``tr`` names, in order."""
    out: list[str] = []
    for name, escaped, low, high, plain in re.findall(_TR_PIECE, text):
        if name:
            if name not in _CLASSES:
                return None
            out.append(_CLASSES[name])
        elif escaped:
            if escaped not in _TR_ESCAPES:
                return None
            out.append(_TR_ESCAPES[escaped])
        elif low:
            if low > high:
                return None
            out.extend(map(chr, range(ord(low), ord(high) + 1)))
        elif plain == "[" and ("*" in text or "=" in text):
            return None
        else:
            out.append(plain)
    return "".join(out)


def _cut(arguments: list[str], text: str) -> str | None:
    match = re.fullmatch(
        r"(?:-d ?(?P<delimiter>.) )?-(?P<kind>[fc]) ?(?P<ranges>[0-9,-]+)(?: -d ?(?P<behind>.))?",
        " ".join(arguments),
    )
    if match is None or not text.isascii():
        return None
    wanted = _positions(match["ranges"])
    if wanted is None:
        return None
    if match["kind"] == "c":
        return _joined(["".join(_selected(list(line), wanted)) for line in lines(text)])
    delimiter = match["delimiter"] or match["behind"] or "\t"
    out = []
    for line in lines(text):
        fields = line.split(delimiter)
        out.append(delimiter.join(_selected(fields, wanted)) if len(fields) > 1 else line)
    return _joined(out)


def _positions(text: str) -> list[tuple[int, int]] | None:
    """Return the ranges of ``1,3-5,7-`` as (first, last)."""
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{0,6})(-?)(\d{0,6})", part)
        if match is None or not (match[1] or match[3]) or (match[3] and not match[2]):
            return None
        first = int(match[1] or 1)
        last = int(match[3]) if match[3] else first if not match[2] else 1_000_000
        if first < 1 or last < first:
            return None
        ranges.append((first, last))
    return ranges


def _selected(items: list[str], wanted: list[tuple[int, int]]) -> list[str]:
    return [
        item
        for number, item in enumerate(items, 1)
        if any(first <= number <= last for first, last in wanted)
    ]


def _count(arguments: list[str]) -> tuple[str, int] | None:
    """Return unit and number of ``-n 3``, ``-n3``, ``-3`` or ``-c 3``; ten lines without any."""
    match = re.fullmatch(r"(?:-(?:(?P<unit>[nc]) ?)?(?P<number>\d{1,6}))?", " ".join(arguments))
    return None if match is None else (match["unit"] or "n", int(match["number"] or 10))


def _head(arguments: list[str], text: str) -> str | None:
    return _piece(arguments, text, slice)


def _tail(arguments: list[str], text: str) -> str | None:
    return _piece(arguments, text, lambda number: slice(-number, None) if number else slice(0))


def _piece(arguments: list[str], text: str, span: Callable[[int], slice]) -> str | None:
    """Return the characters or lines of a text that lie in the span of the number asked for."""
    if (count := _count(arguments)) is None:
        return None
    unit, number = count
    if unit == "c":
        return text[span(number)] if text.isascii() else None
    if len(text.splitlines()) != len(lines(text)):
        return None  # Python and the tools do not agree on where its lines end
    return "".join(text.splitlines(keepends=True)[span(number)])


def _wc(arguments: list[str], text: str) -> str | None:
    count = {
        "-l": text.count("\n"),
        "-w": len(text.split()),
        "-c": len(text.encode("utf-8", "replace")),
    }.get("".join(arguments))
    return None if count is None else f"{count}\n"


def _sort(arguments: list[str], text: str) -> str | None:
    options = "".join(argument[1:] for argument in arguments)
    found = lines(text)
    if any(not re.fullmatch(r"-[nru]+", argument) for argument in arguments):
        return None
    if all(re.fullmatch(r"-?\d{1,15}", line) for line in found) and "n" in options:
        found.sort(key=lambda line: (int(line), line), reverse="r" in options)
        if "u" in options and len(set(map(int, found))) != len(set(found)):
            return None
    elif "n" not in options and all(re.fullmatch(r"[a-z]*|[0-9]*", line) for line in found):
        found.sort(reverse="r" in options)  # the order of these is the same in every locale
    else:
        return None
    return _joined(list(dict.fromkeys(found)) if "u" in options else found)


def _uniq(arguments: list[str], text: str) -> str | None:
    found = lines(text)
    kept = [line for at, line in enumerate(found) if not at or line != found[at - 1]]
    return None if arguments else _joined(kept)


def _sed(arguments: list[str], text: str) -> str | None:
    """Replace one plain text by another: ``s/a/b/`` or ``s/a/b/g``."""
    script = arguments[1:] if arguments[:1] == ["-e"] else arguments
    if len(script) != 1 or len(script[0]) < 4 or script[0][0] != "s":
        return None
    separator = script[0][1]
    pieces = script[0][2:].split(separator)
    if separator.isalnum() or len(pieces) != 3 or pieces[2] not in ("", "g"):
        return None
    old, new, flag = pieces
    if not old or _META & set(old) or {"&", "\\", "\n"} & set(new) or not text.isascii():
        return None
    changed = [line.replace(old, new, -1 if flag else 1) for line in lines(text)]
    return _joined(changed) if text.endswith("\n") else "\n".join(changed)


def _grep(arguments: list[str], text: str) -> str | None:
    options = "".join(argument[1:] for argument in arguments[:-1])
    if not re.fullmatch(r"[qcvFEi]*", options) or not arguments:
        return None
    pattern = arguments[-1]
    if pattern.startswith("-") or (
        "F" not in options and not re.fullmatch(r"[\w ,:=/-]*", pattern)
    ):
        return None
    if "i" in options:
        if not (text + pattern).isascii():
            return None
        pattern = pattern.lower()
    found = [
        line
        for line in lines(text)
        if (pattern in (line.lower() if "i" in options else line)) != ("v" in options)
    ]
    return f"{len(found)}\n" if "c" in options else _joined(found)


def _paste(arguments: list[str], text: str) -> str | None:
    match = re.fullmatch(r"-s ?-?d ?([^\\])(?: -)?|-d ?([^\\]) -s(?: -)?", " ".join(arguments))
    if match is None:
        return None
    return f"{(match[1] or match[2]).join(lines(text))}\n"


def _rev(arguments: list[str], text: str) -> str | None:
    return None if arguments else "\n".join(line[::-1] for line in text.split("\n"))


def _xargs(arguments: list[str], text: str) -> str | None:
    """Echo the words, which trims a text."""
    return None if arguments or set(text) & set("'\"\\") else " ".join(text.split()) + "\n"


FILTERS: Final[dict[str, Filter]] = {
    "tr": _tr, "cut": _cut, "head": _head, "tail": _tail, "wc": _wc, "sort": _sort,
    "uniq": _uniq, "sed": _sed, "grep": _grep, "paste": _paste, "rev": _rev, "xargs": _xargs,
}  # fmt: skip
