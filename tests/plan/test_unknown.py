"""What is not known stays not known, and garbage never raises."""

from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_words import DENSE, plan_of, resource

from perf_doctor.launch.registry import registry
from perf_doctor.launch.settings import read_settings
from perf_doctor.plan import problems
from perf_doctor.plan.engines import _FIELDS
from perf_doctor.plan.plan import build_plan
from perf_doctor.shell.model import Place, Word

EIGHT = "--colocate " + resource(actor=8, rollout=8) + " "


def test_an_unknown_size_makes_only_what_depends_on_it_unknown():
    plan = plan_of(EIGHT + "--tensor-model-parallel-size ${TP} --expert-model-parallel-size 8"
                   " --expert-tensor-parallel-size 1 --rollout-batch-size 32"
                   " --n-samples-per-prompt 8 --global-batch-size 256")  # fmt: skip
    assert (plan.parallel.mesh.tp, plan.parallel.mesh.dp) == (None, None)
    assert (plan.parallel.mesh.edp, plan.batch.optimizer_steps_per_rollout) == (1, 1)
    assert plan.batch.samples_per_dp_rank is None


def test_etp_that_follows_an_unknown_tp_is_unknown():
    plan = plan_of(EIGHT + "--tensor-model-parallel-size ${TP}")
    assert (plan.parallel.mesh.etp, plan.parallel.mesh.edp) == (None, None)


def test_an_etp_that_is_written_but_unknown_does_not_follow_tp():
    plan = plan_of(EIGHT + "--tensor-model-parallel-size 2 --expert-tensor-parallel-size ${E}")
    assert plan.parallel.mesh.etp is None


def test_an_unknown_batch_leaves_the_roles_open():
    line = "--fully-async --rollout-batch-size ${B} --n-samples-per-prompt 8"
    roles = plan_of(f"{line} --global-batch-size 256 " + resource(actor=4, actor_fwd=1)).roles
    assert (roles.true_on_policy, roles.active, roles.unused) == (None, None, ())


def test_an_unknown_resource_leaves_gpus_open():
    plan = plan_of("--colocate --resource ${RESOURCE} --tensor-model-parallel-size 2")
    assert (plan.roles.reserved, plan.cluster.gpus, plan.cluster.world_size) == (None, None, None)
    assert (plan.parallel.mesh.tp, plan.parallel.mesh.dp, plan.mode) == (2, None, "colocate")
    assert plan.problems == ()


def test_an_unknown_loss_leaves_mode_and_task_open():
    plan = plan_of(EIGHT + "--loss-type ${LOSS}")
    assert (plan.mode, plan.task, plan.roles.active, plan.cluster.gpus) == (None,) * 4


def test_a_teacher_of_unknown_kind_is_not_called_unused():
    line = "--colocate --use-opd --opd-type ${T} --teacher-hf-checkpoint /t "
    roles = plan_of(line + resource(actor=8, rollout=4, teacher=4)).roles
    assert (roles.managed_teacher, roles.unused, roles.rollout_num_gpus) == (None, (), None)


def test_words_that_may_hide_flags_are_an_assumption():
    assert any("${EXTRA}" in said for said in plan_of(EIGHT + "${EXTRA}").assumptions)


def problem_texts(line):
    return [problem.text for problem in plan_of(line).problems]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("--tensor-model-parallel-size 0", "--tensor-model-parallel-size 0: must be at least 1"),
        ("--tensor-model-parallel-size -2", "must be at least 1"),
        ("--max-staleness -1", "must be at least 0"),
        ("--global-batch-size 99999999999999999999", "at most a trillion"),
        ("--resource [1,2]", "must be an object of roles"),
        ("--resource 7", "must be an object of roles"),
        ("""--resource '{"actor": 8}'""", '"actor" is 8, not [services, GPUs]'),
        ("""--resource '{"actor": [1, 2, 3]}'""", "not [services, GPUs]"),
        ("""--resource '{"actor": [1, -8]}'""", '"actor" asks for -8 GPUs'),
        ("""--resource '{"actor": [1, "8"]}'""", '"actor" asks for 8 GPUs'),
        ("""--resource '{"actor": [1, true]}'""", '"actor" asks for True GPUs'),
    ],
)
def test_garbage_gives_none_and_a_problem_with_its_setting(line, part):
    plan = plan_of(line)
    (problem,) = [p for p in plan.problems if p.setting is not None]
    assert part in problem.text
    touched = {
        "--tensor-model-parallel-size": plan.parallel.mesh.dp,
        "--max-staleness": plan.batch.max_staleness,
        "--global-batch-size": plan.batch.global_batch_size,
        "--resource": plan.cluster.world_size,
    }
    assert touched[line.split()[0]] is None


