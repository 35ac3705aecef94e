"""Verdicts: the examples of the catalog, the reasons, and what an unknown or a failure does."""

from dataclasses import replace

import pytest

from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.plan import build_plan
from perf_doctor.rules import facts as fact_table
from perf_doctor.rules.built_in import built_in_text
from perf_doctor.rules.examples import example_job, run_examples
from perf_doctor.rules.facts import FACTS, TABLE, fact, vocabulary
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import judge, one_for_each_problem
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Catalog, Example
from perf_doctor.rules.position import RuleError
from perf_doctor.rules.ranking import findings
from perf_doctor.rules.rule import parse_catalog
from perf_doctor.shell.model import Place, Unknown, Word

CATALOG = parse_catalog([built_in_text()], vocabulary())
EXAMPLES = [(rule, example) for rule in CATALOG.rules for example in rule.examples]


def job(words):
    return example_job(Example(True, words, Place("run.sh", 1)), CATALOG.base_jobs)


def judged(words, rule_id):
    return next(j for j in judge(CATALOG, job(words)) if j.rule == rule_id)


@pytest.mark.parametrize(
    ("rule", "example"), EXAMPLES, ids=[f"{r.id}:{e.place.line}" for r, e in EXAMPLES]
)
def test_example(rule, example):
    (outcome,) = run_examples(Catalog((_with_only(rule, example),), CATALOG.base_jobs))
    assert outcome.right, f"{outcome.judgement.verdict}: {outcome.judgement.reason}"


def _with_only(rule, example):
    from dataclasses import replace

    return replace(rule, examples=(example,))


@pytest.mark.parametrize("name", CATALOG.base_jobs)
def test_the_base_jobs_deserve_nothing(name):
    assert findings(judge(CATALOG, job(name))) == ()


def test_rules_with_a_check_on_flags_alone_have_examples_both_ways():
    # The others rest on the environment, the accelerator, the cluster or words of the script.
    elsewhere = {"R-C21", "R-C25", "R-C27", "R-C66", "R-C67", "R-M20", "R-M23", "R-S18"}
    for rule in CATALOG.rules:
        kinds = {example.fires for example in rule.examples}
        assert kinds == {True, False} or rule.id in elsewhere or not rule.cases, rule.id


def test_a_rule_without_a_check_blocks_nothing_and_has_no_patch():
    for rule in CATALOG.rules:
        assert rule.cases or not (rule.blocks_launch or rule.patch or rule.examples), rule.id


def test_every_rule_gives_one_sentence_with_the_numbers_it_rests_on():
    for judgement in judge(CATALOG, job("moe")):
        assert judgement.reason.strip()
        assert "\n" not in judgement.reason
    assert judged("dense", "R-C09").reason == (
        '`cp > 1 or on("--dynamic-context-parallel")` does not hold '
        "(cp = 1, --dynamic-context-parallel = off)"
    )


def test_a_finding_quotes_the_resolved_values_and_computes_the_fix():
    finding = judged("dense --pipeline-model-parallel-size 3", "R-C07").finding
    assert finding.cost.text == "TP2 × PP3 × CP1 = 6 does not divide the 8 actor GPUs."
    assert finding.fix.changes.set == {"--pipeline-model-parallel-size": "2"}
    assert (finding.severity, finding.blocks_launch) == ("critical", True)
    assert finding.basis == "arithmetic"
    rows = {row.flag: row.value for row in finding.setting}
    assert rows["--tensor-model-parallel-size"] == 2
    assert rows["--pipeline-model-parallel-size"] == 3


FIRING = [(rule, example) for rule, example in EXAMPLES if example.fires]


@pytest.mark.parametrize(
    ("rule", "example"), FIRING, ids=[f"{r.id}:{e.place.line}" for r, e in FIRING]
)
def test_every_fix_that_is_offered_removes_its_finding_and_adds_no_worse_one(rule, example):
    broken = example_job(example, CATALOG.base_jobs)
    own = Catalog((rule,), {}, tuple(r for r in CATALOG.rules if r is not rule))
    before = {f.rule: f for f in findings(judge(own, broken))}
    fix = before[rule.id].fix
    for changes in (fix.changes, *fix.alternatives):
        if not changes.set and not changes.unset:
            continue
        after = findings(judge(own, broken.changed(changes)))
        assert rule.id not in {f.rule for f in after}
        assert {f.rule for f in after if f.blocks_launch} <= set(before)


def test_a_way_that_would_break_something_else_is_not_offered():
    # PP 2 would divide the 8 GPUs, but not the 33 layers.
    fix = judged("dense --num-layers 33 --pipeline-model-parallel-size 3", "R-C07").finding.fix
    assert fix.changes.set == {"--pipeline-model-parallel-size": "1"}
    assert fix.alternatives == ()


