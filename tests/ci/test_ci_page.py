"""docs/ci.md: every recipe names what there is, and the one for make runs."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ci_machine import ROOT, Machine, yaml_of

from perf_doctor.cli.arguments import diagnose_parser

PAGE = (ROOT / "docs/ci.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(title: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", section(title), re.MULTILINE | re.DOTALL)


def test_every_way_has_its_recipe() -> None:
    titles = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert {"GitHub", "GitLab", "Jenkins", "pre-commit", "make", "Old findings"} <= set(titles)


def test_the_workflow_gives_inputs_that_the_action_has() -> None:
    inputs = yaml_of("action.yml")["inputs"].keys()
    workflow, more = map(yaml.safe_load, blocks("GitHub", "yaml"))
    *_, step = workflow["jobs"]["perf-doctor"]["steps"]
    assert step["uses"] == "<group>/perf-doctor@<ref>"
    assert step["with"].keys() <= inputs
    assert more["with"].keys() <= inputs
    assert workflow["permissions"] == {"contents": "read", "security-events": "write"}
    words = more["with"]["args"].splitlines() + more["with"]["scripts"].splitlines()
    diagnose_parser().parse_intermixed_args(words)


def test_the_outputs_that_it_names_are_those_of_the_action() -> None:
    (sentence,) = re.findall(r"The outputs are (.+?)\. ", section("GitHub"))
    assert set(re.findall(r"`(.+?)`", sentence)) == yaml_of("action.yml")["outputs"].keys()


def test_the_gitlab_job_extends_the_template_with_variables_that_it_has() -> None:
    ((name, template),) = yaml_of("ci/gitlab.yml").items()
    (recipe,) = map(yaml.safe_load, blocks("GitLab", "yaml"))
    assert (ROOT / recipe["include"][0]["file"].lstrip("/")).is_file()
    assert recipe["perf-doctor"]["extends"] == name
    named = set(re.findall(r"PERF_DOCTOR_\w+", section("GitLab")))
    assert named == template["variables"].keys()


def test_the_hook_is_the_one_there_is() -> None:
    ((repo,),) = (yaml.safe_load(one)["repos"] for one in blocks("pre-commit", "yaml"))
    (hook,) = repo["hooks"]
    (known,) = yaml_of(".pre-commit-hooks.yaml")
    assert hook["id"] == known["id"]
    parse(hook["args"])


def test_the_options_of_every_recipe_are_options() -> None:
    for command in re.findall(r"^\s*(?:\S*/)?perf-doctor (.+?)(?:\s+#.*)?$", PAGE, re.MULTILINE):
        if command.startswith(("@", ":", "skill")):
            continue
        diagnose_parser().parse_intermixed_args(command.split())


def parse(words: list[str]) -> Any:
    return diagnose_parser().parse_intermixed_args([*words, "run.sh"])


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_target_of_make_runs(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (recipe,) = blocks("make", "make")
    (machine.workspace / "Makefile").write_text(recipe, "utf-8")
    program = tmp_path / "bin/perf-doctor"
    program.write_text(f'#!/bin/bash\nexec {sys.executable} -m perf_doctor "$@"\n', "utf-8")
    program.chmod(0o755)
    done = machine.run("make perf-doctor", {})
    assert done.code == 2, "make's own code where a target fails"
    assert "[CRITICAL] R-C06" in done.out
    assert "Error 1" in done.err
