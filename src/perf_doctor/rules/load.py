"""Which rules are in force: the built-in catalog, the user's, and what is selected of them."""

from __future__ import annotations

from collections.abc import Sequence

from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.position import nearest_name
from perf_doctor.rules.rule import Catalog, Rule, built_in_text, parse_catalog
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
    catalog = parse_catalog([built_in_text(), *map(_user_text, files)], vocabulary())
    for wanted in (*select, *ignore):
        _check(wanted, catalog.rules)
    rules = tuple(rule for rule in catalog.rules if _selected(rule.id, select, ignore))
    return Catalog(rules, catalog.base_jobs)


def _user_text(path: str) -> tuple[str, str]:
    try:
        return read_text(path), path
    except ScriptError as error:
        raise ScriptError(f"rule file {path} {error}") from None


def _selected(rule_id: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    chosen = not select or any(rule_id.startswith(wanted) for wanted in select)
    return chosen and not any(rule_id.startswith(unwanted) for unwanted in ignore)


def _check(wanted: str, rules: Sequence[Rule]) -> None:
    if any(rule.id.startswith(wanted) for rule in rules):
        return
    nearest = nearest_name(wanted, [rule.id for rule in rules])
    meant = f"; did you mean {nearest}?" if nearest else ""
    raise ScriptError(f"no rule is called {wanted}{meant}")
