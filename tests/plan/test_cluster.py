"""GPUs, nodes and processes."""

import pytest
from plan_words import plan_of, resource

AUTO = "--rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 256 "


def test_gpus_of_a_role_that_is_skipped_are_set_aside_and_idle():
    line = resource(actor=8, rollout=4, reference=2, actor_fwd=2, advantages=0)
    cluster = plan_of("--fully-async " + AUTO + line).cluster
    assert (cluster.gpus, cluster.gpus_created, cluster.idle_gpus) == (16, 14, 2)
    assert (cluster.nodes, cluster.gpus_per_node, cluster.world_size) == (2, 8, 8)


def test_hybrid_needs_the_sum_although_relax_checks_the_larger():
    cluster = plan_of("--hybrid " + resource(actor=6, rollout=2)).cluster
    assert (cluster.gpus, cluster.gpus_created, cluster.gpus_checked) == (8, 8, 6)


def test_colocate_counts_shared_gpus_once():
    cluster = plan_of("--colocate " + resource(actor=16, rollout=16)).cluster
    assert (cluster.gpus, cluster.gpus_created, cluster.gpus_checked) == (16, 16, 16)
    assert cluster.idle_gpus == 0


def test_sft_with_colocate_and_unused_engines_takes_the_actors_gpus():
    line = "--loss-type sft --colocate " + resource(sft=0, actor=1, rollout=1)
    cluster = plan_of(line).cluster
    assert (cluster.gpus, cluster.gpus_created, cluster.idle_gpus) == (1, 1, 0)


@pytest.mark.parametrize(
    ("gpus", "words", "asked", "layout"),
    [
        (4, "", None, (1, 4)),
        (8, "", None, (1, 8)),
        (256, "", None, (32, 8)),
        (16, "--num-gpus-per-node 16", None, (1, 16)),
        (16, "", 4, (4, 4)),
        (12, "", None, (2, 8)),
    ],
)
def test_nodes_follow_the_machines(gpus, words, asked, layout):
    line = f"--colocate {words} " + resource(actor=gpus, rollout=gpus)
    cluster = plan_of(line, gpus_per_node=asked).cluster
    assert (cluster.nodes, cluster.gpus_per_node) == layout


def test_machines_of_a_named_card_have_its_gpus():
    line = "--colocate " + resource(actor=8, rollout=8)
    assert plan_of(line, gpu="GB200").cluster.nodes == 2


def test_old_flags_away_from_their_defaults_decide_the_processes():
    line = "--colocate --actor-num-nodes 2 " + resource(actor=8, rollout=8)
    assert plan_of(line).cluster.world_size == 16
    line = "--colocate --actor-num-nodes 1 --actor-num-gpus-per-node 8 "
    assert plan_of(line + resource(actor=4, rollout=4)).cluster.world_size == 4


def test_gpus_beyond_whole_nodes_train_nothing():
    """12 GPUs give one node of 8 processes (relax/backends/megatron/arguments.py:235-236)."""
    plan = plan_of("--colocate " + resource(actor=12, rollout=12))
    assert (plan.cluster.world_size, plan.roles.rollout_num_gpus) == (8, 8)
    assert plan.cluster.gpus == 12


def test_nobody_trains_without_an_actor():
    cluster = plan_of("--debug-rollout-only " + resource(actor=4, rollout=4)).cluster
    assert cluster.world_size is None
