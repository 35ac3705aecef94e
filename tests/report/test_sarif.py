"""SARIF: what the standard asks for, fingerprints that last, and edits that are exact."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.edits import edited
from perf_doctor.report.formats import Report, rendered
from perf_doctor.report.sarif import FINGERPRINT
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.load import load_rules

PROJECT = Path(__file__).parent.parent.parent
EXAMPLES = "examples/scripts/training"
LAUNCH = "ray job submit -- python3 -m relax.entrypoints.train"
IN_ARRAY = f'ARGS=(\n  --no-such-flag 1\n)\n{LAUNCH} --colocate "${{ARGS[@]}}"\n'
STALE = f"{EXAMPLES}/text/run-qwen35-9B-8xgpu-hybrid-async.sh"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def run_of(*diagnoses: Diagnosis) -> dict[str, Any]:
    log = json.loads(rendered("sarif", Report(diagnoses)))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    [run] = log["runs"]
    return dict(run)


def diagnosed(path: Path, text: str) -> Diagnosis:
    path.write_text(text)
    return Doctor().diagnose(str(path))


def prints(path: Path, text: str) -> dict[str, str]:
    results = run_of(diagnosed(path, text))["results"]
    return {result["ruleId"]: result["partialFingerprints"][FINGERPRINT] for result in results}


def test_every_object_has_the_properties_the_standard_requires() -> None:
    doctor = Doctor()
    scripts = sorted(str(path) for path in Path(EXAMPLES).rglob("*.sh"))
    run = run_of(*map(doctor.diagnose, scripts))
    assert run["results"]
    assert run["tool"]["driver"]["name"] == "perf-doctor"
    for rule in run["tool"]["driver"]["rules"]:
        assert re.fullmatch("[A-Za-z0-9]+", rule["name"])
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert rule["properties"]["tags"] in (["performance"], ["memory"])
    for result in run["results"]:
        assert result["level"] in ("error", "warning", "note")
        [location] = result["locations"]
        region = location["physicalLocation"]["region"]
        assert all(number >= 1 for number in region.values())
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert Path(unquote(uri)).is_file()
        assert not uri.startswith("/")
        for fix in result.get("fixes", ()):
            assert fix["description"]["text"]
            assert all(c["artifactLocation"]["uri"] == uri for c in fix["artifactChanges"])


def test_a_rule_is_told_as_the_catalog_has_it(tmp_path: Path) -> None:
    run = run_of(diagnosed(tmp_path / "x.sh", IN_ARRAY))
    known = {rule.id: rule for rule in load_rules().rules}
    [told] = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "R-C01"]
    assert told["name"] == "FlagThatNoParserKnows"
    assert told["fullDescription"]["text"] == known["R-C01"].why
    for head in ("**Why:** ", "**Fix:** ", "**Skip if:** "):
        assert head in told["help"]["markdown"]
    assert known["R-C01"].severity[-1] == "warn"
    assert told["defaultConfiguration"]["level"] == "warning"


def test_a_rule_that_the_catalog_does_not_have_is_told_by_its_finding(tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path / "x.sh", IN_ARRAY)

    def renamed(judgement: Judgement) -> Judgement:
        found = judgement.finding
        return replace(judgement, finding=found and replace(found, rule="OWN-1", title="Our own"))

    own = tuple(renamed(one) for one in diagnosis.judgements if one.rule == "R-C01")
    run = run_of(replace(diagnosis, judgements=own))
    [told] = run["tool"]["driver"]["rules"]
    assert (told["id"], told["name"]) == ("OWN-1", "OurOwn")
    assert told["fullDescription"] == {"text": "Our own"}
    assert [result["ruleIndex"] for result in run["results"]] == [0]


def test_a_fingerprint_lasts_when_a_line_is_added_above(tmp_path: Path) -> None:
    first = prints(tmp_path / "x.sh", IN_ARRAY)
    assert "R-C01" in first
    assert prints(tmp_path / "x.sh", f"# a comment\n{IN_ARRAY}") == first


def test_a_fingerprint_changes_with_the_array_of_the_flag_and_with_the_flag(tmp_path: Path) -> None:
    first = prints(tmp_path / "x.sh", IN_ARRAY)["R-C01"]
    assert prints(tmp_path / "x.sh", IN_ARRAY.replace("ARGS", "MORE_ARGS"))["R-C01"] != first
    assert prints(tmp_path / "x.sh", IN_ARRAY.replace("such", "other"))["R-C01"] != first
    assert prints(tmp_path / "y.sh", IN_ARRAY)["R-C01"] != first


def test_a_fingerprint_does_not_depend_on_how_the_path_is_spelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.sh").write_text(IN_ARRAY)

    def told(spelt: str) -> list[tuple[str, str]]:
        return [
            (
                result["partialFingerprints"][FINGERPRINT],
                result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            )
            for result in run_of(Doctor().diagnose(spelt))["results"]
        ]

    first = told("x.sh")
    assert {uri for _, uri in first} == {"x.sh"}
    for spelt in ("./x.sh", f"../{tmp_path.name}/x.sh", str(tmp_path / "x.sh")):
        assert told(spelt) == first


@pytest.mark.parametrize("name", ["a b#c?.sh", "x:y%41.sh", "..z\\b.sh", "日本\n.sh"])
def test_a_uri_decoded_is_the_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_of(diagnosed(tmp_path / name, IN_ARRAY))
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
    }
    [uri] = uris
    assert re.fullmatch(r"(?:[\w.~/-]|%[0-9A-F]{2})+", uri, re.ASCII)
    assert unquote(uri) == name


def applied(diagnosis: Diagnosis, fix: dict[str, Any]) -> dict[str, str]:
    """Return the files a SARIF fix changes as a viewer would leave them."""
    texts = {}
    for change in fix["artifactChanges"]:
        file = unquote(change["artifactLocation"]["uri"])
        lines = diagnosis.texts[file].split("\n")
        for replacement in reversed(change["replacements"]):
            region, new = replacement["deletedRegion"], replacement["insertedContent"]["text"]
            assert (region["startColumn"], region["endColumn"]) == (1, 1)
            assert not new or new.endswith("\n")
            lines[region["startLine"] - 1 : region["endLine"] - 1] = new.split("\n")[:-1]
        texts[file] = "\n".join(lines)
    return texts


def test_an_edit_is_exact_below_a_line_that_python_would_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(STALE).read_text("utf-8")
    odd = text.replace("\n", "\n# form\x0cfeed and \u2028 separator\n", 1)
    monkeypatch.chdir(tmp_path)
    diagnosis = diagnosed(Path("run-qwen35-9B-8xgpu.sh"), odd)
    fixes = [fix for result in run_of(diagnosis)["results"] for fix in result.get("fixes", ())]
    assert fixes
    for fix in fixes:
        [after] = applied(diagnosis, fix).values()
        assert after != odd
        assert "form\x0cfeed and \u2028 separator" in after


def test_a_script_can_put_no_link_into_a_message(tmp_path: Path) -> None:
    flag = "'--no[click](http://evil.example)'"
    diagnosis = diagnosed(tmp_path / "x.sh", f"{LAUNCH} --colocate {flag} 1\n")
    messages = [result["message"]["text"] for result in run_of(diagnosis)["results"]]
    assert any("evil.example" in message for message in messages)
    assert not any("](" in message for message in messages)


@pytest.fixture(scope="module")
def diagnoses() -> tuple[Diagnosis, ...]:
    doctor = Doctor()
    scripts = sorted((PROJECT / EXAMPLES).rglob("*.sh"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        return tuple(doctor.diagnose(str(script.relative_to(PROJECT))) for script in scripts)


def test_sarif_has_a_result_for_each_finding(diagnoses: tuple[Diagnosis, ...]) -> None:
    run = run_of(*diagnoses)
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


def test_a_sarif_edit_makes_exactly_the_edited_text(diagnoses: tuple[Diagnosis, ...]) -> None:
    edits = 0
    for diagnosis in diagnoses:
        for finding, result in zip(diagnosis.findings, run_of(diagnosis)["results"], strict=True):
            for fix in result.get("fixes", ()):
                edits += 1
                assert applied(diagnosis, fix) == dict(edited(diagnosis, finding))
    assert edits > 5


def test_a_suppressed_finding_says_so(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "ARGS=(\n  # perf-doctor: ignore[R-C01] known\n  --no-such-flag 1\n)\n"
        'ray job submit -- python3 -m relax.entrypoints.train --colocate "${ARGS[@]}"\n'
    )
    results = run_of(Doctor().diagnose(str(script)))["results"]
    [hidden] = [result for result in results if result["ruleId"] == "R-C01"]
    assert hidden["suppressions"] == [{"kind": "inSource"}]
    assert all("suppressions" not in result for result in results if result is not hidden)
