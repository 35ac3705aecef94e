"""The prose of rules in another language: a page beside the catalog, with the same rules.

``rules.zh.md`` stands beside ``rules.md``: a section for each rule with what people read of it, and
nothing that the program decides by. The holes of a Cost are those of the original, so that a
translated sentence cannot quote another number. A rule that has no section keeps its own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from perf_doctor.rules.catalog import Fields, Section, duplicate_ids, read_page
from perf_doctor.rules.expression import Expression
from perf_doctor.rules.model import Case, Catalog, CatalogError, Rule
from perf_doctor.rules.position import Located, RuleError, nearest_name
from perf_doctor.rules.template import HOLE, Template

FIELDS: Final = Fields(("Trigger", "Why", "Fix", "Skip when"), ("Cost", "Costs"))
"""``Costs`` lists what stands behind the conditions of a Check, in their order."""


def translated(catalog: Catalog, text: str, file: str) -> Catalog:
    """Return the catalog with the prose of this page.

    Raises:
        CatalogError: a section is broken, belongs to no rule or quotes what its rule does not.
    """
    page = read_page(text, file, FIELDS)
    errors = [*page.errors, *duplicate_ids(page.sections, {})]
    sections = {section.id: section for section in page.sections}
    rules: dict[str, Rule] = {}
    for rule in (*catalog.rules, *catalog.unselected):
        section = sections.pop(rule.id, None)
        try:
            rules[rule.id] = rule if section is None else _translated(rule, section)
        except RuleError as error:
            errors.append(error)
    errors += [_stray(section, list(rules)) for section in sections.values()]
    if errors:
        raise CatalogError(sorted(errors, key=lambda e: e.place.line))
    return Catalog(
        tuple(rules[rule.id] for rule in catalog.rules),
        catalog.base_jobs,
        tuple(rules[rule.id] for rule in catalog.unselected),
    )


def _stray(section: Section, known: list[str]) -> RuleError:
    nearest = nearest_name(section.id, known)
    return RuleError("translates no rule", section.place, rule=section.id, nearest=nearest)


def _translated(rule: Rule, section: Section) -> Rule:
    prose = {name: field.text for name, field in section.fields.items()}
    return replace(
        rule,
        title=section.title,
        trigger=prose["Trigger"].text,
        why=prose["Why"].text,
        skip_when=prose["Skip when"].text,
        fix=_template(rule, "Fix", prose["Fix"], rule.fix),
        cost=_cost(rule, section, prose.get("Cost")),
        cases=_cases(rule, section),
    )


def _cost(rule: Rule, section: Section, text: Located | None) -> Template | None:
    if (text is None) != (rule.cost is None):
        raise RuleError(
            "has a Cost here or in its rule and not in the other", section.place, rule=rule.id
        )
    return None if text is None or rule.cost is None else _template(rule, "Cost", text, rule.cost)


def _cases(rule: Rule, section: Section) -> tuple[Case, ...]:
    told = section.fields.get("Costs")
    texts = [] if told is None else list(told.items)
    priced = [case for case in rule.cases if case.cost is not None]
    if len(texts) != len(priced):
        place = section.place if told is None else told.place
        raise RuleError(
            f"has {len(texts)} Costs, and its rule {len(priced)} conditions with a cost",
            place, rule=rule.id,
        )  # fmt: skip
    rest = iter(texts)
    return tuple(
        case
        if case.cost is None
        else case._replace(cost=_template(rule, "Costs", next(rest), case.cost))
        for case in rule.cases
    )


def _template(rule: Rule, field: str, source: Located, original: Template) -> Template:
    """Return the prose with the very expressions of the original in its holes."""
    known = {" ".join(each.text.split()): each for each in original.expressions}
    parts: list[str | Expression] = []
    left = dict(known)
    at = 0
    for match in re.finditer(HOLE, source.text):
        if match.start() < at:
            continue
        close = source.text.find("}", match.end())
        hole = " ".join(source.text[match.end() : close].split())
        if close < 0 or hole not in known:
            raise _foreign(rule, field, source, match.start(), hole, known)
        left.pop(hole, None)
        parts += [source.text[at : match.start()], known[hole]]
        at = close + 1
    if left:
        error = source.error(f"does not quote {{{next(iter(left))}}}, as the original does")
        error.rule, error.field = rule.id, field
        raise error
    return Template(tuple(part for part in (*parts, source.text[at:]) if part != ""))


def _foreign(
    rule: Rule, field: str, source: Located, at: int, hole: str, known: Mapping[str, object]
) -> RuleError:
    nearest = nearest_name(hole, list(known))
    error = source.error(f"the original does not quote {{{hole}}}", at, nearest)
    error.rule, error.field = rule.id, field
    return error
