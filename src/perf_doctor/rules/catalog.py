"""Rule files: a markdown page that people read and this module reads too.

A rule is a heading ``### R-P05 — title`` and a list of fields, each ``- **Name:** text``.
Text goes on in lines that are indented by two spaces; a nested list belongs to its field.
Outside the rules a page may say what it likes. A line inside a rule that is none of these is an
error: a rule file never loses a rule in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from perf_doctor.rules.position import Located, RuleError, nearest_name
from perf_doctor.shell.model import Place

REQUIRED = ("Category", "Severity", "Trigger", "Why", "Fix", "Skip when")
OPTIONAL = (
    "Framework",
    "Flags",
    "Blocks",
    "Gain",
    "Check",
    "Unless",
    "Cost",
    "Patch",
    "Source",
    "Examples",
)
WITH_ITEMS = ("Check", "Costs", "Patch", "Examples")

_HEADING = re.compile(r"###\s+(?P<id>R-[A-Z]\d{2,})\s+[—–-]\s+(?P<title>\S.*?)\s*$")
_FIELD = re.compile(r"- \*\*(?P<name>[^*:]+):\*\*(?P<space> ?)(?P<text>.*)$")
_ITEM = re.compile(r"(?P<indent>  +)- (?P<text>\S.*)$")
_ID = re.compile(r"R-[CMPS]\d{2,}")
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(slots=True)
class Field:
    """A field of a rule: its text, with continuation lines joined, and its nested list."""

    name: str
    place: Place
    text: Located
    items: list[Located] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    """A rule as it is written: heading and fields, nothing interpreted."""

    id: str
    title: str
    place: Place
    fields: dict[str, Field] = field(default_factory=dict)


class Fields(NamedTuple):
    """The names of the fields that the sections of a page must have, and may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


RULE_FIELDS = Fields(REQUIRED, OPTIONAL)


class Page(NamedTuple):
    """A rule file, split: its rules, the base jobs of its examples, and what is wrong with it."""

    sections: tuple[Section, ...]
    base_jobs: tuple[Field, ...]
    errors: tuple[RuleError, ...]


def read_page(text: str, file: str, fields: Fields = RULE_FIELDS) -> Page:
    """Return the rules of a rule file as they are written; each broken one is one error."""
    reader = _Reader(file, fields)
    for number, line in enumerate(text.splitlines(), start=1):
        reader.line(number, line.rstrip())
    return reader.page()


class _Reader:
    """Goes through the lines once and knows the rule and the field it stands in."""

    def __init__(self, file: str, fields: Fields) -> None:
        self.file = file
        self.fields = fields
        self.sections: list[Section] = []
        self.base_jobs: list[Field] = []
        self.errors: list[RuleError] = []
        self.section: Section | None = None
        self.field: Field | None = None
        self.broken = False  # the rest of a rule that has its error already is not looked at
        self.in_base_jobs = False
        self.in_fence = False

    def line(self, number: int, line: str) -> None:
        """Take one line."""
        if _FENCE.match(line) and self.section is None:
            self.in_fence = not self.in_fence
        elif self.in_fence:
            return
        elif line.startswith("### "):
            self._heading(number, line)
        elif line.startswith(("# ", "## ")):
            self.section = self.field = None
            self.in_base_jobs = line[2:].strip().lower() == "base jobs"
        elif line and not self.broken:
            self._content(number, line)

    def _heading(self, number: int, line: str) -> None:
        self.field, self.broken, self.in_base_jobs = None, False, False
        match = _HEADING.match(line)
        name = match["id"] if match else None
        self.section = Section(name or "?", match["title"] if match else "", self._place(number))
        if match is None:
            self._error(number, 1, "a rule's heading reads '### R-P05 — title'")
        elif not _ID.fullmatch(match["id"]):
            self._error(number, 5, "an id is R-, one of C M P S, and two digits or more")
        else:
            self.sections.append(self.section)

    def _content(self, number: int, line: str) -> None:
        if (match := _FIELD.match(line)) and (self.section or self.in_base_jobs):
            self._field(number, match)
        elif self.section is None and (not self.in_base_jobs or not line.startswith("  ")):
            self.field = None
        elif self.field is not None and (match := _ITEM.match(line)):
            self.field.items.append(self._located(match["text"], number, match.start("text") + 1))
        elif self.field is not None and line.startswith("  "):
            self._continue(number, line)
        else:
            self._error(
                number, 1, "this line belongs to no field; continue a field with two spaces"
            )

    def _field(self, number: int, match: re.Match[str]) -> None:
        text = self._located(match["text"], number, match.start("text") + 1)
        new = Field(match["name"].strip(), self._place(number, 3), text)
        if self.section is None:
            self.base_jobs.append(new)
            self.field = new
            return
        known = [*self.fields.required, *self.fields.optional]
        if new.name not in known:
            nearest = nearest_name(new.name, known)
            self._error(number, 3, f"there is no field {new.name!r}", nearest)
        elif new.name in self.section.fields:
            self._error(number, 3, f"the field {new.name} stands here twice")
        else:
            self.field = self.section.fields[new.name] = new

    def _continue(self, number: int, line: str) -> None:
        assert self.field is not None
        if self.field.items:
            self.field.items[-1] = joined(self.field.items[-1], line, number)
        else:
            self.field.text = joined(self.field.text, line, number)

    def _located(self, text: str, number: int, column: int) -> Located:
        return Located(text, self.file, ((0, number, column),))

    def _place(self, number: int, column: int = 1) -> Place:
        return Place(self.file, number, column)

    def _error(self, number: int, column: int, message: str, nearest: str | None = None) -> None:
        rule = self.section.id if self.section and self.section.id != "?" else None
        place = self._place(number, column)
        self.errors.append(RuleError(message, place, nearest=nearest, rule=rule))
        self.broken = True
        if self.section in self.sections:
            self.sections.remove(self.section)

    def page(self) -> Page:
        """Return what was read, with the errors that only the end shows."""
        for section in self.sections:
            missing = next((n for n in self.fields.required if n not in section.fields), None)
            if missing:
                self.errors.append(
                    RuleError(f"the field {missing} is missing", section.place, rule=section.id)
                )
        broken = {error.rule for error in self.errors}
        whole = tuple(section for section in self.sections if section.id not in broken)
        return Page(whole, tuple(self.base_jobs), tuple(self.errors))


def joined(first: Located, line: str, number: int) -> Located:
    """Return ``first`` with one more line of the file behind it, without the spaces around it."""
    text = line.strip()
    column = len(line) - len(line.lstrip()) + 1
    if not first.text:
        return Located(text, first.file, ((0, number, column),))
    start = (len(first.text) + 1, number, column)
    return Located(f"{first.text} {text}", first.file, (*first.starts, start))


def duplicate_ids(sections: Sequence[Section], taken: Mapping[str, Place]) -> Iterable[RuleError]:
    """Yield an error for every rule whose id is taken, or was by a section before it."""
    seen = dict(taken)
    for section in sections:
        first = seen.setdefault(section.id, section.place)
        if first is not section.place:
            yield RuleError(
                f"this id is taken ({first.file}:{first.line})", section.place, rule=section.id
            )
