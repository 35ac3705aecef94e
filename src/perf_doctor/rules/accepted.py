"""Findings that a project lives with: a file of them, each by its rule, its flags and their arrays.

Lines do not matter: a finding stays accepted when the script grows above it, and is told again when
another flag, or the same one in another array, is what it is about.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from perf_doctor.language import said
from perf_doctor.rules.judgement import Finding, Judgement
from perf_doctor.shell.files import read_text
from perf_doctor.shell.limits import ScriptError

_KEYS: Final = {"script": str, "rule": str, "settings": list, "reason": str}


class Entry(NamedTuple):
    """A finding that is accepted: in which script, seen from the file's folder, and what it is.

    ``settings`` are ``--flag in ARRAY`` or, on the command itself, ``--flag``, sorted.
    """

    script: str
    rule: str
    settings: tuple[str, ...]


class Accepted:
    """The accepted findings of a file, each with the reason that stands there."""

    def __init__(self, file: str, entries: Iterable[tuple[Entry, str]] = ()) -> None:
        self.file = file
        self.reasons = dict(entries)
        self._used: set[Entry] = set()
        self._judged: dict[str, set[str]] = {}

    def entry(self, script: str, finding: Finding) -> Entry:
        """Return a finding of a script as this file names it."""
        rows = {f"{row.flag} in {row.group}" if row.group else row.flag for row in finding.setting}
        return Entry(self.script(script), finding.rule, tuple(sorted(rows)))

    def script(self, path: str) -> str:
        """Return how this file names a script: as seen from its own folder."""
        folder = os.path.realpath(os.path.dirname(self.file) or ".")
        return os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/")

    def heed(self, judgements: Sequence[Judgement], script: str) -> tuple[Judgement, ...]:
        """Return the judgements with what is accepted suppressed."""
        path = os.path.realpath(script)
        self._judged.setdefault(path, set()).update(judgement.rule for judgement in judgements)
        return tuple(self._heed(judgement, script) for judgement in judgements)

    def stale(self) -> Iterator[Entry]:
        """Yield the entries that fit no finding, of scripts judged by their rule or lost."""
        folder = os.path.dirname(self.file) or "."
        for entry in self.reasons:
            path = os.path.realpath(os.path.join(folder, entry.script))
            judged = entry.rule in self._judged.get(path, ()) or not os.path.exists(path)
            if judged and entry not in self._used:
                yield entry

    def _heed(self, judgement: Judgement, script: str) -> Judgement:
        finding = judgement.finding
        if finding is None or judgement.verdict == "suppressed":
            return judgement
        entry = self.entry(script, finding)
        if entry not in self.reasons:
            return judgement
        self._used.add(entry)
        reason = self.reasons[entry]
        file = os.path.basename(self.file)

        def why() -> str:
            if not reason:
                return said("accepted in {file}", file=file)
            return said("accepted in {file}: {reason}", file=file, reason=reason)

        return replace(judgement, verdict="suppressed", why=why)


def read_accepted(file: str) -> Accepted:
    """Return what a file accepts. Raises ``ScriptError`` in one line for one that is broken."""
    try:
        whole = json.loads(read_text(file))
    except ScriptError as error:
        raise ScriptError(f"{file}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"{file}: is not JSON: {error}") from None
    rows = whole.get("accepted") if isinstance(whole, dict) else None
    if not isinstance(rows, list):
        raise ScriptError(f'{file}: has no list "accepted"; --write-accepted {file} makes one')
    return Accepted(file, (_entry(file, number, row) for number, row in enumerate(rows, 1)))


def _entry(file: str, number: int, row: Any) -> tuple[Entry, str]:
    wrong = f"{file}: entry {number}"
    if not isinstance(row, dict):
        raise ScriptError(f"{wrong} is no object")
    for key, value in row.items():
        if key not in _KEYS:
            raise ScriptError(f"{wrong}: there is no key {key!r}; there is {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise ScriptError(f"{wrong}: {key} must be a {_KEYS[key].__name__}")
    missing = next((key for key in ("script", "rule", "settings") if key not in row), None)
    if missing:
        raise ScriptError(f"{wrong}: {missing} is missing")
    settings = tuple(sorted(map(str, row["settings"])))
    return Entry(row["script"], row["rule"], settings), row.get("reason", "")


def accepted_text(entries: Iterable[tuple[Entry, str]]) -> str:
    """Return a file that accepts these findings, each with its reason."""
    rows = [
        {**entry._asdict(), "settings": list(entry.settings), "reason": reason}
        for entry, reason in sorted(set(entries))
    ]
    return json.dumps({"accepted": rows}, indent=2) + "\n"
