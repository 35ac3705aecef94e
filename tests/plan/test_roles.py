"""Which roles a launch starts, by mode."""

import pytest
from plan_words import plan_of, resource

ASYNC = "--fully-async --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size "


@pytest.mark.parametrize(
    ("words", "mode", "task"),
    [
        ("--colocate", "colocate", "rl"),
        ("--fully-async", "fully-async", "rl"),
        ("--hybrid", "hybrid", "rl"),
        ("--hybrid --fully-async", "hybrid", "rl"),
        ("", "sync", "rl"),
        ("--loss-type sft --colocate", "sft", "sft"),
        ("--loss-type sft-loss", "sft", "sft"),
    ],
)
def test_mode_is_the_first_that_the_framework_asks_for(words, mode, task):
    plan = plan_of(words)
    assert (plan.mode, plan.task) == (mode, task)


def test_colocate_starts_actor_and_rollout_on_the_same_gpus():
    roles = plan_of("--colocate " + resource(actor=8, rollout=8)).roles
    assert roles.active == {"actor": 8, "rollout": 8}
    assert roles.shares_gpus is True
    assert roles.unused == ()


def test_fully_async_skips_actor_fwd_when_a_rollout_fills_one_global_batch():
    roles = plan_of(
        ASYNC + "256 " + resource(actor=4, rollout=2, reference=1, actor_fwd=1, advantages=0)
    ).roles
    assert roles.true_on_policy_auto is True
    assert roles.active == {"actor": 4, "rollout": 2, "advantages": 0, "reference": 1}
    assert roles.unused == ("actor_fwd",)


def test_fully_async_keeps_actor_fwd_with_two_optimizer_steps_per_rollout():
    roles = plan_of(ASYNC + "128 " + resource(actor=4, rollout=2, actor_fwd=1)).roles
    assert roles.true_on_policy is False
    assert roles.active == {"actor": 4, "rollout": 2, "actor_fwd": 1}
    assert roles.skipped == ("advantages", "reference")


def test_true_on_policy_is_not_set_by_itself_in_hybrid():
    """Hybrid turns fully-async on after that check (relax/utils/arguments.py:2629, 2782)."""
    roles = plan_of("--hybrid " + ASYNC.removeprefix("--fully-async ") + "256").roles
    assert (roles.true_on_policy_auto, roles.fully_async, roles.colocate) == (False, True, True)


def test_true_on_policy_by_flag():
    roles = plan_of(ASYNC + "64 --true-on-policy-mode " + resource(actor=4, actor_fwd=1)).roles
    assert (roles.true_on_policy, roles.true_on_policy_auto) == (True, False)
    assert roles.unused == ("actor_fwd",)


def test_hybrid_has_no_forward_roles_of_its_own():
    roles = plan_of("--hybrid " + resource(actor=4, rollout=4, reference=1, advantages=0)).roles
    assert roles.active == {"actor": 4, "rollout": 4}
    assert roles.unused == ("reference", "advantages")
    assert roles.shares_gpus is False


def test_the_critic_is_never_started():
    roles = plan_of("--colocate " + resource(actor=8, critic=8, rollout=8)).roles
    assert roles.active == {"actor": 8, "rollout": 8}
    assert roles.unused == ("critic",)


def test_sft_starts_engines_only_to_predict():
    line = "--loss-type sft --colocate " + resource(sft=0, actor=8, rollout=8)
    without = plan_of(line)
    assert without.roles.active == {"sft": 0, "actor": 8}
    assert without.roles.unused == ("rollout",)
    assert without.engines is None
    predicting = plan_of(line + " --sft-predict-interval 10")
    assert predicting.roles.active == {"sft": 0, "actor": 8, "rollout": 8}
    assert predicting.engines is not None


@pytest.mark.parametrize(
    ("words", "debug", "active"),
    [
        ("--debug-rollout-only", "rollout-only", {"rollout": 2}),
        ("--debug-train-only", "train-only", {"actor": 4}),
        ("--load-debug-rollout-data x.pt", "train-only", {"actor": 4}),
    ],
)
def test_debug_modes_start_one_role(words, debug, active):
    roles = plan_of(words + " --fully-async " + resource(actor=4, rollout=2)).roles
    assert (roles.debug, roles.active) == (debug, active)


