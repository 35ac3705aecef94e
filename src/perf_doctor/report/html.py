"""The report as one page for a browser: nothing runs in it and nothing is loaded.

The template escapes every value, and ``_shown`` makes each inert before; the only markup beside
the template's own is the ``<code>`` of a rule's sentence.
"""

from __future__ import annotations

import os.path
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.memory import fits_word, verdict_line
from perf_doctor.estimate.shown import word
from perf_doctor.estimate.time_text import step_line
from perf_doctor.inert import code, inert, shortened
from perf_doctor.language import said, spoken
from perf_doctor.report.bars import (
    Doc,
    figure,
    memory_chart,
    phase_name,
    spanned,
    time_chart,
)
from perf_doctor.report.document import document, interval_object, masked
from perf_doctor.report.flags import changed_flags, row_text, value_text
from perf_doctor.report.formats import Report
from perf_doctor.report.top_action import TopAction, nothing_to_do, top_action
from perf_doctor.rules.effect import NO_SHARE
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.severity import WORST_FIRST
from perf_doctor.rules.template import FlagChanges

_CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_CATEGORIES: Final = {
    "performance": "Performance findings",
    "memory": "Memory findings",
}  # messages
_TAGS: Final = {"zh": "zh-CN"}
"""What a browser calls a language, where that is not its name here."""
_VERDICTS: Final = ("applies", "borderline", "needs-judgement", "suppressed", "not-applicable")


