"""The evals of the skill: their files are there, and what they expect is what the program says."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perf_doctor import diagnose
from perf_doctor.cli import main
from perf_doctor.launch.registry import registry
from perf_doctor.rules.load import load_rules
from perf_doctor.skill.install import NAME

ROOT = Path(__file__).parent.parent
EVALS: dict[str, Any] = json.loads((ROOT / "evals/evals.json").read_text("utf-8"))
CASES: list[dict[str, Any]] = EVALS["evals"]
FORBIDS = "Does not "
KEYS = ["id", "name", "prompt", "expected_output", "files", "expectations", "program"]

RULE = r"\bR-[A-Z]\d+\b"
CODE = r"`([^`]+)`"
NUMBER = r"(?<![\w.,\-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])"

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))


@cache
def rule_ids() -> frozenset[str]:
    return frozenset(rule.id for rule in load_rules().rules)


def expected(case: dict[str, Any]) -> str:
    """Return what a good answer says, without what it must not say."""
    wanted = [text for text in case["expectations"] if not text.startswith(FORBIDS)]
    return "\n".join([case["expected_output"], *wanted])


def scripts(case: dict[str, Any]) -> list[str]:
    """Return the files that launch something, and those that are no launch but asked about."""
    return [file for file in case["files"] if "/training/" in file or file.startswith("evals/")]


def printed(case: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> str:
    """Run the commands of a case, check each, and return all that they print."""
    told = []
    for step in case["program"]:
        words = shlex.split(step["run"])
        assert words[0] == NAME
        assert main(words[1:]) == step["exit"], step["run"]
        out, err = capfd.readouterr()
        for text in step["says"]:
            assert text in out + err, f"{step['run']} does not say {text!r}"
        told += [out, err]
    return "".join(told)


# --- the format -----------------------------------------------------------------------------------


def test_the_evals_are_those_of_the_skill() -> None:
    assert EVALS["skill_name"] == NAME
    assert [case["id"] for case in CASES] == list(range(1, len(CASES) + 1))
    assert len({case["name"] for case in CASES}) == len(CASES) >= 12


@every_case
def test_a_case_has_its_parts(case: dict[str, Any]) -> None:
    assert list(case) == KEYS
    assert case["prompt"]
    assert case["program"]
    assert all(step["says"] for step in case["program"])
    forbidden = [text for text in case["expectations"] if text.startswith(FORBIDS)]
    assert forbidden, "what a good answer does not do"
    assert len(case["expectations"]) - len(forbidden) >= 2


@every_case
def test_the_prompt_and_the_commands_name_files_of_the_case(case: dict[str, Any]) -> None:
    for text in (case["prompt"], *(step["run"] for step in case["program"])):
        named = re.findall(r"(?:examples|evals)/[\w./-]*[\w/]", text)
        assert named, text
        for name in named:
            assert any(file == name or file.startswith(name) for file in case["files"]), name


@every_case
def test_the_files_are_there_and_no_other_is_read(case: dict[str, Any]) -> None:
    assert all((ROOT / file).is_file() for file in case["files"])
    read = {
        Path(file).resolve().relative_to(ROOT).as_posix()
        for script in scripts(case)
        for file in diagnose(ROOT / script).texts
    }
    assert read <= set(case["files"])
    assert not scripts(case) or read == set(case["files"])


def test_every_script_of_the_evals_has_a_case() -> None:
    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "evals").rglob("*.sh")}
    assert own == {file for case in CASES for file in case["files"] if file.startswith("evals/")}


# --- what it expects is so ------------------------------------------------------------------------


@every_case
def test_what_a_good_answer_says_is_what_the_program_says(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    told = printed(case, capfd)
    commands = "\n".join(step["run"] for step in case["program"])
    wanted = expected(case)
    for rule in re.findall(RULE, wanted):
        assert rule in told, rule
    for code in re.findall(CODE, wanted):
        assert code in told + commands, code
    numbers = set(re.findall(NUMBER, told))
    prose = re.sub(CODE, "", re.sub(r"run-\S+\.sh", "", wanted))
    for number in re.findall(NUMBER, prose):
        assert number in numbers, number


@every_case
def test_what_it_forbids_can_be_said_of_it(case: dict[str, Any]) -> None:
    texts = "".join((ROOT / file).read_text("utf-8") for file in case["files"])
    for text in case["expectations"]:
        assert set(re.findall(RULE, text)) <= rule_ids()
        if text.startswith(FORBIDS):
            for code in re.findall(CODE, text):
                assert code in texts, code


@every_case
def test_every_flag_that_is_named_is_a_flag(case: dict[str, Any]) -> None:
    ours = ("--env", "--untrusted", "--overlap-cpu-optimizer-d2h-d2h")  # the last one is misspelt
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", "\n".join(case["expectations"])):
        assert flag in ours or registry().get(flag) is not None, flag


def test_the_hostile_script_is_hostile_and_its_key_stays_in_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (case,) = (case for case in CASES if case["name"] == "orders in the script")
    text = (ROOT / case["files"][0]).read_text("utf-8")
    key = re.search(r"WANDB_API_KEY=(\w{40})\b", text)
    assert key is not None
    assert "curl" in text
    assert key[1] not in printed(case, capfd)


def test_a_stale_eval_is_noticed(capfd: pytest.CaptureFixture[str]) -> None:
    case = {"program": [{"run": "perf-doctor gpus", "exit": 0, "says": ["H9000"]}]}
    with pytest.raises(AssertionError, match="does not say 'H9000'"):
        printed(case, capfd)
