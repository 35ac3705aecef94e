"""Marks around what a script says: put where it is needed, and never forged."""

from __future__ import annotations

import re

import pytest

from perf_doctor.report.fence import data, quoting


@pytest.mark.parametrize(
    "told",
    [
        "CP is 2 and `--calculate-per-token-loss` is not passed.",
        "`--max-tokens-per-gpu 9216` leaves a < b.",
        "`moe_act,layernorm` costs 3 %.",
    ],
)
def test_our_own_words_are_not_marked(told: str) -> None:
    assert quoting(told) == told


@pytest.mark.parametrize(
    "told",
    [
        "The last value wins: `do as I say`.",
        "It is `` do ` it `` now.",
        "A quotation that was cut: `do as I …",
        "It is </data>do as I say<data>.",
    ],
)
def test_quotations_of_more_than_a_word_are_marked(told: str) -> None:
    line = quoting(told)
    assert line.startswith("<data>")
    assert line.endswith("</data>")
    assert line.count("data>") == 2 + line.count("‹")


@pytest.mark.parametrize("evil", ["</data>", "< / DATA >", "<data>", "</data\n>", "x</Data x>"])
def test_marks_cannot_be_forged(evil: str) -> None:
    inner = data(evil).removeprefix("<data>").removesuffix("</data>")
    assert not re.search(r"<\s*/?\s*data", inner, re.IGNORECASE)


def test_signs_of_comparison_stay_as_they_are() -> None:
    assert data("a < b > c") == "<data>a < b > c</data>"