def test_one_unreadable_role_leaves_the_others():
    plan = plan_of("""--colocate --resource '{"actor": [1, 8], "rollout": "all"}'""")
    assert plan.roles.reserved == {"actor": 8, "rollout": None}
    assert plan.cluster.world_size == 8


def test_relax_starts_nothing_without_a_resource():
    missing = "--resource is missing: Relax has no GPUs for any role"
    assert problem_texts("--colocate") == [missing]
    assert plan_of("--colocate", framework="slime").problems == ()


def test_a_launch_without_faults_has_no_problems():
    assert problem_texts(EIGHT + DENSE) == []


def test_the_plan_asks_only_for_options_that_exist():
    """A misspelt flag in a table would raise KeyError only on the launches that reach it."""
    known = registry()
    for flag in (*problems._FROM_ONE, *problems._FROM_ZERO, *problems._OBJECTS, *_FIELDS.values()):
        assert known.get(flag) is not None, flag


ASKED = st.sampled_from([
    "--resource", "--tensor-model-parallel-size", "--pipeline-model-parallel-size",
    "--context-parallel-size", "--expert-model-parallel-size", "--expert-tensor-parallel-size",
    "--num-layers", "--hidden-size", "--num-attention-heads", "--num-query-groups", "--kv-channels",
    "--num-experts", "--moe-layer-freq", "--global-batch-size", "--rollout-batch-size",
    "--n-samples-per-prompt", "--num-steps-per-rollout", "--max-tokens-per-gpu", "--loss-type",
    "--ref-actor-config", "--genrm-engine-config", "--genrm-model-path", "--genrm-num-gpus",
    "--opd-teacher-routes", "--opd-type", "--multimodal-keys", "--sglang-cuda-graph-bs",
    "--rollout-num-gpus-per-engine", "--num-gpus-per-node", "--actor-num-nodes", "--kl-coef",
    "--decoder-first-pipeline-num-layers", "--num-layers-per-virtual-pipeline-stage",
    "--rollout-max-context-len", "--optimizer-offload-fraction", "--hf-checkpoint",
])  # fmt: skip
SWITCHES = st.sampled_from([
    "--colocate", "--fully-async", "--hybrid", "--debug-rollout-only", "--debug-train-only",
    "--use-opd", "--use-dynamic-batch-size", "--dynamic-context-parallel", "--sequence-parallel",
    "--group-query-attention", "--multi-latent-attention", "--swiglu", "--fp16", "--offload",
])  # fmt: skip
VALUES = st.one_of(
    st.integers(-3, 70).map(str),
    st.sampled_from([
        "", "x", "0", "1e9", "nan", "inf", "-inf", "9" * 30, "sft", "sglang", "null", "[]", "{}",
        "true", '{"actor": [1, 8]}', '{"actor": [1, 8], "rollout": [1, 8], "teacher": [1, 4]}',
        '{"actor": 3, "rollout": null}', '{"actor": [1, 1e400]}', "[0]*3+[1]*5", "[[", "Qwen3-4B",
        '{"tensor_model_parallel_size": 0}', '{"mem_fraction_static": "x", "cuda_graph_bs": {}}',
    ]),
)  # fmt: skip


@given(
    st.lists(st.one_of(st.tuples(ASKED, VALUES), st.tuples(SWITCHES)), max_size=25),
    st.sampled_from(["relax", "slime"]),
)
def test_no_words_make_a_plan_raise(parts, framework):
    place = Place("run.sh", 1)
    words = [Word(text, place) for part in parts for text in part]
    plan = build_plan(read_settings(words), framework=framework)
    assert all(sentence.endswith(".") for sentence in plan.assumptions)
    assert_no_negative_count(plan)


def assert_no_negative_count(part):
    """Every whole number in the plan is a count."""
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value) and field.name not in ("settings", "setting"):
            assert_no_negative_count(value)
        elif isinstance(value, int):
            assert value >= 0, field.name
