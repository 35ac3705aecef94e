"""The GitHub Action: its shell steps, run with the environment that GitHub gives them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ci_machine import ROOT, TEXT, Machine, Outcome, filled, yaml_of

from perf_doctor.rules.severity import WORST_FIRST

ACTION = yaml_of("action.yml")
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SHELL_STEPS = [step for step in STEPS if "run" in step]
CLEAN, FAULTY = f"{TEXT}/run-qwen3-8B-8xgpu.sh", f"{TEXT}/run-qwen3-14B-8xgpu.sh"


class Runner:
    """A runner of GitHub's: it knows what earlier steps said, and expands nothing but ``env``."""

    def __init__(self, folder: Path) -> None:
        self.machine = Machine(folder)
        self.output, self.summary = folder / "output", folder / "summary.md"
        self.sarif = self.machine.folder / "temp/perf-doctor.sarif"

    def step(self, name: str, **inputs: str) -> Outcome:
        """Run a shell step with inputs (``fail_on`` for ``fail-on``); others have their default."""
        (step,) = (each for each in SHELL_STEPS if each["name"] == name)
        given = {key.replace("_", "-"): text for key, text in inputs.items()}
        assert given.keys() <= ACTION["inputs"].keys()
        values = {
            f"inputs.{key}": given.get(key, str(one["default"]))
            for key, one in ACTION["inputs"].items()
        }
        values["steps.python.outputs.python-path"] = self.machine.python
        values |= {f"steps.diagnose.outputs.{key}": text for key, text in self.outputs.items()}
        environment = {key: filled(text, values) for key, text in step.get("env", {}).items()}
        return self.machine.run(
            step["run"],
            environment
            | {
                "RUNNER_TEMP": str(self.machine.folder / "temp"),
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_OUTPUT": str(self.output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
        )

    def diagnose(self, **inputs: str) -> Outcome:
        """Install and diagnose."""
        assert self.step("Install perf-doctor").code == 0
        return self.step("Diagnose", **inputs)

    @property
    def outputs(self) -> dict[str, str]:
        """What the steps so far have told as their output."""
        if not self.output.exists():
            return {}
        return dict(line.split("=", 1) for line in self.output.read_text("utf-8").splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


# --- what the file says ---------------------------------------------------------------------------


def test_no_shell_text_holds_an_expression() -> None:
    assert len(SHELL_STEPS) == 3
    for step in SHELL_STEPS:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], step["name"]


def test_every_input_is_used_and_has_a_text_as_default() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == ACTION["inputs"].keys()
    for name, one in ACTION["inputs"].items():
        assert isinstance(one["default"], str), name
        assert one["description"].endswith("."), name


def test_the_outputs_are_those_of_the_step() -> None:
    (step,) = (each for each in STEPS if each.get("id") == "diagnose")
    for name, one in ACTION["outputs"].items():
        assert one["value"] == f"${{{{ steps.diagnose.outputs.{name} }}}}"
        assert f'"{name}=$' in step["run"]


def test_the_severities_it_names_are_those_there_are() -> None:
    text = ACTION["inputs"]["fail-on"]["description"]
    assert f": {', '.join(WORST_FIRST)} or never." in text


def test_the_upload_stands_between_the_findings_and_the_failure() -> None:
    names = [step["name"] for step in STEPS]
    at = names.index("Upload the findings")
    assert (names[at - 1], names[at + 1 :]) == ("Diagnose", ["Report the result"])
    assert STEPS[at]["if"] == (
        "${{ inputs.sarif == 'true' && steps.diagnose.outputs.sarif != '' }}"
    )
    assert STEPS[at]["with"]["sarif_file"] == ACTION["outputs"]["sarif"]["value"]


def test_the_python_is_one_that_the_package_takes_and_stays_the_action_s() -> None:
    major, minor = ACTION["inputs"]["python-version"]["default"].split(".")
    assert (int(major), int(minor)) >= (3, 11)
    (setup,) = (step for step in STEPS if step.get("id") == "python")
    assert setup["with"]["update-environment"] is False


# --- what its steps do ----------------------------------------------------------------------------


def test_it_installs_itself_into_a_folder_of_its_own(runner: Runner) -> None:
    assert runner.step("Install perf-doctor").code == 0
    home = f"{runner.machine.folder}/temp/perf-doctor"
    assert runner.machine.installed[:3] == ["-m", "venv", home]
    assert runner.machine.installed[3:6] == ["-m", "pip", "install"]
    assert runner.machine.installed[-1] == str(ROOT)


def test_findings_are_annotated_and_written_and_fail_the_last_step_alone(runner: Runner) -> None:
    done = runner.diagnose(scripts=FAULTY)
    assert done.code == 0
    annotations = done.out.splitlines()
    assert all(re.match(r"::(error|warning|notice) file=scripts/", line) for line in annotations)
    assert any("title=R-C06" in line for line in annotations)
    assert runner.outputs == {"exit-code": "1", "sarif": str(runner.sarif)}
    results = json.loads(runner.sarif.read_text("utf-8"))["runs"][0]["results"]
    assert len(results) == len(annotations)
    assert runner.summary.read_text("utf-8").startswith("# perf-doctor: run-qwen3-14B-8xgpu.sh")
    assert runner.step("Report the result").code == 1


def test_a_clean_script_passes(runner: Runner) -> None:
    assert runner.diagnose(scripts=CLEAN).out == ""
    assert runner.outputs == {"exit-code": "0", "sarif": str(runner.sarif)}
    assert runner.step("Report the result").code == 0


def test_without_inputs_the_folder_scripts_is_read(runner: Runner) -> None:
    runner.diagnose()
    assert runner.machine.words[-1] == "scripts"
    assert runner.outputs["exit-code"] == "1"


def test_what_cannot_be_read_fails_without_a_file_to_upload(runner: Runner) -> None:
    runner.sarif.write_text("of another run", "utf-8")
    done = runner.diagnose(scripts="scripts/models")
    assert "no launch script in this folder" in done.err
    assert runner.outputs == {"exit-code": "2"}
    assert runner.step("Report the result").code == 2


def test_inputs_reach_the_program_line_by_line(runner: Runner) -> None:
    runner.diagnose(
        scripts=f"{CLEAN}\n\n{FAULTY}\n",
        gpu="H800",
        fail_on="never",
        args="--env=MODE=async\n--host-ram=2000",
    )
    assert runner.machine.words[3:] == [
        "--gpu=H800",
        "--fail-on=never",
        "--env=MODE=async",
        "--host-ram=2000",
        CLEAN,
        FAULTY,
    ]
    assert runner.outputs["exit-code"] == "0"


HOSTILE = (
    "$(touch marker)",
    "`touch marker`",
    "; touch marker #",
    "' && touch marker && '",
    '" && touch marker && "',
    "a b\tc",
    "* ? ~ {1..3} $HOME",
    "\\",
    "%s\\n",
    "--output=marker",
    "-o=marker",
    "${{ github.token }}",
    "::add-mask::x",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["scripts", "gpu", "fail_on"])
def test_a_hostile_input_is_one_word_and_nothing_more(runner: Runner, name: str, text: str) -> None:
    done = runner.diagnose(**({"scripts": CLEAN} | {name: text}))
    option = {"scripts": "./" if text.startswith("-") else "", "gpu": "--gpu=",
              "fail_on": "--fail-on="}[name]  # fmt: skip
    assert f"{option}{text}" in runner.machine.words
    assert runner.outputs == {"exit-code": "2"}
    assert not list(runner.machine.folder.rglob("marker"))
    assert not any(line.startswith("::") for line in (done.out + done.err).splitlines())


@pytest.mark.parametrize("text", HOSTILE[:9])
def test_hostile_arguments_stay_words(runner: Runner, text: str) -> None:
    runner.diagnose(scripts=CLEAN, args=f"--env=A={text}")
    assert f"--env=A={text}" in runner.machine.words
    assert runner.outputs["exit-code"] == "0"
    assert not list(runner.machine.folder.rglob("marker"))


def test_a_folder_with_a_blank_and_an_order_in_its_name_is_read(runner: Runner) -> None:
    name = "runs $(touch marker) 'x'"
    (runner.machine.workspace / "scripts").rename(runner.machine.workspace / name)
    runner.diagnose(scripts=f"{name}/training/text/run-qwen3-14B-8xgpu.sh")
    assert runner.outputs["exit-code"] == "1"
    assert not list(runner.machine.folder.rglob("marker"))
