"""The pages say what is true now."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from perf_doctor.diagnosis import MAX_LAUNCHES
from perf_doctor.report.schema import REPORT_SCHEMA
from perf_doctor.shell import limits as limits_of_a_reading

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT / "tools"))


def test_the_readmes_show_today_s_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    from fill_readme import PAGES, filled

    monkeypatch.chdir(PROJECT)
    for name in PAGES:
        page = Path(name).read_text("utf-8")
        assert filled(page) == page, "out of date; run: make readme"


def test_the_page_names_every_limit() -> None:
    page = (PROJECT / "docs/how-a-script-is-read.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", page.split("## Limits")[1], re.MULTILINE)
    limits = Seen(limits_of_a_reading)
    assert dict(rows[1:]) == {
        "size of a file": f"{limits.MAX_FILE_BYTES >> 20} MiB",
        "files sourced by a script": f"{limits.MAX_SOURCED_FILES}, {limits.MAX_SOURCE_DEPTH} deep",
        "nesting of statements and expansions": f"{limits.MAX_NESTING}",
        "functions that call each other": f"{limits.MAX_CALL_DEPTH} deep",
        "statements evaluated": f"{limits.MAX_STEPS:,}, or {limits.EVALUATION_SECONDS:.0f} seconds "
        "of processor time for all ways together",
        "rounds of one loop": f"{limits.MAX_LOOP_ITERATIONS:,}",
        "words of an array or a launch": f"{limits.MAX_WORDS:,}",
        "characters of a value": f"{limits.MAX_VALUE_CHARS:,}",
        "characters of a path that is tested": f"{limits.MAX_PATH_CHARS:,}",
        "a pattern (`*.sh`) against a text": f"{limits.MAX_PATTERN_WORK:,} characters × "
        "characters; to replace it, × the text once more",
        "a regular expression (`=~`)": f"{limits.MAX_REGEX_REPEATS} repeats, "
        f"{limits.MAX_REGEX_TEXT_CHARS} characters of text",
        "ways through a script": f"{limits.MAX_RUNS}",
        "launches of a script": f"{MAX_LAUNCHES}",
        "branches that nothing decides": f"{limits.MAX_BRANCHES}",
        "comments kept": f"{limits.MAX_COMMENTS:,}",
        "notes": f"{limits.MAX_NOTES}",
        "pieces of syntax in a file": f"{limits.MAX_SYNTAX_NODES:,}, or {limits.PARSE_SECONDS:.0f} "
        "second of processor time: beyond, the file is refused",
    }
    assert limits.seen == {name for name in vars(limits_of_a_reading) if name.isupper()}


class Seen:
    """The constants of a module, and which of them somebody asked for."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> float:
        self.seen.add(name)
        number: float = getattr(self.module, name)
        return number


def test_the_oracle_asks_for_what_the_pages_say() -> None:
    oracle = (PROJECT / "tools/oracle.py").read_text("utf-8")
    tolerance = re.search(r"^TOLERANCE = ([0-9.]+)$", oracle, re.MULTILINE)
    assert tolerance is not None
    percent = f"within {100 * float(tolerance[1]):.0f} %"
    for page in (oracle, (PROJECT / "docs/accuracy.md").read_text("utf-8")):
        assert percent in page
        assert "akes half a minute" in page.replace("It takes", "Takes")


def test_the_page_on_json_names_every_field_of_a_report() -> None:
    page = (PROJECT / "docs/json.md").read_text("utf-8")
    named = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    fields = set(REPORT_SCHEMA["properties"]) - {"schema_version", "tool"}
    assert {*named} == fields | {"explanations", "time_explanations"}
