"""The skill as agents load it: its format, its links and ids, and that what it says is so."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from perf_doctor import __version__
from perf_doctor.cli import main
from perf_doctor.rules.catalog import OPTIONAL, REQUIRED
from perf_doctor.rules.examples import run_examples
from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.functions import FUNCTIONS
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Catalog
from perf_doctor.rules.rule import parse_catalog
from perf_doctor.skill import install

ROOT = Path(__file__).parents[2]
SKILL = Path(install.__file__).parent
PAGE = (SKILL / "SKILL.md").read_text("utf-8")
EXAMPLES = ROOT / "examples/scripts/training/text"
SCRIPT = EXAMPLES / "run-qwen3-14B-8xgpu.sh"
PAGES = [SKILL / "SKILL.md", *sorted((SKILL / "references").glob("*.md"))]
DOCUMENTS = [
    *PAGES,
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def front_matter() -> dict[str, str]:
    """Return the top-level keys; the format allows YAML, and we keep to ``key: value``."""
    block = PAGE.split("---\n")[1]
    return dict(line.split(":", 1) for line in block.splitlines() if line[0] != " ")


# --- the format -----------------------------------------------------------------------------------


def test_the_front_matter_has_only_the_keys_of_the_format() -> None:
    keys = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    keys.add("argument-hint")  # of the agents, not of the format: the hint behind /perf-doctor
    assert PAGE.startswith("---\n")
    assert set(front_matter()) == keys


def test_name_and_description_keep_the_limits() -> None:
    matter = front_matter()
    assert matter["name"].strip() == "perf-doctor" == install.NAME
    description = matter["description"].strip()
    # Codex shortens descriptions first: what it is about must stand in the first 150 characters.
    assert len(description) <= 500
    assert all(word in description[:150] for word in ("Relax", "launch scripts", "run-*.sh"))
    assert len(matter["compatibility"].strip()) <= 500
    # Plain YAML scalars: a colon or a number sign inside would need quotes.
    for value in (description, matter["compatibility"].strip()):
        assert ": " not in value
        assert " #" not in value


def test_the_version_is_that_of_the_program() -> None:
    assert f'  version: "{__version__}"\n' in PAGE


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 120
    assert len(PAGE) < 12_000  # some 3,000 tokens


@cache
def anchors(page: Path) -> set[str]:
    """Return the names that headings get."""
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    headings = [
        tokens[i + 1].content.replace("`", "")
        for i, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    named = re.findall(r'^## <a id="([\w-]+)"></a>', page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in headings} | set(named)


@pytest.mark.parametrize("page", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_resolves(page: Path) -> None:
    text = re.sub(r"^(`{3,}).*?^\1", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        to = page.parent / path if path else page
        assert to.exists(), link
        if page in PAGES:
            assert SKILL in to.resolve().parents, f"{link} leads out of the skill"
        if anchor and to.suffix == ".md":
            assert anchor in anchors(to.resolve()), link


# --- rules ----------------------------------------------------------------------------------------

EXAMPLE_ID = "R-P99"  # of the rule that writing-rules.md shows


def known_ids() -> set[str]:
    return {rule.id for rule in load_rules().rules}


@pytest.mark.parametrize("page", DOCUMENTS, ids=str)
def test_every_rule_that_is_mentioned_exists(page: Path) -> None:
    text = page.read_text("utf-8").split("## Numbers without a rule of their own")[0]
    mentioned = set(re.findall(r"\bR-[A-Z]\d+\b", text))
    if page.name == "writing-rules.md":
        assert EXAMPLE_ID in mentioned
        mentioned.remove(EXAMPLE_ID)
    assert mentioned <= known_ids()


def writing_rules() -> str:
    return (SKILL / "references/writing-rules.md").read_text("utf-8")


def example_rule() -> str:
    return writing_rules().split("````markdown\n")[1].split("````")[0]


def test_the_rule_that_the_page_shows_works() -> None:
    (rule,) = parse_catalog([(example_rule(), "example.md")], vocabulary()).rules
    base_jobs = load_rules().base_jobs
    outcomes = list(run_examples(Catalog((rule,), base_jobs)))
    assert {outcome.example.fires for outcome in outcomes} == {True, False}
    assert all(outcome.right for outcome in outcomes)
    assert rule.patch


def test_the_pieces_that_the_page_shows_are_pieces_of_a_rule() -> None:
    pieces = re.findall(r"^```markdown\n(.*?)^```", writing_rules(), re.MULTILINE | re.DOTALL)
    assert len(pieces) == 3
    for piece in pieces:
        field = re.match(r"- \*\*(.+?):\*\*", piece)
        assert field is not None
        whole = re.sub(rf"- \*\*{field[1]}:\*\*.*\n(  .*\n)*", piece, example_rule())
        if "info" in piece:
            whole = whole.replace("Severity:** info", "Severity:** info → warn")
        assert piece in whole
        parse_catalog([(whole, "example.md")], vocabulary())


def test_the_page_explains_every_field_in_the_order_of_the_table_and_every_function() -> None:
    rows = re.findall(
        r"^\| ([A-Z][a-z ]+) \| (yes|no|with Check) \|", writing_rules(), re.MULTILINE
    )
    assert {name for name, needed in rows if needed == "yes"} == set(REQUIRED)
    assert {name for name, needed in rows if needed != "yes"} == set(OPTIONAL)
    functions = set(re.findall(r"`(\w+)[(`]", writing_rules()))
    assert set(FUNCTIONS) <= functions


def test_the_base_jobs_that_the_page_names_are_those_there_are() -> None:
    base_jobs = load_rules().base_jobs
    named = re.search(r"base jobs \(([^)]+)\)", writing_rules().replace("\n", " "))
    assert named is not None
    assert re.findall(r"`(\w+)`", named[1]) == list(base_jobs)


# --- what it says about the program ---------------------------------------------------------------


def test_the_template_is_the_report_that_the_program_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    template = PAGE.split("```\n")[1]
    holes = re.compile(r"<[^>]*>")
    lines = [
        ".+".join(re.escape(part) for part in holes.split(line)).replace(r"\ \(assumed\)", ".*")
        for line in template.splitlines()
    ]
    main([str(SCRIPT), "--fail-on", "never"])
    printed = capsys.readouterr().out.splitlines()
    for line in printed:
        assert any(re.fullmatch(expected, line) for expected in lines), line
    headings = [line for line in lines if line.startswith(("\\#\\ ", "\\#\\#\\ ", "\\-\\-\\-"))]
    found = [line for line in printed if line.startswith(("# ", "## ", "---"))]
    assert len(headings) == len(found)
    for expected, line in zip(headings, found, strict=True):
        assert re.fullmatch(expected, line)


def commands(page: Path) -> list[str]:
    """Return every ``perf-doctor …`` that a page shows, in code or in a block."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    found = [line for line in lines if line.startswith("perf-doctor ")]
    spans = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    found += re.findall(r"`(perf-doctor [^`]+)`", spans.replace("\n  ", " "))
    return list(dict.fromkeys(re.split(r"\s{2,}#|\s#\s", line)[0].strip() for line in found))


