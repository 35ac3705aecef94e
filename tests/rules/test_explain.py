"""A rule's condition, step by step, with the values of a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf_doctor.cli import main

PROJECT = Path(__file__).parent.parent.parent
BROKEN = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def test_every_step_has_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "r-c09", BROKEN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "R-C09 — Context parallelism without per-token loss"
    assert "  cp → 2" in lines
    assert "  cp > 1 → yes" in lines
    assert '  on("--calculate-per-token-loss") → no' in lines
    assert "  so it holds" in lines
    assert any(line.startswith("applies: CP is 2") for line in lines)


def test_what_is_not_known_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "python3 -m relax.entrypoints.train --colocate --context-parallel-size $(cat cp)\n"
    )
    assert main(["explain", "R-C09", str(script)]) == 0
    told = capsys.readouterr().out
    assert "  cp → not known" in told
    assert "so it cannot be decided" in told
    assert "needs-judgement: " in told


def test_a_rule_for_readers_shows_its_prose(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    unjudged = [line.split()[0] for line in listed if line.endswith("needs judgement)")]
    assert len(unjudged) >= 3
    for rule in unjudged[:3]:
        assert main(["explain", rule, BROKEN]) == 0
        assert "no condition decides this" in capsys.readouterr().out


def test_an_unknown_rule_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "R-C999", BROKEN]) == 2
    assert "no rule is called R-C999" in capsys.readouterr().err


def test_the_experiment_is_shown_with_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "R-M17", BROKEN]) == 0
    lines = capsys.readouterr().out.splitlines()
    tried = lines.index("tried: --optimizer-offload-fraction 0.25")
    assert lines[tried + 1].startswith("step    ")
    assert any(line.startswith("memory  peak ") for line in lines[tried:])
    assert any(line.split()[:3] == ["today", "with", "the"] for line in lines[tried:])
    assert main(["what-if", BROKEN, "--set", "--optimizer-offload-fraction 0.25"]) == 0
    alone = capsys.readouterr().out.splitlines()
    rows = {line for line in lines if line.startswith("  ") and line.endswith("%")}
    assert len(rows) >= 2
    assert rows <= {*alone}


def test_every_other_way_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    from perf_doctor.diagnosis import Doctor

    script = BROKEN
    found = next(one for one in Doctor().diagnose(script).findings if one.fix.alternatives)
    assert main(["explain", found.rule, script]) == 0
    out = capsys.readouterr().out
    assert out.count("\nor: ") == len(found.fix.alternatives)


def test_a_rule_that_does_not_apply_shows_no_experiment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "R-C10", BROKEN]) == 0
    assert "tried:" not in capsys.readouterr().out


def test_what_was_tried_in_vain_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    script = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
    assert main(["explain", "R-P04", script, "--gpu", "H20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("not-applicable: ") for line in lines)
    assert any(line.startswith("tried: --context-parallel-size") for line in lines)
