"""What a script's name and header say, by grammar."""

from __future__ import annotations

import pytest

from perf_doctor.launch.filename import FileName, Header, read_file_name, read_header


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "scripts/training/text/run-qwen3-4B-8xgpu-async.sh",
            FileName("qwen3-4b", 8, "gpu", "fully-async", "text"),
        ),
        ("run-qwen36-35B-A3B-fp8-8xgpu-image.sh",
         FileName("qwen36-35b-a3b", 8, "gpu", None, "image", "fp8")),
        ("a/run-qwen35-9B-8xgpu-openr1mm-hybrid-async.sh",
         FileName("qwen35-9b", 8, "gpu", "hybrid")),
        ("run-qwen35-35B-A3B-16xnpu-colocate.sh",
         FileName("qwen35-35b-a3b", 16, "npu", "colocate")),
        ("run-qwen3-4B-8xgpu-async-npu.sh", FileName("qwen3-4b", 8, "npu", "fully-async")),
        ("run-qwen35-9B-8xklx.sh", FileName("qwen35-9b", 8, "klx")),
        ("run-qwen35-9B-8xP800.sh", FileName("qwen35-9b", 8, "klx")),
        ("run-qwen3-30B-A3B-omni-16xgpu-video.sh",
         FileName("qwen3-30b-a3b", 16, "gpu", None, "video")),
        ("sft/run-qwen3.5-35B-A3B-mtp-sft-16xgpu.sh",
         FileName("qwen3.5-35b-a3b", 16, "gpu", "sft", features=("mtp",))),
        ("run-vision-opd-qwen3.5_9b-35ba3b-8xgpu-colocate.sh",
         FileName("qwen3.5-9b", 8, "gpu", "colocate", features=("opd",))),
        ("run_qwen36_35b_a3b_swe_8nodes.sh", FileName("qwen36-35b-a3b", nodes=8)),
        ("sft/run-qwen3-vl-4B-math-8xgpu.sh", FileName("qwen3-vl-4b", 8, "gpu", "sft")),
        ("run_deepeyes_fp16.sh", FileName(precision="fp16")),
        ("launch.sh", FileName()),
        ("", FileName()),
    ],
)  # fmt: skip
def test_names(path: str, said: FileName) -> None:
    """Words in any order, separators of either kind; silence is None."""
    assert read_file_name(path) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Qwen3-4B on 8 x H20 GPU, fully async", Header((8,), None, "fully-async")),
        ("# Training script (2 nodes, 16xGPU, colocate)", Header((16,), 2, "colocate")),
        ("# 16卡, 2机", Header((16,), 2)),
        ("# 8 cards train, 6 generate,\n2 score the answers.", Header((8, 6, 2))),
        ("# 4 GPUs train and 4 infer; 3 epochs, 2 nodes", Header((4, 4), 2)),
        ("# 8 GPUs, 4 GPUs of them for rollout. 3 times faster", Header((8, 4))),
        ("# hybrid, 4 + 4 GPUs", Header((4, 4), None, "hybrid")),
        ("# 4+2+2 cards", Header((4, 2, 2))),
        ("# hybrid or colocate: see docs", Header()),
        ("", Header()),
    ],
)
def test_headers(text: str, said: Header) -> None:
    """Every count in order; a mode only when the header names one alone."""
    assert read_header(text) == said