def render(report: Report) -> str:
    """Return the page on all scripts, each launch of a script with a part of its own."""
    launches = [one for whole in report.diagnoses for one in (whole, *whole.variants)]
    return _template().render(
        parts=[_part(index, diagnosis) for index, diagnosis in enumerate(launches, 1)],
        lang=_TAGS.get(spoken(), spoken()),
        severities=WORST_FIRST,
        categories=[(name, said(_CATEGORIES[name])) for name in _CATEGORIES],
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters.update(
        figure=figure, prose=prose, spanned=spanned, word=word, phase_name=phase_name
    )
    environment.globals.update(said=said, fits_word=fits_word)
    return environment.from_string(
        files("perf_doctor.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    )


def _shown(value: object) -> object:
    """Return what the template prints: markup of this module, or harmless text to be escaped."""
    return value if isinstance(value, Markup) else inert(str(value))


def prose(text: str) -> Markup:
    """Return a rule's sentence: its code spans as ``<code>``, everything else as text."""
    text, done = inert(text), 0
    out = Markup()
    for span in _CODE_SPAN.finditer(text):
        out += escape(text[done : span.start()])
        out += Markup("<code>{}</code>").format(span[2].strip() or span[2])
        done = span.end()
    return out + escape(text[done:])


def _part(index: int, diagnosis: Diagnosis) -> dict[str, object]:
    """Return what the template tells of one launch; every text in it has its secrets masked."""
    doc: Doc = document(diagnosis)
    action = top_action(diagnosis)
    shown = {
        "script": diagnosis.script,
        "name": shortened(os.path.basename(diagnosis.redactor.redact(diagnosis.script))),
        "condition": diagnosis.condition,
        "verdicts": [verdict_line(diagnosis.memory), step_line(diagnosis.time)],
        "top_action": nothing_to_do() if action is None else _action(action),
        "findings": [
            _finding(diagnosis, finding, told)
            for finding, told in zip(diagnosis.findings, doc["findings"], strict=True)
        ],
    }
    memory, time = doc["memory"], doc["time"]
    hidden: Doc = {key: masked(value, diagnosis.redactor) for key, value in shown.items()}
    return {
        **hidden,
        "id": f"r{index}",
        "doc": doc,
        "context": list(_context(doc["context"])),
        "memory_chart": memory_chart(memory) if memory["phases"] else None,
        "components": _components(memory),
        "time_chart": time_chart(time) if time["step_s"]["expected"] is not None else None,
        "settings": list(_settings(doc["launch"])),
        "rule_counts": _rule_counts(doc["rules"]),
        "assumptions": [*doc["context"]["assumptions"], *time["assumptions"]],
    }


def _action(action: TopAction) -> str:
    """Return what to do first as a rule's sentence: flags as a code span."""
    return f"{code(action.flags) if action.flags else action.text} ({action.rule})"


def _finding(diagnosis: Diagnosis, finding: Finding, told: Doc) -> dict[str, object]:
    fix, shown = finding.fix, diagnosis.redactor
    return {
        **told,
        "rows": [
            {
                "text": shortened(row_text(row, shown)),
                "where": f"{row.file}:{row.line}{f', {row.group}' if row.group else ''}",
            }
            for row in finding.setting
        ],
        "flags": changed_flags(FlagChanges(fix.changes.set, ())),
        "removed": " ".join(fix.changes.unset),
        "others": [changed_flags(way) for way in (*fix.alternatives, *fix.instead)],
        "effect": _effect(finding, told["after_fix"]),
    }


def _effect(finding: Finding, after: Doc | None) -> list[list[str]]:
    """Return rows of name, before, after: most likely values, as in the JSON."""
    if finding.effect is None or after is None:
        return []
    before = finding.effect.before
    pairs = (
        (said("Peak memory"), "GiB", interval_object(before.memory.peak_gib), after["peak_gib"]),
        (said("Step"), "s", interval_object(before.time.step_s), after["step_s"]),
    )
    return [
        [name, f"{figure(old['expected'])} {unit}", f"{figure(new['expected'])} {unit}"]
        for name, unit, old, new in pairs
        if _differ(old["expected"], new["expected"])
    ]


def _differ(before: float | None, after: float | None) -> bool:
    """Tell whether a figure changes by more than nobody would notice."""
    return before is not None and after is not None and abs(after - before) > NO_SHARE * before


def _components(memory: Doc) -> list[str]:
    """Return the components that any phase holds, in the order of the bars."""
    phases: Sequence[Doc] = memory["phases"]
    names: list[str] = list(phases[0]["components"]) if phases else []
    return [name for name in names if any(phase["components"][name] > 0 for phase in phases)]


def _context(context: Doc) -> Iterator[tuple[str, str]]:
    """Yield terms and what they are for this job; what nobody knows is said to be so."""
    known = {key: _known(value) for key, value in context.items()}
    yield said("Model"), known["model"]
    parameters = context["parameters"]
    yield said("Parameters"), _billions(parameters["total"])
    if parameters["active"] != parameters["total"]:
        yield said("Active parameters"), _billions(parameters["active"])
    yield said("Kind"), f"{known['architecture']}, {known['modality']}"
    yield said("Task"), f"{known['task']}, {known['mode']}"
    yield said("GPUs"), f"{known['gpus']} ({known['nodes']} × {known['gpus_per_node']})"
    for key, value in (context["roles"] or {}).items():
        yield said("GPUs of {role}", role=word(key)), _known(value)
    gpu, framework = context["gpu"], context["framework"]
    yield said("GPU"), f"{gpu['name']}, {gpu['memory_gb']} GB{_assumed(gpu)}"
    sizes = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp", "edp")
    yield (
        said("Parallelism"),
        " · ".join(f"{n.upper()} {context[n]}" for n in sizes if context[n] is not None),
    )
    yield said("Longest response"), known["max_response_len"]
    yield said("Tokens per GPU"), known["max_tokens_per_gpu"]
    yield (
        said("Framework"),
        f"{framework['name']} {_known(framework['version'])}{_assumed(framework)}",
    )


def _known(value: object) -> str:
    return said("not known") if value is None else shortened(value_text(value))


def _billions(value: float | None) -> str:
    return said("not known") if value is None else said("{n} billion", n=f"{value / 1e9:g}")


def _assumed(thing: Doc) -> str:
    return f" ({said('assumed')})" if thing["assumed"] else ""


def _settings(launch: Doc) -> Iterator[dict[str, object]]:
    """Yield the rows of the configuration: what each flag is, and where that is written."""
    for flag, one in launch["flags"].items():
        yield {
            "flag": flag,
            "value": _value(one["value"]),
            "where": f"{one['file']}:{one['line']}",
            "group": one["group"] or "",
            "overrides": [
                f"{_value(old['value'])} ({old['file']}:{old['line']})" for old in one["overrides"]
            ],
            "variables": one["overridable_by"],
        }


def _value(value: object) -> str:
    return said("on") if value is True else shortened(value_text(value))


def _rule_counts(rules: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return how many rules had each verdict; the verdicts that ask for action first."""
    counts = Counter(rule["verdict"] for rule in rules)
    return [(name, counts[name]) for name in _VERDICTS if counts[name]]
