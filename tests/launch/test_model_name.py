"""The model's name, family and row of the table of architectures."""

from __future__ import annotations

import pytest

from perf_doctor.data import table
from perf_doctor.launch.hf_config import architecture
from perf_doctor.launch.model_name import (
    ModelName,
    family,
    find_model_name,
    known_model,
    model_config,
    spoken,
)
from perf_doctor.launch.registry import registry


@pytest.mark.parametrize(
    ("checkpoint", "name"),
    [
        ("/data/exps/Qwen3-4B/", "Qwen3-4B"),
        ("/m/Qwen3-VL-4B-Instruct", "Qwen3-VL-4B-Instruct"),
        ("/m/Qwen3-30B-A3B_torch_dist/iter_0000100", "Qwen3-30B-A3B"),
        ("Qwen/Qwen3.5-9B", "Qwen3.5-9B"),
        ("/c/models--Qwen--Qwen3-4B/snapshots/" + "a" * 40, "Qwen3-4B"),
    ],
)
def test_the_checkpoint_says_the_name(checkpoint: str, name: str) -> None:
    """The last part that is a name, suffixes of tuning kept."""
    assert find_model_name([checkpoint]) == ModelName(name, "checkpoint")


def test_others_say_it_where_the_checkpoint_does_not() -> None:
    """Next checkpoint, then model file, then script name, then nobody."""
    said = find_model_name(["${HF}", None, "", "/m/GLM-5"], "scripts/models/qwen3-4B.sh")
    assert said == ModelName("GLM-5", "checkpoint")
    assert find_model_name([".."], "models/qwen35-35B-A3B.sh") == ModelName(
        "Qwen3.5-35B-A3B", "model file"
    )
    assert find_model_name([], None, "run-qwen35-9B-8xgpu.sh") == ModelName(
        "Qwen3.5-9B", "script name"
    )
    assert find_model_name([], None, "run.sh") is None


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("qwen36-35B-A3B", "Qwen3.6-35B-A3B"),
        ("qwen3-vl-30b-a3b", "Qwen3-VL-30B-A3B"),
        ("qwen3.5-35ba3b", "Qwen3.5-35B-A3B"),
        ("kimi-k2.6", "Kimi-K2.6"),
        ("glm5-744B-A40B", "GLM-5"),
        ("dotsocr2", "dots.mocr"),
        ("llama3.1-8B-Instruct", "Llama-3.1-8B"),
        ("deepseek-r1-distill-qwen-7b", "DeepSeek-R1-Distill-Qwen-7B"),
        ("qwen9-12B", "Qwen9-12B"),
    ],
)
def test_spoken(stem: str, name: str) -> None:
    """A file's name as its maker writes it."""
    assert spoken(stem) == name


@pytest.mark.parametrize(
    ("name", "expected", "of"),
    [
        ("Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B", "qwen3"),
        ("Qwen3.6-35B-A3B-fp8", "Qwen3.6-35B-A3B", "qwen3.6"),
        ("deepseek-ai/DeepSeek-R1", "DeepSeek-R1", "deepseek-v3"),
        ("DeepSeek-R1-Distill-Qwen-7B", "DeepSeek-R1-Distill-Qwen-7B", "qwen2.5 (r1-distill)"),
        ("dots.mocr", "dots.mocr", "dots.ocr"),
        ("my-own-model", None, None),
    ],
)
def test_known_models(name: str, expected: str | None, of: str | None) -> None:
    """Tuning and storage change no dimension."""
    assert known_model(name) == expected
    assert family(name.rsplit("/", 1)[-1]) == of


def test_model_config() -> None:
    """The sourced file of a models folder."""
    files = ["/r/scripts/entrypoint/local.sh", "/r/scripts/models/qwen3-4B.sh"]
    assert model_config(files) == "qwen3-4B"
    assert model_config(["/r/run.sh"]) is None


def test_every_row_of_the_table_is_whole() -> None:
    """Known flags, a family, a source; experts come with all they need."""
    for name, row in table("architectures").items():
        flags = row["flags"]
        assert all(registry().get(flag) for flag in flags), name
        assert row["source"]
        assert row["family"] == family(name)
        assert flags["--hidden-size"] > 0
        assert flags["--ffn-hidden-size"] > 0
        latent = "--multi-latent-attention" in flags
        assert ("--kv-channels" in flags) != latent
        assert ("--num-query-groups" in flags) != latent
        moe = "--num-experts" in flags
        assert moe == ("--moe-router-topk" in flags) == ("--moe-layer-freq" in flags)
        assert (row["parameters"]["total"] > row["parameters"]["active"]) == moe
        assert ("--attention-output-gate" in flags) == bool(row["gdn"])


def test_config_json_becomes_flags() -> None:
    """The text part of a multimodal configuration, with its tower."""
    config = {
        "tie_word_embeddings": False,
        "vision_config": {"depth": 27, "hidden_size": 1152},
        "text_config": {
            "model_type": "qwen3_moe",
            "num_hidden_layers": 4,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "first_k_dense_replace": 1,
            "vocab_size": 512,
        },
    }
    row = architecture(config)
    assert row["flags"] == {
        "--num-layers": 4,
        "--hidden-size": 64,
        "--ffn-hidden-size": 32,
        "--num-attention-heads": 4,
        "--num-query-groups": 2,
        "--kv-channels": 16,
        "--vocab-size": 512,
        "--num-experts": 8,
        "--moe-router-topk": 2,
        "--moe-ffn-hidden-size": 32,
        "--moe-layer-freq": "[0]*1+[1]*3",
        "--untie-embeddings-and-output-weights": True,
        "--qk-layernorm": True,
    }
    assert row["vision"] == {"depth": 27, "hidden_size": 1152}
    with pytest.raises(KeyError, match="num_hidden_layers"):
        architecture({})
