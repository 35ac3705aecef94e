"""What the parts of an estimate are called: every one has a word, in columns of any language."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from perf_doctor.diagnosis import Doctor
from perf_doctor.estimate.constants import CONSTANTS
from perf_doctor.estimate.explain import explain, explain_host
from perf_doctor.estimate.phases import Components, PhaseName
from perf_doctor.estimate.shown import listed, named, phase_line, word
from perf_doctor.estimate.time import PHASES
from perf_doctor.estimate.time_text import timeline
from perf_doctor.language import speak
from perf_doctor.width import left

PROJECT = Path(__file__).parent.parent.parent
SCRIPT = str(PROJECT / "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh")
SAME = {"rollout", "logits"}
"""Words of Chinese engineers."""


@pytest.mark.parametrize("name", sorted({*PHASES, *get_args(PhaseName), *Components._fields}))
def test_every_phase_and_component_has_a_word_in_every_language(name: str) -> None:
    assert named(name) == name
    assert word(name) == name.replace("_", " ")
    speak("zh")
    assert named(name) == word(name)
    assert (word(name) == name) == (name in SAME)


def test_a_phase_is_told_with_its_role_and_stage() -> None:
    memory = Doctor().diagnose(SCRIPT).memory
    lines = [phase_line(phase) for phase in memory.phases]
    assert {"train, stage 0", "rollout"} < {*lines}
    engine = next(phase for phase in memory.phases if phase.phase == "rollout")
    assert phase_line(engine._replace(role="genrm")) == "rollout genrm"


def test_lists_have_commas_between_their_parts() -> None:
    assert listed([]) == ""
    assert listed(["a {brace}"]) == "a {brace}"
    assert listed(iter("abc")) == "a, b, c"


def test_columns_stand_in_a_line_in_chinese() -> None:
    assert left("train", 8) == "train   "
    assert left("训练", 8) == "训练    "
    time = Doctor().diagnose(SCRIPT).time
    english = [line.index("█") for line in timeline(time) if "█" in line]
    speak("zh")
    cells = [
        sum(2 if char > "\u2e7f" else 1 for char in line.split("█")[0])
        for line in timeline(time)
        if "█" in line
    ]
    assert cells == english


def test_constants_are_explained_by_the_names_of_their_table() -> None:
    memory = Doctor().diagnose(SCRIPT).memory
    told = " ".join(str(one) for phase in memory.phases for one in explain(memory, phase))
    told += str(explain_host(memory))
    shown = [
        one for one in CONSTANTS if f"{one.name} {one.value.expected:g} ({one.value.low:g}" in told
    ]
    assert len(shown) == 9
