"""Known-good configurations: a markdown page that people read and this module reads too.

A configuration is a heading ``### Qwen3-4B, 8 GPUs, colocate`` and a list of fields, each
``- **Name:** text`` with continuation lines indented by two spaces, as in a rule file. Outside the
configurations a page may say what it likes; a line inside one that is no field is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeVar, cast, get_args

from perf_doctor.data import table
from perf_doctor.frozen import frozen
from perf_doctor.launch.model_name import known_model
from perf_doctor.launch.settings import Settings, read_settings
from perf_doctor.plan.accelerator import Accelerator
from perf_doctor.plan.modality import Modality
from perf_doctor.plan.roles import Mode
from perf_doctor.rules.catalog import Field, joined
from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.model import CatalogError
from perf_doctor.rules.position import Located, RuleError, nearest_name
from perf_doctor.shell.files import read_text
from perf_doctor.shell.model import Place, Word

REQUIRED: Final = (
    "Model", "GPUs", "Mode", "Data", "Settings", "Measured", "Source", "Date", "Good for",
)  # fmt: skip
OPTIONAL: Final = ("Card", "Accelerator", "Leaves out", "Note")
MODES: Final = get_args(Mode)
MODALITIES: Final = get_args(Modality)
ACCELERATORS: Final = get_args(Accelerator)
NOT_MEASURED: Final = "in use, not measured here"
NAME: Final = "baselines.md"
BUILT_IN: Final = f"{__file__.removesuffix('rules/baselines.py')}skill/references/{NAME}"

T = TypeVar("T")

_FIELD = re.compile(r"- \*\*(?P<name>[^*:]+):\*\* ?(?P<text>.*)$")
_GPUS = re.compile(r"(?P<gpus>[1-9]\d{0,5})(?: \((?P<roles>[^()]+)\))?$")
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?$")


@frozen
class Baseline:
    """A configuration that is known to work.

    ``models``: names of the table of architectures that share its shape. ``settings``: what it
    passes, ``leaves_out``: options it runs without; it says nothing about any other. ``measured``
    is None for one that is in use and was not measured. ``date``: of the source, ISO 8601.
    """

    title: str
    models: tuple[str, ...]
    gpus: int
    mode: str
    modality: str
    accelerator: str
    settings: Settings
    leaves_out: tuple[str, ...]
    measured: str | None
    source: str
    date: str
    good_for: str
    place: Place

    @property
    def task(self) -> str:
        """Reinforcement learning or supervised fine-tuning."""
        return "sft" if self.mode == "sft" else "rl"


def load_baselines(
    texts: Iterable[tuple[str, str]], model: str | None = None
) -> tuple[Baseline, ...]:
    """Return the configurations of these texts, each with the name of its file.

    With ``model``, a name of the table of architectures, only those of that model are worked out
    and returned: a page of many costs a report no time.

    Raises:
        CatalogError: one is broken; every broken one is named, with one error each.
    """
    found: dict[str, Baseline] = {}
    errors: list[RuleError] = []
    for text, file in texts:
        reader = _Reader(file)
        for number, line in enumerate(text.splitlines(), start=1):
            reader.line(number, line.rstrip())
        errors += reader.errors
        for section in reader.sections:
            if model is not None and not section.is_about(model):
                continue
            try:
                baseline = _Compiler(section).baseline()
                first = found.setdefault(baseline.title, baseline)
                if first is not baseline:
                    raise _taken(section, first.place)
            except RuleError as error:
                errors.append(error)
    if errors:
        raise CatalogError(sorted(errors, key=lambda e: (e.place.file, e.place.line)))
    return tuple(found.values())


@cache
def built_in_baselines(model: str | None = None) -> tuple[Baseline, ...]:
    """Return the configurations that come with the program, with ``model`` only those of one.

    ``model`` may be any name of it; one that nobody knows has none.
    """
    known = known_model(model) if model is not None else None
    if model is not None and known is None:
        return ()
    return load_baselines([(read_text(BUILT_IN), NAME)], known)


# --- reading a page -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Section:
    """A configuration as it is written."""

    title: str
    place: Place
    fields: dict[str, Field] = field(default_factory=dict)
    broken: bool = False

    def is_about(self, model: str) -> bool:
        """Tell whether the section names this model."""
        written = self.fields.get("Model")
        if written is None:
            return False
        return model in (name.strip() for name in written.text.text.split(","))


class _Reader:
    """Goes through the lines once; the first mistake in a section ends it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.all: list[_Section] = []
        self.errors: list[RuleError] = []
        self.section: _Section | None = None
        self.field: Field | None = None
        self.in_fence = False

    @property
    def sections(self) -> list[_Section]:
        """The sections without a mistake so far."""
        return [section for section in self.all if not section.broken]

    def line(self, number: int, line: str) -> None:
        """Take one line."""
        if self.section is None and line.lstrip().startswith(("```", "~~~")):
            self.in_fence = not self.in_fence
        elif self.in_fence:
            return
        elif line.startswith("###") and line.lstrip("#")[:1] in ("", " "):
            self._heading(number, line)
        elif line.startswith(("# ", "## ")):
            self.section = self.field = None
        elif line and self.section is not None and not self.section.broken:
            self._content(number, line)

    def _heading(self, number: int, line: str) -> None:
        self.field = None
        title = line[4:].strip() if line.startswith("### ") else ""
        self.section = _Section(title or "?", Place(self.file, number, 1))
        self.all.append(self.section)
        if not title:
            self._error(number, 1, "a heading reads '### Qwen3-4B, 8 GPUs, colocate'")

    def _content(self, number: int, line: str) -> None:
        assert self.section is not None
        if match := _FIELD.match(line):
            self._field(number, match, self.section)
        elif self.field is not None and line.startswith("  ") and line.lstrip()[:2] != "- ":
            self.field.text = joined(self.field.text, line, number)
        else:
            self._error(
                number, 1, "this line belongs to no field; continue a field with two spaces"
            )

    def _field(self, number: int, match: re.Match[str], section: _Section) -> None:
        name = match["name"].strip()
        at = match.start("text") + 1
        if name not in (*REQUIRED, *OPTIONAL):
            nearest = nearest_name(name, [*REQUIRED, *OPTIONAL])
            self._error(number, 3, f"there is no field {name!r}", nearest)
        elif name in section.fields:
            self._error(number, 3, f"the field {name} stands here twice")
        else:
            text = Located(match["text"], self.file, ((0, number, at),))
            self.field = section.fields[name] = Field(name, Place(self.file, number, 3), text)

    def _error(self, number: int, column: int, message: str, nearest: str | None = None) -> None:
        assert self.section is not None
        self.section.broken = True
        place = Place(self.file, number, column)
        self.errors.append(RuleError(message, place, nearest=nearest, rule=self.section.title))


