"""``perf-doctor compare`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from perf_doctor.explore.compare import Comparison, Difference
from perf_doctor.explore.pair import stopped_by
from perf_doctor.explore.written import Written
from perf_doctor.inert import inert
from perf_doctor.language import said
from perf_doctor.launch.secrets import Redactor
from perf_doctor.report.context import context_line, context_object
from perf_doctor.report.document import as_json, head_object, masked
from perf_doctor.report.explored import estimate_object, findings_object, gain_object
from perf_doctor.report.side_by_side import Titles, paragraph, side_by_side
from perf_doctor.report.verdicts import MAX_COLUMNS, found_lines
from perf_doctor.report.what_if import value_of
from perf_doctor.width import fitted, left, right, width

_FLAG, _VALUE, _ALONE = 38, 19, 24
_LONG: Final = MAX_COLUMNS - 7


def compare_report(compared: Comparison) -> str:
    """Return both jobs, the settings that matter with what each does alone, and the findings."""
    lines = []
    for name, one in (("A", compared.a), ("B", compared.b)):
        lines += [f"{name}  {inert(one.script)}", f"   {context_line(one.plan)}"]
    lines.append("")
    if compared.same:
        lines.append(said("no setting that matters differs"))
    else:
        lines += _settings(compared)
        lines += ["", *side_by_side(compared.pair, Titles("A", "B"))]
        if found := found_lines(compared.pair, said("only B"), said("only A")):
            lines += ["", *found]
    text = "\n".join(lines)
    return compared.b.redactor.redact(compared.a.redactor.redact(text)) + "\n"


def _settings(compared: Comparison) -> Iterator[str]:
    """Yield a line for each setting; those of another model are one line together."""
    other_model = compared.a.plan.model.name != compared.b.plan.model.name
    shown = [one for one in compared.settings if not (other_model and one.model)]
    if shown or compared.variables:
        yield _columns(said("settings"), "A", "B", said("B's alone in A"))
    for one in shown:
        yield from _difference(one, compared)
    for variable in compared.variables:
        values = (_environment(variable.a), _environment(variable.b))
        yield from _cells(variable.name, *values, "")
    if folded := [inert(one.flag) for one in compared.settings if other_model and one.model]:
        yield from paragraph(said("the model: "), folded)
    if compared.others:
        yield f"  {_others(len(compared.others))}"


def _others(number: int) -> str:
    if number == 1:
        return said(
            "and 1 more (paths, names, learning) that moves neither memory nor time nor a rule"
        )
    return said(
        "and {n} more (paths, names, learning) that move neither memory nor time nor a rule",
        n=number,
    )


def _difference(one: Difference, compared: Comparison) -> Iterator[str]:
    a = _value(one.a, compared.a.redactor)
    b = _value(one.b, compared.b.redactor)
    yield from _cells(one.flag, a, b, _alone(one))


def _cells(name: str, a: str, b: str, alone: str) -> Iterator[str]:
    """Yield one line, or three where the values do not fit in one."""
    name, a, b = inert(name), inert(a), inert(b)
    if max(width(a), width(b)) < _VALUE and width(name) < _FLAG - 2:
        yield _columns(f"  {name}", a, b, alone).rstrip()
        return
    yield f"{left(f'  {name}', MAX_COLUMNS - 2 - _ALONE)}{right(alone, _ALONE)}".rstrip()
    yield f"    A  {fitted(a, _LONG)}"
    yield f"    B  {fitted(b, _LONG)}"


def _columns(name: str, a: str, b: str, alone: str) -> str:
    return "".join((left(name, _FLAG), right(a, _VALUE), right(b, _VALUE), right(alone, _ALONE)))


def _value(written: Written, redactor: Redactor) -> str:
    setting = written.setting
    if setting is None or len(setting.words) < 2:
        return redactor.redact(value_of(written))
    return " ".join(redactor.redact_words(word.text for word in setting.words)[1:])


def _environment(text: str | None) -> str:
    return said("not set") if text is None else text


def _alone(difference: Difference) -> str:
    """Return what a change does by itself: ``step -12 %, +3.1 GiB``, or what it runs into."""
    alone = difference.alone
    if difference.stops:
        more = " …" if len(difference.stops) > 1 else ""
        return said("stops: {rule}", rule=f"{difference.stops[0]}{more}")
    told = []
    gain, grown = alone.gain, alone.peak_grows_gib
    if alone.after.time.step_s is None and alone.before.time.step_s is not None:
        told.append(said("no estimate"))
    if gain is not None and abs(gain.expected) >= 0.005:
        told.append(said("step {share} %", share=f"{-100 * gain.expected:+.0f}"))
    if grown is not None and abs(grown) >= 0.05:
        told.append(f"{grown:+.1f} GiB")
    return ", ".join(told)


def compare_json(compared: Comparison) -> str:
    """Return the same as JSON: both estimates as reports have them, and what differs."""
    a, b = compared.a, compared.b
    body = {
        "a": {"script": a.script, "context": dict(context_object(a.plan))}
        | estimate_object(compared.pair, "before"),
        "b": {"script": b.script, "context": dict(context_object(b.plan))}
        | estimate_object(compared.pair, "after"),
        "same": compared.same,
        "settings": [_setting_object(one, compared) for one in compared.settings],
        "environment": [one._asdict() for one in compared.variables],
        "other_settings": list(compared.others),
        "gain": gain_object(compared.pair),
        "findings": findings_object(compared.pair, "only_b", "only_a"),
        "stopped_by": {
            "a": list(stopped_by(compared.pair.findings_before)),
            "b": list(stopped_by(compared.pair.findings_after)),
        },
    }
    hidden = masked(masked(body, a.redactor), b.redactor)
    assert isinstance(hidden, dict)
    return as_json({**head_object(), **hidden})


def _setting_object(one: Difference, compared: Comparison) -> dict[str, object]:
    grown = one.alone.peak_grows_gib
    return {
        "flag": one.flag,
        "a": _stored(one.a, compared.a.redactor),
        "b": _stored(one.b, compared.b.redactor),
        "alone": {
            "gain": gain_object(one.alone),
            "peak_gib": None if grown is None else round(grown, 2),
            "stopped_by": list(one.stops),
        },
    }


def _stored(written: Written, redactor: Redactor) -> object:
    """Return a value as the trainer stores it; one that may be a secret as masked text."""
    stored = written.stored
    if isinstance(stored, str) or (isinstance(stored, Sequence) and written.setting is not None):
        return _value(written, redactor) if written.setting is not None else stored
    return stored
