"""Facts that are products of a few sizes: lengths, bytes, engines."""

import pytest

from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.plan import build_plan
from perf_doctor.rules.built_in import built_in_text
from perf_doctor.rules.examples import example_job
from perf_doctor.rules.facts import fact, vocabulary
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import judge
from perf_doctor.rules.model import Catalog, Example
from perf_doctor.rules.rule import parse_catalog
from perf_doctor.shell.model import Place, Unknown

CATALOG = parse_catalog([built_in_text()], vocabulary())


def job(words):
    return example_job(Example(True, words, Place("run.sh", 1)), CATALOG.base_jobs)


def finding(rule_id, of):
    rule = next(rule for rule in CATALOG.rules if rule.id == rule_id)
    (judgement,) = judge(Catalog((rule,), CATALOG.base_jobs), of)
    return judgement.finding


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("dense", 8192),
        ("dense --rollout-max-prompt-len 1024", 9216),
        ("dense --rollout-max-prompt-len 1024 --rollout-max-context-len 8192", 8192),
        ("dense without --rollout-max-response-len", None),
    ],
)
def test_the_longest_sample_is_the_context_or_prompt_and_response(words, tokens):
    assert fact(job(words), "sample_limit") == tokens


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("dense", 64),  # 64 samples per rank, one micro-batch each
        ("dense --max-tokens-per-gpu 65536", 16),  # 8 full ones, twice as many at worst
        ("dense without --use-dynamic-batch-size --micro-batch-size 4", 16),
        ("sft", 64),
    ],
)
def test_the_most_micro_batches_of_a_step(words, most):
    assert fact(job(words), "most_micro_batches") == most


def test_static_memory_is_weights_gradients_and_a_share_of_the_state():
    # 30.5e9 parameters, published; experts are 48 · 128 · 3 · 2048 · 768 of them.
    experts = 48 * 128 * 3 * 2048 * 768
    moe = job("moe")
    total = fact(moe, "parameters") * 1e9
    local = (total - experts) / 4 + experts / 8
    assert fact(moe, "weights_gib") == pytest.approx(2 * local / 2**30, abs=0.06)
    assert fact(moe, "expert_gib") == pytest.approx(6 * experts / 8 / 2**30, abs=0.06)
    static = (6 * local + 12 * total / 8) / 2**30
    assert fact(moe, "static_gib") == pytest.approx(static, abs=0.06)
    offloaded = job("moe --optimizer-cpu-offload --use-precision-aware-optimizer")
    assert fact(offloaded, "static_gib") == pytest.approx(6 * local / 2**30, abs=0.06)


def test_the_largest_expert_parallel_size_stays_in_a_node_and_divides():
    assert fact(job("moe --expert-model-parallel-size 1"), "ep_within_node") == 8
    assert fact(job("moe --pipeline-model-parallel-size 2"), "ep_within_node") == 4
    assert fact(job("moe --num-experts 6"), "ep_within_node") == 2
    assert fact(job("dense"), "ep_within_node") is None


def test_requests_and_graphs_of_an_engine():
    assert fact(job("dense"), "requests_per_rank") == 64
    ranks = job("dense --sglang-dp-size 2 --sglang-enable-dp-attention")
    assert fact(ranks, "requests_per_rank") == 32
    assert fact(job("dense"), "graph_limit") is None
    assert fact(job("dense --sglang-cuda-graph-bs 1 2 48"), "graph_limit") == 48


def test_a_size_that_the_script_does_not_tell_is_unknown():
    nothing = Job(build_plan(read_settings([])))
    for name in ("weights_gib", "static_gib", "requests_per_rank", "parameters"):
        assert isinstance(fact(nothing, name), Unknown) or fact(nothing, name) is None


def test_the_gpus_of_a_reference_for_nothing_go_to_the_engines_with_other_unused_ones():
    words = """async --use-kl-loss --resource '{"actor": [1, 4], "rollout": [1, 2],
    "reference": [1, 1], "actor_fwd": [1, 1], "advantages": [1, 0]}'"""
    found = finding("R-M06", job(words))
    assert found.cost.text.startswith(
        "A reference whose KL term is multiplied by 0 has 1 of 8 GPUs. Step "
    )
    assert found.fix.changes.set == {
        "--resource": '{"actor": [1, 4], "rollout": [1, 4], "advantages": [1, 0]}'
    }
    assert found.fix.changes.unset == ("--use-kl-loss",)


def test_a_budget_below_one_sample_names_the_micro_batch_that_counts():
    found = finding("R-M05", job("dense --max-tokens-per-gpu 3072 --rollout-max-prompt-len 1024"))
    assert found.severity == "info"
    assert "set by 9216 tokens per GPU" in found.cost.text
    assert found.fix.changes.set == {"--max-tokens-per-gpu": "9216"}


def test_expandable_segments_beside_the_memory_saver():
    plan = job("dense").plan
    on = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    beside = Job(build_plan(plan.settings, environment=on))
    assert finding("R-M23", beside).severity == "critical"
    off = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}
    assert finding("R-M23", Job(build_plan(plan.settings, environment=off))) is None