def _taken(section: _Section, first: Place) -> RuleError:
    message = f"this heading is taken ({first.file}:{first.line})"
    return RuleError(message, section.place, rule=section.title)


# --- from text to values ------------------------------------------------------------------------


class _Compiler:
    """Turns the written fields of one section into a ``Baseline``."""

    def __init__(self, section: _Section) -> None:
        self.section = section

    def baseline(self) -> Baseline:
        """Return the configuration; its first mistake is raised with heading and field."""
        for name in REQUIRED:
            if name not in self.section.fields:
                raise RuleError(
                    f"the field {name} is missing", self.section.place, rule=self.section.title
                )
        baseline = Baseline(
            title=self.section.title,
            models=self._read("Model", _models),
            gpus=self._read("GPUs", _gpus),
            mode=self._read("Mode", lambda text: _one_of(text, MODES)),
            modality=self._read("Data", lambda text: _one_of(text, MODALITIES)),
            accelerator=self._read("Accelerator", lambda t: _one_of(t, ACCELERATORS), "gpu"),
            settings=self._read("Settings", _settings),
            leaves_out=self._read("Leaves out", _flags, ()),
            measured=self._read("Measured", _measured),
            source=self._read("Source", _prose),
            date=self._read("Date", _date),
            good_for=self._read("Good for", _prose),
            place=self.section.place,
        )
        for name in ("Card", "Note"):  # for readers only, and still not empty
            self._read(name, _prose, "")
        self._read("Leaves out", lambda text: _not_passed(text, baseline), None)
        return baseline

    def _read(self, name: str, parse: Callable[[Located], T], absent: T | None = None) -> T:
        written = self.section.fields.get(name)
        if written is None:
            return cast("T", absent)
        try:
            if not written.text.text:
                raise RuleError("the field is empty", written.place)
            return parse(written.text)
        except RuleError as error:
            error.rule, error.field = self.section.title, name
            raise


