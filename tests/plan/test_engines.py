"""SGLang engines."""

import json

import pytest
from plan_words import plan_of, resource


def engines(line, actor=8, rollout=8):
    found = plan_of(f"--colocate {resource(actor=actor, rollout=rollout)} {line}").engines
    assert found is not None
    return found


def test_engines_divide_the_gpus():
    found = engines("--rollout-num-gpus-per-engine 2 --sglang-server-concurrency 100")
    assert (found.engines, found.tp, found.pp, found.idle_gpus) == (4, 2, 1, 0)
    assert found.in_flight == 400


def test_what_is_left_over_idles():
    found = engines("--rollout-num-gpus-per-engine 3")
    assert (found.engines, found.idle_gpus) == (2, 2)


def test_an_engine_may_span_nodes():
    found = engines("--rollout-num-gpus-per-engine 16", 64, 64)
    assert (found.engines, found.nodes_per_engine, found.tp) == (4, 2, 16)


def test_pipeline_parallel_engines():
    found = engines("--rollout-num-gpus-per-engine 8 --sglang-pp-size 2 --sglang-ep-size 4")
    assert (found.tp, found.pp, found.ep, found.dp) == (4, 2, 4, 1)
    assert engines("--rollout-num-gpus-per-engine 3 --sglang-pp-size 2").tp is None


def test_defaults_are_relaxs_own():
    found = engines("")
    assert (found.gpus_per_engine, found.server_concurrency, found.in_flight) == (1, 512, 4096)
    assert (found.cuda_graph, found.radix_cache, found.dp_attention) == (True, True, False)
    assert (found.mem_fraction_static, found.cuda_graph_batch_sizes) == (None, None)
    assert found.speculative is None


def test_settings_of_an_engine():
    found = engines(
        "--sglang-mem-fraction-static 0.6 --sglang-cuda-graph-bs 1 2 4 8"
        " --sglang-disable-radix-cache --sglang-load-format dummy --sglang-context-length 4096"
        " --sglang-speculative-algorithm EAGLE --sglang-speculative-num-steps 3"
    )
    assert (found.mem_fraction_static, found.cuda_graph_batch_sizes) == (0.6, (1, 2, 4, 8))
    assert (found.radix_cache, found.load_format, found.context_length) == (False, "dummy", 4096)
    assert found.speculative is not None
    assert (found.speculative.algorithm, found.speculative.num_steps) == ("EAGLE", 3)
    assert found.speculative.eagle_topk is None


def test_the_checkpoint_of_the_engines_may_be_another_one():
    assert engines("--hf-checkpoint /a --sglang-hf-checkpoint /b").checkpoint == "/b"
    assert engines("--hf-checkpoint /a").checkpoint == "/a"


def test_no_engines_without_a_rollout():
    assert plan_of("--colocate " + resource(actor=8)).engines is None
    assert plan_of("--debug-train-only " + resource(actor=8, rollout=8)).engines is None


GENRM = "--genrm-model-path /judge --genrm-num-gpus-per-engine 4 --sglang-mem-fraction-static 0.7"


def genrm(config=None):
    line = f"--colocate {resource(actor=8, rollout=8, genrm=8)} {GENRM}"
    if config is not None:
        line += f" --sglang-dp-size 2 --genrm-engine-config '{json.dumps(config)}'"
    found = plan_of(line).genrm
    assert found is not None
    return found


def test_the_reward_model_inherits_what_its_configuration_leaves_open():
    found = genrm()
    assert (found.engines, found.tp, found.mem_fraction_static) == (2, 4, 0.7)
    assert found.checkpoint == "/judge"
    own = genrm({"mem_fraction_static": 0.2, "context_length": 10240, "ep_size": 4})
    assert (own.mem_fraction_static, own.context_length, own.ep) == (0.2, 10240, 4)


def test_the_reward_model_does_not_inherit_parallel_sizes():
    assert genrm({}).dp == 1


def test_the_teacher_starts_with_real_weights_and_its_own_values():
    line = (
        "--colocate --use-opd --opd-type sglang --teacher-hf-checkpoint /t"
        " --sglang-load-format dummy --sglang-mem-fraction-static 0.8"
        " --teacher-sglang-mem-fraction-static 0.5 " + resource(actor=8, rollout=4, teacher=4)
    )
    found = plan_of(line).teacher
    assert found is not None
    assert (found.load_format, found.mem_fraction_static) == ("auto", 0.5)
    assert (found.engines, found.gpus_per_engine, found.tp) == (1, 4, 4)
    two = plan_of(line + " --teacher-num-gpus-per-engine 2").teacher
    assert two is not None
    assert two.engines == 2


def test_teachers_by_route_divide_the_gpus():
    routes = json.dumps({"math": "/a", "code": "/b"})
    line = f"--colocate --use-opd --opd-type sglang --opd-teacher-routes '{routes}' "
    found = plan_of(line + resource(actor=8, rollout=4, teacher=4)).teacher
    assert found is not None
    assert (found.copies, found.gpus_per_engine, found.engines) == (2, 2, 2)


@pytest.mark.parametrize("config", ["[1]", "3", '"x"'])
def test_a_configuration_that_is_no_object_is_a_problem(config):
    line = f"--colocate {resource(actor=8, rollout=8, genrm=8)} {GENRM}"
    plan = plan_of(f"{line} --genrm-engine-config '{config}'")
    assert plan.genrm is not None
    assert plan.genrm.mem_fraction_static is None
    assert any("--genrm-engine-config" in problem.text for problem in plan.problems)
