"""What comments beside flags are taken for."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf_doctor.launch.comments import MAX_QUOTED_CHARS, contradictions, directive, reason_for
from perf_doctor.launch.settings import read_settings
from perf_doctor.launch.trainer import find_program, read_trainer
from perf_doctor.shell.model import Comment, Place, Word
from perf_doctor.shell.reader import Surroundings, read_script


def argv(tmp_path: Path, array: str) -> tuple[Word, ...]:
    """Return the words of a launch that passes one array, written as in a script."""
    script = tmp_path / "run.sh"
    script.write_text(f'A=(\n{array}\n)\npython3 -m relax.entrypoints.train "${{A[@]}}"\n')
    run = read_script(str(script), Surroundings(), find_program).runs[0]
    return read_trainer(run.launches[0]).argv


def reason(tmp_path: Path, array: str, flag: str = "--recompute-granularity") -> str | None:
    """Return the reason that is found for a flag of the array."""
    setting = read_settings(argv(tmp_path, array)).given(flag)
    assert setting is not None
    found = reason_for(setting.words)
    return found.text if found else None


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# avoid OOM", "avoid OOM"),
        ("# NOTE(lee): to keep the loss stable", "NOTE(lee): to keep the loss stable"),
        ("# 避免 OOM", "避免 OOM"),
        ("# 显存不够，必须重算", "显存不够，必须重算"),
        ("# at 0.7 only 7.4GB were free", "at 0.7 only 7.4GB were free"),
        ("# images need it", "images need it"),
        ("# memory", None),
        ("# ---- recompute ----", None),
        ("# see https://example.com", None),
        ("# need to comment this when using MLA", None),
        ("# usage: bash run.sh", None),
    ],
)
def test_a_comment_above_is_a_reason_when_it_gives_one(
    tmp_path: Path, comment: str, expected: str | None
) -> None:
    assert reason(tmp_path, f"  {comment}\n  --recompute-granularity full") == expected
    assert reason(tmp_path, f"  --recompute-granularity full  {comment}") == expected


def test_a_reason_belongs_to_the_flags_up_to_the_next_blank_line(tmp_path: Path) -> None:
    array = (
        "  # avoid OOM\n  --recompute-method uniform\n  --recompute-granularity full\n"
        "\n  --optimizer-cpu-offload\n"
    )
    assert reason(tmp_path, array) == "avoid OOM"
    assert reason(tmp_path, array, "--optimizer-cpu-offload") is None


def test_a_trailing_comment_belongs_to_its_own_line(tmp_path: Path) -> None:
    array = "  --recompute-method uniform # avoid OOM\n  --recompute-granularity full\n"
    assert reason(tmp_path, array, "--recompute-method") == "avoid OOM"
    assert reason(tmp_path, array) is None


def test_a_commented_out_flag_is_no_reason(tmp_path: Path) -> None:
    array = "  # --micro-batch-size 1 # avoid OOM\n  --recompute-granularity full\n"
    assert reason(tmp_path, array) is None


def test_a_reason_beside_a_commented_out_flag_still_counts(tmp_path: Path) -> None:
    array = (
        "  #--use-dynamic-batch-size\n  # Packing is not supported for GDN\n"
        "  --recompute-granularity full\n"
    )
    assert reason(tmp_path, array) == "Packing is not supported for GDN"


def test_lines_of_one_block_are_one_text_and_the_sentence_that_explains_is_quoted(
    tmp_path: Path,
) -> None:
    array = (
        "  # Two engines of eight cards. The judge sleeps while the actor trains, so\n"
        "  # that both never hold memory at once.\n  --recompute-granularity full\n"
    )
    assert reason(tmp_path, array) == (
        "The judge sleeps while the actor trains, so that both never hold memory at once."
    )


def test_a_quote_is_short(tmp_path: Path) -> None:
    array = f"  # because {'x' * 400}\n  --recompute-granularity full\n"
    text = reason(tmp_path, array)
    assert text is not None
    assert len(text) == MAX_QUOTED_CHARS
    assert text.endswith("…")


@pytest.mark.parametrize(
    ("text", "rules", "why"),
    [
        ("# perf-doctor: ignore[R-M01] fits since 2.1", ("R-M01",), "fits since 2.1"),
        ("#perf-doctor:ignore[r-m01, R-P05]", ("R-M01", "R-P05"), ""),
        ("# perf-doctor: ignore[] nothing", (), "nothing"),
    ],
)
def test_a_directive_names_rules_and_a_reason(text: str, rules: tuple[str, ...], why: str) -> None:
    found = directive(Comment(text, Place("run.sh", 1), own_line=True))
    assert found is not None
    assert (found.rules, found.reason) == (rules, why)


def test_any_other_comment_is_no_directive() -> None:
    assert directive(Comment("# perf-doctor is nice", Place("run.sh", 1), own_line=True)) is None


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ("# 8 GPUs per engine\n--rollout-num-gpus-per-engine 2", True),
        ("# 2 GPUs per engine\n--rollout-num-gpus-per-engine 2", False),
        ("--tensor-model-parallel-size 2 # TP=4", True),
        ("--tensor-model-parallel-size 2 # TP=2", False),
        ("# GDN does not support flash\n--attention-backend flash", True),
        ("# GDN does not support fused\n--attention-backend flash", False),
        ("# --tensor-model-parallel-size 4\n--tensor-model-parallel-size 2", False),
        ("# TP=4\n--swiglu\n--tensor-model-parallel-size 2", False),
    ],
)
def test_a_comment_that_contradicts_its_flag_is_noted(
    tmp_path: Path, array: str, said: bool
) -> None:
    notes = list(contradictions(read_settings(argv(tmp_path, array))))
    assert bool(notes) == said
