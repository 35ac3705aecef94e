"""Reads a piece of shell text as the reader of scripts does, for tests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from perf_doctor.shell.model import Script
from perf_doctor.shell.reader import STDIN_NAME, Surroundings, read_script


def starts_with_ray(words: list[str]) -> int | None:
    """Say that every command ``ray`` is a launch whose program is its first word."""
    return 0 if words[0] == "ray" else None


def read(
    text: str | bytes, env: Mapping[str, str] | None = None, args: Sequence[str] = ()
) -> Script:
    """Return the reading of a text."""
    data = text if isinstance(text, bytes) else text.encode()
    surroundings = Surroundings(environment=env or {}, arguments=args)
    return read_script(STDIN_NAME, surroundings, starts_with_ray, text=data)


def launches(script: Script, run: int = 0) -> list[list[str]]:
    """Return the arguments of the launches of one way through a script."""
    return [[word.text for word in launch.words[1:]] for launch in script.runs[run].launches]


def agrees(script: Script, truth: Sequence[Sequence[str]]) -> bool:
    """Say whether the default way is what bash did, where it claims to know.

    An unknown part may stand for any text, and a word with one for any number of words: unquoted,
    it may be split or vanish. An error may end bash early, but never the reading.
    """
    found = script.runs[0].launches
    if len(found) < len(truth):
        return False
    for launch, words in zip(found, truth, strict=False):
        pattern = "".join(_pattern(word.text, [str(u) for u in word.unknown])
                          for word in launch.words[1:])  # fmt: skip
        if not re.fullmatch(pattern, "".join(f"{word}\0" for word in words), re.DOTALL):
            return False
    return True


def is_certain(script: Script) -> bool:
    """Say whether nothing in the launches of the default way is unknown."""
    return not any(word.unknown for launch in script.runs[0].launches for word in launch.words)


def is_understood(script: Script) -> bool:
    """Say whether the parser of the syntax tree made sense of all the text."""
    return not any("not understood" in note.text for note in script.runs[0].notes)


def _pattern(text: str, unknown: Sequence[str]) -> str:
    pattern = re.escape(text) + "\0"
    for part in unknown:
        pattern = pattern.replace(re.escape(part), ".*", 1)
    return pattern if not unknown else f"(?:{pattern})?"
