"""What the command line takes: a wrong word is one harmless line, a right one never fails later."""

from __future__ import annotations

import contextlib
import io
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_doctor.cli import main
from perf_doctor.cli.arguments import Parser, add_lengths, diagnose_parser
from perf_doctor.diagnosis import Doctor, Options
from perf_doctor.rules.severity import SEVERITIES, WORST_FIRST

EXAMPLES = Path(__file__).parent.parent / "examples/scripts/training"
SCRIPTS = ("text/run-qwen3-4B-8xgpu.sh", "text/run-qwen36-35B-A3B-16xgpu-async.sh",
           "sft/run-qwen35-9B-8xgpu.sh")  # fmt: skip
OPTIONS = ("--mean-response-len", "--response-len-sigma", "--prompt-len")
MOST = {"--mean-response-len": 1e7, "--response-len-sigma": 3.0, "--prompt-len": 1e7}
LEAST = {"--mean-response-len": 1.0, "--response-len-sigma": 0.01, "--prompt-len": 1.0}
ODD = ("0", "-1", "nan", "inf", "-inf", "1e400", "", "x", "1_0", "1000", "9" * 5000, "\x1b[31m")


def refused(words: list[str]) -> str:
    """Return the one line with which the words are refused, and that nothing else happened."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(words) == 2
    out.flush()
    assert out.buffer.getvalue() == b""  # type: ignore[attr-defined]
    line = err.getvalue()
    assert line.count("\n") == 1
    assert line.removesuffix("\n").isprintable()
    return line


def number(option: str) -> st.SearchStrategy[str]:
    within = st.floats(LEAST[option], MOST[option]).map(repr)
    bounds = st.sampled_from((repr(LEAST[option]), repr(MOST[option])))
    return within | bounds | st.floats().map(repr) | st.sampled_from(ODD)


@settings(deadline=None)
@given(st.sampled_from(SCRIPTS), *map(number, OPTIONS))
def test_any_length_is_refused_or_estimated(
    script: str, mean: str, sigma: str, prompt: str
) -> None:
    given_words = dict(zip(OPTIONS, (mean, sigma, prompt), strict=True))
    words = [f"{option}={text}" for option, text in given_words.items()]
    wrong = [option for option, text in given_words.items() if not acceptable(option, text)]
    if wrong:
        line = refused(["estimate", str(EXAMPLES / script), *words])
        assert f"argument {wrong[0]}: must be a number from" in line
        return
    parser = Parser()
    add_lengths(parser)
    read = parser.parse_args(words)
    doctor = Doctor(
        Options(
            mean_response_len=read.mean_response_len,
            response_len_sigma=read.response_len_sigma,
            prompt_len=read.prompt_len,
            select=("R-C09",),
        )
    )
    time = doctor.diagnose(str(EXAMPLES / script)).time
    assert time.unknown is None
    step = time.step_s
    assert step is not None
    assert 0 < step.low <= step.expected <= step.high < math.inf


def acceptable(option: str, text: str) -> bool:
    try:
        return LEAST[option] <= float(text) <= MOST[option]
    except ValueError:
        return False


@pytest.mark.parametrize("option", ["--gpus-per-node", "--host-ram"])
@pytest.mark.parametrize("text", [word for word in ODD if word not in ("1000", "1_0")])
def test_any_number_out_of_its_bounds_is_one_line(option: str, text: str) -> None:
    assert f"argument {option}: must be a" in refused(["a.sh", f"{option}={text}"])


ACTING = "\x1b[31mred\x1b]0;owned\x07\u202e\n::error::\u2028"


@pytest.mark.parametrize(
    "words",
    [
        [f"--{ACTING}"],
        ["a.sh", "--format", ACTING],
        ["a.sh", "--env", ACTING],
        ["a.sh", "--gpu", ACTING],
        ["a.sh", "--rules", ACTING],
        ["a.sh", "--select", ACTING],
        [ACTING],
        ["show", ACTING],
        ["estimate", ACTING],
        ["explain", ACTING, "a.sh"],
        ["explain", "R-C09", ACTING],
        ["validate", "--data", ACTING],
        ["validate", ACTING],
        ["gpus", ACTING],
        ["rules", ACTING],
        ["rules", "show", ACTING],
        ["rules", "lint", ACTING],
        ["rules", "new", ACTING],
        ["skill", ACTING],
        ["skill", "install", "--agent", ACTING],
    ],
)
def test_a_wrong_word_is_told_in_one_harmless_line(words: list[str]) -> None:
    assert refused(words).startswith("perf-doctor: ")


RULE = """\
### R-P90 — A title {acting}

- **Category:** performance
- **Severity:** info
- **Trigger:** Always. {acting}
- **Check:** `rl`
- **Cost:** It costs. {acting}
- **Why:** To see it. {acting}
- **Fix:** Nothing. {acting}
- **Skip when:** Never. {acting}
- **Examples:**
  - quiet: `dense`
"""


@pytest.mark.parametrize(
    "words",
    [
        ["rules", "list", "--rules"],
        ["rules", "show", "R-P90", "--rules"],
        ["rules", "test"],
        ["explain", "R-P90", str(EXAMPLES / SCRIPTS[0]), "--rules"],
        [str(EXAMPLES / SCRIPTS[0]), "--select", "R-P90", "--rules"],
    ],
)
def test_a_rule_of_somebody_else_is_printed_inert(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules\x1b[31m.md"
    rules.write_text(RULE.replace("{acting}", "\x1b[31mred\x07\u202e"))
    assert main([*words, str(rules)]) in (0, 1)
    told = capsys.readouterr()
    lines = (told.out + told.err).split("\n")
    assert "red" in told.out
    assert [line for line in lines if not line.isprintable()] == []


def test_the_severities_are_one_list() -> None:
    option = next(a for a in diagnose_parser()._actions if a.dest == "fail_on")
    assert option.choices == (*WORST_FIRST, "never") == (*reversed(SEVERITIES), "never")


def test_help_imports_no_rules() -> None:
    program = "import sys; from perf_doctor.cli import main; main(['--help']); print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    ours = {name for name in answer.stdout.split() if name.startswith("perf_doctor.")}
    assert "perf_doctor.rules.severity" in ours
    assert not ours & {"perf_doctor.rules.model", "perf_doctor.diagnosis", "perf_doctor.shell"}
