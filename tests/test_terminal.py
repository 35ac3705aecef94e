"""What a person at a terminal gets: the terminal's format, its width, colour, progress."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from perf_doctor.cli.progress import FEW, followed
from perf_doctor.cli.targets import Screen, screen

PROJECT = Path(__file__).parent.parent
SCRIPT = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def at_a_terminal(*words: str, **environment: str) -> str:
    """Return what the command prints to a terminal of 70 columns."""
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "70", **environment}
    command = [sys.executable, "-m", "perf_doctor", *words]
    with subprocess.Popen(
        command, stdout=child, stderr=child, env=env, cwd=PROJECT, stdin=subprocess.DEVNULL
    ) as process:
        os.close(child)
        shown = b""
        while select.select([parent], [], [], 30)[0]:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        process.wait(30)
    os.close(parent)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_its_own_format_in_its_width_and_in_colour() -> None:
    shown = at_a_terminal(SCRIPT)
    assert "\x1b[" in shown
    plain = ESCAPE.sub("", shown)
    assert "next: perf-doctor explain" in plain
    assert "## " not in plain
    report = plain.split(f"\n{SCRIPT}\n")[1]
    long = [line for line in report.split("\n") if len(line) > 70]
    assert all("--" in line or "perf-doctor" in line for line in long)


def test_no_color_and_a_format_are_heeded() -> None:
    assert "\x1b" not in at_a_terminal(SCRIPT, NO_COLOR="1")
    assert "\x1b" not in at_a_terminal(SCRIPT, TERM="dumb")
    assert "# perf-doctor: " in at_a_terminal(SCRIPT, "--format", "markdown")


def piped(*words: str, **environment: str) -> str:
    """Return what the command prints to a pipe."""
    command = [sys.executable, "-m", "perf_doctor", SCRIPT, *words]
    env = {**os.environ, "NO_COLOR": "", **environment}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=PROJECT, env=env
    ).stdout


def test_a_pipe_gets_markdown_without_colour_unless_it_is_forced() -> None:
    assert piped().startswith("# perf-doctor: ")
    assert "\x1b" not in piped("--format", "text")
    assert "\x1b" in piped("--format", "text", FORCE_COLOR="1")


@pytest.mark.parametrize(
    ("environment", "columns", "colour"),
    [
        ({}, 100, False),
        ({"COLUMNS": "72"}, 72, False),
        ({"COLUMNS": "3"}, 40, False),
        ({"COLUMNS": "9" * 50}, 120, False),
        ({"COLUMNS": "many"}, 100, False),
        ({"FORCE_COLOR": "1"}, 100, True),
        ({"FORCE_COLOR": "0"}, 100, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, 100, False),
    ],
)
def test_the_screen_is_what_the_environment_says(
    environment: dict[str, str], columns: int, colour: bool
) -> None:
    assert screen(environment) == Screen(False, columns, colour)


def test_nothing_is_shown_of_the_progress_where_nobody_looks(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert list(followed(list(range(FEW + 1)))) == list(range(FEW + 1))
    assert capfd.readouterr() == ("", "")


def test_a_person_sees_how_far_a_long_call_is(tmp_path: Path) -> None:
    for number in range(FEW + 1):
        (tmp_path / f"run{number}.sh").write_text((PROJECT / SCRIPT).read_text())
    shown = at_a_terminal(str(tmp_path), "--summary", "--fail-on", "never")
    assert "%" in ESCAPE.sub("", shown)
    assert ESCAPE.sub("", shown).count("run-") == 0
    assert "| script" in shown
