"""The table of many scripts: one line for each launch, markdown that parses."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from perf_doctor.cli import main
from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.formats import Report, rendered
from perf_doctor.rules.severity import WORST_FIRST

PROJECT = Path(__file__).parent.parent.parent
HOSTILE = """\
export WANDB_API_KEY=abcdef0123456789abcdef
ray job submit -- python3 -m relax.entrypoints.train --colocate '--no|such\x1b[31m' 1
"""


def rows(text: str) -> list[list[str]]:
    """Return the cells of the table as markdown has them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    cells: list[list[str]] = []
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            cells.append([])
        if token.type in ("td_open", "th_open"):
            cells[-1].append(tokens[number + 1].content)
    return cells


@pytest.fixture(scope="module")
def diagnoses() -> tuple[Diagnosis, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        scripts = sorted(Path("examples/scripts/training").rglob("*.sh"))
        return tuple(map(Doctor().diagnose, map(str, scripts)))


def test_a_line_for_each_launch_with_its_counts(diagnoses: tuple[Diagnosis, ...]) -> None:
    head, *lines = rows(rendered("summary", Report(diagnoses)))
    launches = [one for whole in diagnoses for one in (whole, *whole.variants)]
    assert len(launches) > len(diagnoses)
    assert len(lines) == len(launches)
    for cells, diagnosis in zip(lines, launches, strict=True):
        assert cells[0].startswith(diagnosis.script)
        assert cells[1] == str(diagnosis.plan.cluster.gpus)
        counts = [str(diagnosis.count(severity)) for severity in WORST_FIRST]
        assert cells[3:6] == counts
        assert len(cells) == len(head)
        if diagnosis.findings and diagnosis.findings[0].severity != "info":
            assert cells[-1].endswith(f"({diagnosis.findings[0].rule})")
        else:
            assert cells[-1] == ""


def test_a_script_can_make_no_cell_and_tell_no_secret(tmp_path: Path) -> None:
    script = tmp_path / "a|b\x1b[31m.sh"
    script.write_text(HOSTILE)
    text = rendered("summary", Report((Doctor().diagnose(str(script)),)))
    head, cells = rows(text)
    assert len(cells) == len(head)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "abcdef0123" not in text


def test_a_table_is_not_told_twice(capsys: pytest.CaptureFixture[str]) -> None:
    script = str(PROJECT / "examples/scripts/training/text/run-qwen3-4B-8xgpu.sh")
    assert main([script, script, "--summary"]) == 0
    assert "Fits" not in capsys.readouterr().err
    assert main([script, script]) == 0
    assert capsys.readouterr().err.count("Fits") == 2
