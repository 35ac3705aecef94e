"""One rule on one job, step by step: what it asks, what this job answers, what follows."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.language import said
from perf_doctor.rules.evaluate import Scope, holds, trace
from perf_doctor.rules.expression import Expression
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import scope_of
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.model import Rule
from perf_doctor.rules.template import show
from perf_doctor.shell.model import Unknown


def explain(rule: Rule, job: Job, judgement: Judgement) -> Iterator[str]:
    """Yield the rule's question, each step of its Check with this job's values, and the verdict."""
    yield f"{rule.id} — {rule.title}"
    yield said("  asks      {text}", text=rule.trigger)
    yield said("  because   {text}", text=rule.why)
    scope = scope_of(rule, job)
    for number, case in enumerate(rule.cases, 1):
        asked = " ".join(case.condition.text.split())
        yield ""
        if len(rule.cases) == 1:
            yield said("Check: {condition}", condition=asked)
        else:
            yield said("Check {number}: {condition}", number=number, condition=asked)
        yield from _steps(case.condition, scope)
    if rule.unless is not None:
        yield ""
        yield said("Unless: {condition}", condition=" ".join(rule.unless.text.split()))
        yield from _steps(rule.unless, scope)
    yield ""
    yield f"{judgement.verdict}: {judgement.reason}"
    if judgement.finding is not None:
        yield said("  fix       {text}", text=judgement.finding.fix.text)
        yield said("  skip if   {text}", text=judgement.finding.skip_if)
    elif not rule.cases:
        yield said("  no condition decides this; judge by the text above and by:")
        yield said("  fix       {text}", text=rule.fix.fill(scope))
        yield said("  skip when {text}", text=rule.skip_when)


def _steps(expression: Expression, scope: Scope) -> Iterator[str]:
    """Yield the parts of an expression with their values, innermost first, each once."""
    seen: set[str] = set()
    for step in trace(expression, scope):
        text = " ".join(step.text.split())
        if text not in seen and text != expression.text:
            seen.add(text)
            yield f"  {text} → {_shown(step.value)}"
    yield _held(holds(expression, scope))


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return said("yes") if value else said("no")
    if isinstance(value, Unknown):
        return said("not known ({reason})", reason=value.reason)
    return show(value)


def _held(value: bool | Unknown) -> str:
    if isinstance(value, Unknown):
        return said(
            "  so it cannot be decided: {name} is not known, {reason}",
            name=value.name,
            reason=value.reason,
        )
    return said("  so it holds") if value else said("  so it does not hold")
