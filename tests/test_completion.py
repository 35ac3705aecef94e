"""What the shells complete: the files are current, and a real shell offers the right words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perf_doctor.cli import main
from perf_doctor.cli.completion import FILES

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT / "tools"))
FOLDER = PROJECT / "src/perf_doctor/data/completion"

OFFERED = [
    (["wh"], "what-if"),
    (["--fo"], "--format"),
    (["--format", "js"], "json"),
    (["--lang", ""], "zh"),
    (["what-if", "--uns"], "--unset"),
    (["estimate", "--exp"], "--explain"),
    (["rules", "sh"], "show"),
    (["completion", "f"], "fish"),
]


@pytest.mark.parametrize("shell", FILES)
def test_the_file_is_what_the_parsers_say(shell: str) -> None:
    from completion import completion

    text = (FOLDER / FILES[shell]).read_text("utf-8")
    assert completion(shell) == text, "out of date; run: python tools/completion.py"


@pytest.mark.parametrize("shell", FILES)
def test_the_command_prints_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == (FOLDER / FILES[shell]).read_text("utf-8")


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("words", "wanted"), OFFERED)
def test_bash_offers(words: list[str], wanted: str) -> None:
    script = """
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _shtab_perf_doctor perf-doctor "${@: -1}" "${@: -2:1}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    answer = run("bash", "-c", script, "bash", str(FOLDER / FILES["bash"]), "perf-doctor", *words)
    assert wanted in answer.split()


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
@pytest.mark.parametrize(("words", "wanted"), OFFERED)
def test_fish_offers(words: list[str], wanted: str) -> None:
    line = f"perf-doctor {' '.join(words)}"
    answer = run("fish", "-c", f"source {FOLDER / FILES['fish']}; complete -C '{line}'")
    assert wanted in answer.split()


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_reads_it() -> None:
    assert run("zsh", "-f", "-n", str(FOLDER / FILES["zsh"])) == ""


def test_doctor_tells_version_catalog_and_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    for word in ("perf-doctor ", "python ", "rules, ", "options of relax", "points of GPU memory"):
        assert word in told
