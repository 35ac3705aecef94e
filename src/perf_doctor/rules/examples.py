"""The examples of a catalog: what must make a rule fire, and what must leave it quiet.

An example is a base job by name and what is different: options left out after ``without``, then
options that are added or replaced. A base job may itself start from another one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from perf_doctor.frozen import frozen
from perf_doctor.launch.registry import registry
from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.plan import build_plan
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import judge
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.model import Catalog, Example, Rule
from perf_doctor.rules.position import RuleError, nearest_name
from perf_doctor.shell.model import Place, Word

DEFAULT_JOB = "dense"


@frozen
class Outcome:
    """What a rule said about one of its examples; ``right`` when it is what the example demands."""

    rule: Rule
    example: Example
    judgement: Judgement

    @property
    def right(self) -> bool:
        """Whether the rule fired where it must and stayed quiet where it must."""
        fired = self.judgement.verdict in ("applies", "borderline")
        quiet = self.judgement.verdict == "not-applicable"
        return fired if self.example.fires else quiet


def run_examples(catalog: Catalog) -> Iterator[Outcome]:
    """Yield the outcome of every example of every rule.

    Raises:
        RuleError: an example names a base job that does not exist, or cannot be split into words.
    """
    for rule in catalog.rules:
        for example in rule.examples:
            job = example_job(example, catalog.base_jobs)
            (judgement,) = judge(Catalog((rule,), catalog.base_jobs), job)
            yield Outcome(rule, example, judgement)


def example_job(example: Example, base_jobs: Mapping[str, str]) -> Job:
    """Return the job an example describes."""
    words = _words(example.words, base_jobs, example.place, 0)
    settings = read_settings([Word(word, example.place) for word in words])
    return Job(build_plan(settings, script=example.place.file))


def _words(text: str, base_jobs: Mapping[str, str], place: Place, depth: int) -> list[str]:
    """Return the words of a job after its base job, what it leaves out and what it replaces."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RuleError(f"the example cannot be split into words: {error}", place) from None
    base, words = _base(words, base_jobs, place, depth)
    if words[:1] == ["without"]:
        base = _removed(base, words[1].split(",") if len(words) > 1 else [])
        words = words[2:]
    replaced = [word for word in words if word.startswith("--")]
    return [*_removed(base, replaced), *words]


def _base(
    words: list[str], base_jobs: Mapping[str, str], place: Place, depth: int
) -> tuple[list[str], list[str]]:
    named = bool(words) and not words[0].startswith("--") and words[0] != "without"
    name = words[0] if named else DEFAULT_JOB
    rest = words[1:] if named else words
    if not named and depth > 0:
        return [], rest
    if name not in base_jobs or depth > 8:
        nearest = nearest_name(name, list(base_jobs))
        raise RuleError(f"there is no base job {name!r}", place, nearest=nearest)
    return _words(base_jobs[name], base_jobs, place, depth + 1), rest


def _removed(words: list[str], flags: list[str]) -> list[str]:
    """Return the words without these options, under any of their names, and their values."""
    gone = {_destination(flag) for flag in flags}
    kept: list[str] = []
    dropping = False
    for word in words:
        if word.startswith("--"):
            dropping = _destination(word) in gone
        if not dropping:
            kept.append(word)
    return kept


def _destination(flag: str) -> str:
    option = registry().get(flag.partition("=")[0])
    return option.dest if option is not None else flag
