"""What ``perf-doctor validate`` prints: every quantity, runs of one's own, and runs that lie."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perf_doctor.cli import main
from perf_doctor.data import table
from perf_doctor.validation import fit
from perf_doctor.validation.accuracy_json import as_json
from perf_doctor.validation.accuracy_text import as_text, groups, likely_cause
from perf_doctor.validation.judged import summarize, worst
from perf_doctor.validation.subjects import SUBJECTS, validate, validate_bundled

FOUND = validate_bundled()
TABLES = [one.bundled for one in SUBJECTS]
KEYS = {"points", "eligible", "covered", "median_abs_error", "p90_abs_error", "bias", "inside"}
QWEN3_8B = {
    "layers": 36, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 12288,
    "vocab": 151936, "qk_norm": True,
}  # fmt: skip
MINE: list[dict[str, Any]] = [
    {
        "id": "my-step", "kind": "train_memory+time", "tier": "A", "source": "our cluster",
        "model": "Qwen3-8B", "dims": QWEN3_8B, "gpu": "H100", "n_gpus": 8, "tp": 2, "pp": 1,
        "seq": 8192, "mbs": 1, "gbs": 64,
        "measured": {"step_time_s": 8.0, "peak_mem_gib": 50.0},
    },
    {
        "id": "my-engine", "kind": "serve_time", "tier": "A", "source": "our cluster",
        "model": "Qwen3-8B", "gpu": "H20", "n_gpus": 1, "tp": 1,
        "extra": {"engine": "SGLang 0.5.12", "running": 64, "isl": 200, "osl": 2000},
        "measured": {"output_tokens_per_s": 3500},
    },
    {
        "id": "my-rl-step", "kind": "rl_phase_time", "tier": "A", "source": "relax",
        "model": "Qwen3-8B", "dims": QWEN3_8B, "gpu": "H100", "n_gpus": 8,
        "extra": {
            "train_parallel": "tp2pp1", "infer_parallel": "tp1", "engine": "sglang",
            "prompts": 32, "samples_per_prompt": 8, "mini_bs": 32, "max_response_len": "8k",
            "max_token_len_actor_k": 9,
        },
        "measured": {
            "mean_response_len": 2000, "rollout_s": 80, "old_log_prob_s": 3, "update_actor_s": 8,
        },
    },
]  # fmt: skip


def test_every_quantity_has_the_same_figures() -> None:
    result = as_json(FOUND)
    summary = result["summary"]
    assert {"memory", "time", "decode", "rl_phases", "fits"} <= set(summary)
    assert "cross_validated" not in summary
    for one in SUBJECTS:
        assert set(summary[one.key]) >= KEYS
        of_it = [point for point in result["points"] if point["quantity"] == one.quantity]
        assert len(of_it) == summary[one.key]["points"] > 50
    fields = {"id", "kind", "predicted", "measured", "error", "skipped_because", "low", "high"}
    assert all(fields <= set(point) for point in result["points"])


def test_every_run_is_predicted_or_says_why_not() -> None:
    for point in as_json(FOUND)["points"]:
        assert (point["predicted"] is None) == (point["skipped_because"] is not None)
        assert "cannot be read" not in str(point["skipped_because"])
        if point["shown_only"]:
            assert not point["eligible"]


def test_the_text_names_what_is_worst_and_a_cause() -> None:
    text = as_text(FOUND)
    for one in SUBJECTS:
        assert one.title in text
        bad = worst(FOUND.judged[one.quantity], 1)[0]
        assert bad.id in text
        assert likely_cause(bad) in text
    assert "tier A" in text
    assert "blackwell in 8 or 4 bits" in text
    assert "hopper with speculation" in text


def test_groups_share_out_all_runs() -> None:
    for quantity, judged in FOUND.judged.items():
        parts = dict(groups(quantity, judged))
        sources = {one.source for one in judged}
        if quantity != "rl phase":
            assert sum(len(parts[name]) for name in sources) == len(judged)


def test_what_is_shown_only_is_in_no_figure() -> None:
    steps = FOUND.judged["train step"]
    assert summarize(steps).eligible == sum(one.apart is None for one in steps) < len(steps)


@pytest.fixture
def my_runs(tmp_path: Path) -> Path:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps({"points": MINE}), "utf-8")
    return file


def test_runs_of_ones_own_are_judged_on_all_that_they_state(
    my_runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "--data", str(my_runs), "--format", "json"]) == 0
    result = json.loads(capfd.readouterr().out)
    judged = {(one["id"], one["quantity"], one["metric"]) for one in result["points"]}
    assert judged == {
        ("my-step", "memory", "allocated"),
        ("my-step", "train step", "step"),
        ("my-engine", "decode", "output tokens"),
        ("my-rl-step", "rl phase", "rollout"),
        ("my-rl-step", "rl phase", "log_probs"),
        ("my-rl-step", "rl phase", "update"),
    }
    assert all(one["eligible"] and one["predicted"] for one in result["points"])
    assert all(0.3 < one["predicted"] / one["measured"] < 3 for one in result["points"])


def test_a_file_of_one_kind_prints_one_table() -> None:
    text = as_text(validate(MINE[1:2]))
    assert "decode speeds" in text
    assert "training steps" not in text


def test_nothing_measured_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.json"
    file.write_text('[{"id": "nothing"}]', "utf-8")
    assert main(["validate", "--data", str(file)]) == 0
    assert "no run states" in capfd.readouterr().out


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("lie", ["x", -1, 0, 1e30, [1], {"a": 1}, None, True])
def test_runs_that_lie_are_skipped_or_judged_and_never_fail(name: str, lie: Any) -> None:
    """One word of a run is something else, at the top or inside."""
    points = table(name)["points"]
    for point in (points[0], points[len(points) // 2], points[-1]):
        for key, value in point.items():
            if not isinstance(value, dict):
                as_text(validate([{**point, key: lie}]))
                continue
            for inner in value:
                as_text(validate([{**point, key: {**value, inner: lie}}]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ('{"points": 3}', "no list of points"),
        ('[{"id": "mine", "measured": [1]}]', "measured of mine is no object"),
        ('[{"id": "mine", "extra": "x"}]', "extra of mine is no object"),
    ],
)
def test_a_file_in_another_format_is_refused(
    text: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "runs.json"
    file.write_text(text, "utf-8")
    assert main(["validate", "--data", str(file)]) == 2
    assert said in capfd.readouterr().err


def test_only_bundled_runs_are_cross_validated(
    my_runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "--cross-validate", "--data", str(my_runs)]) == 2
    assert "not allowed with" in capfd.readouterr().err


def test_sources_left_out_stand_beside_the_figures_in_sample(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With one round of the search, which is enough to see the difference."""
    monkeypatch.setattr(fit, "_ROUNDS", (0.25,))
    assert main(["validate", "--cross-validate", "--format", "json"]) == 0
    answer = capfd.readouterr()
    summary = json.loads(answer.out)["summary"]
    assert "ten seconds" in answer.err
    assert set(summary["cross_validated"]) == {"time", "decode"}
    for key, left_out in summary["cross_validated"].items():
        assert left_out["eligible"] == summary[key]["eligible"]
        assert summary[key]["median_abs_error"] < left_out["median_abs_error"] < 0.15


@pytest.mark.parametrize("words", [["run-qwen3-4B-8xgpu.sh"], ["run-qwen3-8B-8xgpu.sh"]])
def test_a_plain_run_judges_nothing(words: list[str]) -> None:
    """No module of this room is imported by a diagnosis."""
    folder = Path(__file__).parents[2] / "examples/scripts/training/text"
    program = (
        "import sys; from perf_doctor.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    )
    command = [sys.executable, "-c", program, *(str(folder / word) for word in words)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = answer.stdout.splitlines()[-1].split()
    assert "perf_doctor.estimate.time" in imported
    assert not [name for name in imported if name.startswith("perf_doctor.validation")]
