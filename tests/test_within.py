"""Folders beyond which nothing is opened, whatever a script names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor, Options
from perf_doctor.shell.files import narrowed
from perf_doctor.shell.limits import ScriptError

SHAPE = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "num_hidden_layers": 3,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 512,
    "vocab_size": 1024,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree whose script sources a file above it and names weights beside it."""
    tree = tmp_path / "home" / "project"
    (tree / "scripts").mkdir(parents=True)
    (tmp_path / "home" / ".git").mkdir()
    (tmp_path / "home" / "more.sh").write_text("MORE=(--no-such-option 1)\n")
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text(json.dumps(SHAPE))
    (tree / "scripts" / "run.sh").write_text(
        f'source "{tmp_path}/home/more.sh"\n'
        "ray job submit -- python3 -m relax.entrypoints.train --colocate"
        f' --hf-checkpoint {weights} "${{MORE[@]}}"\n'
    )
    return tree


def diagnosed(tree: Path, *within: Path) -> Diagnosis:
    options = Options(within=tuple(map(str, within)))
    return Doctor(options).diagnose(str(tree / "scripts" / "run.sh"))


def test_without_bounds_the_tree_and_the_weights_are_read(tree: Path, tmp_path: Path) -> None:
    (tree / "scripts").rename(tmp_path / "home" / "project" / "jobs")
    script = tree / "jobs" / "run.sh"
    found = Doctor().diagnose(str(script))
    assert found.job.settings.unknown_flags
    assert found.plan.model.architecture is not None


def test_nothing_beyond_the_bounds_is_opened(tree: Path) -> None:
    found = diagnosed(tree, tree)
    assert not found.job.settings.unknown_flags
    assert found.plan.model.architecture is None
    assert list(found.texts) == [str(tree / "scripts" / "run.sh")]


def test_a_script_beyond_the_bounds_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="outside"):
        diagnosed(tree, tmp_path / "weights")


@pytest.mark.parametrize(
    ("folders", "within", "left"),
    [
        (["/a"], [], ["/a"]),
        (["/a/b"], ["/a"], ["/a/b"]),
        (["/a"], ["/a/b", "/c"], ["/a/b"]),
        (["/a", "/ab"], ["/a"], ["/a"]),
        (["/x"], ["/a"], []),
        (["/"], ["/a"], ["/a"]),
    ],
)
def test_what_is_left_of_folders(folders: list[str], within: list[str], left: list[str]) -> None:
    assert list(narrowed(folders, within)) == left
