"""Flags as people copy them: settings, fixes."""

from __future__ import annotations

import json
import shlex

from perf_doctor.language import said
from perf_doctor.launch.secrets import Redactor
from perf_doctor.rules.judgement import Fix, SettingRow
from perf_doctor.rules.template import FlagChanges


def row_text(row: SettingRow, redactor: Redactor) -> str:
    """Return ``--flag value`` as it stands in the script, secrets masked."""
    if row.value is True:
        return row.flag
    words = redactor.redact_words([row.flag, value_text(row.value)])
    return " ".join(word for word in words if word)


def value_text(value: object) -> str:
    """Return a typed value as text."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(value_text, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def changed_flags(changes: FlagChanges) -> str:
    """Return what to set and to remove, ready to copy: ``--x 1 --y, remove --z``."""
    parts = []
    if changes.set:
        parts.append(
            " ".join(
                flag if value is True else f"{flag} {_quoted(str(value))}"
                for flag, value in changes.set.items()
            )
        )
    if changes.unset:
        parts.append(said("remove {flags}", flags=" ".join(changes.unset)))
    return ", ".join(parts)


def fix_text(fix: Fix) -> str:
    """Return the flags to copy and what is said of them; words that hold the flags stand alone."""
    flags = changed_flags(fix.changes)
    return f"{flags} — {fix.text}" if flags and flags not in fix.text else fix.text


def _quoted(value: str) -> str:
    """Return a value quoted where the shell needs it; several words stay several."""
    if all(part == shlex.quote(part) for part in value.split(" ")):
        return value
    return shlex.quote(value)
