"""Formats that CI servers read: nothing a script says is more than text in them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as Xml
from pathlib import Path
from typing import Any

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.formats import Report, rendered

PROJECT = Path(__file__).parent.parent.parent
SCRIPTS = sorted(str(p) for p in (PROJECT / "examples/scripts/training").rglob("*.sh"))
HOSTILE = (
    "ray job submit -- python3 -m relax.entrypoints.train --colocate --no-such-flag"
    " $'a\\n::error::forged %0A::error:: <failure/> ]]> \\x1b[31m'\n"
)


def shown(name: str, *diagnoses: Diagnosis) -> str:
    """Return the report on these scripts in a format."""
    return rendered(name, Report(diagnoses))


def sarif_run(*diagnoses: Diagnosis) -> dict[str, Any]:
    """Return the one run of the SARIF report."""
    [run] = json.loads(shown("sarif", *diagnoses))["runs"]
    return dict(run)


@pytest.fixture(scope="module")
def diagnoses() -> tuple[Diagnosis, ...]:
    doctor = Doctor()
    return tuple(map(doctor.diagnose, SCRIPTS))


@pytest.fixture
def hostile(tmp_path: Path) -> Diagnosis:
    script = tmp_path / "run,a:b\n::error::x.sh"
    script.write_text(HOSTILE)
    return Doctor().diagnose(str(script))


def test_sarif_has_a_result_for_each_finding(diagnoses: tuple[Diagnosis, ...]) -> None:
    run = sarif_run(*diagnoses)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(set(rules))
    told = [(result["ruleId"], result["level"]) for result in run["results"]]
    level = {"critical": "error", "warn": "warning", "info": "note"}
    assert told == [(f.rule, level[f.severity]) for d in diagnoses for f in d.findings]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        assert re.fullmatch(r"[\w./~%-]+", place["artifactLocation"]["uri"])
        assert re.fullmatch("[0-9a-f]{64}", result["partialFingerprints"]["perfDoctor/v1"])


def test_a_fingerprint_is_of_the_setting_and_not_of_its_line(tmp_path: Path) -> None:
    script = tmp_path / "run-qwen3-8B-8xgpu.sh"
    text = Path(SCRIPTS[0]).read_text("utf-8").replace("source ", ": ")
    text += "\nray job submit -- python3 -m relax.entrypoints.train --colocate --fully-async\n"

    def prints(body: str) -> set[str]:
        script.write_text(body)
        results = sarif_run(Doctor().diagnose(str(script)))["results"]
        return {result["partialFingerprints"]["perfDoctor/v1"] for result in results}

    first = prints(text)
    assert first
    assert prints(text.replace("\n", "\n# one more line\n", 1)) == first


def test_a_sarif_edit_replaces_exactly_the_old_value(diagnoses: tuple[Diagnosis, ...]) -> None:
    edits = 0
    for diagnosis in diagnoses:
        lines = diagnosis.texts[diagnosis.script].splitlines()
        for finding, result in zip(
            diagnosis.findings, sarif_run(diagnosis)["results"], strict=True
        ):
            for fix in result.get("fixes", ()):
                edits += 1
                [replacement] = fix["artifactChanges"][0]["replacements"]
                region = replacement["deletedRegion"]
                line = lines[region["startLine"] - 1]
                old = line[region["startColumn"] - 1 : region["endColumn"] - 1]
                [(flag, new)] = finding.fix.changes.set.items()
                [row] = [row for row in finding.setting if row.flag == flag]
                assert (old, replacement["insertedContent"]["text"]) == (str(row.value), new)
                assert line[: region["startColumn"] - 1].endswith(f"{flag} ")
    assert edits


def test_a_suppressed_finding_says_so(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "ARGS=(\n  # perf-doctor: ignore[R-C01] known\n  --no-such-flag 1\n)\n"
        'ray job submit -- python3 -m relax.entrypoints.train --colocate "${ARGS[@]}"\n'
    )
    results = sarif_run(Doctor().diagnose(str(script)))["results"]
    [hidden] = [result for result in results if result["ruleId"] == "R-C01"]
    assert hidden["suppressions"] == [{"kind": "inSource"}]
    assert all("suppressions" not in result for result in results if result is not hidden)


def test_annotations_are_one_line_for_each_finding(
    diagnoses: tuple[Diagnosis, ...], hostile: Diagnosis
) -> None:
    for diagnosis in (*diagnoses, hostile):
        lines = shown("github", diagnosis).splitlines()
        assert len(lines) == len(diagnosis.findings)
        for line in lines:
            match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::([^\r\n]*)", line)
            assert match is not None, line
            assert not re.search("%(?!25|3A|2C)", line)
            names = [pair.partition("=")[0] for pair in match[2].split(",")]
            assert names in (["file", "title"], ["file", "line", "col", "title"])


def test_junit_counts_what_the_report_counts(
    diagnoses: tuple[Diagnosis, ...], hostile: Diagnosis
) -> None:
    root = Xml.fromstring(shown("junit", *diagnoses, hostile))
    assert len(root) == len(diagnoses) + 1
    for suite, diagnosis in zip(root, (*diagnoses, hostile), strict=True):
        loud = diagnosis.count("critical") + diagnosis.count("warn")
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == loud
        assert int(suite.attrib["tests"]) == len(suite) == max(1, len(diagnosis.findings))


def test_no_format_passes_a_control_character_on(hostile: Diagnosis) -> None:
    for name in ("sarif", "github", "junit", "agent", "markdown", "json"):
        text = shown(name, hostile)
        assert all(char.isprintable() or char == "\n" for char in text)
