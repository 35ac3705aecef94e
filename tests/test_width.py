"""Text of wide characters in a terminal: counted, aligned, cut and broken as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.explore.asked import read_changes
from perf_doctor.explore.compare import compare
from perf_doctor.explore.what_if import what_if
from perf_doctor.language import speak
from perf_doctor.report.compare import compare_report
from perf_doctor.report.estimates import estimate_report
from perf_doctor.report.formats import Report, rendered
from perf_doctor.report.text import text_report
from perf_doctor.report.what_if import what_if_report
from perf_doctor.width import breaks, fitted, hanging, left, listed, narrow, right, width

EXAMPLES = Path(__file__).parents[1] / "examples" / "scripts" / "training"
DENSE = str(EXAMPLES / "text" / "run-qwen3-14B-8xgpu.sh")
OTHER = str(EXAMPLES / "text" / "run-qwen3-8B-8xgpu.sh")
CHINESE = "每层的前向都要算两遍，`--flag` 取 4096（单卡 95 GiB），差 5 %。"
TEXTS = st.text(alphabet="ab1 `-%，。（）“”每层的前向é→…", max_size=60)
CLOSING = "，。）”"
COPIED_WHOLE = re.compile(r"--[a-z]|perf-doctor ")


@given(TEXTS)
def test_width_is_what_a_terminal_shows(text: str) -> None:
    assert width(text) == cell_len(text)


def test_most_english_is_narrow_without_a_table_of_characters() -> None:
    assert narrow("peak 72.3 → 70.1 GiB (68–74) · step ≥ 5 % … ÷ × ← █")
    assert not narrow("峰值")
    assert not narrow("Fits：")


def test_columns_of_wide_text_have_their_cells() -> None:
    assert left("峰值", 6) == "峰值  "
    assert right("峰值", 6) == "  峰值"
    assert left("longer than the column", 4) == "longer than the column"


@given(TEXTS, st.integers(5, 30))
def test_a_text_fits_where_it_is_cut(text: str, cells: int) -> None:
    shown = fitted(text, cells)
    assert shown == text or (width(shown) <= cells < width(text) and "…" in shown)


@given(TEXTS, st.integers(4, 30))
def test_lines_are_no_wider_than_they_may_be_and_lose_nothing(text: str, cells: int) -> None:
    edges = [0, *breaks(text, cells), len(text)]
    lines = [text[a:b] for a, b in pairwise(edges)]
    assert "".join(lines) == text
    assert all(width(line.rstrip()) <= cells for line in lines)


def test_chinese_breaks_between_its_characters_and_keeps_punctuation() -> None:
    lines = hanging("显存    ", CHINESE, 24)
    assert lines[0] == "显存    每层的前向都要算"
    assert "".join("".join(lines).split()) == "显存" + "".join(CHINESE.split())
    assert not any(line.strip()[0] in CLOSING for line in lines)
    assert not any(line.endswith("（") for line in lines)
    assert not any(line.strip().startswith("%") for line in lines)
    assert all(line.startswith(" " * 8) for line in lines[1:])


def test_parts_of_a_list_stay_whole() -> None:
    assert listed("不变：", ["参考模型 37.1", "rollout 80.7", "装得下 是"], 30) == [
        "不变：参考模型 37.1,",
        "      rollout 80.7, 装得下 是",
    ]
    assert listed("unchanged: ", ["train 1.0", "kv cache 2.0"], 22) == [
        "unchanged: train 1.0,",
        "           kv cache 2.0",
    ]


@pytest.fixture
def chinese() -> Iterator[Diagnosis]:
    speak("zh")
    return Doctor().diagnose(DENSE)


@pytest.mark.parametrize("columns", [40, 60, 80, 132])
def test_a_chinese_report_keeps_to_the_columns(chinese: Diagnosis, columns: int) -> None:
    text = text_report(chinese, columns=columns)
    assert "性能" in text
    wide = [line for line in text.splitlines() if cell_len(line) > columns]
    assert all(COPIED_WHOLE.search(line) for line in wide), wide


def test_columns_of_a_chinese_estimate_stand_below_each_other(chinese: Diagnosis) -> None:
    lines = estimate_report(chinese).splitlines()
    head = next(index for index, line in enumerate(lines) if line.startswith("每张 GPU，GiB"))
    rows = [line.partition("  ←")[0] for line in lines[head : lines.index("", head)]]
    assert len(rows) > 3
    assert {cell_len(row) for row in rows} == {cell_len(rows[0])}


def test_columns_of_two_chinese_jobs_stand_below_each_other(chinese: Diagnosis) -> None:
    settings = chinese.job.settings
    tried = what_if(chinese, read_changes(["--rollout-batch-size 64"], [], settings))
    lines = what_if_report(tried).splitlines()
    assert {cell_len(line) for line in lines if line.endswith(("%", "变化"))} == {89}
    doctor = Doctor()
    compared = compare(chinese, doctor.diagnose(OTHER), doctor.catalog.rules)
    told = compare_report(compared).partition("\n\n")[2].splitlines()
    assert told
    assert max(map(cell_len, told)) <= 100


def test_a_page_names_the_language_it_is_in(chinese: Diagnosis) -> None:
    page = rendered("html", Report((chinese,)))
    assert page.startswith('<!DOCTYPE html>\n<html lang="zh-CN">')
    speak("en")
    assert '<html lang="en">' in rendered("html", Report((Doctor().diagnose(DENSE),)))
    speak("zh")
    assert rendered("html", Report((chinese,))) == page, "a page keeps no word of another language"


def test_programs_read_the_same_words_in_every_language(chinese: Diagnosis) -> None:
    report = Report((chinese,))
    assert "\ntop action: " in rendered("agent", report)
    assert '"name": "perf-doctor"' in rendered("json", report)
    assert "**Context:** model=" in rendered("markdown", report)
