"""The pages say what is true now."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

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
    for number in (
        limits.MAX_SOURCED_FILES, limits.MAX_SOURCE_DEPTH, limits.MAX_NESTING, limits.MAX_STEPS,
        limits.MAX_LOOP_ITERATIONS, limits.MAX_WORDS, limits.MAX_VALUE_CHARS, limits.MAX_RUNS,
    ):  # fmt: skip
        assert f"{number:,}" in page
    assert f"{limits.EVALUATION_SECONDS:.0f} seconds" in page
    assert limits.MAX_FILE_BYTES == 1 << 20


def test_every_link_to_a_file_resolves() -> None:
    import re

    for page in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), *PROJECT.glob("examples/*.md")]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert os.path.exists(page.parent / target), f"{page.name}: {target}"
