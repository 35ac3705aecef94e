"""The GitLab template: its script, run as a runner does."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ci_machine import ROOT, TEXT, Machine, Outcome, yaml_of

(NAME, JOB), *_OTHERS = yaml_of("ci/gitlab.yml").items()
CLEAN, FAULTY = f"{TEXT}/run-qwen3-8B-8xgpu.sh", f"{TEXT}/run-qwen3-14B-8xgpu.sh"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def run(machine: Machine, **variables: str) -> Outcome:
    """Run the job with variables, named without their prefix."""
    given = {f"PERF_DOCTOR_{name.upper()}": text for name, text in variables.items()}
    assert given.keys() <= JOB["variables"].keys()
    return machine.run("\n".join(JOB["script"]), {**JOB["variables"], **given})


def test_it_is_a_template_whose_values_are_texts() -> None:
    assert NAME == ".perf-doctor"
    assert not _OTHERS
    assert all(isinstance(value, str) for value in JOB["variables"].values())


def test_the_example_in_its_comment_names_what_there_is() -> None:
    head = (ROOT / "ci/gitlab.yml").read_text("utf-8").split("\n\n.perf-doctor:")[0]
    assert f"extends: {NAME}" in head
    assert "file: /ci/gitlab.yml" in head
    assert set(re.findall(r"PERF_DOCTOR_\w+", head)) <= JOB["variables"].keys()


def test_findings_become_test_results_and_fail_the_job(machine: Machine) -> None:
    done = run(machine, package="perf-doctor @ git+https://gitlab.example/x", scripts=FAULTY)
    assert done.code == 1
    assert machine.installed[-1] == "perf-doctor @ git+https://gitlab.example/x"
    assert "R-C06" in done.out
    report = machine.workspace / JOB["artifacts"]["reports"]["junit"]
    assert JOB["artifacts"]["paths"] == [report.name]
    assert JOB["artifacts"]["when"] == "always"
    failures = ElementTree.parse(report).getroot().iter("failure")
    assert [one.get("message", "").split()[0] for one in failures] == ["R-C06", "R-C09", "R-C14"]


def test_a_clean_script_passes(machine: Machine) -> None:
    assert run(machine, package="x", scripts=CLEAN).code == 0


def test_variables_reach_the_program_line_by_line(machine: Machine) -> None:
    done = run(
        machine,
        package="x",
        scripts=f"{CLEAN}\n\n{FAULTY}\n",
        gpu="H800",
        fail_on="never",
        args="--env=MODE=async\n--host-ram=2000",
    )
    assert done.code == 0
    assert machine.words[2:] == [
        "--gpu=H800", "--fail-on=never", "--env=MODE=async", "--host-ram=2000", CLEAN, FAULTY,
    ]  # fmt: skip


def test_without_a_package_it_says_what_is_missing(machine: Machine) -> None:
    done = run(machine)
    assert done.code == 2
    assert "PERF_DOCTOR_PACKAGE is empty" in done.err
    assert not (machine.folder / "log").exists()


@pytest.mark.parametrize(
    "text", ["$(touch marker)", "' ; touch marker ; '", '"; touch marker; "', "a b", "-o=marker"]
)
@pytest.mark.parametrize("name", ["scripts", "gpu", "fail_on"])
def test_a_hostile_variable_is_one_word_and_nothing_more(
    machine: Machine, name: str, text: str
) -> None:
    done = run(machine, **({"package": "x", "scripts": CLEAN} | {name: text}))
    assert done.code == 2
    option = {"scripts": "./" if text.startswith("-") else "", "gpu": "--gpu=",
              "fail_on": "--fail-on="}[name]  # fmt: skip
    assert f"{option}{text}" in machine.words
    assert not list(machine.folder.rglob("marker"))