def test_a_plan_made_elsewhere_is_used_for_the_experiment():
    made = []
    plan = job("dense --context-parallel-size 2").plan

    def replan(settings):
        made.append(settings)
        return build_plan(settings)

    (finding,) = findings(judge(CATALOG, Job(plan, replan=replan)))
    assert finding.fix.changes.set == {"--calculate-per-token-loss": True}
    assert any(settings.on("--calculate-per-token-loss") for settings in made)


def test_the_gpus_nobody_uses_go_to_the_engines():
    words = """async --resource '{"actor": [1, 4], "rollout": [1, 2], "actor_fwd": [1, 2],
    "advantages": [1, 0]}'"""
    finding = judged(words, "R-C63").finding
    assert finding.cost.text == (
        "The job sets 2 of 8 GPUs aside for actor_fwd, which it never starts."
    )
    assert finding.fix.changes.set == {
        "--resource": '{"actor": [1, 4], "rollout": [1, 4], "advantages": [1, 0]}'
    }
    assert len(finding.fix.alternatives) == 1


def test_a_case_that_is_only_info_does_not_block():
    mild = judged("hybrid --fully-async", "R-C10").finding
    assert (mild.severity, mild.blocks_launch) == ("info", False)
    hard = judged("async --colocate", "R-C10").finding
    assert (hard.severity, hard.blocks_launch) == ("critical", True)


def test_findings_come_critical_first_then_blocking_then_by_id():
    words = "moe without --moe-grouped-gemm --sequence-parallel true --max-staleness 1 --foo"
    found = findings(judge(CATALOG, job(words)))
    ranks = [("critical", "warn", "info").index(f.severity) for f in found]
    assert ranks == sorted(ranks)
    assert [f.rule for f in found] == ["R-C29", "R-C05", "R-C01", "R-C65"]


def test_an_unknown_value_is_never_a_no():
    settings = read_settings(
        [
            Word("--use-kl-loss", Place("run.sh", 1)),
            Word("--kl-coef", Place("run.sh", 2)),
            Word("${KL}", Place("run.sh", 2), unknown=(Unknown("KL", "unset"),)),
            Word("--kl-loss-coef", Place("run.sh", 3)),
            Word("0.1", Place("run.sh", 3)),
        ]
    )
    verdict = next(j for j in judge(CATALOG, Job(build_plan(settings))) if j.rule == "R-C40")
    assert verdict.verdict == "needs-judgement"
    assert verdict.reason == "KL is not known: unset"


def test_a_hybrid_job_asks_for_the_size_of_the_cluster():
    assert judged("hybrid", "R-C27").verdict == "needs-judgement"
    too_large = Job(job("hybrid").plan, cluster_gpus=4)
    assert [f.rule for f in findings(judge(CATALOG, too_large))] == ["R-C27"]


def test_a_rule_that_fails_costs_no_other_rule(monkeypatch):
    broken = FACTS["cp"]._replace(get=lambda job: 1 / 0)
    monkeypatch.setitem(fact_table.FACTS, "cp", broken)
    judgements = {j.rule: j for j in judge(CATALOG, job("dense --polling-mode False"))}
    assert judgements["R-C09"].verdict == "needs-judgement"
    assert judgements["R-C09"].reason == "rule broken: `division by zero`"
    assert judgements["R-C33"].verdict == "applies"


def test_a_rule_without_check_needs_judgement():
    text, _ = built_in_text()
    start = text.index("### R-C33")
    section = text[start : text.index("### R-C34")]
    bare = "\n".join(line for line in section.split("\n") if "Check:" not in line)
    catalog = parse_catalog([(bare, "mine.md")], vocabulary())
    (judgement,) = judge(catalog, job("dense"))
    assert judgement.verdict == "needs-judgement"
    assert judgement.finding is None


def test_words_beside_the_flags_are_judged_too():
    plan = job("dense").plan
    cut = (Word("--sequence-parallel", Place("run.sh", 9), "PERF_ARGS"),)
    found = findings(judge(CATALOG, Job(plan, cut=cut, unpassed={"EVAL_ARGS": Place("run.sh", 4)})))
    assert [f.rule for f in found] == ["R-C66", "R-C67"]
    assert [(row.flag, row.line) for f in found for row in f.setting] == [
        ("--sequence-parallel", 9),
        ("EVAL_ARGS", 4),
    ]


