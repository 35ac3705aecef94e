"""Every rule of a catalog, judged on one job."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.rules import estimated, timed
from perf_doctor.rules.effect import CLEAR_SHARE, NO_SHARE, Effect, severity_of
from perf_doctor.rules.evaluate import Scope, holds, trace
from perf_doctor.rules.expression import Expression, reads
from perf_doctor.rules.facts import fact, setting_rows
from perf_doctor.rules.functions import Flags, Value
from perf_doctor.rules.job import Job, LaunchFlags
from perf_doctor.rules.judgement import Cost, Finding, Fix, Judgement
from perf_doctor.rules.model import Case, Catalog, Rule
from perf_doctor.rules.quote import quoted
from perf_doctor.rules.ranking import without_doubles
from perf_doctor.rules.severity import SEVERITIES
from perf_doctor.rules.template import FlagChanges, changes, show
from perf_doctor.shell.model import Unknown
from perf_doctor.wording import sentences

MAX_FACTS_IN_REASON = 4
_ESTIMATED = frozenset(row[0] for row in (*estimated.ROWS, *timed.ROWS))

_Harm = tuple[int, float]
_NO_HELP: _Harm = (len(SEVERITIES), 0.0)


@frozen
class RuleScope:
    """The facts of a job as one rule sees them: ``flags`` stands for the rule's own Flags."""

    job: Job
    own_flags: tuple[str, ...]
    flags: Flags

    def fact(self, name: str) -> Value:
        """Return a fact; ``flags`` are the options in the rule's own Flags field."""
        return self.own_flags if name == "flags" else fact(self.job, name)


@dataclass(slots=True)
class _Checked:
    """What the conditions of a rule came to."""

    held: list[Case] = field(default_factory=list)
    unknown: Unknown | None = None


def judge(catalog: Catalog, job: Job) -> tuple[Judgement, ...]:
    """Return the verdict of every rule, in the order of the catalog.

    A rule that fails costs nobody the report: its verdict is needs-judgement, with the failure.
    """
    court = _Court(catalog, job)
    return tuple(court.judge_safely(rule) for rule in catalog.rules)


def one_for_each_problem(
    catalog: Catalog, judgements: Sequence[Judgement]
) -> tuple[Judgement, ...]:
    """Return the judgements with one finding for each problem.

    To be asked when comments have been heard: what they suppress must not hide what it would solve.
    """
    rules = {rule.id: rule for rule in catalog.rules}
    return without_doubles(judgements, lambda rule, job: _severity(rules[rule], job) >= 0)


def stopped_by(rules: Iterable[Rule], job: Job) -> tuple[str, ...]:
    """Return the rules that certainly keep a job from its first step; no fix is looked for."""
    worst = len(SEVERITIES) - 1
    return tuple(r.id for r in rules if r.blocks_launch and _severity(r, job) == worst)


