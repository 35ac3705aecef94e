"""The catalog as pages for people: a list of all rules, and a page for each series.

In English from ``rules.md`` and in Chinese from the prose beside it; a rule that has none yet
stands there in English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from perf_doctor.language import ENGLISH, LANGUAGES, said, speak
from perf_doctor.rules.expression import Expression
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Rule
from perf_doctor.rules.reference import SERIES
from perf_doctor.rules.template import Template
from perf_doctor.wording import counted


class Words(NamedTuple):
    """What the pages say around the rules."""

    title: str
    about: str
    other: str
    all_rules: str
    values: str
    header: str
    fields: tuple[str, str, str, str, str, str]
    lead: str
    blocks: str
    only: str
    judged: str
    timed: str
    categories: dict[str, str]


WORDS: Final = {
    "en": Words(
        title="Rules",
        about=(
            "{n} rules in four series. Each has a source and examples on which it must fire and "
            "must stay quiet. `perf-doctor explain R-C06 SCRIPT` shows a rule with the values of "
            "your script, `perf-doctor rules show R-C06` all of it, its condition too."
        ),
        other="[中文](../zh/{page})",
        all_rules="All rules",
        values="In braces: values that the report computes for your job.",
        header="| rule | about | severity |",
        fields=("Trigger", "Cost", "Why", "Fix", "Skip when", "Source"),
        lead="- **{name}:** {text}",
        blocks="stops the launch",
        only="{framework} only",
        judged="for a reader to judge",
        timed="decided by the seconds of a step",
        categories={"performance": "performance", "memory": "memory"},
    ),
    "zh": Words(
        title="规则",
        about=(
            "四个系列，共 {n} 条规则。每条都有出处，也都有必须报、必须不报的例子。"
            "`perf-doctor explain R-C06 SCRIPT` 用你的脚本的值解释一条规则，"
            "`perf-doctor rules show R-C06 --lang zh` 显示它的原文。"
        ),
        other="[English](../en/{page})",
        all_rules="全部规则",
        values="花括号里是报告为你的任务算出的值。",
        header="| 规则 | 内容 | 级别 |",
        fields=("触发条件", "代价", "原因", "改法", "何时跳过", "出处"),
        lead="- **{name}：** {text}",
        blocks="任务起不来",
        only="只针对 {framework}",
        judged="需人工判断",
        timed="由单步耗时决定",
        categories={"performance": "性能", "memory": "显存"},
    ),
}  # fmt: skip

_CODE: Final = re.compile(r"(`[^`]*`)")
_COUNTED: Final = re.compile(r'counted\((?P<number>.*), "(?P<noun>[^"]+)"\)')
_VALUE: Final = re.compile(r'value\("(--[^"]+)"\)')
_MARKUP: Final = re.compile(r"[*\[\]|]|(?<!\w)_|_(?!\w)")
_RULE: Final = re.compile(r"(?<![\w-])R-([CMPS])\d{2,}(?!\w)", re.ASCII)
_HOLE: Final = "\x00"


def rule_pages() -> dict[str, str]:
    """Return every page of rules by its path below ``docs/``."""
    pages: dict[str, str] = {}
    try:
        for language in LANGUAGES:
            speak(language)
            rules = sorted(load_rules().rules, key=lambda rule: rule.id)
            words, folder = WORDS[language], f"rules/{language}"
            pages[f"{folder}/index.md"] = _list(rules, words)
            for series in SERIES:
                own = [rule for rule in rules if rule.id[2] == series]
                pages[f"{folder}/{series.lower()}.md"] = _series(series, own, words)
    finally:
        speak(ENGLISH)
    return pages


def _list(rules: Sequence[Rule], words: Words) -> str:
    """Return the list of all rules, each with a link to where it stands."""
    blocks = [
        f"# {words.title}",
        words.about.format(n=len(rules)),
        words.other.format(page="index.md"),
    ]
    for series, about in SERIES.items():
        own = [rule for rule in rules if rule.id[2] == series]
        rows = [
            f"| [{rule.id}]({series.lower()}.md#{rule.id.lower()}) | {_prose(rule.title)} "
            f"| {_severity(rule)} |"
            for rule in own
        ]
        blocks += [
            f"## {series} — {said(about)}",
            "\n".join([words.header, "|---|---|---|", *rows]),
        ]
    return "\n\n".join(blocks) + "\n"


def _series(series: str, rules: Sequence[Rule], words: Words) -> str:
    page = f"{series.lower()}.md"
    head = f"[{words.all_rules}](index.md) · {words.other.format(page=page)}"
    blocks = [f"# {series} — {said(SERIES[series])}", head, words.values]
    for rule in rules:
        blocks += [
            f'## <a id="{rule.id.lower()}"></a>{rule.id} — {_prose(rule.title)}',
            _marks(rule, words),
            _linked("\n".join(_fields(rule, words))),
        ]
    return "\n\n".join(blocks) + "\n"


def _marks(rule: Rule, words: Words) -> str:
    marks = [_severity(rule), words.categories[rule.category]]
    marks += [words.blocks] * rule.blocks_launch
    if rule.framework:
        marks.append(words.only.format(framework=rule.framework.capitalize()))
    marks += [words.timed] * bool(rule.gains) + [words.judged] * (not rule.cases)
    return " · ".join(marks)


def _severity(rule: Rule) -> str:
    return " → ".join(f"`{end}`" for end in dict.fromkeys(rule.severity))


def _fields(rule: Rule, words: Words) -> Iterator[str]:
    trigger, cost, why, fix, skip, source = words.fields
    costs = list(dict.fromkeys(_costs(rule)))
    yield words.lead.format(name=trigger, text=_prose(rule.trigger))
    if len(costs) == 1:
        yield words.lead.format(name=cost, text=costs[0])
    elif costs:
        yield words.lead.format(name=cost, text="").rstrip()
        yield from (f"    - {text}" for text in costs)
    yield words.lead.format(name=why, text=_prose(rule.why))
    yield words.lead.format(name=fix, text=_filled(rule.fix))
    yield words.lead.format(name=skip, text=_prose(rule.skip_when))
    if rule.source:
        yield words.lead.format(name=source, text=_prose(rule.source))


def _costs(rule: Rule) -> Iterator[str]:
    """Yield what each case costs; a case without a cost of its own has that of the rule."""
    if rule.cost is not None:
        yield _filled(rule.cost)
    for case in rule.cases:
        if case.cost is not None:
            severity = f"`{case.severity}`: " if case.severity else ""
            yield f"{severity}{_filled(case.cost)}"


def _filled(template: Template) -> str:
    """Return prose with its holes named: as code, or as they are within code."""
    holes: list[str] = []
    text = ""
    for part in template.parts:
        if isinstance(part, str):
            text += part
        elif text.count("`") % 2:
            text += f"{{{_short(part)}}}"
        else:
            holes.append(_named(part))
            text += _HOLE
    rest = iter(holes)
    return re.sub(_HOLE, lambda _: next(rest), _prose(text))


def _named(hole: Expression) -> str:
    """Return a hole as people read it: ``{cp}`` GPUs."""
    match = _COUNTED.fullmatch(" ".join(hole.text.split()))
    if match is None:
        return f"`{{{_short(hole)}}}`"
    number = _VALUE.sub(r"\1", match["number"])
    return counted(2, match["noun"]).replace("2", f"`{{{number}}}`", 1)


def _short(hole: Expression) -> str:
    return _VALUE.sub(r"\1", " ".join(hole.text.split()))


def _prose(text: str) -> str:
    """Return prose as markdown: what is no code span formats nothing."""
    return "".join(
        part if part.startswith("`") else _MARKUP.sub(r"\\\g<0>", part).replace("<", "&lt;")
        for part in _CODE.split(text)
    )


def _linked(text: str) -> str:
    """Return markdown with a link behind every rule that it names outside code."""

    def link(match: re.Match[str]) -> str:
        return f"[{match[0]}]({match[1].lower()}.md#{match[0].lower()})"

    return "".join(
        part if part.startswith("`") else _RULE.sub(link, part) for part in _CODE.split(text)
    )
