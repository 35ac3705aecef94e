"""What a key may hold, by its kind: a value of the file is returned checked, or refused.

A configuration lies in the tree of a script and is trusted as little: a path it names must stay
inside that tree, links followed, or the file could open what the script itself may not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from perf_doctor.configuration.keys import Key, Kind, told
from perf_doctor.inert import inert
from perf_doctor.rules.position import nearest_name
from perf_doctor.shell.limits import MAX_PATH_CHARS

T = TypeVar("T")


class Home(NamedTuple):
    """Where a configuration lies: its own folder, and the tree that its paths stay in."""

    folder: str
    tree: str


class Refused(Exception):
    """A value that its key may not hold; the text says what is wrong, behind the key's name."""


def checked(key: Key, value: object, home: Home) -> object:
    """Return the value as the program takes it: paths absolute, ids in capitals, tables frozen.

    Raises ``Refused``.
    """
    return _READERS[key.kind](key, value, home)


def _card(key: Key, value: object, home: Home) -> str:
    from perf_doctor.plan.gpu import UnknownGpuError, find_gpu  # noqa: PLC0415 - few name one

    name = _text(value)
    try:
        find_gpu(name)
    except UnknownGpuError as error:
        raise Refused(inert(str(error)).removeprefix("--gpu ")) from None
    return name


def _number(key: Key, value: object, home: Home) -> float:
    whole = key.kind == "whole number"
    right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not right or not key.least <= value <= key.most:  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        wanted = f"must be {kind} from {key.least:,} to {key.most:,} {key.unit}".rstrip()
        raise Refused(f"{wanted}, not {told(value)}")
    return value  # type: ignore[return-value]


def _choice(key: Key, value: object, home: Home | None = None) -> str:
    if not isinstance(value, str) or value not in key.choices:
        close = nearest_name(value, list(key.choices)) if isinstance(value, str) else None
        hint = f"; did you mean {close}?" if close else ""
        raise Refused(f"must be one of {', '.join(key.choices)}, not {told(value)}{hint}")
    return value


def _switch(key: Key, value: object, home: Home) -> bool:
    if not isinstance(value, bool):
        raise Refused(f"must be true or false, not {told(value)}")
    return value


def _path(key: Key, value: object, home: Home) -> str:
    return _inside(value, home)


def _files(key: Key, value: object, home: Home) -> tuple[str, ...]:
    return tuple(_inside(file, home) for file in _list(value, "files"))


def _rules(key: Key, value: object, home: Home | None = None) -> tuple[str, ...]:
    return tuple(_rule(each) for each in _list(value, "rule ids"))


def _rules_by_file(key: Key, value: object, home: Home) -> Mapping[str, tuple[str, ...]]:
    rows = _rows(value, "globs with lists of rule ids", lambda ids: _rules(key, ids))
    return MappingProxyType({_text(glob): ids for glob, ids in rows})


def _severity_by_rule(key: Key, value: object, home: Home) -> Mapping[str, str]:
    rows = _rows(value, "rule ids with their severity", lambda severity: _choice(key, severity))
    return MappingProxyType({_rule(rule): severity for rule, severity in rows})


_READERS: Final[Mapping[Kind, Callable[[Key, object, Home], object]]] = {
    "card": _card,
    "number": _number,
    "whole number": _number,
    "path": _path,
    "files": _files,
    "rules": _rules,
    "rules by file": _rules_by_file,
    "severity by rule": _severity_by_rule,
    "choice": _choice,
    "switch": _switch,
}


def _inside(value: object, home: Home) -> str:
    """Return a path of the file with links resolved; one that leads out of the tree is refused."""
    path = os.path.realpath(os.path.join(home.folder, _text(value)))
    if path != home.tree and not path.startswith(f"{home.tree.rstrip('/')}/"):
        raise Refused(f"{told(value)} lies outside the tree of the script")
    return path


def _rule(value: object) -> str:
    return _text(value).strip().upper()


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refused(f"must be text, not {told(value)}")
    if "\0" in value or len(value) > MAX_PATH_CHARS:
        raise Refused(f"{told(value)} is longer than {MAX_PATH_CHARS} characters or holds a NUL")
    return value


def _list(value: object, of: str) -> list[object]:
    if not isinstance(value, list):
        raise Refused(f"must be a list of {of}, not {told(value)}")
    return value


def _rows(value: object, of: str, read: Callable[[object], T]) -> Iterator[tuple[str, T]]:
    """Yield the rows of a table as they are read; what is refused is told with its row."""
    if not isinstance(value, dict):
        raise Refused(f"must be a table of {of}, not {told(value)}")
    for name, each in value.items():
        try:
            yield name, read(each)
        except Refused as refused:
            raise Refused(f"{told(name)}: {refused}") from None
