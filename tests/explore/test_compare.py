"""Compare: what differs and matters, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from perf_doctor import plan as plan_room
from perf_doctor.cli import main
from perf_doctor.diagnosis import Doctor, Options
from perf_doctor.explore.compare import VARIABLES, Comparison, compare
from perf_doctor.report.verdicts import MAX_COLUMNS

PROJECT = Path(__file__).parents[2]
TEXT = "examples/scripts/training/text"
A, B = f"{TEXT}/run-qwen36-35B-A3B-8xgpu.sh", f"{TEXT}/run-qwen36-35B-A3B-16xgpu-async.sh"
DENSE = f"{TEXT}/run-qwen3-8B-8xgpu.sh"
MODELS = str(PROJECT / "examples/scripts/models")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def compared(a: str, b: str) -> Comparison:
    doctor = Doctor(Options(model_config_dir=MODELS))
    return compare(doctor.diagnose(a), doctor.diagnose(b), doctor.catalog.rules)


def edited(folder: Path, old: str, new: str) -> str:
    """Write a copy of A with one text replaced, under the same name."""
    text = Path(A).read_text("utf-8")
    assert old in text
    copy = folder / Path(A).name
    copy.write_text(text.replace(old, new), "utf-8")
    return str(copy)


def test_the_comparison_is_the_one_we_reviewed(
    snapshot: SnapshotAssertion, capsys: Capture
) -> None:
    assert main(["compare", A, B]) == 0
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_script_compared_with_itself_is_empty(form: str, capsys: Capture) -> None:
    assert main(["compare", A, A, "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "text":
        assert out.endswith("\n\nno setting that matters differs\n")
        return
    report = json.loads(out)
    assert report["same"] is True
    assert report["settings"] == report["environment"] == report["other_settings"] == []
    assert report["findings"] == {"only_b": [], "only_a": [], "changed": []}
    assert report["gain"] == {"low": 0, "expected": 0, "high": 0}


@pytest.mark.parametrize(
    ("old", "new", "flag"),
    [
        ("--max-tokens-per-gpu 10240", "--max-tokens-per-gpu 12288", "--max-tokens-per-gpu"),
        ("  --calculate-per-token-loss\n", "", "--calculate-per-token-loss"),
        ("--rollout-num-gpus-per-engine 2", "--rollout-num-gpus-per-engine 4",
         "--rollout-num-gpus-per-engine"),
    ],
)  # fmt: skip
def test_one_setting_that_matters_is_one_line(
    old: str, new: str, flag: str, tmp_path: Path
) -> None:
    found = compared(edited(tmp_path, "", ""), edited(_sub(tmp_path), old, new))
    assert [one.flag for one in found.settings] == [flag]
    assert found.others == ()
    assert not found.same


@pytest.mark.parametrize(
    ("old", "new", "flag"),
    [
        ("--tb-project-name perf-doctor-examples", "--tb-project-name x", "--tb-project-name"),
        ("--label-key label", "--label-key answer", "--label-key"),
        ("dapo-math-17k.jsonl", "other.jsonl", "--prompt-data"),
        ("--rollout-shuffle", "--rollout-shuffle --seed 7 --rollout-seed 7", "--seed"),
        ("--weight-decay 0.1", "--weight-decay 0.2", "--weight-decay"),
    ],
)
def test_names_paths_and_seeds_are_no_lines(old: str, new: str, flag: str, tmp_path: Path) -> None:
    found = compared(edited(tmp_path, "", ""), edited(_sub(tmp_path), old, new))
    assert found.settings == ()
    assert flag in found.others
    assert found.same


def test_a_default_that_is_written_down_is_no_difference(tmp_path: Path) -> None:
    written = edited(_sub(tmp_path), "--colocate", "--colocate --micro-batch-size 1")
    found = compared(edited(tmp_path, "", ""), written)
    assert (found.settings, found.others) == ((), ())


def test_alone_is_what_if(tmp_path: Path) -> None:
    found = compared(A, B)
    from perf_doctor.explore.asked import read_changes
    from perf_doctor.explore.what_if import what_if

    row = next(one for one in found.settings if one.flag == "--sglang-mem-fraction-static")
    script = Doctor().diagnose(A)
    changes = read_changes(["--sglang-mem-fraction-static 0.8"], [], script.job.settings)
    assert what_if(script, changes).pair.after.memory.phases == row.alone.after.memory.phases


def test_what_one_setting_alone_runs_into_is_named() -> None:
    row = next(one for one in compared(A, B).settings if one.flag == "--fully-async")
    assert "R-C10" in row.stops


def test_the_other_way_round_is_the_mirror() -> None:
    there, back = compared(A, B), compared(B, A)
    assert {(one.flag, str(one.a.stored), str(one.b.stored)) for one in there.settings} == {
        (one.flag, str(one.b.stored), str(one.a.stored)) for one in back.settings
    }
    assert [(one.after, one.before) for one in sorted(there.pair.time_rows)] == [
        (one.before, one.after) for one in sorted(back.pair.time_rows)
    ]


def test_another_model_is_one_line(capsys: Capture) -> None:
    assert main(["compare", A, DENSE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("--num-layers" in line for line in lines) == 1
    assert sum(line.startswith("  the model: ") for line in lines) == 1
    for line in lines:
        assert len(line) <= MAX_COLUMNS or "model=" in line, line


def test_environment_that_matters_is_compared(tmp_path: Path, capsys: Capture) -> None:
    launch = "python3 -m relax.entrypoints.train --colocate\n"
    a, b = tmp_path / "a.sh", tmp_path / "b.sh"
    a.write_text(f"export CUDA_DEVICE_MAX_CONNECTIONS=1\nexport EDITOR=vi\n{launch}")
    b.write_text(f"export CUDA_DEVICE_MAX_CONNECTIONS=8\nexport EDITOR=ed\n{launch}")
    assert main(["compare", str(a), str(b)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"CUDA_DEVICE_MAX_CONNECTIONS +1 +8\n", out)
    assert "EDITOR" not in out


def test_every_variable_that_is_read_is_compared() -> None:
    source = Path(plan_room.__file__).parents[1]
    text = "".join(
        (source / name).read_text("utf-8")
        for name in ("rules/facts.py", "rules/derived.py", "plan/training.py")
    )
    read = re.findall(r'variable\(\s*"(\w+)"', text)
    read += re.findall(r'environment\.get\(\s*"(\w+)"', text)
    read += re.findall(r'"(OPEN_TRAINING_\w+)"', text)
    assert {*read} == {*VARIABLES}


def test_secrets_of_both_scripts_are_masked(tmp_path: Path, capsys: Capture) -> None:
    scripts = []
    for name, secret in (("a", "0ne-s3cr3t-0123456789"), ("b", "tw0-s3cr3t-0123456789")):
        script = tmp_path / f"{name}.sh"
        script.write_text(
            f"python3 -m relax.entrypoints.train --colocate --opd-teacher-url http://u:{secret}@h\n"
        )
        scripts.append(str(script))
    plain = tmp_path / "plain.sh"
    plain.write_text("python3 -m relax.entrypoints.train --colocate\n")
    for form in ("text", "json"):
        for one, other in ((scripts[0], scripts[1]), (scripts[0], str(plain))):
            assert main(["compare", one, other, "--format", form]) == 0
            told = capsys.readouterr()
            assert "s3cr3t" not in told.out + told.err


@pytest.mark.parametrize(
    "words", [[A], [A, "no-such.sh"], [A, "examples"], [A, B, A], [A, B, "--gpu", "B42"]]
)
def test_what_cannot_be_compared_is_told(words: list[str], capsys: Capture) -> None:
    assert main(["compare", *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("perf-doctor: ")


def _sub(folder: Path) -> Path:
    other = folder / "other"
    other.mkdir()
    return other