def _prose(text: Located) -> str:
    return text.text


def _one_of(text: Located, allowed: tuple[str, ...]) -> str:
    if text.text not in allowed:
        nearest = nearest_name(text.text, [*allowed])
        raise text.error(f"{text.text!r} is none of {', '.join(allowed)}", nearest=nearest)
    return text.text


def _models(text: Located) -> tuple[str, ...]:
    """Return the names, each as the table of architectures spells it."""
    known, at, names = table("architectures"), 0, []
    for part in text.text.split(","):
        name = part.strip()
        if name not in known:
            nearest = known_model(name) or nearest_name(name, [*known])
            raise text.error(
                f"{name!r} is not in the table of models",
                at + len(part) - len(part.lstrip()),
                nearest,
            )
        names.append(name)
        at += len(part) + 1
    return tuple(names)


def _gpus(text: Located) -> int:
    match = _GPUS.match(text.text)
    if match is None:
        raise text.error("a number of GPUs, then perhaps the roles: 16 (actor 8, rollout 8)")
    return int(match["gpus"])


def _measured(text: Located) -> str | None:
    if text.text.rstrip(".") == NOT_MEASURED:
        return None
    if not any(character.isdigit() for character in text.text):
        raise text.error(f"a measurement has numbers; without one write {NOT_MEASURED!r}")
    return text.text


def _date(text: Located) -> str:
    if _DATE.match(text.text) is None:
        raise text.error("a date reads 2026-07 or 2026-07-31")
    return text.text


def _words(text: Located) -> Iterator[Located]:
    """Yield the words of a text in backquotes."""
    if len(text.text) < 3 or text.text[0] != "`" or text.text.find("`", 1) != len(text.text) - 1:
        raise text.error("flags stand in one pair of backquotes: `--flag value --switch`")
    for match in re.finditer(r"[^\s`]+", text.text):
        yield text.cut(*match.span())


def _flags(text: Located) -> tuple[str, ...]:
    return tuple(_known(word) for word in _words(text))


def _known(word: Located) -> str:
    names = vocabulary()
    if names.option(word.text) is None:
        nearest = names.nearest_option(word.text)
        raise word.error(f"there is no option {word.text}", nearest=nearest)
    return word.text


def _settings(text: Located) -> Settings:
    """Return the settings; every word must be one the trainer takes, and none comes twice."""
    words = [*_words(text)]
    for word in words:
        if word.text.startswith("--"):
            _known(word)
    settings = read_settings([Word(word.text, word.place()) for word in words])
    for bad in settings.problems:
        raise RuleError(bad.text, bad.words[0].place)
    for stray in settings.stray:
        raise RuleError(f"no option takes {stray.text!r}", stray.place)
    for setting in settings:
        if setting.overrides:
            raise RuleError(f"{setting.flag} stands here twice", setting.place)
    return settings


def _not_passed(text: Located, baseline: Baseline) -> None:
    for word in _words(text):
        if baseline.settings.given(word.text) is not None:
            raise word.error(f"{word.text} is among the Settings too")
