"""The model: from flags, by name, from config.json."""

import json

import pytest
from plan_words import DENSE, MOE, plan_of

from perf_doctor.plan.known_models import CONFIG_BYTES, from_row, known_row
from perf_doctor.plan.layer_pattern import layer_pattern
from perf_doctor.plan.parameters import count_parameters


def architecture(line, **about):
    found = plan_of(line, **about).model.architecture
    assert found is not None
    return found


def test_a_dense_model_from_flags():
    found = architecture(DENSE)
    assert (found.source, found.kind, found.layers, found.query_groups) == ("flags", "dense", 8, 2)
    assert (found.tied_embeddings, found.gated_mlp, found.dense_layers) == (False, True, 8)
    # 2·1000·64 + 64, and per layer 64·(8+2·2)·16 + 8·16·64 + 3·64·128 + 2·64
    assert count_parameters(found).total == 128064 + 8 * (12288 + 8192 + 24576 + 128)


def test_an_expert_model_from_flags():
    found = architecture(
        MOE + " --moe-layer-freq [0]*2+[1]*6"
        " --moe-shared-expert-intermediate-size 32 --moe-shared-expert-gate"
    )
    assert found.kind == "moe"
    assert found.experts is not None
    assert (found.experts.num_experts, found.experts.top_k) == (16, 2)
    assert (found.experts.moe_layers, found.dense_layers) == (6, 2)
    counted = count_parameters(found)
    one_expert = 3 * 64 * 32
    assert counted.total - counted.active == 6 * (16 - 2) * one_expert
    beside = 64 * 16 + one_expert + 64
    always = 128064 + 8 * (12288 + 8192 + 128) + 2 * 24576 + 6 * beside
    assert counted.active == always + 6 * 2 * one_expert


def test_experts_without_a_pattern_are_on_every_layer():
    found = architecture(MOE)
    assert found.experts is not None
    assert (found.experts.moe_layers, found.dense_layers) == (8, 0)
    assert found.experts.shared_ffn_hidden_size == 0


def test_latent_attention_from_flags():
    found = architecture(DENSE + " --multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16"
                         " --qk-head-dim 8 --qk-pos-emb-head-dim 4 --v-head-dim 10")  # fmt: skip
    assert found.latent_attention is not None
    assert (found.query_groups, found.latent_attention.v_head_dim) == (None, 10)
    # q: 64·24 + 24·8·12, kv: 64·20 + 16·8·18, out: 8·10·64, norms: 24 + 16
    attention = 1536 + 2304 + 1280 + 2304 + 5120 + 40
    assert count_parameters(found).total == 128064 + 8 * (attention + 24576 + 128)


def test_without_grouped_queries_every_head_has_its_own_keys():
    line = DENSE.replace("--group-query-attention --num-query-groups 2", "")
    assert architecture(line).query_groups == 8


def test_head_and_feed_forward_sizes_follow_when_unset():
    line = "--num-layers 2 --hidden-size 3072 --num-attention-heads 24"
    assert (architecture(line).head_dim, architecture(line).ffn_hidden_size) == (128, 12288)
    assert architecture(line + " --swiglu").ffn_hidden_size == 8192


@pytest.mark.parametrize(
    ("name", "total"),
    [("Qwen3.5-35B-A3B", 34_660_610_688), ("Qwen3.5-397B-A17B", 396_346_350_336)],
)
def test_counts_equal_the_published_models(name, total):
    model = from_row(known_row(name), "table")
    assert model is not None
    assert count_parameters(model).total == total


@pytest.mark.parametrize(
    "name", ["Qwen3-4B", "Qwen3-30B-A3B", "Qwen2.5-7B", "GLM-4.5-Air", "DeepSeek-V3", "Kimi-K2"]
)
def test_counts_are_near_the_names_of_known_models(name):
    row = known_row(name)
    assert row is not None
    counted = count_parameters(from_row(row, "table"))
    assert counted.total == pytest.approx(row["parameters"]["total"], rel=0.13)


def test_a_known_name_gives_the_shape_when_flags_are_missing():
    plan = plan_of("--hf-checkpoint /models/Qwen3.6-35B-A3B-FP8/")
    assert plan.model.name == "Qwen3.6-35B-A3B-FP8"
    assert plan.model.architecture is not None
    assert (plan.model.architecture.source, plan.model.architecture.layers) == ("table", 40)
    assert plan.model.architecture.linear_attention is not None
    assert sum(plan.model.architecture.linear_attention.layers) == 30
    assert plan.model.natively_multimodal is True
    assert plan.model.parameters is not None
    assert (plan.model.parameters.total, plan.model.parameters.active) == (35e9, 3e9)
    assert any("table of known models" in sentence for sentence in plan.assumptions)


