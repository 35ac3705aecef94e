"""Where everything that is printed goes through: the report, lists, complaints.

Arguments, paths and files of rules are words of a user like those of a script: nothing in them
reaches a terminal as anything but text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from perf_doctor.inert import inert


def put(text: str) -> None:
    """Print a report, which is inert as it is made; as UTF-8, whatever the terminal is set to."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def say(*lines: str) -> None:
    """Print lines, or texts of several lines, inert."""
    put("".join(f"{inert(line)}\n" for line in _split(lines)))


def complain(message: str) -> None:
    """Print one line on standard error, inert."""
    print(f"perf-doctor: {inert(message)}", file=sys.stderr)


def write(text: str, target: str | None, scripts: Sequence[str]) -> bool:
    """Print a report, or write it to a file that is none of the scripts; False when it cannot."""
    if target is None:
        put(text)
        return True
    if any(os.path.realpath(path) == os.path.realpath(target) for path in scripts):
        complain(f"{target}: is the script itself, which is never written")
        return False
    try:
        with open(target, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        complain(f"{target}: cannot be written ({error.strerror})")
        return False
    return True


def _split(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from text.removesuffix("\n").split("\n")
