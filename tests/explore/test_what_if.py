"""What if: the table reads the same from either end, and nothing is said where nothing changes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from perf_doctor.cli import main
from perf_doctor.diagnosis import Diagnosis, Doctor, Options
from perf_doctor.explore.asked import read_changes
from perf_doctor.explore.what_if import WhatIf, what_if
from perf_doctor.report.schema import MEMORY
from perf_doctor.report.verdicts import MAX_COLUMNS

PROJECT = Path(__file__).parents[2]
TEXT = "examples/scripts/training/text"
MOE = f"{TEXT}/run-qwen36-35B-A3B-8xgpu.sh"
EXAMPLES = sorted(
    str(path.relative_to(PROJECT)) for path in (PROJECT / "examples/scripts/training").rglob("*.sh")
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


@pytest.fixture(scope="module")
def doctor() -> Doctor:
    return Doctor()


def tried(script: Diagnosis, *to_set: str, unset: tuple[str, ...] = ()) -> WhatIf:
    return what_if(script, read_changes(to_set, unset, script.job.settings))


def test_the_tables_are_the_ones_we_reviewed(snapshot: SnapshotAssertion, capsys: Capture) -> None:
    assert main(["what-if", MOE, "--set", "--max-tokens-per-gpu 12288",
                 "--unset", "--optimizer-cpu-offload"]) == 0  # fmt: skip
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ("--max-tokens-per-gpu 16384", "--max-tokens-per-gpu 10240"),
        ("--sglang-mem-fraction-static 0.5", "--sglang-mem-fraction-static 0.7"),
        ("--tensor-model-parallel-size 4", "--tensor-model-parallel-size 2"),
    ],
)
def test_the_reverse_change_gives_the_reverse_table(
    there: str, back: str, doctor: Doctor, tmp_path: Path
) -> None:
    flag = there.partition(" ")[0]
    text = Path(MOE).read_text("utf-8")
    changed = re.sub(rf"{flag} [\d.]+", there, text)
    assert changed != text
    other = tmp_path / Path(MOE).name
    other.write_text(changed, "utf-8")
    elsewhere = Doctor(Options(model_config_dir="examples/scripts/models"))
    outward = tried(doctor.diagnose(MOE), there).pair
    returning = tried(elsewhere.diagnose(str(other)), back).pair
    assert [(row.name, row.after, row.before) for row in outward.memory_rows] == [
        tuple(row) for row in returning.memory_rows
    ]
    assert [(row.name, row.after, row.before) for row in outward.time_rows] == [
        tuple(row) for row in returning.time_rows
    ]
    ours, theirs = outward.finding_changes, returning.finding_changes
    assert {one.rule for one in ours.appeared} == {one.rule for one in theirs.vanished}
    assert {one.rule for one in ours.vanished} == {one.rule for one in theirs.appeared}
    assert outward.before.memory.phases != outward.after.memory.phases


def test_a_changed_job_is_judged_as_the_script_it_stands_for(doctor: Doctor) -> None:
    script = doctor.diagnose(MOE)
    pair = tried(script, "--context-parallel-size 3").pair
    appeared = {finding.rule for finding in pair.finding_changes.appeared}
    assert any(finding.blocks_launch for finding in pair.findings_after)
    assert appeared
    assert pair.findings_before == script.findings


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "--tensor-model-parallel-size 2"],
        ["--unset", "--fp16"],
        ["--set", "--colocate", "--unset", "--use-tensorboard"],
        ["--set", "--micro-batch-size 1"],  # the parser's default
    ],
)
def test_no_effective_change_is_said(words: list[str], doctor: Doctor, capsys: Capture) -> None:
    assert main(["what-if", MOE, *words]) == 0
    out = capsys.readouterr().out
    assert "no effective change: the launch is the same\n" in out
    assert "GiB" not in out
    assert main(["what-if", MOE, *words, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["effective"] is False
    assert report["before"] == report["after"]


def test_a_change_that_moves_nothing_shows_no_table(capsys: Capture) -> None:
    assert main(["what-if", MOE, "--set", "--lr 3e-6"]) == 0
    out = capsys.readouterr().out
    assert "no phase changes in memory or time" in out
    assert "was 1e-6" in out
    assert "per GPU" not in out


@pytest.mark.parametrize("script", EXAMPLES)
def test_tables_are_narrow_and_say_something(script: str, capsys: Capture) -> None:
    for words in (["--set", "--context-parallel-size 2"], ["--set", "--resource '{}'"],
                  ["--set", "--recompute-granularity full"]):  # fmt: skip
        assert main(["what-if", script, *words]) == 0
        out = capsys.readouterr().out.splitlines()
        for line in out:
            assert len(line) <= MAX_COLUMNS or "model=" in line, line
            assert line == line.rstrip()
            cells = re.split(r"\s{2,}", line.strip())
            if line.startswith("  ") and len(cells) >= 3:
                assert cells[1] != cells[2], line


def test_the_json_holds_the_objects_of_a_report(capsys: Capture) -> None:
    assert main(["what-if", MOE, "--unset", "--optimizer-cpu-offload", "--set", "--fp16",
                 "--format", "json"]) == 0  # fmt: skip
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {
        "schema_version", "tool", "script", "set", "unset", "effective", "before", "after", "gain",
        "findings", "stopped_by",
    }  # fmt: skip
    assert report["set"] == {"--fp16": True}
    assert report["unset"] == ["--optimizer-cpu-offload"]
    for side in ("before", "after"):
        assert set(report[side]) == {"memory", "time"}
        jsonschema.validate(report[side]["memory"], MEMORY)
    assert main(["estimate", MOE, "--format", "json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert report["before"] == {"memory": alone["memory"], "time": alone["time"]}
    assert report["gain"]["low"] <= report["gain"]["expected"] <= report["gain"]["high"]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "value",
    ["\x1b[31mred", "a\u202eb", "a\nb", "\x00", "--wandb-key", "x" * 5_000, "`rm`\x07", "\ud800"],
)
def test_hostile_values_are_inert(value: str, form: str, capsys: Capture) -> None:
    for words in (
        ["--set", f"--prompt-data '{value}'"],
        ["--set", f"--context-parallel-size '{value}'"],
        ["--set", f"--{value}"],
        ["--unset", f"--{value}"],
    ):
        assert main(["what-if", MOE, *words, "--format", form]) in (0, 2)
        told = capsys.readouterr()
        for line in (told.out + told.err).split("\n"):
            assert line.isprintable(), repr(line)
        assert "Traceback" not in told.err


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("secret", ["s3cr3t-v4lue-0123456789", "short"])
def test_a_secret_among_the_changes_is_masked(secret: str, form: str, capsys: Capture) -> None:
    assert main(["what-if", MOE, "--set", f"--wandb-key {secret}", "--format", form]) == 0
    told = capsys.readouterr()
    assert f"--wandb-key{' ' if form == 'text' else chr(34)}" in told.out
    assert secret not in told.out + told.err
    assert "${REDACTED}" in told.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_that_is_replaced_is_masked(form: str, tmp_path: Path, capsys: Capture) -> None:
    script = tmp_path / "run-qwen3-4B-8xgpu.sh"
    script.write_text(
        "python3 -m relax.entrypoints.train --colocate --wandb-key 0ld-s3cr3t-0123456789\n"
    )
    words = ["what-if", str(script), "--format", form]
    for change in (["--set", "--wandb-key n3w-s3cr3t-0123456789"], ["--unset", "--wandb-key"]):
        assert main([*words, *change]) == 0
        assert "s3cr3t" not in capsys.readouterr().out


def test_the_lengths_that_both_rest_on_are_told(capsys: Capture) -> None:
    words = ["what-if", MOE, "--set", "--rollout-max-response-len 16384"]
    assert main(words) == 0
    assert re.search(
        r"^step .* at a mean response of [\d,]+ → [\d,]+ tokens$",
        capsys.readouterr().out,
        re.MULTILINE,
    )
    assert main([*words, "--mean-response-len", "2000"]) == 0
    assert "mean response of" not in capsys.readouterr().out
