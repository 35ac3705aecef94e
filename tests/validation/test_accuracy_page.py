"""The page on accuracy says what ``perf-doctor validate`` prints today."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from perf_doctor.validation.accuracy_text import groups
from perf_doctor.validation.judged import Judged, Quantity, Summary, score_fits, summarize
from perf_doctor.validation.subjects import SUBJECTS, Validation, validate

PAGE = (Path(__file__).parents[2] / "docs/accuracy.md").read_text("utf-8")
MEMORY = {
    "full layout, well-defined metric (tier A)": "tier A",
    "all": "all",
    "SimuMax, B200": "MooreThreads/SimuMax",
    "Megatron-LM's own tests": "NVIDIA/Megatron-LM",
    "Megatron-Bridge, H100": "NVIDIA-NeMo/Megatron-Bridge",
    "optimizer offload": "optimizer_offload",
    "inference, weights": "serve_memory",
    "ms-swift": "modelscope/ms-swift",
}
# Rows of the table of seconds, in order: quantity, group, and whether sources were left out.
SECONDS: tuple[tuple[str, Quantity, str, bool], ...] = (
    ("**training steps**", "train step", "all", False),
    ("the same", "train step", "all", True),
    ("**decode speeds**", "decode", "all", False),
    ("the same", "decode", "all", True),
    ("Hopper", "decode", "hopper", False),
    ("H20", "decode", "h20", False),
    ("**phases of RL steps**, Hopper", "rl phase", "hopper", False),
    ("generation", "rl phase", "generation, hopper", False),
    ("rollout", "rl phase", "rollout, hopper", False),
    ("log-probs", "rl phase", "log_probs, hopper", False),
    ("update", "rl phase", "update, hopper", False),
    ("weight sync", "rl phase", "weight_sync, hopper", False),
    ("**phases of RL steps**, H20", "rl phase", "h20", False),
    ("generation", "rl phase", "generation, h20", False),
    ("update", "rl phase", "update, h20", False),
)


def rows_below(head: str) -> list[list[str]]:
    """Cells of the table with this first cell in its head."""
    table = PAGE.split(f"| {head} |")[1].split("\n\n")[0]
    return [
        [cell.strip() for cell in row.strip("| ").split(" | ")] for row in table.split("\n")[2:]
    ]


def percent(value: float | None, digits: int = 0, *, sign: bool = False) -> str:
    assert value is not None
    shown = f"{100 * value:{'+' if sign else ''}.{digits}f} %"
    return "0.0 %" if shown == "+0.0 %" else shown.replace("-", "−")


def cells(summary: Summary) -> list[str]:
    return [
        str(summary.eligible),
        percent(summary.covered),
        percent(summary.median_abs_error, 1),
        percent(summary.p90_abs_error, 1),
        percent(summary.bias, 1, sign=True),
        percent(summary.inside),
    ]


def group(quantity: Quantity, judged: Sequence[Judged], name: str) -> Summary:
    return summarize(dict(groups(quantity, judged))[name])


def test_the_table_of_memory_is_what_is_printed(crossed: Validation) -> None:
    judged = crossed.judged["memory"]
    rows = rows_below("runs")
    assert len(rows) == len(MEMORY)
    for row, (label, name) in zip(rows, MEMORY.items(), strict=True):
        assert row[0].startswith(label)
        assert row[1:] == cells(group("memory", judged, name))[:5], label
    inside, right = summarize(judged).inside, score_fits(judged)
    assert f"{percent(inside)} of the measurements lie inside" in PAGE
    assert f"Of {right.points} runs that are published" in PAGE
    assert f"right on {percent(right.right)}" in PAGE


def test_the_table_of_seconds_is_what_is_printed(crossed: Validation) -> None:
    rows = rows_below("seconds or tokens per second")
    assert len(rows) == len(SECONDS)
    for row, (label, quantity, name, left_out) in zip(rows, SECONDS, strict=True):
        judged = (crossed.left_out if left_out else crossed.judged)[quantity]
        assert row[0].startswith(label)
        assert row[1:] == cells(group(quantity, judged, name)), row[0]


def test_what_is_shown_and_not_judged_is_what_is_printed(crossed: Validation) -> None:
    said = PAGE.split("**Shown, and in no figure above:**")[1].split("\n\n")[0].replace("\n", " ")
    apart: dict[str, list[Judged]] = {}
    for quantity in ("train step", "decode"):
        for one in crossed.judged[quantity]:
            if one.apart:
                apart.setdefault(one.apart, []).append(one)

    def middle(name: str) -> str:
        errors = sorted(abs(one.error or 0.0) for one in apart[name] if one.unit == "s")
        return f"({len(errors)}, {percent(errors[len(errors) // 2], 1)})"

    wide = middle("blackwell")[1:-1].replace(", ", ", median ")
    assert f"Blackwell steps in 16 bits ({wide}" in said
    assert f"8 and 4 bits there {middle('blackwell in 8 or 4 bits')}" in said
    assert f"8 bits on Hopper {middle('hopper in 8 or 4 bits')}" in said
    drafted = sum(len(found) for name, found in apart.items() if "speculation" in name)
    assert f"with speculation ({drafted}," in said


def test_runs_that_are_named_as_worst_are_as_far_off(crossed: Validation) -> None:
    """Every error in the list of what is far off belongs to a run."""
    said = PAGE.split("- *Training steps* far off:")[1].split("- *Decode*")[0]
    steps = [one.error for one in crossed.judged["train step"] if one.error is not None]
    errors = {percent(error, sign=True) for error in steps}
    named = re.findall(r"([−+]\d+ %)", said)
    assert len(named) == 5
    assert set(named) <= errors


def test_lengths_that_follow_from_the_update_are_told_apart(crossed: Validation) -> None:
    said = PAGE.split("- **Lengths were told")[1].split("- **")[0].replace("\n ", "")

    def of(phase: str, *, by_mfu: bool) -> tuple[int, str]:
        errors = [
            abs(one.error)
            for one in crossed.judged["rl phase"]
            if one.error is not None
            and (one.metric, one.family) == (phase, "hopper")
            and any("MFU" in each for each in one.assumptions) == by_mfu
        ]
        return len(errors), percent(median(errors), 1)

    (count, error), (others, other) = (of("update", by_mfu=kind) for kind in (True, False))
    assert f"The {count} Hopper updates of this kind are {error} off" in said
    assert f"the {others} with lengths known otherwise {other}" in said
    (count, error), (others, other) = (of("generation", by_mfu=kind) for kind in (True, False))
    assert f"Generation: {error} of {count} and {other} of {others}." in said


def test_the_examples_of_the_page_are_judged() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    points = [point for found in map(json.loads, blocks) for point in found.get("points", [found])]
    assert len(points) == 3
    found = validate(points)
    counts = {one.key: sum(r.eligible for r in found.judged[one.quantity]) for one in SUBJECTS}
    assert counts == {"memory": 1, "time": 0, "decode": 1, "rl_phases": 3}


@pytest.mark.parametrize("name", ["test_step_orderings.py", "test_rl_pairs.py"])
def test_the_pairs_that_the_page_counts_are_those_of_the_tests(name: str) -> None:
    assert f"tests/validation/{name}" in PAGE
    if name == "test_step_orderings.py":
        from test_step_orderings import KNOWN_WRONG, measured_pairs

        pairs = measured_pairs()
        assert f"all {len(pairs)} pairs of bundled steps" in PAGE
        assert f"{len(pairs) - len(KNOWN_WRONG)} are ordered right" in PAGE
    else:
        import test_rl_pairs

        (mark,) = test_rl_pairs.test_measured_pairs_are_ordered_alike.pytestmark
        assert f"{len(mark.args[1])} pairs that were picked" in PAGE
