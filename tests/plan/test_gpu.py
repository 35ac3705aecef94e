"""The card: named, assumed, unknown."""

import pytest
from plan_words import plan_of

from perf_doctor.plan.gpu import UnknownGpuError, find_gpu, known_gpus


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("H100", "H100-80GB"),
        ("h100", "H100-80GB"),
        ("H20", "H20-96GB"),
        ("h20-96gb", "H20-96GB"),
        ("h20-141gb", "H20-141GB"),
        ("H20-3e", "H20-141GB"),
        ("A100-80GB", "A100-80GB"),
        ("A100 80G", "A100-80GB"),
        ("a100_40gb", "A100-40GB"),
        ("A100-SXM-80GB", "A100-80GB"),
        ("NVIDIA H200", "H200-141GB"),
        ("H200 141GiB", "H200-141GB"),
        ("910B", "Ascend-910B-64GB"),
        ("ascend-910c", "Ascend-910C-64GB"),
        ("910C-128GB", "Ascend-910C-64GB"),
        ("p800", "P800-96GB"),
    ],
)
def test_a_name_or_a_name_and_its_memory(asked, label):
    assert find_gpu(asked).label == label


def test_every_label_finds_its_own_card():
    for gpu in known_gpus():
        assert find_gpu(gpu.label) is gpu


def test_a_name_with_several_sizes_must_be_told_apart():
    with pytest.raises(UnknownGpuError, match="say A100-80GB, A100-40GB"):
        find_gpu("a100")


@pytest.mark.parametrize("asked", ["H101", "H200-96GB", "H20-80GB", "H2", "RTX", "", "x" * 999])
def test_an_unknown_card_is_one_line_that_lists_near_ones(asked):
    with pytest.raises(UnknownGpuError) as raised:
        find_gpu(asked)
    message = str(raised.value)
    assert "\n" not in message
    assert "GB" in message
    assert len(message) < 400


def test_h20_is_assumed():
    plan = plan_of("--colocate")
    assert (plan.gpu.label, plan.gpu.usable_gib, plan.gpu.assumed) == ("H20-96GB", 95.08, True)
    assert "No GPU was named: H20 with 96 GB assumed." in plan.assumptions


def test_a_named_card_is_not_an_assumption():
    plan = plan_of("--colocate", gpu="h100")
    assert (plan.gpu.name, plan.gpu.assumed) == ("H100", False)
    assert not any("GPU was named" in sentence for sentence in plan.assumptions)


@pytest.mark.parametrize(
    ("words", "about", "kind"),
    [
        ("", {"script": "a/run-qwen3-4B-4xnpu-colocate.sh"}, "npu"),
        ("", {"script": "run-qwen3-4B-4xgpu-async-npu.sh"}, "npu"),
        ("--sglang-device npu", {}, "npu"),
        ("--sglang-attention-backend ascend", {}, "npu"),
        ("", {"files": ("scripts/entrypoint/local-npu.sh",)}, "npu"),
        ("", {"environment": {"HCCL_CONNECT_TIMEOUT": "1"}}, "npu"),
        ("", {"script": "run-qwen3-4B-8xklx.sh"}, "klx"),
        ("", {"script": "run-qwen3-4B-8xP800.sh"}, "klx"),
        ("--sglang-attention-backend kunlun", {}, "klx"),
        ("", {"script": "run-qwen3-4B-8xgpu.sh", "files": ("entrypoint/local.sh",)}, "gpu"),
        ("--sglang-attention-backend flashinfer", {"environment": {"NCCL_DEBUG": "1"}}, "gpu"),
    ],
)
def test_other_accelerators_show_in_name_flags_files_and_environment(words, about, kind):
    plan = plan_of(words, **about)
    assert plan.gpu.accelerator == kind
    assert bool(plan.accelerator_evidence) == (kind != "gpu")


def test_an_npu_is_one_of_the_two_devices_of_a_card():
    plan = plan_of("--sglang-device npu")
    assert (plan.gpu.name, plan.gpu.memory_gb, plan.gpu.gpus_per_node) == ("Ascend-910C", 64, 16)
    assert plan.gpu.usable_gib == pytest.approx(60.95)
    assert any("written for Ascend NPUs (sglang flags)" in said for said in plan.assumptions)


def test_a_card_without_published_numbers_has_none():
    plan = plan_of("", script="run-qwen3-4B-8xklx.sh")
    assert (plan.gpu.usable_gib, plan.gpu.hbm_tb_s) == (None, None)
