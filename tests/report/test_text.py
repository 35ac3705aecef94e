"""The report for a terminal: what is in it, how wide it is, that scripts cannot format it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.fixes import all_fixes
from perf_doctor.report.text import MAX_FINDINGS, text_report

PROJECT = Path(__file__).parent.parent.parent
SCRIPTS = sorted(
    str(p.relative_to(PROJECT)) for p in (PROJECT / "examples/scripts/training").rglob("*.sh")
)
QWEN3_14B = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
LAUNCH = "ray job submit -- python3 -m relax.entrypoints.train --colocate"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COPIED = re.compile(r"  (?:fix: |top action: |  )(?:remove )?--|(?:next: |      )perf-doctor ")


@pytest.fixture(scope="module")
def diagnoses() -> dict[str, Diagnosis]:
    doctor = Doctor()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        return {script: doctor.diagnose(script) for script in SCRIPTS}


def of(folder: Path, text: str, name: str = "run.sh") -> Diagnosis:
    """Return the diagnosis of a script with this text."""
    script = folder / name
    script.write_text(text)
    return Doctor().diagnose(str(script))


def source(text: str) -> tuple[str, str]:
    """Return the first line of a script that is shown, and the one with the mark below it."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if re.match(r"\d+ \| ", line))
    return lines[at], lines[at + 1]


def test_every_finding_is_told_once_with_severity_rule_and_title(
    diagnoses: dict[str, Diagnosis],
) -> None:
    for diagnosis in diagnoses.values():
        text = text_report(diagnosis, everything=True, columns=200)
        told = re.findall(r"^(critical|warn|info) (\S+) ", text, re.MULTILINE)
        assert sorted(told) == sorted((f.severity, f.rule) for f in diagnosis.findings)
        assert all(f" {finding.title}" in text for finding in diagnosis.findings)


def test_the_mark_is_below_the_flag(diagnoses: dict[str, Diagnosis]) -> None:
    marked = 0
    for diagnosis in diagnoses.values():
        lines = text_report(diagnosis, everything=True, columns=100).splitlines()
        flags = {row.flag for finding in diagnosis.findings for row in finding.setting[:1]}
        for line, mark in pairwise(lines):
            if re.fullmatch(r" +\| +\^+", mark):
                marked += 1
                under = line[mark.index("^") : mark.rindex("^") + 1]
                assert under in flags
                assert cell_len(line[: mark.index("^")]) == mark.index("^")
    assert marked > len(diagnoses)


def test_the_line_is_the_scripts_own(diagnoses: dict[str, Diagnosis]) -> None:
    line, mark = source(text_report(diagnoses[QWEN3_14B]))
    assert line == "36 |     --rollout-batch-size 40"
    assert mark == "   |     ^^^^^^^^^^^^^^^^^^^^"


def test_wide_characters_before_a_flag_move_the_mark_by_two_cells(tmp_path: Path) -> None:
    text = text_report(of(tmp_path, f"{LAUNCH} --hf-checkpoint /模型 --no-such-flag 1\n"))
    line, mark = source(text)
    before = line[: line.index("--no-such-flag")]
    assert mark.index("^") == cell_len(before) == len(before) + 2
    assert mark.count("^") == len("--no-such-flag")


@pytest.mark.parametrize("filler", ["x", "模"])
@pytest.mark.parametrize("columns", [40, 80])
def test_a_long_line_is_shortened_around_the_flag(
    tmp_path: Path, filler: str, columns: int
) -> None:
    path = f"/{filler * 5000}"
    text = f"{LAUNCH} --hf-checkpoint {path} --no-such-flag 1 --load {path}\n"
    line, mark = source(text_report(of(tmp_path, text), columns=columns))
    assert cell_len(line) <= columns
    assert line.count("…") == 2
    assert cell_len(line[: line.index("--no-such-flag")]) == mark.index("^")


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_only_what_is_copied_whole_is_wider_than_the_columns(
    diagnoses: dict[str, Diagnosis], columns: int
) -> None:
    for diagnosis in diagnoses.values():
        for colour in (False, True):
            text = text_report(diagnosis, everything=True, columns=columns, colour=colour)
            for line in ESCAPE.sub("", text).splitlines():
                assert cell_len(line) <= columns or COPIED.match(line), line
                assert line == line.rstrip()


