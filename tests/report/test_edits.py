"""A fix as an edit: read again, the script passes what the fix says, and nothing else changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.edits import edited
from perf_doctor.report.formats import Report, rendered
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.template import FlagChanges

PROJECT = Path(__file__).parent.parent.parent
SCRIPTS = sorted(
    str(p.relative_to(PROJECT)) for p in (PROJECT / "examples/scripts/training").rglob("*.sh")
)
LAUNCH = "ray job submit -- python3 -m relax.entrypoints.train"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def stored(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return what the trainer would hold by destination."""
    return {setting.option.dest: setting.stored for setting in diagnosis.job.settings}


def with_fix(finding: Finding, changes: FlagChanges) -> Finding:
    return replace(finding, fix=replace(finding.fix, changes=changes))


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_edited_script_passes_what_the_fix_says(script: str) -> None:
    doctor = Doctor()
    diagnosis = doctor.diagnose(script)
    for finding in diagnosis.findings:
        texts = edited(diagnosis, finding)
        if list(texts) != [script]:
            continue
        before = doctor.diagnose(script, diagnosis.texts[script].encode())  # read as it is read
        again = doctor.diagnose(script, texts[script].encode())
        changed = before.job.changed(finding.fix.changes).settings
        assert stored(again) == {s.option.dest: s.stored for s in changed}, finding.rule
        assert again.trainer.argv[0].text == diagnosis.trainer.argv[0].text


def test_the_fixes_of_the_examples_are_edits() -> None:
    doctor = Doctor()
    with_flags = [
        bool(edited(diagnosis, finding))
        for diagnosis in map(doctor.diagnose, SCRIPTS)
        for finding in diagnosis.findings
        if finding.fix.changes.set or finding.fix.changes.unset
    ]
    assert len(with_flags) > 5
    assert all(with_flags)


@pytest.mark.parametrize(
    ("text", "changes", "after"),
    [
        # each on a line of its own: a new one goes below
        ("A=(\n  --seed 1  # why\n)\n", {"--context-parallel-size": "2"},
         "A=(\n  --seed 1  # why\n  --context-parallel-size 2\n)\n"),
        # several on a line: a new one stands behind
        ("A=(--no-such 1 --seed 3)\n", {"--context-parallel-size": "2"},
         "A=(--no-such 1 --seed 3 --context-parallel-size 2)\n"),
        # what the shell would read is quoted
        ("A=(\n  --no-such 1\n  --seed 3\n)\n", {"--seed": "$(id)"},
         "A=(\n  --no-such 1\n  --seed '$(id)'\n)\n"),
        # a value with a default is replaced whole, and its comment stays
        ("A=(\n  --seed ${SEED:-3} # x\n)\n", {"--seed": "4"}, "A=(\n  --seed 4 # x\n)\n"),
        ('A=(\n  --seed "${SEED:-3}"\n)\n', {"--seed": "4"}, "A=(\n  --seed 4\n)\n"),
        ("A=(\n  --seed=3\n)\n", {"--seed": "4"}, "A=(\n  --seed 4\n)\n"),
        # a removed one takes its line along, with its comment
        ("A=(\n  --seed 3 # x\n  --colocate\n)\n", {"--seed": None}, "A=(\n  --colocate\n)\n"),
        ("A=(--seed 3 --colocate)\n", {"--seed": None}, "A=( --colocate)\n"),
        # the flag and its value in one variable, or on two lines: no edit
        ("X='--seed 3'\nA=($X)\n", {"--seed": "4"}, None),
        ("A=(--seed\n 3)\n", {"--seed": "4"}, None),
        ("A=(--seed $(date +%s))\n", {"--seed": "4"}, None),
    ],
)  # fmt: skip
def test_an_edit_is_what_a_person_would_type(
    text: str, changes: dict[str, str | None], after: str | None, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    rest = f'{LAUNCH} "${{A[@]}}"\n'
    script.write_text(text + rest)
    diagnosis = Doctor().diagnose(str(script))
    told = {flag: value for flag, value in changes.items() if value is not None}
    gone = tuple(flag for flag, value in changes.items() if value is None)
    finding = with_fix(diagnosis.findings[0], FlagChanges(told, gone))
    made = edited(diagnosis, finding)
    assert list(made.values()) == ([] if after is None else [after + rest])


def test_a_command_of_continued_lines_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"{LAUNCH} \\\n  --colocate \\\n  --seed 3\n")
    diagnosis = Doctor().diagnose(str(script))
    finding = with_fix(diagnosis.findings[0], FlagChanges({"--calculate-per-token-loss": True}, ()))
    [after] = edited(diagnosis, finding).values()
    again = Doctor().diagnose(str(script), after.encode())
    assert again.job.settings.given("--calculate-per-token-loss")
    assert again.job.settings.given("--seed")


def test_every_occurrence_of_a_removed_option_goes(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"A=(\n  --seed 1\n  --seed 2\n)\n{LAUNCH} --colocate ${{A[@]}}\n")
    diagnosis = Doctor().diagnose(str(script))
    finding = with_fix(diagnosis.findings[0], FlagChanges({}, ("--seed",)))
    [after] = edited(diagnosis, finding).values()
    assert "--seed" not in after


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_diff_has_what_each_fix_changes_and_applies(script: str) -> None:
    diagnosis = Doctor().diagnose(script)
    text = rendered("diff", Report((diagnosis,)))
    for finding in diagnosis.findings:
        assert f"# {script}: {finding.rule} {finding.title}\n" in text
    added = [line[1:] for line in text.split("\n") if line[:1] == "+" and line[:3] != "+++"]
    made = "\n".join("".join(edited(diagnosis, f).values()) for f in diagnosis.findings)
    assert all(line in made for line in added)
    assert text.count("--- a/") == sum(len(edited(diagnosis, f)) for f in diagnosis.findings)


def test_a_secret_beside_a_fix_is_masked(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        f"A=(\n  --wandb-key abcdef0123456789abcdef\n  --context-parallel-size 2\n)\n"
        f"{LAUNCH} --colocate ${{A[@]}}\n"
    )
    text = rendered("diff", Report((Doctor().diagnose(str(script)),)))
    assert "@@" in text
    assert "abcdef0123" not in text
