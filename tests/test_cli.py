"""The command line as people and programs use it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import perf_doctor
from perf_doctor.cli import main

PROJECT = Path(__file__).parent.parent
TEXT = "examples/scripts/training/text"
CLEAN = f"{TEXT}/run-qwen3-8B-8xgpu.sh"
BROKEN = f"{TEXT}/run-qwen3-14B-8xgpu.sh"
WARNED = f"{TEXT}/run-qwen36-35B-A3B-16xgpu-async.sh"
BRANCHED = "examples/scripts/training/multimodal/run-qwen3-vl-8B-8xgpu-image.sh"
# What must not be imported by the plain command: each costs more than all of ours.
HEAVY = {
    "rich", "jinja2", "jsonschema", "tomllib", "mcp", "numpy", "asyncio", "unittest",
    "importlib.metadata", "subprocess", "socket",
}  # fmt: skip

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([CLEAN], 0),
        ([BROKEN], 1),
        ([WARNED], 0),
        ([WARNED, "--fail-on", "warn"], 1),
        ([BROKEN, "--fail-on", "never"], 0),
        ([CLEAN, "--fail-on", "info"], 0),
        (["--fail-on", "never", BROKEN], 0),
        ([CLEAN, BROKEN], 1),
        (["no-such-script.sh"], 2),
        ([CLEAN, "no-such-script.sh"], 2),
        ([], 2),
        ([CLEAN, "--no-such-option"], 2),
        ([CLEAN, "--gpu", "B42"], 2),
        ([CLEAN, "--gpus-per-node", "0"], 2),
        ([CLEAN, "--env", "noequals"], 2),
        (["--version"], 0),
        (["--help"], 0),
        (["gpus"], 0),
        (["what-if", CLEAN, "--set", "--context-parallel-size 1"], 0),
        (["what-if", CLEAN, "--unset", "--colocate"], 0),
        (["what-if", CLEAN], 2),
        (["what-if", CLEAN, "--set", "--no-such-flag"], 2),
        (["what-if", "examples", "--set", "--colocate"], 2),
        (["what-if", "no-such-script.sh", "--set", "--colocate"], 2),
        (["compare", CLEAN, BROKEN], 0),
        (["compare", CLEAN], 2),
        (["show", CLEAN], 0),
    ],
)
def test_exit_codes(words: list[str], code: int, capsys: Capture) -> None:
    assert main(words) == code
    told = capsys.readouterr()
    if code == 2:
        assert all(line.startswith("perf-doctor") for line in told.err.splitlines())
        assert "Traceback" not in told.err


def test_options_may_stand_anywhere(capsys: Capture) -> None:
    assert main(["--format", "json", CLEAN, "--gpu", "h800", BROKEN, "--fail-on=never"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["script"] for one in report["reports"]] == [CLEAN, BROKEN]
    assert {one["context"]["gpu"]["name"] for one in report["reports"]} == {"H800"}


def test_a_missing_script_costs_the_others_nothing(capsys: Capture) -> None:
    assert main(["no-such.sh", CLEAN]) == 2
    told = capsys.readouterr()
    assert told.out.startswith("# perf-doctor: run-qwen3-8B-8xgpu.sh")
    assert told.err.startswith("perf-doctor: no-such.sh: does not exist\n")


def test_a_folder_means_every_launch_in_it(capsys: Capture) -> None:
    assert main(["examples", "--format", "json", "--fail-on", "never"]) == 0
    scripts = [one["script"] for one in json.loads(capsys.readouterr().out)["reports"]]
    assert scripts == sorted(str(path) for path in Path("examples/scripts/training").rglob("*.sh"))


def test_a_folder_without_a_launch_is_an_error(capsys: Capture) -> None:
    assert main(["examples/scripts/models"]) == 2
    assert "no launch script in this folder" in capsys.readouterr().err


def test_a_script_without_a_launch_says_what_was_looked_for(capsys: Capture) -> None:
    assert main(["examples/scripts/models/qwen3-4B.sh"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "no launch found: looked for `ray job submit" in told.err


def test_standard_input_is_a_script(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    text = b"ray job submit -- python3 -m relax.entrypoints.train --fully-async --colocate\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["-", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["script"] == "<stdin>"
    assert "R-C10" in {finding["rule"] for finding in report["findings"]}


def test_env_and_arg_choose_the_branch(capsys: Capture) -> None:
    assert main([BRANCHED, "--env", "MODE=async", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["context"]["mode"] == "fully-async"


def test_the_other_launch_is_told_on_standard_error(capsys: Capture) -> None:
    assert main([BRANCHED]) == 0
    told = capsys.readouterr()
    assert "holds another launch (MODE=async): 1 critical; see it with --env MODE=async" in told.err
    assert "MODE=async" not in told.out


def test_a_script_is_named_once_in_a_note(capsys: Capture) -> None:
    assert main([BRANCHED, CLEAN]) == 0
    lines = capsys.readouterr().err.splitlines()
    [line] = [line for line in lines if "holds another launch" in line]
    assert line.startswith(f"perf-doctor: {BRANCHED}: the script holds another launch (MODE=async)")
    assert line.count(BRANCHED) == 1


def test_estimates_have_the_shape_of_reports(capsys: Capture) -> None:
    assert main(["estimate", "--format", "json", CLEAN]) == 0
    one = json.loads(capsys.readouterr().out)
    assert main(["estimate", "--format", "json", CLEAN, BROKEN]) == 0
    several = json.loads(capsys.readouterr().out)
    assert set(several) == {"schema_version", "tool", "reports"}
    assert several["reports"][0] == one
    assert one["script"] == CLEAN
    assert several["schema_version"] == one["schema_version"] == "1"


def test_the_report_goes_to_a_file(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "report.md"
    assert main([CLEAN, "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text().startswith("# perf-doctor: ")


def test_the_report_never_overwrites_the_script(tmp_path: Path, capsys: Capture) -> None:
    script = tmp_path / "run.sh"
    text = "python3 -m relax.entrypoints.train --colocate\n"
    script.write_text(text)
    assert main([str(script), "-o", str(script)]) == 2
    assert script.read_text() == text
    assert "never written" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_one_line(capsys: Capture) -> None:
    assert main([CLEAN, "-o", "/no/such/folder/report.md"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("perf-doctor: /no/such/folder")


def test_the_model_config_folder_is_read(tmp_path: Path, capsys: Capture) -> None:
    models, lone = tmp_path / "models", tmp_path / "elsewhere"
    models.mkdir()
    lone.mkdir()
    (models / "m.sh").write_text("MODEL_ARGS=(--num-layers 7)\n")
    script = lone / "run.sh"
    script.write_text(
        'source "${MODEL_CONFIG_DIR}/m.sh"\n'
        'python3 -m relax.entrypoints.train --colocate "${MODEL_ARGS[@]}"\n'
    )
    main([str(script), "--format", "json", "--model-config-dir", str(models)])
    assert json.loads(capsys.readouterr().out)["launch"]["argv"][-2:] == ["--num-layers", "7"]
    main([str(script), "--format", "json"])
    assert "--num-layers" not in json.loads(capsys.readouterr().out)["launch"]["argv"]


def test_show_tells_where_a_value_came_from(capsys: Capture) -> None:
    assert main(["show", CLEAN]) == 0
    shown = capsys.readouterr().out
    assert "--tensor-model-parallel-size 2 ← PERF_ARGS, " + CLEAN in shown
    assert "default of $" in shown


def test_gpus_lists_what_gpu_takes(capsys: Capture) -> None:
    assert main(["gpus"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"H20-96GB", "H20-141GB", "H800-80GB"} <= set(names)
    for name in names:
        assert main([CLEAN, "--gpu", name, "--fail-on", "never"]) == 0


def test_the_library_call_is_the_same_diagnosis() -> None:
    diagnosis = perf_doctor.diagnose(BROKEN, gpu="H800")
    assert {finding.rule for finding in diagnosis.findings} == {"R-C06", "R-C09", "R-C14"}
    assert diagnosis.plan.gpu.name == "H800"
    with pytest.raises(perf_doctor.ScriptError, match="does not exist"):
        perf_doctor.diagnose("no-such-script.sh")
    with pytest.raises(perf_doctor.NoLaunchError, match="looked for"):
        perf_doctor.diagnose("examples/scripts/models/qwen3-4B.sh")


def test_a_hint_names_the_way_and_not_which_of_its_launches(
    tmp_path: Path, capsys: Capture
) -> None:
    launch = "ray job submit -- python3 -m relax.entrypoints.train --colocate"
    script = tmp_path / "run.sh"
    script.write_text(
        f'if [ "${{MODE:-a}}" = b ]; then\n  {launch} --seed 1\n  {launch} --seed 2\n'
        f"else\n  {launch} --seed 3\nfi\n"
    )
    main([str(script)])
    told = [line for line in capsys.readouterr().err.splitlines() if "another launch" in line]
    assert len(told) == 2
    assert all(line.endswith("see it with --env MODE=b") for line in told)


def test_two_dashes_end_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "--x.sh").write_text((PROJECT / CLEAN).read_text())
    monkeypatch.chdir(tmp_path)
    assert main(["--fail-on", "never", "--", "--x.sh"]) == 0
    assert "# perf-doctor: `--x.sh`" in capsys.readouterr().out
    assert main(["--", "--no-such.sh"]) == 2
    assert "./--no-such.sh: does not exist" in capsys.readouterr().err


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "perf_doctor", CLEAN]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0
    assert answer.stdout.startswith("# perf-doctor: ")


def test_a_plain_run_imports_nothing_heavy() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "perf_doctor", CLEAN]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {
        line.rpartition("|")[2].strip()
        for line in answer.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert not {name for name in imported if name in HEAVY or name.split(".")[0] in HEAVY}
    assert "perf_doctor.rules.judge" in imported
    assert not {name for name in imported if name.startswith("perf_doctor.explore")}


def test_a_closed_pipe_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "perf_doctor", CLEAN]
    answer = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert answer.returncode == 0
    assert "Traceback" not in answer.stderr


RULE = """\
### R-P90 — A rule of our own