def test_the_environment_of_the_job_counts():
    settings = job("dense").settings
    plan = build_plan(settings, environment={"CUDA_DEVICE_MAX_CONNECTIONS": "8"})
    assert [f.rule for f in findings(judge(CATALOG, Job(plan)))] == ["R-C21"]
    plan = build_plan(settings, environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    assert findings(judge(CATALOG, Job(plan))) == ()
    plan = build_plan(settings, environment={"CUDA_DEVICE_MAX_CONNECTIONS": "8"}, gpu="B200")
    assert all(f.severity == "info" for f in findings(judge(CATALOG, Job(plan))))


def test_a_model_file_that_the_script_overrides_is_no_finding():
    def words(*placed):
        base = job("moe").settings
        kept = [w for s in base for w in s.words if s.flag != "--moe-token-dispatcher-type"]
        return [*kept, *(Word(text, Place(file, line)) for text, file, line in placed)]

    flag = "--moe-token-dispatcher-type"
    model_first = words((flag, "model.sh", 3), ("alltoall", "model.sh", 3),
                        (flag, "run.sh", 90), ("flex", "run.sh", 90))  # fmt: skip
    plan = build_plan(read_settings(model_first), script="run.sh")
    assert findings(judge(CATALOG, Job(plan))) == ()
    script_first = words((flag, "run.sh", 3), ("flex", "run.sh", 3),
                         (flag, "model.sh", 9), ("alltoall", "model.sh", 9))  # fmt: skip
    plan = build_plan(read_settings(script_first), script="run.sh")
    (finding,) = findings(judge(CATALOG, Job(plan)))
    assert (finding.rule, finding.severity) == ("R-C02", "warn")
    assert [(row.file, row.value) for row in finding.setting] == [
        ("run.sh", "flex"),
        ("model.sh", "alltoall"),
    ]


def test_every_fact_can_be_asked_of_every_base_job():
    for name in CATALOG.base_jobs:
        asked = job(name)
        for row in TABLE:
            value = fact(asked, row.name)
            assert value is None or isinstance(value, Unknown | bool | int | float | str | tuple)
            assert row.doc.endswith(".")


def test_every_fact_can_be_asked_of_an_empty_launch():
    empty = Job(build_plan(read_settings([])))
    for row in TABLE:
        fact(empty, row.name)


def test_an_example_names_a_base_job_that_exists():
    with pytest.raises(RuleError, match="did you mean 'dense'"):
        job("dens --colocate")
    with pytest.raises(RuleError, match="cannot be split"):
        job("dense --resource '{")


SMALL = (
    'dense --resource \'{"actor": [1, 2], "rollout": [1, 2]}\' --max-tokens-per-gpu 36864'
    " --rollout-max-response-len 36864 --recompute-granularity full --recompute-method uniform"
    " --recompute-num-layers 1 --optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d"
    " --use-precision-aware-optimizer --rollout-temperature 0.8"
)


def fix_of(judgements, rule_id):
    finding = next(j for j in judgements if j.rule == rule_id).finding
    return finding and finding.fix


def test_a_change_that_nobody_can_judge_is_no_fix():
    # More CP or TP than GPUs makes no plan: the rule says nothing of it, which is no approval.
    (rule,) = (rule for rule in CATALOG.rules if rule.id == "R-M36")
    fix = fix_of(judge(Catalog((rule,), CATALOG.base_jobs), job(SMALL)), "R-M36")
    ways = (fix.changes, *fix.alternatives)
    assert not any("parallel-size" in flag for way in ways for flag in way.set)


def test_what_touches_the_recipe_is_offered_where_nothing_else_fits():
    fix = fix_of(judge(CATALOG, job(SMALL)), "R-M36")
    assert "--rollout-temperature" in fix.changes.unset


PIPELINE = "dense --pipeline-model-parallel-size 4 --vocab-size 248320"


def test_findings_that_solve_one_problem_speak_once():
    judgements = judge(CATALOG, job(PIPELINE))
    assert {"R-P07", "R-M30"} <= {f.rule for f in findings(judgements)}
    told = one_for_each_problem(CATALOG, judgements)
    assert "R-M30" not in {f.rule for f in findings(told)}
    first = next(j.finding for j in told if j.rule == "R-P07")
    assert any("--decoder-last-pipeline-num-layers" in way.set for way in first.fix.instead)
    assert "R-M30" in first.fix.text
    assert "solves this too" in next(j.reason for j in told if j.rule == "R-M30")


def test_what_is_suppressed_hides_no_other_finding():
    judgements = [
        replace(j, verdict="suppressed") if j.rule == "R-P07" else j
        for j in judge(CATALOG, job(PIPELINE))
    ]
    told = one_for_each_problem(CATALOG, judgements)
    assert next(j.finding for j in told if j.rule == "R-M30") is not None


def test_a_rule_that_is_asked_about_alone_offers_the_same_fix():
    seen = 0
    for rule in CATALOG.rules:
        fires = [example.words for example in rule.examples if example.fires][:1]
        for words in (*fires, *[SMALL] * (rule.id == "R-M36")):
            others = tuple(other for other in CATALOG.rules if other is not rule)
            alone = judge(Catalog((rule,), CATALOG.base_jobs, others), job(words))
            assert fix_of(alone, rule.id) == fix_of(judge(CATALOG, job(words)), rule.id)
            seen += 1
    assert seen > 100


def test_what_is_not_selected_is_still_known_and_what_is_ignored_is_not():
    whole = {rule.id for rule in load_rules().rules}
    selected = load_rules(select=("R-M36",), ignore=("R-C07",))
    assert [rule.id for rule in selected.rules] == ["R-M36"]
    assert {rule.id for rule in selected.unselected} == whole - {"R-M36", "R-C07"}
    assert load_rules(ignore=("R-C07",)).unselected == ()
