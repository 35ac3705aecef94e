"""Launches that people reported: what must be found in them, and what must not be said."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor, Options
from perf_doctor.plan.gpu import UnknownGpuError
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.severity import SEVERITIES

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "cases.toml").read_text("utf-8"))["case"]
LOUD = [case for case in CASES if not case["quiet"]]
QUIET = [case for case in CASES if case["quiet"]]


def named(case: dict[str, Any]) -> str:
    return str(case["id"])


@cache
def diagnosed(name: str) -> Diagnosis:
    case = next(case for case in CASES if case["id"] == name)
    try:
        return with_card(case, f"{case['gpu']}-{case['memory_gb']}GB")
    except UnknownGpuError:
        return with_card(case, case["gpu"])


def with_card(case: dict[str, Any], gpu: str) -> Diagnosis:
    options = Options(
        gpu=gpu, gpus_per_node=case["gpus_per_node"], host_ram_gb=case.get("host_ram_gb")
    )
    return Doctor(options).diagnose(str(HERE / f"{case['id']}.sh"))


def flags_of(finding: Finding) -> set[str]:
    """Options in the Setting and in every way to fix it."""
    ways = (finding.fix.changes, *finding.fix.alternatives)
    return {row.flag for row in finding.setting} | {f for w in ways for f in (*w.set, *w.unset)}


@pytest.mark.parametrize("case", LOUD, ids=named)
def test_what_was_reported_is_found(case: dict[str, Any]) -> None:
    diagnosis = diagnosed(case["id"])
    loud = [finding for finding in diagnosis.findings if finding.severity != "info"]
    for expected in case["expected"]:
        wanted = set(expected["flags"])
        assert any(flags_of(finding) & wanted for finding in loud), expected
        if expected["kind"] == "oom":
            assert diagnosis.memory.fits in ("no", "borderline")


@pytest.mark.parametrize("case", QUIET, ids=named)
def test_what_is_right_is_left_alone(case: dict[str, Any]) -> None:
    diagnosis = diagnosed(case["id"])
    assert [f.rule for f in diagnosis.findings if f.severity != "info"] == []
    assert diagnosis.memory.fits == "yes"


@pytest.mark.parametrize("case", [c for c in CASES if c.get("must_not")], ids=named)
def test_no_wrong_advice_is_given(case: dict[str, Any]) -> None:
    for finding in diagnosed(case["id"]).findings:
        for wrong in case["must_not"]:
            if SEVERITIES.index(finding.severity) <= SEVERITIES.index(wrong["above"]):
                continue
            changed = finding.fix.changes
            touched = changed.unset if wrong["change"] == "unset" else changed.set
            assert wrong["flag"] not in touched, finding.rule
