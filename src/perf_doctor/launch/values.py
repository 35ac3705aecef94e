"""One word to one typed value, as the converter of its option does it."""

from __future__ import annotations

import json
from typing import Any

from perf_doctor.launch.registry import Option

# SGLang's token counts: 1k is a thousand, 1Ki is 1024, and only the former takes decimals
# (sglang 0.5.12, human_readable_int).
_THOUSANDS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


class RefusedError(ValueError):
    """A word the converter or the list of choices refuses; ``text`` is argparse's message."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def typed(option: Option, text: str) -> Any:
    """Return the value of ``text``; raises ``RefusedError`` where argparse would end the start.

    JSON comes parsed. ``type=bool`` makes every non-empty word true, ``False`` included.
    """
    try:
        value = _convert(option, text)
    except (ValueError, RecursionError) as error:
        kind = "loads" if option.kind == "json" else option.kind
        raise RefusedError(f"invalid {kind} value: {_short(text)}") from error
    if option.choices and value not in option.choices:
        among = ", ".join(repr(choice) for choice in option.choices)
        raise RefusedError(f"invalid choice: {_short(text)} (choose from {among})")
    return value


def _convert(option: Option, text: str) -> Any:
    if option.reads == "human_readable_int":
        return _human_readable_int(text)
    match option.kind:
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "json":
            return json.loads(text)
        case "bool":
            return bool(text)
    return text


def _human_readable_int(text: str) -> int:
    """Return 1024 for ``1Ki`` and 1500 for ``1.5k``."""
    plain = text.strip()
    if plain[-2:] in _BINARY:
        return _digits(plain[:-2]) * _BINARY[plain[-2:]]
    if plain[-1:] in _THOUSANDS:
        whole, _, fraction = plain[:-1].partition(".")
        scale = _THOUSANDS[plain[-1]]
        shift: int = 10 ** len(fraction)
        return _digits(whole + fraction) * scale // shift
    return int(text)


def _digits(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}…")
