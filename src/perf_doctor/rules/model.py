"""The rules in force: what a rule is once it has been read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from perf_doctor.frozen import frozen
from perf_doctor.rules.expression import Expression
from perf_doctor.rules.position import RuleError
from perf_doctor.rules.template import Template, Way
from perf_doctor.shell.model import Place


class CatalogError(Exception):
    """What is wrong with the rule files: one error for each broken rule."""

    def __init__(self, errors: Iterable[RuleError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))


class Case(NamedTuple):
    """One way in which a rule applies: a condition, its severity and what it costs."""

    condition: Expression
    severity: str | None = None
    cost: Template | None = None


class Example(NamedTuple):
    """A job that must make the rule fire, or leave it quiet: the words of its description."""

    fires: bool
    words: str
    place: Place


@frozen
class Rule:
    """A rule of a catalog. ``severity`` is the range it may report, lowest first.

    ``patch`` holds the ways to fix it, best first. ``framework`` is the only trainer it is about,
    None for any. A rule without cases is for a reader to judge. ``reads`` are the facts and the
    options that its conditions rest on. ``gains`` is "step" where the step's seconds, with the
    patch and without, decide whether the rule applies and how severe it is.
    """

    id: str
    title: str
    category: str
    severity: tuple[str, str]
    place: Place
    cases: tuple[Case, ...]
    unless: Expression | None
    cost: Template | None
    fix: Template
    patch: tuple[Way, ...]
    flags: tuple[str, ...]
    framework: str | None
    blocks_launch: bool
    gains: str | None
    trigger: str
    why: str
    skip_when: str
    source: str
    examples: tuple[Example, ...]
    reads: tuple[str, ...]


@frozen
class Catalog:
    """The rules in force, by id, and the base jobs their examples extend.

    ``unselected`` are rules that nobody asked about: they report nothing, and still no fix may
    make a job one of them keeps from starting.
    """

    rules: tuple[Rule, ...]
    base_jobs: Mapping[str, str]
    unselected: tuple[Rule, ...] = ()

    @property
    def blocking(self) -> tuple[Rule, ...]:
        """Every rule that keeps a job from starting, asked about or not."""
        return tuple(rule for rule in (*self.rules, *self.unselected) if rule.blocks_launch)
