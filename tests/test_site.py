"""The pages of ``docs/`` and the site made of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from perf_doctor.cli import COMMANDS
from perf_doctor.configuration.find import OWN_FILE, read
from perf_doctor.configuration.keys import KEYS
from perf_doctor.report.formats import FORMATS
from perf_doctor.rules.load import load_rules

PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
sys.path.insert(0, str(PROJECT / "tools"))

import pages  # noqa: E402 - the tools are no package
import rule_pages  # noqa: E402

MAX_LINES = 150
LONGER = {"accuracy.md": 260, "writing-rules.md": 170}
"""A method with its figures, and a language: both are read from beginning to end."""
MAX_LINES_OF_A_RULE = 16

NAMES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
BY_HAND = [name for name in NAMES if not name.startswith("rules/")]


def text_of(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def test_the_pages_show_what_the_program_says_today() -> None:
    stale = [
        str(page.relative_to(PROJECT))
        for page, text in pages.current().items()
        if not page.exists() or page.read_text("utf-8") != text
    ]
    assert not stale, "out of date; run: make pages"


def test_no_page_of_rules_is_left_over() -> None:
    assert {name for name in NAMES if name.startswith("rules/")} == set(rule_pages.rule_pages())


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = (PROJECT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    assert sorted(re.findall(r": ([\w/-]+\.md)$", navigation, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    for target in links(text_of(name)):
        path, _, anchor = target.partition("#")
        page = (DOCS / name).parent / path if path else DOCS / name
        assert page.is_file(), target
        assert page.resolve().is_relative_to(DOCS), f"{target} is not on the site"
        assert not anchor or anchor in anchors(page), target


@pytest.mark.parametrize("name", BY_HAND)
def test_no_page_is_longer_than_it_must_be(name: str) -> None:
    text = re.sub(r"^(`{3,})\w*\n\$ .*?\n\1$", "", text_of(name), flags=re.DOTALL | re.MULTILINE)
    assert len(text.splitlines()) <= LONGER.get(name, MAX_LINES)
    paragraphs = [part for part in text.split("\n\n") if len(part) > 100]
    assert len(paragraphs) == len(set(paragraphs)), "a paragraph stands there twice"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_rule_has_a_section_with_its_id_and_fields(language: str) -> None:
    words = rule_pages.WORDS[language]
    sections: dict[str, str] = {}
    for series in "cmps":
        head, *rest = re.split(r"^## ", text_of(f"rules/{language}/{series}.md"), flags=re.M)
        assert "](index.md)" in head
        sections |= {part.partition("</a>")[2][:5].rstrip(): part for part in rest}
    assert list(sections) == sorted(rule.id for rule in load_rules().rules)
    trigger, cost, why, fix, skip, source = (f"- **{name}" for name in words.fields)
    for rule in load_rules().rules:
        section = sections[rule.id]
        assert section.startswith(f'<a id="{rule.id.lower()}"></a>')
        assert all(mark in section for mark in (trigger, why, fix, skip, source)), rule.id
        assert (cost in section) == bool(rule.cases), rule.id
        # a rule may have many cases, and each has its cost
        assert section.count("\n") <= MAX_LINES_OF_A_RULE + len(rule.cases), rule.id
        assert rule.why not in section or language == "en", f"{rule.id} is not translated"


def test_what_a_rule_says_formats_nothing() -> None:
    assert rule_pages._prose("a_b *c* [d](e) <f> | `*g* <h>`") == (
        r"a_b \*c\* \[d\](e) &lt;f> \| `*g* <h>`"
    )
    assert "](c.md#r-c06)" in rule_pages._linked("see R-C06, not `R-C07`")
    assert "c07" not in rule_pages._linked("see R-C06, not `R-C07`")


def test_holes_of_a_cost_read_as_names_of_values() -> None:
    page = text_of("rules/en/c.md")
    assert "counted(" not in page
    assert 'value("--' not in page


def test_marks_without_an_end_are_refused() -> None:
    with pytest.raises(ValueError, match="in pairs"):
        pages.filled("<!-- run: gpus -->\nand no end\n")


def test_a_command_that_fails_fills_no_page() -> None:
    with pytest.raises(ValueError, match="no-such-script"):
        pages.filled("<!-- run: no-such-script.sh -->\n<!-- end -->\n")


def test_the_configuration_of_the_page_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", text_of("configuration.md"), re.DOTALL)
    (tmp_path / OWN_FILE).write_text(example)
    configuration = read(str(tmp_path / OWN_FILE))
    assert set(configuration.values) <= {key.name for key in KEYS}
    assert configuration.values["severity"] == {"R-M20": "critical"}


def test_the_page_on_formats_has_a_word_on_each() -> None:
    page = text_of("formats.md")
    told = set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
    assert told | {"markdown", "json"} == set(FORMATS)


@pytest.mark.parametrize("name", BY_HAND)
def test_commands_and_options_of_the_pages_exist(name: str) -> None:
    from perf_doctor.cli.arguments import diagnose_parser

    known = diagnose_parser().format_help()
    for line in re.findall(r"(?<![\w.$-])(?<!run )perf-doctor (?!@)([^`\n]+)", code(text_of(name))):
        words = line.split(" #")[0].split()
        if words[0] in COMMANDS or line.startswith((":", "COMMAND")):
            continue
        assert re.search(r"[./]|SCRIPT|scripts|^-", words[0]), f"perf-doctor {line}"
        for option in re.findall(r"(?<!\S)--[a-z-]+", line.split("|")[0]):
            assert re.search(rf"{option}(?![\w-])", known), f"perf-doctor {line}"


@pytest.mark.parametrize("name", [name for name in BY_HAND if name.startswith("zh/")])
def test_a_chinese_page_says_what_the_english_one_says(name: str) -> None:
    chinese, english = text_of(name), text_of(name.removeprefix("zh/"))
    shapes = [
        [line.split(" ")[0] for line in page.splitlines() if re.match(r"#+ |\| |<!-- run", line)]
        for page in (without_output(chinese), without_output(english))
    ]
    assert shapes[0] == shapes[1]


def test_the_site_builds_without_a_warning_and_from_here_alone(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(PROJECT / "mkdocs.yml", tmp_path)
    build = [sys.executable, "-c", "from zensical.main import cli; cli()", "build", "--strict"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    built = list((tmp_path / "build/site").rglob("*.html"))
    assert len(built) >= len(NAMES)
    for page in built:
        html = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]*)", html)
        loaded += re.findall(r"<link\b[^>]*\bhref=\"([^\"]*)", html)
        assert not [url for url in loaded if re.match(r"(https?:)?//", url)], page.name


def links(page: str) -> list[str]:
    """Return the targets of a page's links that lead to no other site."""
    found = []
    for token in MarkdownIt().enable("table").parse(page):
        for child in token.children or []:
            target = str(child.attrs.get("href", ""))
            if child.type == "link_open" and not re.match(r"\w+:", target):
                found.append(target)
    return found


@cache
def anchors(page: Path) -> set[str]:
    """Return the ids of a page's headings, as the site makes them."""
    found: set[str] = set()
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    for token, inline in pairwise(tokens):
        if token.type != "heading_open":
            continue
        given = re.match(r'<a id="([\w-]+)"></a>', inline.content)
        found.add(given[1] if given else slug(inline.content))
    return found


def slug(heading: str) -> str:
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^\w\s-]", "", plain).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def code(page: str) -> str:
    """Return the code of a page, spans and blocks, each on lines of its own."""
    tokens = MarkdownIt().enable("table").parse(page)
    spans = [c.content for t in tokens for c in t.children or [] if c.type == "code_inline"]
    blocks = [t.content for t in tokens if t.type == "fence" and not t.content.startswith("$ ")]
    return "\n".join([*spans, *blocks])


def without_output(page: str) -> str:
    """Return a page without what the program says on it."""
    return re.sub(r"^(<!-- run)[^\n]*\n.*?^<!-- end -->$", r"\1 -->", page, flags=re.S | re.M)
