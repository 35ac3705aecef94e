"""A number and its noun: plural in English, with a measure word in Chinese."""

from __future__ import annotations

import re

import pytest

from messages import TRANSLATED, found, table_of
from perf_doctor.language import speak
from perf_doctor.wording import counted

NOUNS = sorted({one.text.removeprefix("{n} ") for one in found().messages if one.room == "wording"})
# A number takes a measure word of its kind, or a noun that is one itself.
MEASURES = "个张条次块层片段份倍种台"


@pytest.mark.parametrize(
    ("number", "noun", "english", "chinese"),
    [
        (1, "GPU", "1 GPU", "1 张 GPU"),
        (8, "GPU", "8 GPUs", "8 张 GPU"),
        (0, "GPU", "0 GPUs", "0 张 GPU"),
        (1.0, "engine", "1 engine", "1 个引擎"),
        (2, "process", "2 processes", "2 个进程"),
        (1, "process", "1 process", "1 个进程"),
        (2, "micro-batch", "2 micro-batches", "2 个微批"),
        (3, "further stale entry", "3 further stale entries", "3 个其他过期条目"),
        (2.5, "sample", "2.5 samples", "2.5 个样本"),
        (1 / 3, "sample", "0.3333 samples", "0.3333 个样本"),
        (16384, "answer", "16384 answers", "16384 条回答"),
        (1e15, "prompt", "1000000000000000 prompts", "1000000000000000 条提示词"),
        (36, "layer", "36 layers", "36 层"),
        (2, "day", "2 days", "2 day"),  # a noun of the user's own rule has no entry
    ],
)
def test_a_number_and_its_noun(number: float, noun: str, english: str, chinese: str) -> None:
    assert counted(number, noun) == english
    speak("zh")
    assert counted(number, noun) == chinese


def test_nouns_are_found_in_the_code_and_in_the_rules() -> None:
    assert {"GPU", "further note", "hand-over", "chunk", "optimizer step"} <= set(NOUNS)
    assert all(noun == noun.strip() and not noun.endswith("s ") for noun in NOUNS)


@pytest.mark.parametrize("noun", NOUNS)
def test_english_nouns_have_their_plural_made_of_the_singular(noun: str) -> None:
    """An irregular noun, or one given in the plural, would come out wrong."""
    assert not re.search(r"(?<!s)s$|(?:man|child|foot|mouse|index|datum|criterion)$", noun), noun
    singular, plural = counted(1, noun), counted(2, noun)
    assert singular == f"1 {noun}"
    assert plural.startswith("2 ")
    assert plural != f"2 {noun}"


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("noun", NOUNS)
def test_chinese_nouns_have_a_measure_word(noun: str, language: str) -> None:
    text = table_of(language, "wording")["{n} " + noun]
    assert re.match(rf"\{{n\}} [{MEASURES}]", text), text
    speak(language)
    assert counted(1, noun).startswith("1 ")
    assert counted(1, noun)[1:] == counted(2, noun)[1:] != f" {noun}"
