"""The tables of what real scripts are told: rules that exist, and few loud ones for each."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from perf_doctor.rules.load import load_rules
from perf_doctor.rules.severity import SEVERITIES

TABLES = sorted(Path(__file__).parent.glob("*.tsv"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_names_rules_that_exist_within_their_severity(path: Path) -> None:
    rules = {rule.id: rule.severity for rule in load_rules().rules}
    for line in path.read_text("utf-8").splitlines():
        for word in line.split("\t")[1].split():
            rule, severity = word.split(":")
            assert rule in rules, f"{rule} is gone: make ecosystem"
            assert SEVERITIES.index(severity) <= SEVERITIES.index(rules[rule][1]), word


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_tuned_scripts_hear_little(path: Path) -> None:
    """Three findings at warn or above are the most that a script deserves on average."""
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) > 40
    assert fmean(line.count(":warn") + line.count(":critical") for line in lines) <= 1.5
