"""Dense and expert mesh."""

import json

import pytest
from plan_words import MOE, plan_of, resource

SIXTEEN = "--colocate " + resource(actor=16, rollout=16)


def mesh(line):
    return plan_of(f"{SIXTEEN} {line}").parallel.mesh


def test_both_meshes_cover_the_same_processes():
    found = mesh(
        "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2"
        " --expert-model-parallel-size 4 --expert-tensor-parallel-size 1"
    )
    assert (found.world_size, found.dp, found.edp) == (16, 2, 2)


def test_context_parallel_divides_the_dense_mesh_only():
    found = mesh(
        "--tensor-model-parallel-size 2 --context-parallel-size 4"
        " --expert-model-parallel-size 8 --expert-tensor-parallel-size 1"
    )
    assert (found.dp, found.edp) == (2, 2)


def test_etp_follows_tp_when_unset():
    found = mesh("--tensor-model-parallel-size 4 --expert-model-parallel-size 4")
    assert (found.etp, found.edp) == (4, 1)
    plan = plan_of(f"{SIXTEEN} {MOE} --tensor-model-parallel-size 4")
    assert plan.parallel.etp_given is None
    assert "ETP is not set: Megatron lets it follow TP, 4." in plan.assumptions


@pytest.mark.parametrize(
    "line",
    [
        "--tensor-model-parallel-size 3",
        "--pipeline-model-parallel-size 32",
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 3",
    ],
)
def test_dp_is_not_known_where_the_processes_cannot_be_divided(line):
    assert mesh(line).dp is None


@pytest.mark.parametrize(
    ("line", "on"),
    [
        ("--sequence-parallel --tensor-model-parallel-size 2", True),
        ("--sequence-parallel --tensor-model-parallel-size 1", False),
        ("--sequence-parallel", False),
        ("--tensor-model-parallel-size 2", False),
        ("--sequence-parallel --tensor-model-parallel-size ${TP}", None),
    ],
)
def test_sequence_parallel_is_cleared_at_tp_1(line, on):
    assert plan_of(f"{SIXTEEN} {line}").parallel.sequence_parallel is on


@pytest.mark.parametrize(("context", "cp"), [(8192, 1), (8193, 2), (20000, 4), (40000, 8)])
def test_dynamic_context_parallel_is_the_next_power_of_two(context, cp):
    found = mesh(
        f"--dynamic-context-parallel --rollout-max-context-len {context} --max-tokens-per-gpu 8192"
        " --context-parallel-size 1"
    )
    assert found.cp == cp


ASYNC = (
    "--fully-async --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 64"
    " --use-dynamic-batch-size --max-tokens-per-gpu 8192 "
    + resource(actor=8, rollout=4, reference=2, actor_fwd=4, advantages=0)
)


def reference(config, line=""):
    return plan_of(f"{ASYNC} {line} --ref-actor-config '{json.dumps(config)}'")


def test_forward_roles_have_meshes_of_their_own():
    plan = reference(
        {"tensor_model_parallel_size": 1, "expert_model_parallel_size": 2},
        "--tensor-model-parallel-size 2 --expert-model-parallel-size 4"
        " --expert-tensor-parallel-size 1",
    )
    assert plan.parallel.mesh.dp == 4
    assert plan.parallel.reference is not None
    assert (plan.parallel.reference.tp, plan.parallel.reference.dp) == (1, 2)
    assert plan.parallel.reference.edp == 1
    assert plan.parallel.actor_fwd is not None
    assert plan.parallel.actor_fwd.dp == 4


def test_forward_roles_inherit_the_etp_that_was_filled_in():
    """ETP follows the actor's TP before the reference replaces its own TP."""
    plan = reference({"tensor_model_parallel_size": 1}, "--tensor-model-parallel-size 2")
    assert plan.parallel.reference is not None
    assert plan.parallel.reference.etp == 2


def test_only_the_log_prob_limit_of_the_reference_configuration_counts():
    """``max_tokens_per_gpu`` is overwritten at once (relax/utils/utils.py:517)."""
    assert reference({"max_tokens_per_gpu": 65536}).batch.forward_max_tokens_per_gpu == 8192
    plan = reference({"log_probs_max_tokens_per_gpu": 65536})
    assert plan.batch.forward_max_tokens_per_gpu == 65536
    assert plan.batch.log_probs_max_tokens_per_gpu == 8192


def test_jobs_without_forward_roles_have_no_mesh_for_them():
    plan = plan_of(SIXTEEN)
    assert (plan.parallel.reference, plan.parallel.actor_fwd) == (None, None)
    assert plan.batch.forward_max_tokens_per_gpu is None


def test_garbage_in_the_reference_configuration_is_not_known():
    plan = reference({"tensor_model_parallel_size": "two"})
    assert plan.parallel.reference is not None
    assert (plan.parallel.reference.tp, plan.parallel.reference.dp) == (None, None)
