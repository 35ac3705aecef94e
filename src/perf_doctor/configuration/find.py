"""The configuration file that goes with a script: found, read and checked.

It is ``perf-doctor.toml``, with the keys at its top, or the table ``[tool.perf-doctor]`` of
``pyproject.toml``. It is looked for upwards from the script's folder, and never above the tree the
script belongs to: what lies there was put there for something else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from perf_doctor.configuration.keys import BY_NAME, told
from perf_doctor.frozen import frozen
from perf_doctor.inert import inert
from perf_doctor.shell.files import read_text, tree_root
from perf_doctor.shell.limits import ScriptError
from perf_doctor.shell.reader import STDIN_NAME

OWN_FILE: Final = "perf-doctor.toml"
SHARED_FILE: Final = "pyproject.toml"
MAX_CONFIGURATION_CHARS: Final = 1 << 17
MAX_DOTS: Final = 100
"""In one line. Reading a dotted key takes time with the square of its parts; people write three."""

_TABLE: Final = r"^[ \t]*\[{1,2}[ \t]*tool[ \t]*\.[ \t]*perf-doctor[ \t]*[\].]"
"""Compiled where there is a ``pyproject.toml`` to search: most trees of scripts have none."""


class ConfigurationError(ScriptError):
    """A configuration file that is not followed; one line: ``file: key: what is wrong``."""


@frozen
class Configuration:
    """What a configuration file says: a checked value for each key that stands in it.

    ``file`` is absolute. ``origin`` is how it is called in reports: as seen from the working folder
    where it lies below that.
    """

    file: str
    values: Mapping[str, object]
    origin: str

    @property
    def folder(self) -> str:
        """The folder that the file's globs are relative to."""
        return os.path.dirname(self.file)


def find(script: str) -> str | None:
    """Return the configuration file nearest to a script, None where its tree has none.

    In one folder ``perf-doctor.toml`` comes before ``pyproject.toml``, which counts where it has a
    table for perf-doctor. For standard input only the working folder is looked at. Raises
    ``ConfigurationError`` where a ``pyproject.toml`` cannot be read.
    """
    for folder in _folders(script):
        own, shared = os.path.join(folder, OWN_FILE), os.path.join(folder, SHARED_FILE)
        if os.path.lexists(own):
            return own
        # one that is a link, a pipe or a folder is nobody's pyproject.toml
        plain = os.path.isfile(shared) and not os.path.islink(shared)
        if plain and re.search(_TABLE, _text(shared), re.MULTILINE):
            return shared
    return None


def read(file: str) -> Configuration:
    """Return what a configuration file says; a key it does not name is left out.

    Raises ``ConfigurationError`` for a file that cannot be read or is not TOML, and for the first
    key that is unknown or holds what it may not.
    """
    # reading the values takes more than a run without a configuration should pay for
    from perf_doctor.configuration.kinds import Home, Refused, checked  # noqa: PLC0415

    folder = os.path.realpath(os.path.dirname(file) or ".")
    path = os.path.join(folder, os.path.basename(file))
    rows = _rows(path)
    home = Home(folder, tree_root(path))
    values: dict[str, object] = {}
    for name, value in rows.items():
        key = BY_NAME.get(name)
        if key is None:
            raise _wrong(path, f"{told(name)} is no key of perf-doctor{_meant(name)}")
        try:
            values[name] = checked(key, value, home)
        except Refused as refused:
            raise _wrong(path, f"{name}: {refused}") from None
    return Configuration(path, MappingProxyType(values), _shown(path))


def _folders(script: str) -> Iterator[str]:
    """Yield the script's folder and those above it, up to the top of its tree."""
    if script == STDIN_NAME:
        yield os.path.realpath(".")
        return
    folder, top = os.path.dirname(os.path.realpath(script)), tree_root(script)
    yield folder
    while folder != top and (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def _rows(path: str) -> dict[str, Any]:
    """Return the keys of a file with their values, as TOML has them."""
    import tomllib  # noqa: PLC0415 - only where there is a configuration

    text = _text(path)
    if len(text) > MAX_CONFIGURATION_CHARS:
        raise _wrong(path, f"is longer than {MAX_CONFIGURATION_CHARS:,} characters")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise _wrong(path, f"line {number} holds more than {MAX_DOTS} dots")
    try:
        rows: Any = tomllib.loads(text)
    except RecursionError:
        raise _wrong(path, "is nested too deep") from None
    except ValueError as error:
        raise _wrong(path, f"is not TOML: {error}") from None
    if os.path.basename(path) == SHARED_FILE:
        for name in ("tool", "perf-doctor"):
            rows = rows.get(name, {})
            if not isinstance(rows, dict):
                raise _wrong(path, f"{name}: must be a table")
    return dict(rows)


def _text(path: str) -> str:
    if os.path.islink(path):
        raise _wrong(path, "is a link, which is not followed")
    try:
        return read_text(path)
    except ScriptError as error:
        raise _wrong(path, str(error)) from None


def _meant(name: str) -> str:
    from perf_doctor.rules.position import nearest_name  # noqa: PLC0415 - only for an error

    close = nearest_name(name, list(BY_NAME))
    return f"; did you mean {close}?" if close else ""


def _wrong(path: str, what: str) -> ConfigurationError:
    return ConfigurationError(f"{inert(_shown(path))}: {inert(what)}")


def _shown(path: str) -> str:
    below = f"{os.path.realpath('.').rstrip('/')}/"
    return path.removeprefix(below)
