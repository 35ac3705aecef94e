"""Batches and token budgets."""

import pytest
from plan_words import plan_of, resource

EIGHT = "--colocate " + resource(actor=8, rollout=8)
BATCH = "--rollout-batch-size 32 --n-samples-per-prompt 8 "


def batch(line, start=EIGHT):
    return plan_of(f"{start} {line}").batch


def test_one_optimizer_step_eats_a_rollout():
    found = batch(BATCH + "--global-batch-size 256 --tensor-model-parallel-size 2")
    assert (found.samples_per_rollout, found.optimizer_steps_per_rollout) == (256, 1)
    assert found.samples_per_dp_rank == 64  # 32 prompts ÷ DP 4, 8 samples each


def test_several_steps_divide_prompts_before_samples():
    found = batch(BATCH + "--global-batch-size 64 --tensor-model-parallel-size 2")
    assert found.optimizer_steps_per_rollout == 4
    assert found.samples_per_dp_rank == 16  # 8 prompts of a step ÷ DP 4, 8 samples each


def test_samples_per_rank_need_prompts_that_divide():
    """Relax divides prompts, not samples: 8 prompts do not divide over DP 16."""
    found = batch("--rollout-batch-size 8 --n-samples-per-prompt 8 --global-batch-size 64",
                  "--colocate " + resource(actor=16, rollout=16))  # fmt: skip
    assert (found.optimizer_steps_per_rollout, found.samples_per_dp_rank) == (1, None)


def test_steps_are_not_known_where_samples_do_not_divide():
    assert batch(BATCH + "--global-batch-size 100").optimizer_steps_per_rollout is None


def test_the_rollout_batch_follows_from_the_global_one():
    found = batch("--n-samples-per-prompt 8 --global-batch-size 256")
    assert (found.rollout_batch_size, found.over_sampling_batch_size) == (32, 32)


def test_the_global_batch_follows_from_the_steps():
    found = batch(BATCH + "--num-steps-per-rollout 2")
    assert (found.global_batch_size, found.optimizer_steps_per_rollout) == (128, 2)


def test_nothing_follows_from_nothing():
    found = batch("")
    assert (found.rollout_batch_size, found.global_batch_size) == (None, None)


def test_dynamic_batches_have_a_budget_over_all_cp_ranks():
    found = batch("--use-dynamic-batch-size --max-tokens-per-gpu 4096 --context-parallel-size 2"
                  " --micro-batch-size 4")  # fmt: skip
    assert (found.token_budget, found.micro_batch_size) == (8192, None)
    assert (found.log_probs_max_tokens_per_gpu, found.log_probs_token_budget) == (4096, 8192)


def test_static_batches_have_a_size_and_no_budget():
    found = batch(BATCH + "--global-batch-size 256 --max-tokens-per-gpu 4096 --qkv-format bshd"
                  " --micro-batch-size 4")  # fmt: skip
    assert (found.micro_batch_size, found.micro_batches_per_step) == (4, 8)
    assert (found.token_budget, found.log_probs_max_tokens_per_gpu) == (None, None)
    assert (found.qkv_format, found.max_tokens_per_gpu) == ("bshd", 4096)


def test_static_batches_hold_one_sample_by_default():
    plan = plan_of(EIGHT)
    assert (plan.batch.micro_batch_size, plan.batch.qkv_format) == (1, "thd")
    assert "The micro-batch size is not set: Relax takes 1." in plan.assumptions


def test_log_prob_limit_of_its_own():
    found = batch("--use-dynamic-batch-size --max-tokens-per-gpu 4096"
                  " --log-probs-max-tokens-per-gpu 16384")  # fmt: skip
    assert (found.token_budget, found.log_probs_token_budget) == (4096, 16384)


@pytest.mark.parametrize(
    ("start", "line", "sampler", "balanced"),
    [
        ("--colocate", "--use-dynamic-batch-size", "grpo-group", False),
        ("--colocate", "--balance-data", "seqlen-balanced", True),
        ("--fully-async", "--use-dynamic-batch-size", "streaming-token-budget", True),
        ("--fully-async", "--balance-data", "seqlen-balanced", True),
        ("--fully-async", "", "grpo-group", False),
        ("--hybrid", "--use-dynamic-batch-size --balance-data", "streaming-token-budget", True),
        ("--loss-type sft", "--use-dynamic-batch-size", "seqlen-balanced", True),
    ],
)
def test_which_sampler_feeds_the_trainer(start, line, sampler, balanced):
    found = batch(line, start)
    assert (found.sampler, found.balanced) == (sampler, balanced)


def test_fully_async_hands_over_parts_of_a_global_batch():
    line = BATCH + "--global-batch-size 256 --num-iters-per-train-update 16 --max-staleness 2"
    found = batch(line, "--fully-async")
    assert (found.handover_groups, found.queue_samples) == (2, 768)
    assert batch(line).handover_groups == 32


def test_too_many_iterations_leave_no_whole_group():
    line = BATCH + "--global-batch-size 256 --num-iters-per-train-update 64"
    assert batch(line, "--fully-async").handover_groups == 0


def test_sft_counts_steps_in_flight():
    assert batch("--sft-max-in-flight-steps 4", "--loss-type sft").max_staleness == 3
    assert batch("--max-staleness 1", "--loss-type sft").max_staleness == 1


def test_lengths_leave_one_token_for_the_answer():
    lengths = plan_of("--rollout-max-context-len 4096 --rollout-max-response-len 1024").lengths
    assert (lengths.prompt, lengths.response, lengths.context) == (4095, 1024, 4096)
    assert (
        plan_of("--rollout-max-context-len 4096 --rollout-max-prompt-len 100").lengths.prompt == 100
    )