ALL_COMMANDS = sorted({command for page in DOCUMENTS for command in commands(page)})
ALL_COMMANDS = [one for one in ALL_COMMANDS if not one.startswith("perf-doctor mcp")]  # it waits


def words_of(command: str, folder: Path) -> list[str]:
    """Return the words of a shown command with every placeholder filled in."""
    rule_file = folder / "mine.md"
    rule_file.write_text(example_rule(), "utf-8")
    (folder / "my-runs.json").write_text('{"points": []}', "utf-8")
    (folder / "perf-doctor-accepted.json").write_text('{"accepted": []}', "utf-8")
    filled = {
        "SCRIPT": str(SCRIPT),
        "SCRIPT…": str(SCRIPT),
        "ID": "R-C06",
        "FILE": "out.md",
        ".": str(SCRIPT.parent),
        "scripts/": str(SCRIPT.parent),
    }
    plain = re.sub(r"\s*\[[^\]]*\]", "", command.partition(" | ")[0])  # optional parts
    words = []
    for word in shlex.split(plain)[1:]:
        if word not in filled and word.startswith(("examples/", "scripts/")):
            at = ROOT / word if word.startswith("examples/") else ROOT / "examples" / word
            words.append(str(at))
        elif word.endswith(".sh"):
            words.append(str(SCRIPT))
        else:
            words.append(filled.get(word, word.replace("/tmp/", f"{folder}/")))
    return words


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_every_command_that_is_shown_runs(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(words_of(command, tmp_path)) in (0, 1), capsys.readouterr().err


def test_the_skill_shows_the_commands_it_lives_on() -> None:
    shown = " ".join(commands(SKILL / "SKILL.md"))
    for part in ("SCRIPT", "--format json", "show SCRIPT", "rules show ID", "explain ID SCRIPT"):
        assert part in shown


# --- the package ----------------------------------------------------------------------------------


def test_the_package_holds_the_whole_folder() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"]["packages"] == ["src/perf_doctor"]
    assert not {"exclude", "only-include", "artifacts"} & {*build, *build["targets"]["wheel"]}


def test_a_wheel_holds_every_file_of_the_skill(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name, content in install.skill_files().items():
            assert archive.read(f"perf_doctor/skill/{name}") == content