class _Court:
    """All rules of a catalog before one job."""

    def __init__(self, catalog: Catalog, job: Job) -> None:
        self.blocking = catalog.blocking
        self.job = job
        self._read = {name for rule in self.blocking for name in rule.reads}
        self._blockers: dict[str, int] | None = None
        self._tried: list[tuple[FlagChanges, Job]] = []

    def judge_safely(self, rule: Rule) -> Judgement:
        try:
            return self._judge(rule)
        except Exception as error:  # one broken rule must not cost the whole report
            broken = said("rule broken: {error}", error=quoted(str(error)))
            return _needs_judgement(rule, broken)

    def _judge(self, rule: Rule) -> Judgement:
        scope = scope_of(rule, self.job)
        framework = self.job.plan.framework.name
        if rule.framework not in (None, framework):
            return _not_applicable(
                rule, lambda: said("about {rule}, not {job}", rule=rule.framework, job=framework)
            )
        if not rule.cases:
            asked = said("no condition decides this: {trigger}", trigger=rule.trigger)
            return _needs_judgement(rule, asked)
        checked = _check(rule.cases, scope)
        if not checked.held and checked.unknown is None:
            return _not_applicable(rule, lambda: _why_not(rule, scope))
        skip = holds(rule.unless, scope) if rule.unless else False
        if skip is True:
            return _not_applicable(rule, lambda: _why_skipped(rule, scope))
        unknown = skip if isinstance(skip, Unknown) else checked.unknown
        if unknown is not None and (not checked.held or isinstance(skip, Unknown)):
            missing, why = quoted(unknown.name), unknown.reason
            return _needs_judgement(
                rule, said("{name} is not known: {reason}", name=missing, reason=why)
            )
        time = self.job.time
        if rule.gains and time.step_s is None and not any(case.severity for case in checked.held):
            why = time.unknown or ""
            return _needs_judgement(
                rule, said("the seconds of a step are not known: {reason}", reason=why)
            )
        tried = [Effect(self.job, self._changed(way), way) for way in self._ways(rule, scope)]
        if rule.gains and time.step_s is not None:
            return self._by_gain(rule, checked.held, scope, tried)
        severity = max(
            (case.severity or rule.severity[0] for case in checked.held), key=SEVERITIES.index
        )
        finding = self._finding(rule, checked.held, scope, severity, tried)
        return Judgement(rule.id, "applies", lambda: finding.cost.text, finding)

    def _by_gain(
        self, rule: Rule, held: Sequence[Case], scope: RuleScope, tried: Sequence[Effect]
    ) -> Judgement:
        """Judge by the step's seconds: the fix that gains most among those that still fit."""
        gains = [(effect, effect.gain) for effect in tried if effect.fits_no_worse]
        known = [(effect, gain) for effect, gain in gains if gain is not None]
        known.sort(key=lambda pair: -pair[1].expected)
        floors = [case.severity for case in held if case.severity is not None]
        if floors and (not known or severity_of(known[0][1], rule.severity) is None):
            floor = max(floors, key=SEVERITIES.index)
            finding = self._finding(rule, held, scope, floor, tried)
            return Judgement(rule.id, "applies", lambda: finding.cost.text, finding)
        if not known:
            return replace(
                _not_applicable(rule, lambda: said("no change that was tried fits and gains")),
                tried=tuple(tried),
            )
        best, gain = known[0]
        severity = severity_of(gain, rule.severity)
        if severity is None:
            effects = tuple(effect for effect, _ in known)
            return replace(
                _not_applicable(
                    rule, lambda: said("the change gains too little: {effect}", effect=best)
                ),
                tried=effects,
            )
        severity = max([severity, *floors], key=SEVERITIES.index)
        helpful = [effect for effect, gain in known if severity_of(gain, rule.severity)]
        verdict = "applies" if gain.low >= CLEAR_SHARE else "borderline"
        finding = replace(
            self._finding(rule, held, scope, severity, helpful), verdict=verdict, basis="estimate"
        )
        return Judgement(rule.id, verdict, lambda: finding.cost.text, finding)

    def _finding(
        self,
        rule: Rule,
        held: Sequence[Case],
        scope: RuleScope,
        severity: str,
        tried: Sequence[Effect],
    ) -> Finding:
        texts = [(case.cost or rule.cost) for case in held]
        filled = [template.fill(scope) for template in texts if template is not None]
        ways = tuple(effect.changes for effect in tried)
        effect = tried[0] if tried else None
        if effect is not None and rule.gains and _noticed(effect):
            filled.append(str(effect))
        return Finding(
            rule=rule.id,
            title=rule.title,
            category=rule.category,
            severity=severity,
            verdict="applies",
            blocks_launch=rule.blocks_launch and severity == "critical",
            setting=setting_rows(self.job, rule.flags or _flags_of(held), _shown_facts(held)),
            basis="estimate" if _ESTIMATED.intersection(rule.reads) else "arithmetic",
            cost=_cost(sentences(dict.fromkeys(filled)), effect),
            fix=Fix(rule.fix.fill(scope), ways[0] if ways else FlagChanges({}), ways[1:]),
            skip_if=rule.skip_when,
            effect=effect,
        )

    def _changed(self, way: FlagChanges) -> Job:
        """Return the job with these changes, each made once."""
        for known, changed in self._tried:
            if known == way:
                return changed
        changed = self.job.changed(way)
        self._tried.append((way, changed))
        return changed

    def _ways(self, rule: Rule, scope: RuleScope) -> Iterator[FlagChanges]:
        """Yield the ways to fix that were tried on this job and help most, each once.

        Those after which the rule no longer applies; where there are none, those that leave the
        least harm.
        """
        seen: list[FlagChanges] = []
        for way in changes(rule.patch, scope):
            if (way.set or way.unset) and way not in seen:
                seen.append(way)
        now = _harm(rule, self.job)
        left = [self._left(rule, way, now) for way in seen]
        best = min(left, default=_NO_HELP)
        if best < now:
            end = (best[0], 0.0) if best[0] < 0 else best
            yield from (way for way, harm in zip(seen, left, strict=True) if harm <= end)

    def _left(self, rule: Rule, way: FlagChanges, now: _Harm) -> _Harm:
        """Return the harm that the rule sees with these changes; no help with a new blocker.

        ``now`` is the harm without them.
        """
        if self._blockers is None:
            self._blockers = {r.id: _severity(r, self.job) for r in self.blocking}
        changed, blockers = self._changed(way), self._blockers
        left = _harm(rule, changed)
        if left >= now or _undecided(rule, changed):
            return _NO_HELP
        # A rule comes to nothing else where nothing it rests on is different.
        moved = {name for name in self._read if _moves(name, self.job, changed)}
        others = (r for r in self.blocking if not moved.isdisjoint(r.reads))
        worse = any(_severity(r, changed) > blockers[r.id] for r in others)
        return _NO_HELP if worse else left


