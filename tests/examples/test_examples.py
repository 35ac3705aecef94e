"""The example scripts: valid bash, and read as bash reads them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bash_oracle import (
    EXAMPLES,
    EXPECTED,
    STAMP,
    RefusedScriptError,
    bash_launches,
    example_scripts,
    expected_launches,
)

SHELL_FILES = sorted(EXAMPLES.rglob("*.sh"))
LAUNCHES: list[dict[str, Any]] = json.loads(EXPECTED.read_text())["launches"]


def name_of(launch: dict[str, Any]) -> str:
    """Name a launch by its script and what its environment sets."""
    settings = [f"{name}={value}" for name, value in launch["env"].items()]
    return " ".join([Path(launch["script"]).name, *settings])


@pytest.mark.parametrize("path", SHELL_FILES, ids=lambda path: path.name)
def test_every_shell_file_is_valid_bash(path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    checked = subprocess.run([bash, "-n", str(path)], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()


def test_expected_json_is_what_bash_passes_today() -> None:
    assert expected_launches() == LAUNCHES


def test_every_example_is_expected() -> None:
    assert {launch["script"] for launch in LAUNCHES} == {
        path.relative_to(EXAMPLES).as_posix() for path in example_scripts()
    }


def test_every_example_stands_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    missing = [path.name for path in example_scripts() if path.name not in readme]
    assert not missing


def test_the_oracle_refuses_a_script_that_is_not_ours(tmp_path: Path) -> None:
    foreign = tmp_path / "run.sh"
    foreign.write_text("pkill -9 python\n")
    with pytest.raises(RefusedScriptError):
        bash_launches(foreign)
    with pytest.raises(RefusedScriptError):
        bash_launches("/etc/profile", written_by_test="/etc")


@pytest.mark.parametrize("launch", LAUNCHES, ids=name_of)
def test_the_reader_finds_the_words_that_bash_passes(
    launch: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    from perf_doctor.cli import main

    settings: list[str] = []
    for name, value in launch["env"].items():
        settings += ["--env", f"{name}={value}"]
    script = EXAMPLES / launch["script"]
    main([str(script), "--format", "json", "--fail-on", "never", *settings])
    report = json.loads(capsys.readouterr().out)
    # The date is the one thing that bash knows and a reader cannot: it appears as ${name}.
    found = [re.sub(r"\$\{\w+\}", STAMP, word) for word in report["launch"]["argv"]]
    expected = [word.replace("{examples}", str(EXAMPLES)) for word in launch["argv"]]
    assert found == expected
    assert report["launch"]["program"] == launch["program"]
