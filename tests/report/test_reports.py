"""The reports on the examples: their shape, their numbers, and that formats agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from perf_doctor.diagnosis import Doctor, Options
from perf_doctor.report.document import document, render
from perf_doctor.report.flags import changed_flags
from perf_doctor.report.formats import Report
from perf_doctor.report.markdown import MAX_CHARS, markdown_report
from perf_doctor.report.notes import notes
from perf_doctor.report.schema import REPORT_SCHEMA, published
from perf_doctor.report.show import show_report
from perf_doctor.report.top_action import top_action

PROJECT = Path(__file__).parent.parent.parent
EXAMPLES = sorted(
    str(path.relative_to(PROJECT)) for path in (PROJECT / "examples/scripts/training").rglob("*.sh")
)
SHAPE = re.compile(
    r"# perf-doctor: \S+\.sh\n\n"
    r"\*\*Context:\*\* model=\S+ \((dense|MoE|\?), (text|mm|video|\?)\)"
    r" · GPUs=[\d?]+ \([\d?]+×[\d?]+\) · mode=(colocate|fully-async|hybrid|sync|sft|\?)"
    r" · TP[\d?]+/PP[\d?]+/CP[\d?]+/EP[\d?]+/ETP[\d?]+ · max-resp-len=(\d+|n/a|\?)"
    r" · GPU=\S+ \d+GB( \(assumed\))?\n\n---\n\n"
    r"## 🚀 Performance findings\n\n(?P<performance>.*?)\n\n"
    r"## 💾 Memory findings\n\n(?P<memory>.*?)\n\n---\n\n"
    r"## Summary\n- Critical: \d+ · Warn: \d+ · Info: \d+\n- \*\*Top action:\*\* .+\n",
    re.DOTALL,
)
FINDING = re.compile(
    r"### \[(CRITICAL|WARN|INFO)\] (R-[CMPS]\d\d+) — .+\n"
    r"- \*\*Setting:\*\* .+\n- \*\*Cost:\*\* .+\n- \*\*Fix:\*\* .+\n- \*\*Skip if:\*\* .+"
)


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


@pytest.fixture(scope="module")
def doctor() -> Doctor:
    return Doctor()


@pytest.mark.parametrize("script", EXAMPLES)
def test_the_markdown_report_is_the_one_we_reviewed(
    script: str, doctor: Doctor, snapshot: SnapshotAssertion
) -> None:
    diagnosis = doctor.diagnose(script)
    assert "\n".join([*notes(diagnosis), markdown_report(diagnosis)]) == snapshot


@pytest.mark.parametrize("script", EXAMPLES)
def test_the_markdown_report_has_the_template_s_shape(script: str, doctor: Doctor) -> None:
    match = SHAPE.fullmatch(markdown_report(doctor.diagnose(script)))
    assert match
    for section in (match["performance"], match["memory"]):
        assert section == "None." or all(FINDING.fullmatch(part) for part in section.split("\n\n"))


@pytest.mark.parametrize("script", EXAMPLES)
def test_the_json_report_keeps_the_contract(script: str, doctor: Doctor) -> None:
    report = json.loads(render(Report((doctor.diagnose(script),))))
    jsonschema.validate(report, REPORT_SCHEMA)
    jsonschema.validate(report, published())


@pytest.mark.parametrize("script", EXAMPLES)
def test_formats_agree_on_rules_severities_and_lines(script: str, doctor: Doctor) -> None:
    diagnosis = doctor.diagnose(script)
    report = document(diagnosis)
    in_json = [(f["severity"].upper(), f["rule"]) for f in report["findings"]]  # type: ignore[attr-defined]
    text = markdown_report(diagnosis)
    assert sorted(FINDING.findall(text)) == sorted(in_json)
    for finding in report["findings"]:  # type: ignore[attr-defined]
        for row in finding["setting"]:
            assert f"line {row['line']}" in text or f":{row['line']}" in text


def test_several_reports_are_a_list(doctor: Doctor) -> None:
    report = json.loads(render(Report(tuple(map(doctor.diagnose, EXAMPLES[:2])))))
    assert [one["script"] for one in report["reports"]] == EXAMPLES[:2]
    assert set(report) == {"schema_version", "tool", "reports"}


@pytest.mark.parametrize("script", EXAMPLES)
def test_the_top_action_is_flags_to_copy_and_the_same_in_every_format(
    script: str, doctor: Doctor
) -> None:
    diagnosis = doctor.diagnose(script)
    summary = document(diagnosis)["summary"]
    told = str(summary["top_action"])  # type: ignore[index]
    shown = markdown_report(diagnosis).rstrip("\n").rpartition("**Top action:** ")[2]
    first = next(iter(diagnosis.findings), None)
    if first is None or first.severity == "info":
        assert told == shown == "none needed"
        return
    flags = changed_flags(first.fix.changes)
    assert told == f"{flags or first.fix.text} ({first.rule})"
    assert shown == (f"`{flags}` ({first.rule})" if flags else told)


def test_a_top_action_is_flags_where_a_fix_has_some_and_its_text_else(
    doctor: Doctor, tmp_path: Path
) -> None:
    actions = [top_action(doctor.diagnose(script)) for script in EXAMPLES]
    assert None in actions
    assert any(action.flags for action in actions if action)
    script = tmp_path / "run-qwen3-4B-8xgpu.sh"
    misspelt = "python3 -m relax.entrypoints.train --colocate --recompute-granularty full"
    script.write_text(f"{misspelt}\n")
    action = top_action(Doctor(Options(select=("R-C01",))).diagnose(str(script)))
    assert action is not None
    assert not action.flags
    assert str(action) == f"{action.text} (R-C01)"


def test_the_published_schema_is_one_and_allows_more_but_not_less(doctor: Doctor) -> None:
    jsonschema.Draft202012Validator.check_schema(published())
    diagnoses = [doctor.diagnose(script) for script in EXAMPLES[:2]]
    several = json.loads(render(Report(tuple(diagnoses))))
    jsonschema.validate(several, published())
    one = several["reports"][0]
    jsonschema.validate({**one, "added_later": 1}, published())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({k: v for k, v in one.items() if k != "memory"}, published())


def test_every_rule_has_a_verdict_and_a_sentence(doctor: Doctor) -> None:
    report = document(doctor.diagnose(EXAMPLES[0]))
    rules = report["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in doctor.catalog.rules]  # type: ignore[attr-defined]
    assert all(rule["reason"].strip() for rule in rules)  # type: ignore[attr-defined]


def test_another_launch_is_a_whole_report_with_its_condition(doctor: Doctor) -> None:
    script = "examples/scripts/training/multimodal/run-qwen3-vl-8B-8xgpu-image.sh"
    report = document(doctor.diagnose(script))
    [variant] = report["variants"]  # type: ignore[misc]
    assert "condition" not in report
    assert variant["condition"] == "MODE=async"
    assert variant["context"]["mode"] == "fully-async"
    assert [finding["rule"] for finding in variant["findings"]] == ["R-C07"]


def test_a_long_report_drops_the_least_important_findings(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = doctor.diagnose("examples/scripts/training/text/run-qwen3-14B-8xgpu.sh")
    monkeypatch.setattr("perf_doctor.report.markdown.MAX_CHARS", 2_000)
    short, whole = markdown_report(diagnosis), markdown_report(diagnosis, everything=True)
    assert len(short) <= 2_000 < len(whole)
    assert "more: --all" in short
    assert "more: --all" not in whole
    assert short.index("CRITICAL") == whole.index("CRITICAL")


def test_one_finding_with_many_settings_stays_short(tmp_path: Path) -> None:
    flags = "\n".join(f"  --lost-flag-{index} value \\" for index in range(200))
    script = tmp_path / "run-qwen3-4B-8xgpu.sh"
    script.write_text(f"python3 -m relax.entrypoints.train --colocate \\\n  # why\n{flags}\n")
    report = markdown_report(Doctor(Options(select=("R-C66",))).diagnose(str(script)))
    assert len(report) <= MAX_CHARS
    assert re.search(r"; \d+ more\n", report)


@pytest.mark.parametrize("script", EXAMPLES)
def test_show_names_the_line_of_every_setting(script: str, doctor: Doctor) -> None:
    diagnosis = doctor.diagnose(script)
    shown = show_report(diagnosis)
    for setting in diagnosis.plan.settings:
        if diagnosis.plan.settings.given(setting.flag) is setting:
            assert re.search(
                rf"^  {re.escape(setting.flag)}\b.* ← .*:{setting.place.line}\b",
                shown,
                re.MULTILINE,
            )
