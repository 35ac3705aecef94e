"""The compiled form of the catalog: up to date, the same rules, and never needed."""

import sys
from pathlib import Path

import pytest

from perf_doctor.rules import built_in
from perf_doctor.rules.built_in import built_in_text, compiled_rules
from perf_doctor.rules.examples import example_job
from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.judge import judge
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import CatalogError, Example
from perf_doctor.rules.rule import parse_catalog
from perf_doctor.shell.model import Place

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import compile_rules

PARSED = parse_catalog([built_in_text()], vocabulary())
ADDED = """
### R-P999 — Appended

- **Category:** performance
- **Severity:** info
- **Trigger:** Always.
- **Check:** `tp >= 1`
- **Cost:** TP{tp}.
- **Why:** A test.
- **Fix:** Nothing.
- **Skip when:** Never.
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A copy of the catalog, in the place of the one that comes with the program."""
    copy = tmp_path / "rules.md"
    copy.write_bytes(Path(built_in.BUILT_IN).read_bytes())
    monkeypatch.setattr(built_in, "BUILT_IN", str(copy))
    for read in (compiled_rules, built_in_text):
        read.cache_clear()
    yield copy
    for read in (compiled_rules, built_in_text):
        read.cache_clear()


def test_the_compiled_form_is_up_to_date():
    shipped = Path(built_in.COMPILED).read_text("utf-8")
    assert shipped == compile_rules.compiled_text(), "rules.md has changed: run `make rules`"


def test_a_compiled_rule_is_the_rule():
    compiled = compiled_rules()
    assert compiled is not None
    page = Path(built_in.BUILT_IN).read_bytes()
    assert list(built_in.compiled(compiled, page)) == list(built_in.compiled(PARSED, page))


def test_both_forms_judge_alike_with_the_same_reasons():
    base_jobs = [Example(True, name, Place("r.md", 1)) for name in PARSED.base_jobs]
    examples = [rule.examples[0] for rule in PARSED.rules if rule.examples]
    for example in (*base_jobs, *examples):
        parsed, compiled = (
            [(j.rule, j.verdict, j.reason, j.finding) for j in judge(catalog, job)]
            for catalog in (PARSED, compiled_rules())
            for job in [example_job(example, catalog.base_jobs)]
        )
        assert parsed == compiled


def test_what_a_broken_condition_says_stands_at_the_same_place():
    at = {rule.id: rule for rule in compiled_rules().rules}
    for rule in PARSED.rules:
        for case, other in zip(rule.cases, at[rule.id].cases, strict=True):
            nodes = ((c.condition, c.condition.tree) for c in (case, other))
            one, two = (str(condition.error(tree, "wrong")) for condition, tree in nodes)
            assert one == two


def test_a_rule_that_is_appended_is_in_force(page):
    assert load_rules().rules == compiled_rules().rules
    with page.open("a", encoding="utf-8") as file:
        file.write(ADDED)
    compiled_rules.cache_clear()
    assert compiled_rules() is None
    assert load_rules().rules[-1].id == "R-P999"


def test_a_rule_that_is_broken_later_is_an_error_at_its_place(page):
    with page.open("a", encoding="utf-8") as file:
        file.write(ADDED.replace("`tp >=", "`tpp >="))
    compiled_rules.cache_clear()
    with pytest.raises(CatalogError, match=r"^rules\.md:\d+:15: R-P999, Check: there is no fact"):
        load_rules()


def test_without_a_compiled_form_the_page_is_read(page, monkeypatch):
    monkeypatch.setattr(built_in, "COMPILED", str(page.with_name("nowhere")))
    compiled_rules.cache_clear()
    assert [rule.id for rule in load_rules().rules] == [rule.id for rule in PARSED.rules]


def test_a_catalog_of_the_user_stands_behind_the_compiled_one(tmp_path):
    mine = tmp_path / "mine.md"
    mine.write_text(ADDED, "utf-8")
    rules = load_rules([str(mine)]).rules
    assert rules[:-1] == compiled_rules().rules
    assert rules[-1].place.file == str(mine)
    mine.write_text(ADDED.replace("R-P999", rules[0].id), "utf-8")
    with pytest.raises(CatalogError, match=rf"{rules[0].id}: this id is taken \(rules.md:\d+\)"):
        load_rules([str(mine)])
