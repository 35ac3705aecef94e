"""The two READMEs say the same: the same parts, commands, numbers and links."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SWITCHER = {"README.md", "README.zh-CN.md"}  # each names the other


def text_of(name: str) -> str:
    """Return a README without the reports that are filled in between its markers."""
    text = (ROOT / name).read_text("utf-8")
    return re.sub(r"(<!-- report: .*? -->).*?(<!-- /report -->)", r"\1\2", text, flags=re.DOTALL)


ENGLISH, CHINESE = text_of("README.md"), text_of("README.zh-CN.md")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def test_both_have_the_same_headings() -> None:
    levels = [re.findall(r"^(#+) ", prose(text), re.MULTILINE) for text in (ENGLISH, CHINESE)]
    assert levels[0] == levels[1]


def test_both_have_the_same_blocks_word_for_word() -> None:
    assert blocks(ENGLISH) == blocks(CHINESE)


def test_both_have_the_same_rows_and_points() -> None:
    for start in ("|", "- "):
        counts = [
            sum(line.startswith(start) for line in prose(text).splitlines())
            for text in (ENGLISH, CHINESE)
        ]
        assert counts[0] == counts[1], start


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("code", r"`([^`\n]+)`"),
        ("numbers", r"(?<![\w.])(\d[\w.]*\w|\d)"),
        ("links", r"\]\(([^)]+)\)"),
        ("reports", r"<!-- report: (.*?) -->"),
    ],
)
def test_both_hold_the_same(what: str, pattern: str) -> None:
    found = [Counter(re.findall(pattern, prose(text))) for text in (ENGLISH, CHINESE)]
    for counts in found:
        for name in SWITCHER:
            del counts[name]
    assert found[0] == found[1], what


def test_the_chinese_one_is_chinese() -> None:
    words = re.sub(r"`[^`]*`|\([^)]*\)|\|", "", prose(CHINESE))
    chinese = re.findall(r"[\u4e00-\u9fff]", words)
    assert len(chinese) > 600
    for line in re.findall(r"^#+ (.+)$", prose(CHINESE), re.MULTILINE)[1:]:
        assert re.search(r"[\u4e00-\u9fff]", line), line
