"""Messages: each has a translation, which says the same; a report in Chinese judges the same."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from messages import (
    MARK,
    ORDER,
    TABLES,
    TRANSLATED,
    found,
    read_sources,
    room_of,
    table_of,
    tables_of,
)
from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.language import ENGLISH, LANGUAGES, of_locale, said, speak, spoken, tables

EXAMPLES = Path(__file__).parent.parent / "examples" / "scripts"
LAUNCHES = sorted(str(path) for path in EXAMPLES.rglob("run-*.sh"))
CHINESE = r"[\u3400-\u9fff]"
# Words that Chinese engineers write in English, as the reports do.
KEPT = frozenset(
    {"actor", "all-to-all", "async", "checkpoint", "colocate", "config", "critic", "genrm",
     "hybrid", "json", "logits", "megatron", "npu", "offload", "prompt", "ray", "relax", "rollout",
     "sft", "sglang", "step", "teacher", "token", "tokens", "torch"}
)  # fmt: skip


def test_english_is_what_the_code_says() -> None:
    assert spoken() == ENGLISH
    assert said("loop left") == "loop left"
    assert said("a brace {stays} without values") == "a brace {stays} without values"
    assert said("{a} before {b}", b=1, a="x{y}") == "x{y} before 1"
    assert said("a doubled {{brace}} of {n}", n=2) == "a doubled {brace} of 2"


def test_another_language_looks_messages_up_and_falls_back_to_english() -> None:
    message, translation = next(iter(tables("zh").items()))
    speak("zh")
    assert spoken() == "zh"
    assert said(message) == translation != message
    assert said("no table holds {n}", n=3) == "no table holds 3"
    speak(ENGLISH)
    assert said(message) == message


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "zh.UTF-8"}, "zh"),
        ({"LANG": "ZH_TW"}, "zh"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zhx_CN"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US", "LC_MESSAGES": "en_US", "LC_ALL": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_locale_names_the_language(environment: dict[str, str], language: str) -> None:
    assert of_locale(environment) == language


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_language_is_the_sum_of_its_tables(language: str) -> None:
    by_room = tables_of(language)
    assert tables(language) == {k: v for table in by_room.values() for k, v in table.items()}
    assert sum(map(len, by_room.values())) == len(tables(language)), "a key stands in two tables"
    assert language in LANGUAGES


def test_the_first_argument_is_a_literal_or_a_value_of_a_table() -> None:
    assert not found().unreadable


def test_every_room_that_speaks_has_its_place_in_the_order() -> None:
    assert {one.room for one in found().messages} <= set(ORDER)


def test_values_have_the_names_that_the_message_has() -> None:
    wrong = [
        f"{one.place}: {one.text}"
        for one in found().messages
        if one.keywords and Counter(_names(one.text)).keys() != one.keywords
    ]
    assert not wrong


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("room", ORDER)
def test_every_message_has_a_translation(room: str, language: str) -> None:
    messages = {one.text for one in found().messages if room_of(one.text) == room}
    file = TABLES / language / f"{room}.json"
    table = table_of(language, room) if file.exists() else {}
    missing = sorted(messages - set(table))
    assert not missing, f"{file.name} lacks {len(missing)}"


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_entry_is_said_in_the_room_of_its_table(language: str) -> None:
    stale = [
        f"{room}.json: {message!r} belongs to {room_of(message) or 'nobody'}"
        for room, table in tables_of(language).items()
        for message in table
        if room_of(message) != room
    ]
    assert not stale


@pytest.mark.parametrize("room", ORDER)
def test_a_translation_says_the_same(room: str) -> None:
    file = TABLES / "zh" / f"{room}.json"
    if not file.exists():
        return
    wrong = [
        f"{fault}: {message!r} → {text!r}"
        for message, text in table_of("zh", room).items()
        if (fault := _fault(message, text))
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("message", "text", "fault"),
    [
        ("{a} of {b}", "{b} 中的 {a}", None),
        ("{a} of {b}", "{b} 中的", "holes"),
        ("{a:.1f} s", "{a} 秒", "holes"),
        ("at least 1", "至少 1", None),
        ("at least 1", "至少 2", "numbers"),
        ("set `--a`", "设置 `--a`", None),
        ("set `--a`", "设置 --a", "code"),
        ("give --env", "给出 --arg", "flags"),
        ("stopped here", "stopped here", "no Chinese"),
        ("TP × PP", "TP × PP", None),
        ("not known", "未知.", "punctuation"),
        ("the GPU", "该GPU", "spacing"),
        (" of {a}", "{a} 的", "ends"),
    ],
)
def test_what_a_translation_may_not_do(message: str, text: str, fault: str | None) -> None:
    assert _fault(message, text) == fault


@pytest.mark.parametrize("path", sorted(TABLES.rglob("*.json")), ids=lambda path: path.stem)
def test_a_table_is_written_as_the_others_are(path: Path) -> None:
    table = json.loads(path.read_text(encoding="utf-8"))
    assert all(isinstance(text, str) and text for text in table.values())
    written = json.dumps(table, indent=2, ensure_ascii=False) + "\n"
    assert path.read_text(encoding="utf-8") == written


def test_messages_are_found_wherever_they_stand() -> None:
    imports = "from perf_doctor.language import said\nfrom perf_doctor.wording import counted\n"
    source = imports + (
        f'TABLE = {{"key": "of a table", "two": ("of a row", 1)}}  {MARK}\n'
        'OTHER = {"key": "no message"}\n'
        'said("in " "parts of {n}", n=1)\n'
        "said(TABLE[key])\n"
        'counted(2, "noun" if many else "word")\n'
    )
    wrong = imports + (
        'OTHER = {"key": "no message"}\n'
        'said(f"{n}")\nsaid(text)\nsaid(OTHER[key])\ncounted(2, noun)\nsaid("a", b)\n'
    )
    result = read_sources(
        {"plan/a.py": source, "page.jinja": '{{ said("in a page") }}', "b.py": "said(text)"}
    )
    assert {(one.room, one.text) for one in result.messages} == {
        ("plan", "of a table"),
        ("plan", "of a row"),
        ("plan", "in parts of {n}"),
        ("wording", "{n} noun"),
        ("wording", "{n} word"),
        ("page.jinja", "in a page"),
    }
    assert not result.unreadable
    assert len(read_sources({"plan/a.py": wrong}).unreadable) == 5


def test_no_message_is_kept_in_the_language_of_a_moment() -> None:
    assert not found().kept
    source = (
        "from perf_doctor.language import said\nfrom functools import cache\n"
        'A = said("a")\nclass B:\n    c = {"b": [said("b")]}\n'
        '@cache\ndef d():\n    return said("d")\n'
        '@lru_cache(maxsize=8)\ndef e():\n    return said("e")\n'
        'def f():\n    return said("f")\n'
        'G = lambda: said("g")\n'
    )
    assert read_sources({"plan/a.py": source}).kept == tuple(
        f"plan/a.py:{line}" for line in (3, 5, 8, 11)
    )


@pytest.mark.parametrize("script", LAUNCHES, ids=lambda script: Path(script).stem)
def test_a_diagnosis_is_the_same_in_every_language(script: str) -> None:
    english = Doctor().diagnose(script)
    told = [_verdicts(one) for one in (english, *english.variants)]
    sentences = _sentences(english)
    for language in TRANSLATED:
        speak(language)
        diagnosis = Doctor().diagnose(script)
        assert [_verdicts(one) for one in (diagnosis, *diagnosis.variants)] == told
        for before, after in zip(sentences, _sentences(diagnosis), strict=True):
            assert _numbers(before) == _numbers(after), f"{before!r} → {after!r}"


BROKEN = r"""#!/bin/bash
# Trains on 4 GPUs, colocated
set -u
source "$1/x.sh"
source ./missing.sh
source /etc/hostname
source .
eval "$Q"
N=$(nvidia-smi -L | wc -l); if [ "$N" -le 0 ]; then N=8; fi
for i in {1..30000}; do :; done
while true; do x=1; done
A[99]=3
A[$N]=3
f() { f; }
f
bash other.sh
# TP=4
python3 -m relax.entrypoints.train --tensor-model-parallel-size 2 --num-layers $(cat x) \
  --colocate --help --resource '{"actor":[1,"a"],"rollout":4}' --context-parallel-size 0 \
  --global-batch-size 10000000000000 --multimodal-keys 3 --hidden-size $RANDOM $UNKNOWN