def test_without_colour_there_is_no_escape(
    diagnoses: dict[str, Diagnosis], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for diagnosis in diagnoses.values():
        assert "\x1b" not in text_report(diagnosis)


@pytest.mark.parametrize("terminal", ["dumb", "xterm-256color"])
def test_colour_adds_nothing_but_colour(
    diagnoses: dict[str, Diagnosis], monkeypatch: pytest.MonkeyPatch, terminal: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("COLUMNS", "33")
    for diagnosis in diagnoses.values():
        text = text_report(diagnosis, columns=100, colour=True)
        assert "\x1b[" in text
        assert ESCAPE.sub("", text) == text_report(diagnosis, columns=100)


def test_all_fixes_together_are_one_block_with_their_effect(
    diagnoses: dict[str, Diagnosis],
) -> None:
    diagnosis = diagnoses[QWEN3_14B]
    effect = all_fixes(diagnosis)
    assert effect is not None
    block = text_report(diagnosis, columns=200).split("All fixes together\n")[1].split("\n\n")[0]
    *flags, told = block.splitlines()
    assert [flag.split()[0] for flag in flags] == list(effect.changes.set)
    assert told.strip() == str(effect)


def test_the_next_commands_name_the_script_as_the_shell_takes_it(tmp_path: Path) -> None:
    text = text_report(of(tmp_path, f"{LAUNCH} --no-such-flag\n", "my run.sh"), columns=1000)
    quoted = f"'{tmp_path / 'my run.sh'}'"
    last = text.splitlines()[-1]
    assert re.search(rf"perf-doctor explain R-\w+ {re.escape(quoted)} ", last)
    assert f" perf-doctor {quoted} --diff " in last
    assert last.endswith(f"perf-doctor {quoted} -o report.html")


def test_no_more_than_twelve_findings_unless_all_are_asked_for(tmp_path: Path) -> None:
    flags = " ".join(
        (
            "--fully-async --kl-coef 1 --kl-loss-coef 1 --normalize-advantages --save-interval 0",
            "--use-tis --use-rollout-logprobs --get-mismatch-metrics --use-dynamic-batch-size",
            "--eval-interval 5 --sft-predict-interval 0 --optimizer-cpu-offload --rotate-ckpt",
            "--context-parallel-size 2 --tensor-model-parallel-size 2 --no-such-flag 1",
            "--qkv-format bshd --eval-size 3 --recompute-granularity full",
        )
    )
    diagnosis = of(tmp_path, f"{LAUNCH} {flags}\n", "run-qwen3-8B-8xgpu.sh")
    hidden = len(diagnosis.findings) - MAX_FINDINGS
    assert hidden > 0
    text, whole = text_report(diagnosis), text_report(diagnosis, everything=True)
    heads = re.compile(r"^(?:critical|warn|info) R-", re.MULTILINE)
    assert len(heads.findall(text)) == MAX_FINDINGS
    assert sum(map(int, re.findall(r"(\d+) more: --all", text))) == hidden
    assert len(heads.findall(whole)) == len(diagnosis.findings)
    assert "more: --all" not in whole


def test_nothing_a_script_says_formats_the_report(tmp_path: Path) -> None:
    hostile = (
        f"{LAUNCH} --no-such-flag $'a\\n::error::x' '[red]b[/red] :smile: `c`"
        " \x1b[31m\x07\r \u202e <script>%0A'\n"
    )
    diagnosis = of(tmp_path, hostile, "run [bold]\x1b[2J\nx.sh")
    text = text_report(diagnosis, columns=400)
    assert re.sub(r"[^\n]", "", text) == "\n" * len(text.split("\n")[:-1])
    assert text.replace("\n", "").isprintable()
    line, mark = source(text)
    for literal in (
        "[red]b[/red]",
        ":smile:",
        "`c`",
        "\\x1b[31m\\x07\\r",
        "\\u202e",
        "<script>%0A",
    ):
        assert literal in line
    assert line[mark.index("^") :].startswith("--no-such-flag")
    assert "[bold]\\x1b[2J\\nx.sh" in text.splitlines()[0]
    left = ESCAPE.sub("", text_report(diagnosis, columns=400, colour=True))
    assert left.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "words",
    [
        "--wandb-key hunter2horse --no-such-flag 1",
        "--wandb-key abc12 --no-such-flag 1",
        "--wandb-key \\\n  abc12 --no-such-flag 1",
        "--wandb-key 'abc12\nabc12' --no-such-flag 1",
        "--no-such-flag 1 --wandb-key=hunter2horse",
        f"--load {'x' * 60}/hunter2horse --no-such-flag 1 --wandb-key hunter2horse",
    ],
)
@pytest.mark.parametrize("columns", [40, 60, 200])
def test_a_secret_beside_a_flag_is_masked_also_where_the_line_is_cut(
    tmp_path: Path, words: str, columns: int
) -> None:
    text = text_report(of(tmp_path, f"{LAUNCH} {words}\n"), columns=columns)
    assert not re.search("abc12|hunter|horse", text.replace(str(tmp_path), ""))
    line, mark = source(text)
    assert line[mark.index("^") :].startswith("--no-such-flag"[: mark.count("^")])


def test_without_the_text_of_the_file_no_line_is_shown(tmp_path: Path) -> None:
    diagnosis = of(tmp_path, f"{LAUNCH} --no-such-flag 1\n")
    assert "^" in text_report(diagnosis)
    object.__setattr__(diagnosis, "texts", {})
    assert "^" not in text_report(diagnosis)
    assert "-->" not in text_report(diagnosis)


def test_the_gain_ends_at_the_right_margin(diagnoses: dict[str, Diagnosis]) -> None:
    for columns in (60, 130):
        lines = text_report(diagnoses[QWEN3_14B], columns=columns).splitlines()
        [line] = [line for line in lines if line.endswith("step -3 %, memory +10.8 GiB")]
        assert cell_len(line) == columns
