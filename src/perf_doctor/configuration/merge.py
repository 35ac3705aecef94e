"""Whose word counts: the command line's before the file's before the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from perf_doctor.configuration.find import Configuration
from perf_doctor.configuration.keys import KEYS, Key
from perf_doctor.inert import inert, shortened

COMMAND_LINE: Final = "command line"
DEFAULT: Final = "default"


class Chosen(NamedTuple):
    """The value that holds, and who said it: the command line, a file by its path, or nobody."""

    value: object
    origin: str


def merged(given: Mapping[str, object], configuration: Configuration | None) -> dict[str, Chosen]:
    """Return what holds for every key, by its name.

    ``given`` are the options of the command line as its parser keeps them (``gpus_per_node``);
    None, False and an empty list say nothing. A list that is given replaces the file's.
    """
    return {key.name: _chosen(key, given.get(key.destination), configuration) for key in KEYS}


def settings_lines(settings: Mapping[str, Chosen]) -> Iterator[str]:
    """Yield a line for every setting: ``gpu = H800  ← perf-doctor.toml``."""
    for name, chosen in settings.items():
        yield f"{name} = {shortened(inert(_plain(chosen.value)))}  ← {inert(chosen.origin)}"


def _chosen(key: Key, given: object, configuration: Configuration | None) -> Chosen:
    if given is not None and given is not False and given not in ([], ()):
        return Chosen(_flat(given) if isinstance(given, list) else given, COMMAND_LINE)
    if configuration is not None and key.name in configuration.values:
        return Chosen(configuration.values[key.name], configuration.origin)
    return Chosen(key.default, DEFAULT)


def _flat(parts: Iterable[object]) -> tuple[object, ...]:
    """Return what an option collected, which is a list of its own each time it is given."""
    return tuple(
        each for part in parts for each in (part if isinstance(part, list | tuple) else (part,))
    )


def _plain(value: object) -> str:
    """Return a value as people write it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_plain(each)}" for name, each in value.items()) or "(none)"
    if isinstance(value, tuple | list):
        return " ".join(map(_plain, value)) or "(none)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "(not given)" if value is None else str(value)
