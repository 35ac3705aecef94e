"""One rule on one job, step by step: what it asks, what this job answers, what follows."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.rules.evaluate import Scope, holds, trace
from perf_doctor.rules.expression import Expression
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import scope_of
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.model import Rule
from perf_doctor.rules.template import show
from perf_doctor.shell.model import Unknown


def explain(rule: Rule, job: Job, judgement: Judgement) -> Iterator[str]:
    """Yield the rule's question, each step of its Check with this job's values, and the verdict."""
    yield f"{rule.id} — {rule.title}"
    yield f"  asks      {rule.trigger}"
    yield f"  because   {rule.why}"
    scope = scope_of(rule, job)
    for number, case in enumerate(rule.cases, 1):
        title = "Check" if len(rule.cases) == 1 else f"Check {number}"
        yield ""
        yield from _steps(title, case.condition, scope)
    if rule.unless is not None:
        yield ""
        yield from _steps("Unless", rule.unless, scope)
    yield ""
    yield f"{judgement.verdict}: {judgement.reason}"
    if judgement.finding is not None:
        yield f"  fix       {judgement.finding.fix.text}"
        yield f"  skip if   {judgement.finding.skip_if}"
    elif not rule.cases:
        yield "  no condition decides this; judge by the text above and by:"
        yield f"  fix       {rule.fix.fill(scope)}"
        yield f"  skip when {rule.skip_when}"


def _steps(title: str, expression: Expression, scope: Scope) -> Iterator[str]:
    """Yield the parts of an expression with their values, innermost first, each once."""
    yield f"{title}: {' '.join(expression.text.split())}"
    seen: set[str] = set()
    for step in trace(expression, scope):
        text = " ".join(step.text.split())
        if text not in seen and text != expression.text:
            seen.add(text)
            yield f"  {text} → {_shown(step.value)}"
    yield f"  so it {_held(holds(expression, scope))}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"not known ({value.reason})" if isinstance(value, Unknown) else show(value)  # type: ignore[arg-type]


def _held(value: bool | Unknown) -> str:
    if isinstance(value, Unknown):
        return f"cannot be decided: {value.name} is not known, {value.reason}"
    return "holds" if value else "does not hold"
