"""Reading rule files: every expression is parsed and checked, every mistake is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from perf_doctor.rules.catalog import WITH_ITEMS, Field, Page, Section, duplicate_ids, read_page
from perf_doctor.rules.check import Vocabulary, check_condition, check_expression
from perf_doctor.rules.expression import Expression, parse_expression, reads
from perf_doctor.rules.model import Case, Catalog, CatalogError, Example, Rule
from perf_doctor.rules.position import Located, RuleError, nearest_name
from perf_doctor.rules.severity import SEVERITIES
from perf_doctor.rules.template import Template, Way, parse_patch, parse_template

CATEGORIES: Final = ("performance", "memory")
GAINS: Final = ("step",)
FRAMEWORKS: Final = ("relax", "slime")
NO_RULES: Final = Catalog((), {})

T = TypeVar("T")

_RANGE = re.compile(r"\s*(?:→|->)\s*")
_CASE = re.compile(r"(?:(?P<severity>\w+):\s+)?`(?P<condition>[^`]+)`(?:\s+—\s+(?P<cost>.+))?$")
_EXAMPLE = re.compile(r"(?P<kind>\w+):\s+`(?P<words>[^`]+)`\s*(?P<rest>.*)$")
_FLAG = re.compile(r"`(?P<flag>--[^`\s]+)`")


def parse_catalog(
    texts: Iterable[tuple[str, str]], vocabulary: Vocabulary, beside: Catalog = NO_RULES
) -> Catalog:
    """Return the rules of these texts, each with the name of its file, behind those of a catalog.

    Raises:
        CatalogError: a rule is broken; every broken rule is named, with one error each.
    """
    pages: list[Page] = [read_page(text, file) for text, file in texts]
    errors = [error for page in pages for error in page.errors]
    sections = [section for page in pages for section in page.sections]
    errors += duplicate_ids(sections, {rule.id: rule.place for rule in beside.rules})
    rules: list[Rule] = []
    for section in sections:
        try:
            rules.append(_Compiler(section, vocabulary).rule())
        except RuleError as error:
            errors.append(error)
    if errors:
        raise CatalogError(sorted(errors, key=lambda e: (e.place.file, e.place.line)))
    base_jobs = {job.name: _unquoted(job.text).text for page in pages for job in page.base_jobs}
    return Catalog((*beside.rules, *rules), {**beside.base_jobs, **base_jobs})


class _Compiler:
    """Turns the written fields of one rule into a ``Rule``; its first mistake ends it."""

    def __init__(self, section: Section, vocabulary: Vocabulary) -> None:
        self.section = section
        self.vocabulary = vocabulary

    def rule(self) -> Rule:
        """Return the rule."""
        severity = self._required("Severity", self._severity)
        no_cases: tuple[Case, ...] = ()
        no_ways: tuple[Way, ...] = ()
        no_flags: tuple[str, ...] = ()
        cases = self._optional("Check", lambda f: self._cases(f, severity), no_cases)
        unless = self._optional("Unless", lambda f: self._condition(_unquoted(f.text)), None)
        flags = self._optional("Flags", lambda f: self._flags(f.text), no_flags)
        rule = Rule(
            id=self.section.id,
            title=self.section.title,
            category=self._required("Category", lambda f: _one_of(f.text, CATEGORIES)),
            severity=severity,
            place=self.section.place,
            cases=cases,
            unless=unless,
            cost=self._optional("Cost", lambda f: self._template(f.text), None),
            fix=self._required("Fix", lambda f: self._template(f.text)),
            patch=self._optional("Patch", self._patch, no_ways),
            flags=flags,
            framework=self._optional("Framework", lambda f: _one_of(f.text, FRAMEWORKS), None),
            blocks_launch=self._optional("Blocks", _blocks, False),
            gains=self._optional("Gain", lambda f: _one_of(f.text, GAINS), None),
            trigger=self._required("Trigger", _prose),
            why=self._required("Why", _prose),
            skip_when=self._required("Skip when", _prose),
            source=self._optional("Source", _prose, ""),
            examples=self._optional("Examples", _examples, ()),
            reads=_reads(cases, unless, flags),
        )
        if rule.cases and not (rule.cost or all(case.cost for case in rule.cases)):
            raise RuleError(
                "a rule with a Check needs a Cost, or a cost behind each of its conditions",
                self.section.fields["Check"].place,
                rule=rule.id,
            )
        if rule.gains and not rule.patch:
            raise RuleError(
                "a rule with a Gain needs a Patch to try",
                self.section.fields["Gain"].place,
                rule=rule.id,
            )
        return rule

    def _optional(self, name: str, parse: Callable[[Field], T], absent: T) -> T:
        return self._required(name, parse) if name in self.section.fields else absent

    def _required(self, name: str, parse: Callable[[Field], T]) -> T:
        """Return what ``parse`` makes of a field; an error gets the rule's id and the field."""
        written = self.section.fields[name]
        try:
            if written.items and name not in WITH_ITEMS:
                raise written.items[0].error("this field has no list")
            if not written.text.text and not written.items:
                raise RuleError("the field is empty", written.place)
            return parse(written)
        except RuleError as error:
            error.rule, error.field = self.section.id, name
            raise

    def _severity(self, written: Field) -> tuple[str, str]:
        ends = [_one_of(part, SEVERITIES) for part in _split(written.text, _RANGE)]
        if len(ends) > 2 or SEVERITIES.index(ends[0]) > SEVERITIES.index(ends[-1]):
            raise written.text.error("a range reads 'warn → critical', the lower one first")
        return ends[0], ends[-1]

    def _cases(self, written: Field, severity: tuple[str, str]) -> tuple[Case, ...]:
        if written.text.text and written.items:
            raise written.text.error("either one condition or a list of conditions")
        return tuple(self._case(text, severity) for text in written.items or [written.text])

    def _case(self, text: Located, allowed: tuple[str, str]) -> Case:
        match = _CASE.match(text.text)
        if match is None:
            raise text.error(
                "a condition stands in backquotes, its cost behind a dash: `x > 1` — …"
            )
        severity = match["severity"]
        if severity is not None:
            low, high = (SEVERITIES.index(end) for end in allowed)
            _one_of(text.cut(*match.span("severity")), SEVERITIES[low : high + 1])
        condition = self._condition(text.cut(*match.span("condition")))
        cost = self._template(text.cut(*match.span("cost"))) if match["cost"] else None
        return Case(condition, severity, cost)

    def _condition(self, text: Located) -> Expression:
        expression = parse_expression(text)
        check_condition(expression, self.vocabulary)
        return expression

    def _template(self, text: Located) -> Template:
        template = parse_template(text)
        for expression in template.expressions:
            check_expression(expression, self.vocabulary)
        return template

    def _patch(self, written: Field) -> tuple[Way, ...]:
        texts = written.items or [written.text]
        ways = tuple(way for text in texts for way in parse_patch(text))
        for way in ways:
            if way.condition is not None:
                check_condition(way.condition, self.vocabulary)
            for edit in way.edits:
                start = edit.source.text.index("--")
                self._known(edit.source.cut(start, start + len(edit.flag)))
            for expression in way.expressions:
                check_expression(expression, self.vocabulary)
        return ways

    def _flags(self, text: Located) -> tuple[str, ...]:
        rest = _FLAG.sub("", text.text).replace(",", "").strip()
        if rest:
            raise text.error(
                f"{rest!r} is not a flag in backquotes", text.text.index(rest.split()[0])
            )
        found = [text.cut(*match.span("flag")) for match in _FLAG.finditer(text.text)]
        for flag in found:
            self._known(flag)
        return tuple(flag.text for flag in found)

    def _known(self, flag: Located) -> None:
        if self.vocabulary.option(flag.text) is None:
            nearest = self.vocabulary.nearest_option(flag.text)
            raise flag.error(f"there is no option {flag.text}", nearest=nearest)