def _noticed(effect: Effect) -> bool:
    """Tell whether the step is known to move; a fix may have another reason than that."""
    gain = effect.gain
    return gain is not None and abs(gain.expected) >= NO_SHARE


def _cost(text: str, effect: Effect | None) -> Cost:
    """Return the cost of today's setting against the fixed one."""
    if effect is None:
        return Cost(text)
    gain, memory = effect.gain, effect.memory_gib
    return Cost(
        text,
        step_time_fraction=None if gain is None else round(gain.expected, 3),
        memory_gib=None if memory is None else round(-memory, 2),
    )


def _moves(name: str, job: Job, changed: Job) -> bool:
    """Tell whether a fact or an option differs between two jobs; one that fails does."""
    if name.startswith("--"):
        before, after = (one.settings.given(name) for one in (job, changed))
        return before is not after and before != after
    try:
        return fact(job, name) != fact(changed, name)
    except Exception:  # as in judge_safely
        return True


def scope_of(rule: Rule, job: Job) -> RuleScope:
    """Return the facts of a job as a rule sees them."""
    return RuleScope(job, rule.flags, LaunchFlags(job.settings))


def _harm(rule: Rule, job: Job) -> _Harm:
    """Return the severity, and for a rule about memory by how many GiB the job is too large."""
    severity = _severity(rule, job)
    excess = 0.0
    if severity >= 0 and "train_fits" in rule.reads:
        found = fact(job, "excess_gib")
        excess = found if isinstance(found, float) else 0.0
    return severity, excess


def _undecided(rule: Rule, job: Job) -> bool:
    """Tell whether a rule cannot say of a job that it is in order."""
    scope = scope_of(rule, job)
    try:
        return any(isinstance(holds(case.condition, scope), Unknown) for case in rule.cases)
    except Exception:  # as in judge_safely
        return True