python3 -m relax.entrypoints.train --num-layers 3
if [ -e /x/y ]; then python3 train.py --num-layers 3; fi
if (( ; then
"""


def test_a_broken_script_is_read_the_same_in_every_language(tmp_path: Path) -> None:
    script = tmp_path / "run-qwen3-4B-16xgpu-async.sh"
    script.write_text(BROKEN)
    english = Doctor().diagnose(str(script))
    for language in TRANSLATED:
        speak(language)
        diagnosis = Doctor().diagnose(str(script))
        pairs = [(english, diagnosis), *zip(english.variants, diagnosis.variants, strict=True)]
        for one, other in pairs:
            assert _verdicts(one) == _verdicts(other)
            assert _numbers(one.condition or "") == _numbers(other.condition or "")
            assert [note.place for note in one.notes] == [note.place for note in other.notes]
            for note, told in zip(one.notes, other.notes, strict=True):
                assert _numbers(note.text) == _numbers(told.text)
                assert re.search(CHINESE, told.text), told
            for problem, told in zip(one.plan.problems, other.plan.problems, strict=True):
                assert problem.setting == told.setting
                assert re.search(CHINESE, told.text), told
            assert all(re.search(CHINESE, text) for text in other.plan.assumptions)
            reasons = {part.reason for setting in other.plan.settings for word in setting.words
                       for part in word.unknown}  # fmt: skip
            assert all(re.search(CHINESE, reason) for reason in reasons)
    assert len(english.notes) >= 15
    assert len(english.variants) >= 2


def _verdicts(diagnosis: Diagnosis) -> object:
    return [
        (
            judgement.rule,
            judgement.verdict,
            finding and (
                finding.severity,
                finding.category,
                finding.blocks_launch,
                finding.setting,
                finding.cost.step_time_fraction,
                finding.cost.memory_gib,
                finding.cost.startup_s,
                finding.fix.changes,
                finding.fix.alternatives,
                finding.fix.instead,
            ),
        )
        for judgement in diagnosis.judgements
        for finding in [judgement.finding]
    ]  # fmt: skip


def _sentences(diagnosis: Diagnosis) -> list[str]:
    """Return the sentences that must quote the same numbers in every language."""
    found = (*diagnosis.findings, *diagnosis.suppressed)
    return [
        *(finding.cost.text for finding in found),
        *(judgement.reason for judgement in diagnosis.judgements),
        *diagnosis.plan.assumptions,
        *map(str, diagnosis.notes),
    ]


def _fault(message: str, text: str) -> str | None:
    """Return what a translation loses, adds or gets wrong."""
    plain, translated = _without_code(message), _without_code(text)
    same = {
        "holes": (re.findall(r"\{[^{}]*\}", message), re.findall(r"\{[^{}]*\}", text)),
        "code": (re.findall(r"`[^`]+`", message), re.findall(r"`[^`]+`", text)),
        "flags": (re.findall(r"--[a-z][\w-]*", plain), re.findall(r"--[a-z][\w-]*", translated)),
        "numbers": (re.findall(r"\d+(?:[.,]\d+)*", plain), re.findall(r"\d+(?:[.,]\d+)*", text)),
    }
    same["numbers"] = (_digits(plain), _digits(translated))
    for fault, (before, after) in same.items():
        if sorted(before) != sorted(after):
            return fault
    words = re.findall(r"(?<![\w./-])[a-z][a-z-]{2,}(?![\w./-])", plain.lower())
    if set(words) - KEPT and re.search("[a-z]{3}", plain) and not re.search(CHINESE, text):
        return "no Chinese"
    if re.search(f"{CHINESE}[,;:.!?]", translated):
        return "punctuation"
    if re.search(rf"{CHINESE}[A-Za-z0-9]|[A-Za-z0-9]{CHINESE}", translated):
        return "spacing"
    if message[:1].isspace() != text[:1].isspace() or message[-1:] == "\n" != text[-1:]:
        return "ends"
    return None


def _without_code(text: str) -> str:
    return re.sub(r"`[^`]*`|\{[^{}]*\}", " ", text)


def _digits(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)*", text)


def _numbers(text: str) -> list[str]:
    return sorted(_digits(text))


def _names(message: str) -> list[str]:
    """Return the names of the values that a message takes."""
    return [name for _, name, _, _ in string.Formatter().parse(message) if name is not None]
