"""Compare: two launches, the settings in which they differ, and what each of those is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.explore.pair import Pair
from perf_doctor.explore.written import Written, written_in
from perf_doctor.frozen import frozen
from perf_doctor.launch.registry import registry
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.plan import Plan
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import stopped_by
from perf_doctor.rules.model import Rule

_PLANNED: Final = (
    "roles", "cluster", "parallel", "pipeline", "batch", "lengths", "training", "engines",
    "genrm", "teacher", "modality", "gpu",
)  # fmt: skip


class Difference(NamedTuple):
    """An option that two launches store differently, and what it does alone.

    ``alone`` is the first launch beside itself with this one option of the second, and ``stops``
    are the rules that then keep it from starting, though nothing did before. ``model`` tells that
    the option describes the model.
    """

    flag: str
    a: Written
    b: Written
    alone: Pair
    stops: tuple[str, ...]
    model: bool


class Variable(NamedTuple):
    """An environment variable that the scripts set differently; None is not set."""

    name: str
    a: str | None
    b: str | None


@frozen
class Comparison:
    """Two launches; ``pair`` holds the first as before and the second as after.

    ``settings`` are those that matter, what moves the estimates most first. ``others`` are flags
    that differ and move neither memory nor time nor the plan, and of which no rule speaks.
    """

    a: Diagnosis
    b: Diagnosis
    pair: Pair
    settings: tuple[Difference, ...]
    variables: tuple[Variable, ...]
    others: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing that matters differs."""
        return not (
            self.settings
            or self.variables
            or any(self.pair.finding_changes)
            or _moves(self.pair.before, self.pair.after)
        )


def compare(a: Diagnosis, b: Diagnosis, rules: Iterable[Rule]) -> Comparison:
    """Return two launches side by side; ``rules`` say which options matter beyond the estimates."""
    catalog = tuple(rules)
    spoken = spoken_of(catalog)
    stopping = frozenset(stopped_by(catalog, a.job))
    mattering: list[Difference] = []
    others: list[str] = []
    for flag in _flags(a.job.settings, b.job.settings):
        ours, theirs = written_in(a.job.settings, flag), written_in(b.job.settings, flag)
        if ours.stored == theirs.stored:
            continue
        alone = _with(a.job, flag, theirs)
        if _moves(a.job, alone) or _said(ours, theirs, spoken):
            stops = tuple(rule for rule in stopped_by(catalog, alone) if rule not in stopping)
            model = a.job.plan.model != alone.plan.model
            mattering.append(Difference(flag, ours, theirs, Pair(a.job, alone), stops, model))
        else:
            others.append(flag)
    return Comparison(
        a,
        b,
        Pair(a.job, b.job, a.findings, b.findings),
        tuple(sorted(mattering, key=_weight)),
        tuple(_variables(a.job, b.job)),
        tuple(others),
    )


def spoken_of(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the destinations of the options that rules ask about, show or change."""
    flags: set[str] = set()
    for rule in rules:
        flags.update(name for name in rule.reads if name.startswith("--"))
        flags.update(rule.flags)
        flags.update(edit.flag for way in rule.patch for edit in way.edits)
    return frozenset(option.dest for flag in flags if (option := registry().get(flag)))


def _flags(a: Settings, b: Settings) -> Iterator[str]:
    """Yield one spelling of every option that either launch passes, in the order of the scripts."""
    seen: set[str] = set()
    for setting in (*a, *b):
        if setting.option.dest not in seen:
            seen.add(setting.option.dest)
            yield setting.flag


def _with(job: Job, flag: str, written: Written) -> Job:
    """Return a job with one option as another launch has it."""
    given = written.setting
    if given is None:
        return job.with_settings(job.settings.updated(Settings([]), [flag]))
    return job.with_settings(job.settings.updated(Settings([given])))


def _said(a: Written, b: Written, spoken: frozenset[str]) -> bool:
    """Tell whether a rule speaks of a difference: of free text only that it is given at all."""
    given = a.setting or b.setting
    if given is None or given.option.dest not in spoken:
        return False
    if given.option.kind == "str" and not given.option.choices:
        return a.setting is None or b.setting is None
    return True


def _moves(a: Job, b: Job) -> bool:
    """Tell whether two jobs differ in memory, time or plan."""
    return (
        _planned(a.plan) != _planned(b.plan)
        or a.memory.phases != b.memory.phases
        or a.memory.fits != b.memory.fits
        or a.memory.host_gib_per_node != b.memory.host_gib_per_node
        or a.time.step_s != b.time.step_s
        or a.time.phases != b.time.phases
    )


def _planned(plan: Plan) -> tuple[object, ...]:
    """Return what a plan decides, without its names, places and sentences."""
    return (plan.model.architecture, *(getattr(plan, name) for name in _PLANNED))


def _weight(difference: Difference) -> tuple[float, float]:
    """Return a key that puts what moves the step, then what moves the peak, first."""
    gain, grown = difference.alone.gain, difference.alone.peak_grows_gib
    return (
        -abs(gain.expected) if gain is not None else 0.0,
        -abs(grown) if grown is not None else 0.0,
    )


def _variables(a: Job, b: Job) -> Iterator[Variable]:
    """Yield environment variables that both facts and scripts know and that differ."""
    for name in VARIABLES:
        ours, theirs = a.environment.get(name), b.environment.get(name)
        if ours != theirs:
            yield Variable(name, ours, theirs)


VARIABLES: Final = (
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
    "SGLANG_ENABLE_SPEC_V2",
    "OPEN_TRAINING_INT4_FAKE_QAT_FLAG",
    "OPEN_TRAINING_INT4_GROUP_SIZE",
)
"""Variables that the plan or a fact of the rule language reads; a test keeps the list whole."""
