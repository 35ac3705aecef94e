"""Which rules are in force: the built-in catalog, the user's, and what is selected of them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from perf_doctor.language import ENGLISH, said, spoken
from perf_doctor.rules.built_in import BUILT_IN, built_in_text, compiled_rules
from perf_doctor.rules.model import Catalog, Rule
from perf_doctor.rules.position import nearest_name
from perf_doctor.shell.files import read_text
from perf_doctor.shell.limits import ScriptError


def load_rules(
    files: Sequence[str] = (), select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> Catalog:
    """Return the rules in force.

    Those are the rules whose id begins with one of ``select`` (all, when that is empty) and with
    none of ``ignore``. Raises ``CatalogError`` for broken rules and ``ScriptError`` for a file
    that cannot be read or a selection that names no rule; each message is one line.
    """
    catalog = _all_rules(files)
    for wanted in (*select, *ignore):
        _check(wanted, catalog.rules)
    rules = [rule for rule in catalog.rules if not _begins(rule.id, ignore)]
    selected = tuple(rule for rule in rules if not select or _begins(rule.id, select))
    unselected = tuple(rule for rule in rules if select and not _begins(rule.id, select))
    return _spoken(Catalog(selected, catalog.base_jobs, unselected), files)


def page_of(rule: Rule) -> str:
    """Return the page a rule stands in, in the spoken language where there is one with the rule."""
    built_in, name = built_in_text()
    file = BUILT_IN if rule.place.file == name else rule.place.file
    page = _beside(file) if spoken() != ENGLISH else None
    if page is not None and f"### {rule.id} " in page[0]:
        return page[0]
    return built_in if file == BUILT_IN else read_text(file)


def _spoken(catalog: Catalog, files: Sequence[str]) -> Catalog:
    """Return the catalog with the prose that stands beside its pages in the spoken language."""
    if spoken() == ENGLISH:
        return catalog
    from perf_doctor.rules.translation import translated  # noqa: PLC0415 - English is at hand

    for file in (BUILT_IN, *files):
        page = _beside(file)
        if page is not None:
            catalog = translated(catalog, *page)
    return catalog


def _beside(file: str) -> tuple[str, str] | None:
    """Return ``rules.zh.md`` beside ``rules.md``, and its name; None where there is none."""
    name = f"{file.removesuffix('.md')}.{spoken()}.md"
    return _user_text(name) if os.path.isfile(name) else None


def _all_rules(files: Sequence[str]) -> Catalog:
    """Return the built-in rules and those of the user; what is not compiled is parsed."""
    built_in = compiled_rules()
    if built_in is not None and not files:
        return built_in
    from perf_doctor.rules.facts import vocabulary  # noqa: PLC0415 - compiled rules need no parser
    from perf_doctor.rules.rule import NO_RULES, parse_catalog  # noqa: PLC0415

    texts = [] if built_in is not None else [built_in_text()]
    texts += map(_user_text, files)
    return parse_catalog(texts, vocabulary(), built_in or NO_RULES)


def _user_text(path: str) -> tuple[str, str]:
    try:
        return read_text(path), path
    except ScriptError as error:
        raise ScriptError(said("rule file {file} {reason}", file=path, reason=error)) from None


def _begins(rule_id: str, beginnings: Sequence[str]) -> bool:
    return any(rule_id.startswith(beginning) for beginning in beginnings)


def _check(wanted: str, rules: Sequence[Rule]) -> None:
    if any(rule.id.startswith(wanted) for rule in rules):
        return
    nearest = nearest_name(wanted, [rule.id for rule in rules])
    meant = f"; did you mean {nearest}?" if nearest else ""
    raise ScriptError(f"no rule is called {wanted}{meant}")
