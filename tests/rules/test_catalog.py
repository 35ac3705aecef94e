"""Rule files: what a rule is made of, and the one error that a broken rule is."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from perf_doctor.rules.built_in import built_in_text
from perf_doctor.rules.catalog import OPTIONAL, REQUIRED, WITH_ITEMS, read_page
from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.model import CatalogError
from perf_doctor.rules.rule import parse_catalog

RULE = """\
### R-P99 — A title

- **Category:** performance
- **Severity:** warn → critical
- **Blocks:** launch
- **Trigger:** TP above 1.
- **Check:** `tp > 1 and
  dp > 1`
- **Unless:** `sft`
- **Why:** It costs
  time.
- **Cost:** TP{tp} × {tp * 2}.
- **Fix:** Use `--multimodal-keys {"image": "image"}` or {dp}.
- **Patch:** `set --tensor-model-parallel-size {dp}` `unset --colocate` or `set --hybrid`
- **Skip when:** Never.
- **Examples:**
  - fires: `dense`
"""


def catalog_of(text, file="mine.md"):
    return parse_catalog([(text, file)], vocabulary())


def the_error(text):
    with pytest.raises(CatalogError) as caught:
        catalog_of(text)
    (error,) = caught.value.errors
    return error


def test_a_rule_is_read_whole():
    (rule,) = catalog_of(RULE).rules
    assert (rule.id, rule.title, rule.category) == ("R-P99", "A title", "performance")
    assert rule.severity == ("warn", "critical")
    assert rule.blocks_launch
    assert rule.why == "It costs time."
    assert [case.condition.text for case in rule.cases] == ["tp > 1 and dp > 1"]
    assert [[edit.flag for edit in way.edits] for way in rule.patch] == [
        ["--tensor-model-parallel-size", "--colocate"],
        ["--hybrid"],
    ]
    assert [(example.fires, example.words) for example in rule.examples] == [(True, "dense")]


def test_a_rule_without_check_is_legal():
    kept = re.sub(r"- \*\*(Check|Unless|Cost):\*\*.*(\n  dp.*)?\n", "", RULE)
    (rule,) = catalog_of(kept).rules
    assert rule.cases == ()


def test_several_catalogs_are_one():
    second = RULE.replace("R-P99", "R-P98")
    catalog = parse_catalog([(RULE, "a.md"), (second, "b.md")], vocabulary())
    assert [rule.id for rule in catalog.rules] == ["R-P99", "R-P98"]


def test_a_rule_may_have_a_cost_and_a_severity_for_each_condition():
    text = RULE.replace(
        "- **Check:** `tp > 1 and\n  dp > 1`\n",
        "- **Check:**\n  - warn: `tp > 1` — TP{tp}.\n  - critical: `tp > 8`\n",
    )
    (rule,) = catalog_of(text).rules
    assert [case.severity for case in rule.cases] == ["warn", "critical"]
    assert rule.cases[0].cost is not None
    assert rule.cases[1].cost is None


WRONG = [
    # what is changed, into what, the text the error points at, what it says
    ("### R-P99 — A", "### R-P9 - A", "### R-P9", "a rule's heading reads '### R-P05 — title'"),
    ("### R-P99", "### R-Q99", "R-Q99", "R-Q99: an id is R-, one of C M P S"),
    ("- **Why:**", "- **Wy:**", "**Wy", "there is no field 'Wy'; did you mean 'Why'?"),
    ("- **Fix:** Use", "- **Why:** Use", "**Why:** Use", "the field Why stands here twice"),
    ("- **Skip when:** Never.\n", "", "### R-P99", "the field Skip when is missing"),
    ("  time.", "time.", "time.", "this line belongs to no field"),
    ("Why:** It costs\n  time.", "Why:**", "**Why", "Why: the field is empty"),
    ("performance", "speed", "speed", "Category: 'speed' is none of performance, memory"),
    ("→ critical", "→ citical", "citical", "Severity: 'citical' is none of info, warn, critical"),
    ("warn → critical", "critical → warn", "critical →", "Severity: a range reads"),
    ("`tp > 1", "`tpp > 1", "tpp", "Check: there is no fact 'tpp'; did you mean 'tp'?"),
    ("  dp > 1`", "  dp_ > 1`", "dp_", "Check: there is no fact 'dp_'; did you mean 'dp'?"),
    ("`tp > 1 and\n  dp > 1`", "tp > 1", "tp > 1\n", "Check: a condition stands in backquotes"),
    ("`sft`", "`sftt`", "sftt", "Unless: there is no fact 'sftt'; did you mean 'sft'?"),
    ("{tp * 2}", "{tp * 2", "{tp * 2", "Cost: a brace is not closed"),
    ("{tp * 2}", "{tp * two}", "two", "Cost: there is no fact 'two'"),
    ("{dp}.\n", "{dp_}.\n", "dp_}", "Fix: there is no fact 'dp_'; did you mean 'dp'?"),
    ("{dp}.\n", '{"a" if sft else "b"}.\n', '{"a"', "Fix: a brace begins a hole"),
    ("--hybrid`", "--hybridd`", "--hybridd", "Patch: there is no option --hybridd; did you mean"),
    ("or `set", "xor `set", " xor", "Patch: 'xor' between the changes"),
    ("`unset --colocate`", "`drop --colocate`", "drop", "Patch: a change reads"),
    ("fires: `dense`", "fire: `dense`", "fire:", "Examples: an example reads"),
    ("launch\n", "lunch\n", "lunch", "Blocks: 'lunch' is none of launch; did you mean 'launch'?"),
    ("- **Cost:** TP{tp} × {tp * 2}.\n", "", "**Check", "a rule with a Check needs a Cost"),
]


@pytest.mark.parametrize(("old", "new", "at", "message"), WRONG)
def test_a_broken_rule_is_one_error_with_place_field_and_nearest_name(old, new, at, message):
    assert RULE.count(old) >= 1
    text = RULE.replace(old, new)
    error = str(the_error(text))
    before = text[: text.index(at)].split("\n")
    assert error.startswith(f"mine.md:{len(before)}:{len(before[-1]) + 1}: ")
    assert message in error
    assert "R-" in error


def test_every_broken_rule_is_named_once():
    first = RULE.replace("tp > 1", "tpp > 1 and tppp > 2")
    second = RULE.replace("R-P99", "R-P98").replace("warn", "wan")
    with pytest.raises(CatalogError) as caught:
        catalog_of(f"{first}\n{second}")
    assert [error.rule for error in caught.value.errors] == ["R-P99", "R-P98"]


def test_an_id_is_taken_once():
    error = the_error(RULE + "\n" + RULE)
    assert str(error) == "mine.md:19:1: R-P99: this id is taken (mine.md:1)"


def test_a_severity_of_a_condition_lies_in_the_range_of_the_rule():
    error = the_error(RULE.replace("`tp > 1 and\n  dp > 1`", "info: `tp > 1`"))
    assert "7:14: R-P99, Check: 'info' is none of warn, critical" in str(error)


# --- the catalog that comes with the program --------------------------------------------------


def built_in():
    return parse_catalog([built_in_text()], vocabulary())


def test_the_contents_list_names_every_rule_in_order():
    text, _ = built_in_text()
    listed = re.findall(r"^- \[(R-\S+) — (.+)\]\(#(.+)\)$", text, re.MULTILINE)
    assert [(rule_id, title) for rule_id, title, _ in listed] == [
        (rule.id, rule.title) for rule in built_in().rules
    ]
    for rule_id, title, anchor in listed:
        plain = re.sub(r"[^\w\- ]", "", f"{rule_id} — {title}".lower())
        assert anchor == plain.replace(" ", "-")


def test_every_rule_has_a_source_and_one_that_blocks_is_critical():
    for rule in built_in().rules:
        assert rule.source, rule.id
        assert not rule.blocks_launch or rule.severity[1] == "critical", rule.id


def test_rules_stand_in_the_order_of_their_ids_within_a_letter():
    ids = [rule.id for rule in built_in().rules]
    assert ids == sorted(ids)


# --- markdown-it-py sees the same page ---------------------------------------------------------


def seen_by_markdown_it(text):
    """Return (heading, [(field name, number of nested items)]) of every rule, by another parser."""
    rules, level, inline_of = [], 0, None
    tokens = MarkdownIt().parse(text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            inline_of = tokens[index + 1].content
            if token.tag == "h3":
                rules.append((inline_of, token.map[0] + 1, []))
            else:
                level = 0
                rules.append((None, 0, []))
        elif token.type == "bullet_list_open":
            level += 1
        elif token.type == "bullet_list_close":
            level -= 1
        elif token.type == "inline" and rules and rules[-1][0]:
            field = re.match(r"\*\*(.+?):\*\*", token.content)
            if level == 1 and field:
                rules[-1][2].append([field[1], token.map[0] + 1, 0])
            elif level == 2:
                rules[-1][2][-1][2] += 1
    return [rule for rule in rules if rule[0]]


def seen_by_us(page):
    return [
        (
            f"{section.id} — {section.title}",
            section.place.line,
            [[f.name, f.place.line, len(f.items)] for f in section.fields.values()],
        )
        for section in page.sections
    ]


def test_markdown_it_sees_the_same_headings_and_fields_in_the_catalog():
    text, file = built_in_text()
    assert seen_by_us(read_page(text, file)) == seen_by_markdown_it(text)


prose = st.text("abc xyz0123456789.,:;()×→é", min_size=1, max_size=30).map(
    lambda t: "word " + " ".join(t.split())
)


@st.composite
def rule_pages(draw):
    lines = ["# Title", "", "Some words.", ""]
    for number in range(draw(st.integers(0, 3))):
        title = draw(prose).strip()
        lines += [f"### R-P{number:02} — {title}", ""]
        extra = draw(st.lists(st.sampled_from(OPTIONAL), unique=True))
        for name in draw(st.permutations([*REQUIRED, *extra])):
            lines.append(f"- **{name}:** {draw(prose)}".rstrip())
            for _ in range(draw(st.integers(0, 2))):
                lines.append("  " + draw(prose))
            if name in WITH_ITEMS:
                for _ in range(draw(st.integers(0, 2))):
                    lines.append("  - " + draw(prose))
        lines.append("")
    return "\n".join(lines)


@given(rule_pages())
@settings(max_examples=150, deadline=None)
def test_markdown_it_sees_the_same_headings_and_fields_in_any_page(text):
    page = read_page(text, "mine.md")
    assert not page.errors
    assert seen_by_us(page) == seen_by_markdown_it(text)


@given(st.text(), st.integers(0, 30), st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_any_damage_to_a_file_is_an_error_of_ours_or_none(damage, at, length):
    lines = RULE.split("\n")
    lines[at : at + length] = [damage]
    errors = ()
    try:
        catalog_of("\n".join(lines))
    except CatalogError as caught:
        errors = caught.errors or (None,)
    assert all(error.place.file == "mine.md" for error in errors)