- **Category:** performance
- **Severity:** info
- **Trigger:** Always in colocate.
- **Check:** `mode == "colocate"`
- **Cost:** Mode is {mode}.
- **Why:** To see it work.
- **Fix:** Nothing.
- **Skip when:** Never.
- **Source:** ours
- **Examples:**
  - fires: `dense`
"""


def test_a_rule_file_of_the_user_works_with_no_change_to_code(
    tmp_path: Path, capsys: Capture
) -> None:
    rules = tmp_path / "mine.md"
    rules.write_text(RULE)
    assert main([CLEAN, "--rules", str(rules), "--format", "json", "--select", "R-P90"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [finding["rule"] for finding in report["findings"]] == ["R-P90"]
    assert report["findings"][0]["cost"]["text"] == "Mode is colocate."
    assert main([CLEAN, "--rules", str(rules), "--format", "json", "--ignore", "R-P90"]) == 0
    assert "R-P90" not in {rule["id"] for rule in json.loads(capsys.readouterr().out)["rules"]}
    assert main(["rules", "test", str(rules)]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"


def test_a_rule_without_check_is_for_a_reader(tmp_path: Path, capsys: Capture) -> None:
    rules = tmp_path / "mine.md"
    rules.write_text("\n".join(line for line in RULE.splitlines() if "**Check" not in line))
    assert main([CLEAN, "--rules", str(rules), "--format", "json", "--select", "R-P90"]) == 0
    [rule] = json.loads(capsys.readouterr().out)["rules"]
    assert rule["verdict"] == "needs-judgement"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (RULE.replace("mode ==", "mod =="), "mine.md:6:15: R-P90, Check: "),
        (RULE.replace("- **Why:** To see it work.\n", ""), "mine.md:1:1: R-P90: the field Why is"),
        (
            RULE.replace("**Source:**", "**Sauce:**"),
            "there is no field 'Sauce'; did you mean 'Source'?",
        ),
        (RULE + RULE, "R-P90"),
    ],
)
def test_a_broken_rule_is_one_line_before_anything_is_diagnosed(
    wrong: str, told: str, tmp_path: Path, capsys: Capture
) -> None:
    rules = tmp_path / "mine.md"
    rules.write_text(wrong)
    for words in ([BROKEN, "--rules", str(rules)], ["rules", "lint", str(rules)]):
        assert main(words) == 2
        answer = capsys.readouterr()
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert told in answer.err


def test_rules_can_be_looked_up(capsys: Capture) -> None:
    assert main(["rules", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("C — ")
    assert "  R-C09  Context parallelism without per-token loss (critical, blocks" in listed
    assert main(["rules", "show", "r-c09"]) == 0
    assert capsys.readouterr().out.startswith("### R-C09 — Context parallelism")
    assert main(["rules", "show", "R-C999"]) == 2
    assert main(["rules", "facts"]) == 0
    assert "| `tp` | number |" in capsys.readouterr().out
    assert main([CLEAN, "--select", "R-Q"]) == 2


@pytest.mark.parametrize("series", ["C", "M", "P", "S"])
def test_a_new_rule_is_a_rule_that_works(series: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["rules", "new", series]) == 0
    rules = tmp_path / "new.md"
    rules.write_text(capsys.readouterr().out)
    assert main(["rules", "test", str(rules)]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


@pytest.mark.parametrize(
    "words",
    [
        ["what-if", CLEAN, "--set", "--context-parallel-size 1"],
        ["compare", CLEAN, BROKEN],
        ["estimate", CLEAN],
        ["show", CLEAN],
    ],
)
def test_every_command_writes_its_report_to_a_file_and_never_to_a_script(
    words: list[str], tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "report.txt"
    assert main([*words, "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    main(words)
    assert capsys.readouterr().out == file.read_text("utf-8")
    before = Path(CLEAN).read_bytes()
    assert main([*words, "-o", CLEAN]) == 2
    assert "never written" in capsys.readouterr().err
    assert Path(CLEAN).read_bytes() == before
