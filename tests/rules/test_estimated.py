"""Rules that rest on the memory estimate: what they know, what they offer, and what they cost."""

from dataclasses import replace

import pytest

from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.rules import estimated, experiments
from perf_doctor.rules import job as job_module
from perf_doctor.rules.built_in import built_in_text
from perf_doctor.rules.examples import example_job
from perf_doctor.rules.facts import fact, vocabulary
from perf_doctor.rules.judge import judge
from perf_doctor.rules.model import Example
from perf_doctor.rules.rule import parse_catalog
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.model import Place, Unknown

CATALOG = parse_catalog([built_in_text()], vocabulary())
NAMES = [row[0] for row in estimated.ROWS]
TOO_LONG = "dense --rollout-max-response-len 65536 --max-tokens-per-gpu 66560"
OFFLOADED = "moe --optimizer-cpu-offload --use-precision-aware-optimizer --use-kl-loss"


def job(words, host_ram_gb=None):
    made = example_job(Example(True, words, Place("run.sh", 1)), CATALOG.base_jobs)
    return replace(made, host_ram_gb=host_ram_gb)


def judged(one, rule_id):
    return next(j for j in judge(CATALOG, one) if j.rule == rule_id)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_estimate_leaves_open_is_unknown_with_its_reason(name):
    dark = job("dense")
    dark._memory.append(MemoryEstimate(unknown="the model's shape is not known"))
    assert fact(dark, name) == Unknown(name, "the model's shape is not known")


@pytest.mark.parametrize("name", ["fitting_tokens", "fits_without_offload", "engine_share"])
def test_a_fact_that_fails_is_unknown_and_costs_no_report(name, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError

    one = job("dense --optimizer-cpu-offload --use-precision-aware-optimizer")
    assert one.memory.unknown is None
    monkeypatch.setattr(experiments, "estimate_job", fails)
    assert isinstance(fact(one, name), Unknown)
    assert judged(one, "R-M01").verdict == "needs-judgement"


def test_the_estimate_is_not_made_before_a_rule_asks(monkeypatch):
    asked = []
    monkeypatch.setattr(
        job_module, "estimate_memory", lambda *_, **__: asked.append(1) or MemoryEstimate()
    )
    one = job("dense")
    fact(one, "tp")
    assert not asked
    fact(one, "train_fits")
    fact(one, "peak_gib")
    assert len(asked) == 1


def test_intervals_are_three_facts_in_order():
    one = job("dense")
    low, expected, high = (fact(one, f"train_gib{end}") for end in ("_low", "", "_high"))
    assert low < expected < high < fact(one, "card_gib")


def test_fixes_of_a_job_that_does_not_fit_fit():
    one = job(TOO_LONG)
    finding = judged(one, "R-M36").finding
    assert finding.severity in ("warn", "critical")
    for way in (finding.fix.changes, *finding.fix.alternatives):
        assert fact(one.changed(way), "train_fits") == "yes"
    assert "--context-parallel-size" in finding.fix.changes.set
    assert finding.fix.changes.set["--calculate-per-token-loss"] is True


def test_where_no_fix_suffices_the_closest_is_offered():
    small = f'{TOO_LONG} --resource \'{{"actor": [1, 2], "rollout": [1, 2]}}\''
    one = job(f"{small} --rollout-max-context-len 49152 --max-tokens-per-gpu 49152")
    finding = judged(one, "R-M36").finding
    changed = one.changed(finding.fix.changes)
    assert finding.fix.changes.set
    assert fact(changed, "excess_gib") < fact(one, "excess_gib")


def test_what_would_not_fit_is_not_offered():
    needed = job("moe --optimizer-cpu-offload --use-precision-aware-optimizer"
                 " --max-tokens-per-gpu 20480")  # fmt: skip
    assert judged(needed, "R-M01").verdict == "not-applicable"
    without = FlagChanges({}, ("--optimizer-cpu-offload",))
    assert fact(needed.changed(without), "train_fits") != "yes"


@pytest.mark.parametrize(
    ("end", "more", "severity"),
    [("high", 1.1, None), ("expected", 1.0, "warn"), ("low", 0.9, "critical")],
)
def test_host_memory_counts_once_it_is_told(end, more, severity):
    needed = getattr(job(OFFLOADED).memory.host_gib_per_node, end) * 2**30 / 1e9
    verdict = judged(job(OFFLOADED, more * needed / 0.95), "R-M20")
    assert (verdict.finding.severity if verdict.finding else None) == severity


def test_host_memory_that_nobody_told_is_for_a_reader_to_judge():
    assert judged(job(OFFLOADED), "R-M20").verdict == "needs-judgement"


def test_a_budget_search_finds_the_largest_that_holds():
    most = experiments.most_tokens
    assert most(1000, 20000, lambda tokens: tokens <= 9000) == 8704
    assert most(1000, 1200, lambda tokens: tokens <= 9000) == 1024
    assert most(1000, 1010, lambda tokens: True) == 1000
    assert most(1000, 20000, lambda tokens: False) is None
    assert most(2000, 1000, lambda tokens: True) is None