def test_flags_win_and_the_name_completes_what_they_cannot_say():
    same = "--num-layers 40 --hidden-size 2048 --hf-checkpoint /m/Qwen3.5-35B-A3B"
    assert architecture(same).source == "flags"
    assert architecture(same).linear_attention is not None
    assert architecture(same).vocab_size is None
    other = "--num-layers 12 --hidden-size 2048 --hf-checkpoint /m/Qwen3.5-35B-A3B"
    assert architecture(other).linear_attention is None


def test_an_unknown_model_leaves_the_rest_working():
    plan = plan_of("--hf-checkpoint /m/Wonder-9B --colocate --tensor-model-parallel-size 2")
    assert (plan.model.name, plan.model.architecture, plan.model.kind) == ("Wonder-9B", None, None)
    assert (plan.model.parameters, plan.model.natively_multimodal) == (None, None)
    assert plan.parallel.mesh.tp == 2
    assert any("architecture of Wonder-9B is not known" in said for said in plan.assumptions)


CONFIG = {
    "model_type": "qwen3_moe", "num_hidden_layers": 4, "hidden_size": 64, "vocab_size": 1000,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 128,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "tie_word_embeddings": False,
}  # fmt: skip


def reader(content, asked):
    def read(path):
        asked.append(path)
        return content if isinstance(content, bytes) else json.dumps(content).encode()

    return read


def test_a_configuration_beside_the_weights_is_read_last():
    asked = []
    plan = plan_of("--hf-checkpoint /m/Wonder-9B/", read_file=reader(CONFIG, asked))
    assert asked == ["/m/Wonder-9B/config.json"]
    assert plan.model.architecture is not None
    assert plan.model.architecture.source == "config.json"
    assert (plan.model.kind, plan.model.natively_multimodal) == ("moe", False)
    assert any("config.json" in sentence for sentence in plan.assumptions)


def test_a_known_name_needs_no_file():
    asked = []
    plan_of("--hf-checkpoint /m/Qwen3-4B", read_file=reader(CONFIG, asked))
    assert asked == []


def test_a_multimodal_configuration_says_so():
    config = {"text_config": CONFIG, "vision_config": {"depth": 2, "hidden_size": 32}}
    plan = plan_of("--hf-checkpoint /m/Wonder-9B", read_file=reader(config, []))
    assert plan.model.natively_multimodal is True
    assert plan.model.architecture is not None
    assert plan.model.architecture.vision is not None
    assert plan.model.architecture.vision.depth == 2


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b'{"num_hidden_layers": 4}',
        b"[" * 100_000, b" " * (CONFIG_BYTES + 1),
        json.dumps({**CONFIG, "num_attention_heads": 0}).encode(),
        json.dumps({**CONFIG, "num_attention_heads": "8"}).encode(),
        json.dumps({**CONFIG, "hidden_size": {}}).encode(),
        json.dumps({**CONFIG, "num_hidden_layers": -4}).encode(),
        json.dumps({**CONFIG, "model_type": 3, "moe_intermediate_size": []}).encode(),
        json.dumps({"text_config": 3}).encode(),
    ],
)  # fmt: skip
def test_a_file_that_is_no_configuration_never_raises(content):
    plan = plan_of("--hf-checkpoint /m/Wonder-9B", read_file=reader(content, []))
    assert plan.model.name == "Wonder-9B"


def test_no_file_is_asked_for_when_the_path_is_not_known():
    asked = []
    plan_of("--hf-checkpoint ${MODEL_DIR}/Wonder-9B", read_file=reader(CONFIG, asked))
    assert asked == []


@pytest.mark.parametrize(
    ("written", "layers", "marked"),
    [
        (1, 4, "1111"), (2, 5, "10101"), ("2", 4, "1010"), ("[0]*1+[1]*3", 4, "0111"),
        ("([1]*3+[0]*1)*2", 8, "11101110"), ("[1, 0]", 2, "10"), ("[1,1,1]", 3, "111"),
        ("[1]*3", 4, None), ("[1", 1, None), ("__import__('os')", 1, None), ("", 1, None),
        ("[1]*999999999", 4, None), ("[1]*4096*4096", 4, None), (0, 4, None), (None, 4, None),
        ("[" * 2000 + "]" * 2000, 4, None), ("[1]" + "*2" * 3000, 4, None),
        ("[1]*-1+[1]*5", 4, None), (1, None, None), (1, 10**9, None),
    ],
)  # fmt: skip
def test_patterns_of_layers(written, layers, marked):
    found = layer_pattern(written, layers)
    assert found == (None if marked is None else tuple(char == "1" for char in marked))
