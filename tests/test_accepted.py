"""Findings that a project lives with: written once, matched without lines, stale ones told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf_doctor.cli import main

SCRIPT = """\
ARGS=(
  --no-such-flag 1
  --colocate
)
ray job submit -- python3 -m relax.entrypoints.train "${ARGS[@]}"
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "scripts" / "run.sh"
    path.parent.mkdir()
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def accepted(script: Path, capsys: Capture) -> Path:
    """Return a file that accepts everything about the script."""
    file = script.parent.parent / "accepted.json"
    assert main([str(script), "--write-accepted", str(file)]) == 0
    capsys.readouterr()
    return file


def report(capsys: Capture, *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def entries(file: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(file.read_text())["accepted"]
    return rows


def test_what_is_accepted_is_counted_and_fails_no_run(
    script: Path, accepted: Path, capsys: Capture
) -> None:
    assert report(capsys, script)[0] == 1
    code, out, err = report(capsys, script, "--accepted", accepted)
    assert code == 0
    assert "###" not in out
    assert "suppressed" in out
    assert "no finding any more" not in err


def test_lines_do_not_matter_flags_and_arrays_do(
    script: Path, accepted: Path, capsys: Capture
) -> None:
    script.write_text("# more\n# lines\n" + SCRIPT)
    assert "###" not in report(capsys, script, "--accepted", accepted)[1]
    script.write_text(SCRIPT.replace("ARGS", "OTHER_ARGS"))
    assert "R-C01" in report(capsys, script, "--accepted", accepted)[1]
    script.write_text(SCRIPT.replace("--no-such-flag", "--no-other-flag"))
    assert "R-C01" in report(capsys, script, "--accepted", accepted)[1]


def test_what_fits_nothing_any_more_is_told(script: Path, accepted: Path, capsys: Capture) -> None:
    script.write_text(SCRIPT.replace("  --no-such-flag 1\n", ""))
    err = report(capsys, script, "--accepted", accepted)[2]
    assert "fits no finding any more: scripts/run.sh R-C01 --no-such-flag in ARGS" in err
    err = report(capsys, script, "--accepted", accepted, "--select", "R-M")[2]
    assert "fits no finding any more" not in err
    other = script.with_name("other.sh")
    other.write_text(SCRIPT)
    script.rename(script.with_name("moved.sh"))
    assert "scripts/run.sh R-C01" in report(capsys, other, "--accepted", accepted)[2]


def test_reasons_and_other_scripts_are_kept(script: Path, accepted: Path, capsys: Capture) -> None:
    rows = entries(accepted)
    rows[0]["reason"] = "we know"
    rows.append({"script": "scripts/other.sh", "rule": "R-C01", "settings": [], "reason": "too"})
    accepted.write_text(json.dumps({"accepted": rows}))
    assert report(capsys, script, "--write-accepted", accepted)[0] == 0
    assert {row["reason"] for row in entries(accepted)} == {"we know", "too", ""}
    text = report(capsys, script, "--accepted", accepted, "--format", "json")[1]
    assert "accepted in accepted.json: we know" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[]", 'has no list "accepted"'),
        ('{"accepted": [1]}', "entry 1 is no object"),
        ('{"accepted": [{"rulee": "x"}]}', "there is no key 'rulee'"),
        ('{"accepted": [{"rule": 1}]}', "rule must be a str"),
        ('{"accepted": [{"rule": "R-C01", "settings": []}]}', "script is missing"),
        ("[" * 100_000, "is not JSON"),
    ],
)
@pytest.mark.parametrize("option", ["--accepted", "--write-accepted"])
def test_a_broken_file_is_one_line(
    text: str, told: str, option: str, script: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    code, _, err = report(capsys, script, option, file)
    assert code == 2
    assert told in err
    assert "Traceback" not in err
    assert file.read_text() == text


def test_the_script_is_never_written(script: Path, capsys: Capture) -> None:
    assert report(capsys, script, "--write-accepted", script)[0] == 2
    assert script.read_text() == SCRIPT


def test_a_configuration_may_name_the_file(script: Path, accepted: Path, capsys: Capture) -> None:
    (script.parent.parent / "perf-doctor.toml").write_text('accepted = "accepted.json"\n')
    code, _, err = report(capsys, script)
    assert code == 0
    assert "decides what is told (accepted)" in err
    assert report(capsys, script, "--untrusted")[0] == 1
    assert accepted.is_file()
