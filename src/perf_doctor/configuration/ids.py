"""What a configuration says about single rules, against the script and the rules there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from perf_doctor.configuration.find import Configuration, ConfigurationError
from perf_doctor.configuration.keys import told
from perf_doctor.inert import inert
from perf_doctor.rules.position import nearest_name


def ignored_in(configuration: Configuration, script: str) -> tuple[str, ...]:
    """Return the ids, or beginnings of ids, that ``per-file-ignores`` names for a script.

    A glob is compared with the script's path from the configuration's folder on: ``*`` and ``?``
    stay inside a name, ``**`` stands for any folders, also none.
    """
    path = os.path.relpath(os.path.realpath(script), configuration.folder).split("/")
    table = cast("dict[str, tuple[str, ...]]", configuration.values.get("per-file-ignores", {}))
    found = (ids for glob, ids in table.items() if _matches(glob.split("/"), path))
    return tuple(dict.fromkeys(each for ids in found for each in ids))


def check_ids(configuration: Configuration, known: Iterable[str]) -> None:
    """Raise ``ConfigurationError`` for the first id in the file that no known rule has.

    In lists a beginning of ids will do; ``severity`` names a rule by its whole id.
    """
    ids = list(known)
    for key, wanted in _named(configuration):
        whole = key == "severity"
        if any(each == wanted if whole else each.startswith(wanted) for each in ids):
            continue
        close = nearest_name(wanted, ids)
        meant = f"; did you mean {close}?" if close else ""
        what = f"no rule is called {told(wanted)}{meant}"
        raise ConfigurationError(f"{inert(configuration.origin)}: {key}: {what}")


def _named(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Yield every id of the file with the key it stands under."""
    values = configuration.values
    for key in ("select", "ignore", "severity"):
        yield from ((key, each) for each in cast("Iterable[str]", values.get(key, ())))
    table = cast("dict[str, tuple[str, ...]]", values.get("per-file-ignores", {}))
    yield from (("per-file-ignores", each) for ids in table.values() for each in ids)


def _matches(globs: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether a path is what a glob means, both cut at their slashes.

    ``reached`` holds how many names the globs so far can have taken, so that the time is at most
    one product, however many ``**`` there are.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415 - few configurations name files

    reached = {0}
    for glob in globs:
        if glob == "**":
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], glob)}
        if not reached:
            return False
    return len(names) in reached
