"""The pages say what is true now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from perf_doctor.diagnosis import MAX_LAUNCHES
from perf_doctor.shell import limits

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
        "ways through a script": f"{limits.MAX_RUNS}",
        "launches of a script": f"{MAX_LAUNCHES}",
        "branches that nothing decides": f"{limits.MAX_BRANCHES}",
        "comments kept": f"{limits.MAX_COMMENTS:,}",
        "notes": f"{limits.MAX_NOTES}",
        "pieces of syntax in a file": f"{limits.MAX_SYNTAX_NODES:,}, or {limits.PARSE_SECONDS:.0f} "
        "second of processor time: beyond, the file is refused",
    }
