"""The hook for pre-commit: which files it takes, and that the program takes its arguments."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from ci_machine import ROOT, yaml_of

from perf_doctor.cli import main

(HOOK,) = yaml_of(".pre-commit-hooks.yaml")
SCRIPTS = ROOT / "examples/scripts/training/text"


def test_it_is_the_program_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    command, *_ = HOOK["entry"].split()
    assert HOOK["id"] == HOOK["name"] == command == project["name"]
    assert command in project["scripts"]
    assert HOOK["language"] == "python"


@pytest.mark.parametrize(
    ("file", "taken"),
    [
        ("scripts/run-qwen3-4B-8xgpu.sh", True),
        ("scripts/training/text/run-qwen3-4B-8xgpu.sh", True),
        ("examples/scripts/training/run-a b.sh", True),
        ("scripts/models/qwen3-4B.sh", False),
        ("scripts/entrypoint/local.sh", False),
        ("scripts/run-qwen3-4B-8xgpu.sh.bak", False),
        ("scripts/run-old/notes.sh", False),
        ("scripts/training/prerun-x.sh", False),
        ("myscripts/run-x.sh", False),
        ("run-x.sh", False),
    ],
)
def test_it_takes_launch_scripts_by_their_name(file: str, *, taken: bool) -> None:
    assert bool(re.search(HOOK["files"], file)) == taken


def test_it_takes_every_launch_script_of_the_examples() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/**/*.sh")]
    taken = {file for file in files if re.search(HOOK["files"], file)}
    assert taken == {file for file in files if "/training/" in file}


def test_the_program_takes_its_arguments_before_the_file_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, *options = HOOK["entry"].split()
    assert "args" not in HOOK  # the project's configuration decides
    words = [*options, str(SCRIPTS / "run-qwen3-4B-8xgpu.sh")]
    assert main(words) == 0
    assert main([*words, str(SCRIPTS / "run-qwen3-14B-8xgpu.sh")]) == 1
    assert "R-C06" in capsys.readouterr().out


def test_what_launches_nothing_keeps_nobody_from_committing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "run-helper.sh"
    script.write_text("echo nothing\n")
    _, *options = HOOK["entry"].split()
    assert main([*options, str(script)]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([str(script)]) == 2
    assert main([*options, str(tmp_path / "none.sh")]) == 2