def _severity(rule: Rule, job: Job) -> int:
    """Return the rank of what a rule certainly finds in a job, -1 for nothing or a failure."""
    if rule.framework not in (None, job.plan.framework.name):
        return -1
    scope = scope_of(rule, job)
    try:
        held = [case for case in rule.cases if holds(case.condition, scope) is True]
        if not held or (rule.unless is not None and holds(rule.unless, scope) is not False):
            return -1
    except Exception:  # as in judge_safely
        return -1
    return max(SEVERITIES.index(case.severity or rule.severity[0]) for case in held)


def _not_applicable(rule: Rule, why: Callable[[], str]) -> Judgement:
    return Judgement(rule.id, "not-applicable", why)


def _needs_judgement(rule: Rule, reason: str) -> Judgement:
    return Judgement(rule.id, "needs-judgement", lambda: reason)


def _why_skipped(rule: Rule, scope: Scope) -> str:
    """Return the sentence that says why a rule leaves a job alone that it would apply to."""
    assert rule.unless is not None
    condition, values = rule.unless.text, _numbers([rule.unless], scope)
    if not values:
        return said("left alone, as `{condition}`", condition=condition)
    return said("left alone, as `{condition}` ({values})", condition=condition, values=values)


def _check(cases: Sequence[Case], scope: Scope) -> _Checked:
    checked = _Checked()
    for case in cases:
        value = holds(case.condition, scope)
        if isinstance(value, Unknown):
            checked.unknown = checked.unknown or value
        elif value:
            checked.held.append(case)
    return checked


def _flags_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the options that the conditions ask about by name."""
    names = (name for case in cases for name in reads(case.condition))
    return tuple(dict.fromkeys(name for name in names if name.startswith("--")))


def _shown_facts(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the facts that the conditions ask about; what they were read from is shown too."""
    names = (name for case in cases for name in reads(case.condition))
    return tuple(dict.fromkeys(name for name in names if not name.startswith("--")))


def _why_not(rule: Rule, scope: Scope) -> str:
    """Return the sentence that says which part of the condition does not hold, with numbers."""
    if len(rule.cases) > 1:
        conditions = [case.condition for case in rule.cases]
        count, values = len(conditions), _numbers(conditions, scope)
        if not values:
            return said("none of {count} conditions holds", count=count)
        return said("none of {count} conditions holds ({values})", count=count, values=values)
    condition = rule.cases[0].condition
    tree = condition.tree
    parts = tree[4:] if tree[0] == "connective" and tree[3] == "and" else [tree]
    for part in parts:
        expression = Expression(condition.source, part)
        if holds(expression, scope) is False:
            return _does_not_hold(condition.segment(part), _numbers([expression], scope))
    return _does_not_hold(condition.text, "")


def _does_not_hold(condition: str, values: str) -> str:
    if not values:
        return said("`{condition}` does not hold", condition=condition)
    return said("`{condition}` does not hold ({values})", condition=condition, values=values)


_ASKED: Final = r"""(?:value|on|given)\((["'])[^"']*\1\)"""
"""What asks for one option, and is no comparison that begins with it."""


def _numbers(expressions: Sequence[Expression], scope: Scope) -> str:
    """Return the values the expressions rest on: "tp = 2, cp = 1"."""
    values: dict[str, Value] = {}
    for expression in expressions:
        for step in trace(expression, scope):
            if step.is_name or re.fullmatch(_ASKED, step.text):
                values.setdefault(step.text, step.value)
    shown = [f"{_plain(name)} = {show(value)}" for name, value in values.items() if name != "flags"]
    more = ["…"] if len(shown) > MAX_FACTS_IN_REASON else []
    return ", ".join([*shown[:MAX_FACTS_IN_REASON], *more])


def _plain(name: str) -> str:
    """Return how a part of an expression reads in a sentence."""
    for call in ("value(", "on("):
        if name.startswith(call):
            return name[len(call) :].rstrip(")").strip("\"'")
    return name