GENRM = "--colocate --genrm-model-path /m --genrm-num-gpus-per-engine 2 "


@pytest.mark.parametrize(
    ("line", "placement", "rollout"),
    [
        (resource(actor=8, rollout=6, genrm=2), "split", 6),
        (resource(actor=8, rollout=8, genrm=8), "shared", 8),
        (resource(actor=8, rollout=8, genrm=2), "invalid", 8),
        (resource(actor=8, rollout=8, genrm=2) + " --rollout-num-gpus 6", "split", 6),
        (resource(actor=8, rollout=4, genrm=8) + " --genrm-num-gpus 4", "split", 4),
    ],
)
def test_a_reward_model_splits_or_shares_the_actors_gpus(line, placement, rollout):
    plan = plan_of(GENRM + line)
    assert (plan.roles.genrm, plan.roles.rollout_num_gpus) == (placement, rollout)
    assert plan.cluster.gpus == 8


def test_a_reward_model_of_one_gpu_by_flag_counts_as_not_given():
    plan = plan_of(GENRM + "--genrm-num-gpus 1 " + resource(actor=8, rollout=4, genrm=4))
    assert plan.genrm is not None
    assert (plan.roles.genrm, plan.genrm.gpus) == ("split", 4)


def test_a_reward_model_without_a_path_is_not_started():
    roles = plan_of("--colocate " + resource(actor=8, rollout=8, genrm=2)).roles
    assert (roles.genrm, roles.unused) == (None, ("genrm",))


TEACHER = "--use-opd --opd-type sglang --teacher-hf-checkpoint /t "


def test_a_managed_teacher_lives_inside_the_actors_gpus_in_colocate():
    plan = plan_of("--colocate " + TEACHER + resource(actor=8, rollout=4, teacher=4))
    assert (plan.roles.teacher_gpus, plan.roles.rollout_num_gpus) == (4, 4)
    assert (plan.cluster.gpus, plan.cluster.gpus_created, plan.roles.unused) == (8, 8, ())
    assert plan.roles.gpus == {"actor": 8, "rollout": 4, "teacher": 4}


def test_a_managed_teacher_has_its_own_gpus_elsewhere():
    plan = plan_of("--fully-async --true-on-policy-mode " + TEACHER
                   + resource(actor=4, rollout=2, teacher=2))  # fmt: skip
    assert (plan.cluster.gpus, plan.cluster.gpus_created) == (8, 8)


def test_a_teacher_served_by_somebody_else_leaves_its_entry_unused():
    roles = plan_of(
        "--colocate --use-opd --opd-type sglang " + resource(actor=8, rollout=8, teacher=4)
    ).roles
    assert (roles.managed_teacher, roles.unused) == (False, ("teacher",))
    assert roles.rollout_num_gpus == 8


def test_colocate_overrules_the_gpus_of_the_engines():
    line = "--colocate --rollout-num-gpus 2 " + resource(actor=8, rollout=4)
    assert plan_of(line).roles.rollout_num_gpus == 8


def test_the_flag_wins_over_the_resource_elsewhere():
    line = "--fully-async --rollout-num-gpus 3 " + resource(actor=4, rollout=4)
    assert plan_of(line).roles.rollout_num_gpus == 3


def test_without_a_resource_the_old_flags_count():
    """slime knows only these."""
    plan = plan_of("--actor-num-nodes 2 --actor-num-gpus-per-node 4 --rollout-num-gpus 8")
    assert plan.roles.reserved == {"actor": 8, "rollout": 8}
    assert (plan.cluster.gpus, plan.cluster.world_size, plan.roles.from_resource) == (16, 8, False)
    shared = plan_of("--actor-num-nodes 2 --actor-num-gpus-per-node 4 --colocate")
    assert (shared.cluster.gpus, shared.roles.rollout_num_gpus) == (8, 8)
