"""JUnit: strict XML, whose counts are the report's."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from dataclasses import replace
from pathlib import Path

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.inert import inert
from perf_doctor.report.formats import Report, rendered
from perf_doctor.rules.severity import SEVERITIES

PROJECT = Path(__file__).parent.parent.parent
EXAMPLE = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
LAUNCH = "ray job submit -- python3 -m relax.entrypoints.train"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def suites(*diagnoses: Diagnosis) -> list[Xml.Element]:
    text = rendered("junit", Report(diagnoses))
    return list(Xml.fromstring(text.encode()))


def hostile(path: Path) -> Diagnosis:
    flag = "$'--no\\x1b[31m\\x01\\ufffe\\n]]></failure><testcase name=\"forged\"/>&x;`'"
    path.write_text(f"{LAUNCH} --colocate {flag} 1\n")
    return Doctor().diagnose(str(path))


def test_a_case_fails_where_the_finding_is_critical_or_a_warning(tmp_path: Path) -> None:
    scripts = map(str, sorted(Path("examples/scripts/training").rglob("*.sh")))
    diagnoses = (*map(Doctor().diagnose, scripts), hostile(tmp_path / "x.sh"))
    for severity in SEVERITIES:
        assert any(diagnosis.count(severity) for diagnosis in diagnoses)
    for diagnosis in diagnoses:
        [suite] = suites(diagnosis)
        for case, found in zip(suite, diagnosis.findings, strict=bool(diagnosis.findings)):
            [told] = case
            assert told.tag == ("system-out" if found.severity == "info" else "failure")
            assert told.get("type", "info") == found.severity
            assert case.attrib["name"] == f"{found.rule} — {found.title}"
        failures = diagnosis.count("critical") + diagnosis.count("warn")
        assert suite.attrib["failures"] == str(failures)
        assert suite.attrib["tests"] == str(max(1, failures + diagnosis.count("info")))


def test_each_script_has_its_suite_and_one_without_findings_passes() -> None:
    diagnosis = Doctor().diagnose(EXAMPLE)
    quiet = replace(diagnosis, judgements=())
    first, second = suites(diagnosis, quiet)
    assert first.attrib["name"] == second.attrib["name"] == EXAMPLE
    [case] = second
    assert (second.attrib["tests"], second.attrib["failures"], len(case)) == ("1", "0", 0)


def test_a_script_can_write_no_case_of_its_own(tmp_path: Path) -> None:
    diagnosis = hostile(tmp_path / 'x"<&>\n.sh')
    [suite] = suites(diagnosis)
    assert suite.attrib["name"] == inert(diagnosis.script)
    assert len(suite) == len(diagnosis.findings)
    assert "forged" in "".join(suite.itertext())
    assert not any("forged" in case.attrib["name"] for case in suite)


def test_no_character_that_xml_does_not_have_is_written(tmp_path: Path) -> None:
    text = rendered("junit", Report((hostile(tmp_path / "x.sh"),)))
    assert "\\x1b" in text
    assert all(char.isprintable() or char == "\n" for char in text)
