"""Rules in another language: none is missing, and none says another number than its original."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perf_doctor.cli import main
from perf_doctor.language import LANGUAGES, speak
from perf_doctor.rules.built_in import BUILT_IN, compiled_rules
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import CatalogError, Rule
from perf_doctor.rules.template import Template

OTHERS = [language for language in LANGUAGES if language != "en"]
CHINESE = re.compile("[\u4e00-\u9fff]")
CODE = re.compile("`([^`]+)`")
HOLE = re.compile(r"\{[^{}]*\}")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
RULE = """\
### R-P90 — A rule of our own

- **Category:** performance
- **Severity:** info
- **Trigger:** Always in colocate.
- **Check:** `mode == "colocate"`
- **Cost:** Mode is {mode}.
- **Why:** To see it work.
- **Fix:** Nothing.
- **Skip when:** Never.
- **Source:** ours
- **Examples:**
  - fires: `dense`
"""
CHINESE_RULE = """\
### R-P90 — 我们自己的规则

- **Trigger:** colocate 时总是。
- **Cost:** 模式是 {mode}。
- **Why:** 看看能不能用。
- **Fix:** 不用改。
- **Skip when:** 无。
"""


def told(rule: Rule) -> dict[str, str]:
    """Return what people read of a rule, with the holes as they are written."""
    cases = {f"cost {number}": flat(case.cost) for number, case in enumerate(rule.cases)}
    return {
        "title": rule.title,
        "trigger": rule.trigger,
        "why": rule.why,
        "fix": flat(rule.fix),
        "skip": rule.skip_when,
        "cost": flat(rule.cost),
        **cases,
    }


def flat(template: Template | None) -> str:
    parts = () if template is None else template.parts
    holes = ("{" + " ".join(part.text.split()) + "}" for part in parts if not isinstance(part, str))
    return "".join(part if isinstance(part, str) else next(holes) for part in parts)


@pytest.mark.parametrize("language", OTHERS)
def test_every_rule_says_the_same_in_every_language(language: str) -> None:
    built_in = compiled_rules()
    assert built_in is not None
    speak(language)
    rules = load_rules().rules
    assert len(rules) == len(built_in.rules)
    for original, spoken in zip(built_in.rules, rules, strict=True):
        for (name, before), after in zip(
            told(original).items(), told(spoken).values(), strict=True
        ):
            where = f"{original.id} {name}"
            assert sorted(CODE.findall(before)) == sorted(CODE.findall(after)), where
            assert sorted(HOLE.findall(before)) == sorted(HOLE.findall(after)), where
            plain = (HOLE.sub(" ", CODE.sub(" ", text)) for text in (before, after))
            numbers = [sorted(NUMBER.findall(text)) for text in plain]
            assert numbers[0] == numbers[1], where
            words = re.search("[a-z]{3} [a-z]{2}", HOLE.sub("", CODE.sub("", before)))
            assert not words or CHINESE.search(after), where


@pytest.mark.parametrize("language", OTHERS)
def test_the_page_has_no_rule_that_is_not_there(language: str) -> None:
    page = Path(BUILT_IN.replace(".md", f".{language}.md")).read_text("utf-8")
    ids = re.findall(r"^### (R-\w+) ", page, re.MULTILINE)
    assert ids == [rule.id for rule in load_rules().rules]


def test_a_rule_of_the_user_speaks_from_the_page_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text(RULE)
    assert main(["rules", "show", "R-P90", "--lang", "zh", "--rules", str(mine)]) == 0
    assert "A rule of our own" in capsys.readouterr().out
    (tmp_path / "mine.zh.md").write_text(CHINESE_RULE)
    assert main(["rules", "show", "R-P90", "--lang", "zh", "--rules", str(mine)]) == 0
    assert "我们自己的规则" in capsys.readouterr().out
    assert main(["rules", "show", "R-P90", "--lang", "en", "--rules", str(mine)]) == 0
    assert "A rule of our own" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("{mode}", "{tp}", "the original does not quote {tp}"),
        ("{mode}", "", "does not quote {mode}"),
        ("R-P90", "R-P9000", "translates no rule"),
        ("- **Why:** 看看能不能用。\n", "", "the field Why is missing"),
        ("- **Cost:** 模式是 {mode}。\n", "", "has a Cost here or in its rule"),
    ],
)
def test_a_page_that_says_something_else_is_an_error(
    old: str, new: str, error: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.md").write_text(RULE)
    (tmp_path / "mine.zh.md").write_text(CHINESE_RULE.replace(old, new))
    speak("zh")
    with pytest.raises(CatalogError) as broken:
        load_rules([str(tmp_path / "mine.md")])
    assert error in str(broken.value)
    assert "mine.zh.md:" in str(broken.value)
