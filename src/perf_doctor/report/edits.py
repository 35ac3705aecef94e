"""A fix as an edit of the script's text: what a person would type, never written anywhere.

A setting is edited where it stands, if its words stand on one line of a file that was read. A new
one is put on a line of its own below a setting the finding is about, or behind it where that line
holds more. What cannot be placed for sure is no edit: the flags of the fix say it anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.launch.settings import Setting
from perf_doctor.report.flags import changed_flags
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.template import FlagChanges

_WORD: Final = r"""(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|\$\{[^{}]*\}|[^\s"'\\()#;|&<>])+"""
"""A word as the shell cuts it, quotes included; command substitutions are none."""
_NOTHING_LEFT: Final = r"\s*(?:\\|#.*)?$"


class _Span(NamedTuple):
    """Where a setting stands in its line: indices of characters, the end not included."""

    file: str
    line: int
    start: int
    end: int
    in_array: bool


class _Change(NamedTuple):
    """Text to stand in place of a span; ``below`` is what is put on lines of its own under it."""

    span: _Span
    text: str
    below: tuple[str, ...] = ()


def edited(diagnosis: Diagnosis, finding: Finding) -> Mapping[str, str]:
    """Return the text of every file that the fix changes, as it would be then.

    Empty where the fix has no flags, or one of them cannot be placed in the files for sure.
    """
    changes = finding.fix.changes
    if not (changes.set or changes.unset):
        return {}
    lines = {file: text.split("\n") for file, text in diagnosis.texts.items()}
    found = _changes(diagnosis, finding, lines)
    return {} if found is None else _applied(lines, found)


def _changes(
    diagnosis: Diagnosis, finding: Finding, lines: Mapping[str, list[str]]
) -> list[_Change] | None:
    """Return what to change where, None where that is not known of every flag."""
    settings, changes = diagnosis.job.settings, finding.fix.changes
    found: list[_Change] = []
    new: list[str] = []
    for flag, value in changes.set.items():
        text = changed_flags(FlagChanges({flag: value}, ()))
        setting = settings.given(flag)
        if diagnosis.redactor.redact(text) != text:
            return None
        if setting is None:
            new.append(text)
            continue
        span = _span(setting, lines)
        if span is None:
            return None
        found.append(_Change(span, text))
    for flag in changes.unset:
        last = settings.given(flag)
        for setting in () if last is None else (last, *last.overrides):
            span = _span(setting, lines)
            if span is None:
                return None
            found.append(_Change(span, ""))
    if new:
        removed = {change.span for change in found if not change.text}
        anchor = next((s for s in _anchors(diagnosis, finding, lines) if s not in removed), None)
        if anchor is None:
            return None
        _add(found, anchor, tuple(new), lines)
    return found


def _add(
    found: list[_Change], anchor: _Span, new: tuple[str, ...], lines: Mapping[str, list[str]]
) -> None:
    """Put new settings below the anchor, which may be changed itself."""
    own = next((change for change in found if change.span == anchor), None)
    if own is not None:
        found.remove(own)
    kept = lines[anchor.file][anchor.line - 1][anchor.start : anchor.end]
    found.append(_Change(anchor, own.text if own else kept, new))


def _anchors(
    diagnosis: Diagnosis, finding: Finding, lines: Mapping[str, list[str]]
) -> Iterator[_Span]:
    """Yield settings that a new one may stand below: the finding's own, then the script's last."""
    places = {(row.file, row.line, row.column) for row in finding.setting}
    settings = list(diagnosis.job.settings)
    near = [s for s in settings if (s.place.file, s.place.line, s.place.column) in places]
    arrays = [s for s in settings if s.group and s.place.file == diagnosis.script]
    for setting in (*near, *reversed(arrays), *reversed(settings)):
        span = _span(setting, lines)
        if span is not None:
            yield span


def _span(setting: Setting, lines: Mapping[str, list[str]]) -> _Span | None:
    """Return where a setting stands, None unless each of its words is one of the same line."""
    place = setting.place
    rows = lines.get(place.file, [])
    if not 1 <= place.line <= len(rows):
        return None
    text, end = rows[place.line - 1], 0
    for number, word in enumerate(setting.words):
        at = word.place.column - 1
        if (word.place.file, word.place.line) != (place.file, place.line) or at < end:
            return None
        written = re.compile(_WORD).match(text, at)
        if written is None or (number == 0 and not written[0].startswith(setting.flag)):
            return None
        end = written.end()
    if text[end : end + 1] not in ("", " ", "\t", ")", "\\"):
        return None
    return _Span(place.file, place.line, place.column - 1, end, setting.group is not None)


def _applied(lines: Mapping[str, list[str]], changes: Iterable[_Change]) -> dict[str, str]:
    """Return the changed files; what stands last is changed first, so that places stay right."""
    files: dict[str, list[str]] = {}
    for change in sorted(changes, key=lambda change: change.span, reverse=True):
        rows = files.setdefault(change.span.file, list(lines[change.span.file]))
        at = change.span.line - 1
        rows[at : at + 1] = _rewritten(rows[at], change)
    return {file: "\n".join(rows) for file, rows in files.items()}


def _rewritten(line: str, change: _Change) -> list[str]:
    """Return the lines that stand in place of one."""
    span = change.span
    head, tail = line[: span.start], line[span.end :]
    if not change.text:
        kept = f"{head}{tail.lstrip()}" if not head.strip() else f"{head.rstrip()}{tail}"
        return [] if re.match(_NOTHING_LEFT, kept) else [kept]
    goes_on = tail.strip() == "\\"
    alone = not head.strip() and re.match(_NOTHING_LEFT, tail)
    if alone and (goes_on or span.in_array):
        more = " \\" if goes_on else ""
        return [f"{head}{change.text}{tail}", *(f"{head}{text}{more}" for text in change.below)]
    return [f"{head}{' '.join((change.text, *change.below))}{tail}"]
