"""Recompute, optimizer, offload, precision, experts."""

import pytest
from plan_words import MOE, plan_of, resource


def training(line, **about):
    return plan_of(line, **about).training


@pytest.mark.parametrize(
    ("line", "train", "rollout"),
    [
        ("--colocate", True, True),
        ("--hybrid", False, False),
        ("--fully-async", False, False),
        ("", False, False),
        ("--hybrid --offload", True, True),
        ("--colocate --no-offload-train", False, True),
        ("--fully-async --offload-rollout", False, True),
        ("--colocate --debug-rollout-only", False, False),
        ("--loss-type sft --colocate", True, True),
    ],
)
def test_offload_defaults_follow_the_mode(line, train, rollout):
    found = training(line).offload
    assert (found.train, found.rollout) == (train, rollout)


def test_optimizer_offload_is_whole_unless_said():
    found = training("--optimizer-cpu-offload --use-precision-aware-optimizer").optimizer
    assert (found.cpu_offload, found.offload_fraction, found.precision_aware) == (True, 1.0, True)
    assert training("--optimizer-offload-fraction 0.5").optimizer.offload_fraction == 0.5
    assert training("--optimizer-offload-fraction ${F}").optimizer.offload_fraction is None


@pytest.mark.parametrize(
    ("line", "fp32"),
    [
        ("", True),
        ("--accumulate-allreduce-grads-in-fp32", True),
        ("--grad-reduce-in-bf16", False),
        ("--use-precision-aware-optimizer --main-grads-dtype bf16", False),
        ("--fp16", False),
    ],
)
def test_gradients_are_fp32_unless_something_says_otherwise(line, fp32):
    assert training(line).optimizer.fp32_gradients is fp32


@pytest.mark.parametrize(
    ("line", "precision"),
    [("", "bf16"), ("--bf16", "bf16"), ("--fp16", "fp16"), ("--fp8-format e4m3", "fp8")],
)
def test_precision(line, precision):
    assert training(line).precision == precision


def test_fp16_forces_the_precision_aware_optimizer():
    assert training("--fp16").optimizer.precision_aware is True
    assert training("").optimizer.precision_aware is False


def test_quantized_training_shows_in_the_environment():
    names = ("OPEN_TRAINING_INT4_FAKE_QAT_FLAG",)
    assert training("").quantization is None
    assert training("", environment={}).quantization == ()
    assert training("", environment={}, environment_complete=False).quantization is None
    assert training("", environment={names[0]: "1", "X": "2"}).quantization == names


def test_recompute():
    found = training("--recompute-granularity full --recompute-method uniform"
                     " --recompute-num-layers 1 --recompute-loss-function").recompute  # fmt: skip
    assert (found.granularity, found.method, found.num_layers) == ("full", "uniform", 1)
    assert found.loss_function is True
    none = training("--recompute-modules moe_act layernorm").recompute
    assert (none.granularity, none.modules) == (None, ("moe_act", "layernorm"))


def test_allgather_becomes_alltoall():
    assert training(MOE).experts.dispatcher == "alltoall"
    found = training(MOE + " --moe-token-dispatcher-type alltoall"
                     " --moe-token-dispatcher-type flex").experts  # fmt: skip
    assert (found.dispatcher, found.flex_backend) == ("flex", "deepep")
    assert training(MOE).experts.flex_backend is None


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("", False),
        ("--use-kl-loss --kl-loss-coef 0", True),
        ("--kl-coef 0.1", True),
        ("--kl-coef 0", False),
        ("--kl-coef ${K}", None),
        ("--kl-coef ${K} --use-kl-loss", True),
        ("--loss-type sft --use-kl-loss", False),
    ],
)
def test_a_reference_pass_is_run_whatever_its_coefficient(line, needed):
    assert training(line).reference_pass is needed


def test_rope_fusion_and_backend():
    assert training("").rope_fusion is True
    assert training("--no-rope-fusion").rope_fusion is False
    assert training("").attention_backend is None
    assert training("--attention-backend flash").attention_backend == "flash"


def test_modality_by_the_keys_of_the_data():
    for keys, modality in [
        ("", "text"),
        ("""--multimodal-keys '{"image": "images"}'""", "image"),
        ("""--multimodal-keys '{"video": "v", "image": "i"}'""", "video"),
        ("""--multimodal-keys '{"audio": "a"}'""", "audio"),
        ("""--multimodal-keys '{"audio": "a", "image": "i"}'""", "omni"),
        ("--multimodal-keys ${KEYS}", None),
    ]:
        assert plan_of(keys).modality == modality, keys


def test_padded_vocabulary_is_a_multiple_of_divisor_times_tp():
    plan = plan_of("--colocate " + MOE + " --tensor-model-parallel-size 2 " + resource(actor=8))
    assert plan.padded_vocab_size == 1024  # 1000 up to a multiple of 128 × 2
    small = plan_of(MOE + " --make-vocab-size-divisible-by 8")
    assert small.padded_vocab_size == 1000
