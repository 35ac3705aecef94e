"""What a script's name and header promise, against what its flags make."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf_doctor.diagnosis import Doctor

LAUNCH = """\
# {header}

python3 -m relax.entrypoints.train --fully-async --num-layers 2 --resource \\
  '{{"actor": [1, 8], "rollout": [1, 6], "reference": [1, 2]}}'
"""


def notes(folder: Path, header: str, name: str = "run.sh") -> list[str]:
    script = folder / name
    script.write_text(LAUNCH.format(header=header))
    said = (str(note) for note in Doctor().diagnose(str(script)).notes)
    return [note for note in said if "the flags make" in note]


@pytest.mark.parametrize(
    "header",
    [
        "A job.",
        "Trains on 16 cards.",
        "8 cards train, 6 generate, 2 score.",
        "8 cards train, 6 cards generate, 2 cards score.",
        "8 GPUs train and 8 GPUs do the rest.",
        "2 nodes x 8 GPUs.",
        "16 GPUs: 8 cards train, 4 generate.",
    ],
)
def test_counts_that_can_be_this_job_are_no_news(tmp_path: Path, header: str) -> None:
    assert notes(tmp_path, header) == []


@pytest.mark.parametrize(
    ("header", "count"),
    [
        ("32 GPUs.", "32 GPUs"),
        ("8 GPUs, 3 epochs.", "8 GPUs"),
        ("4 nodes x 8 GPUs.", "8 GPUs"),
        ("Debug on 1 card.", "1 GPU"),
    ],
)
def test_a_count_of_another_job_is_told(tmp_path: Path, header: str, count: str) -> None:
    assert notes(tmp_path, header) == [f"the header comment says {count} (the flags make 16)"]


def test_a_name_that_promises_another_job_is_told(tmp_path: Path) -> None:
    assert notes(tmp_path, "A job.", "run-qwen3-4B-8xgpu-colocate.sh") == [
        "the file name says 8 GPUs, the flags make 16",
        "the file name says colocate, the flags make it fully-async",
    ]