def _reads(
    cases: tuple[Case, ...], unless: Expression | None, flags: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what conditions rest on, ``flags`` in the place of the fact of that name."""
    conditions = [*(case.condition for case in cases), *([unless] if unless else [])]
    names = dict.fromkeys(name for condition in conditions for name in reads(condition))
    own = flags if names.pop("flags", "") is None else ()
    return tuple(dict.fromkeys((*names, *own)))


def _prose(written: Field) -> str:
    return written.text.text


def _blocks(written: Field) -> bool:
    return bool(_one_of(written.text, ("launch",)))


def _one_of(text: Located, allowed: tuple[str, ...]) -> str:
    word = text.text.strip()
    if word not in allowed:
        raise text.error(
            f"{word!r} is none of {', '.join(allowed)}", nearest=nearest_name(word, [*allowed])
        )
    return word


def _split(text: Located, separator: re.Pattern[str]) -> list[Located]:
    parts, at = [], 0
    for match in separator.finditer(text.text):
        parts.append(text.cut(at, match.start()))
        at = match.end()
    return [*parts, text.cut(at, len(text.text))]


def _unquoted(text: Located) -> Located:
    """Return the text without the backquotes around it."""
    if len(text.text) > 1 and text.text[0] == text.text[-1] == "`":
        return text.cut(1, len(text.text) - 1)
    return text


def _examples(written: Field) -> tuple[Example, ...]:
    return tuple(_example(item) for item in written.items)


def _example(text: Located) -> Example:
    match = _EXAMPLE.match(text.text)
    if match is None or match["kind"] not in ("fires", "quiet"):
        raise text.error("an example reads: fires: `dense --flag value`  or  quiet: `…`")
    return Example(
        match["kind"] == "fires", match["words"].strip(), text.place(match.start("words"))
    )
