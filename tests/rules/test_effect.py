"""What a comparison of two jobs says: by the step, by the sample, faster or slower."""

from __future__ import annotations

import re

from perf_doctor.rules.effect import Effect
from perf_doctor.rules.examples import example_job
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import judge
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Example
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.model import Place

BASE_JOBS = load_rules().base_jobs


def job(*more: str) -> Job:
    words = " ".join(("dense", *more))
    return example_job(Example(True, words, Place("rules.md", 1)), BASE_JOBS)


def effect(set_: dict[str, str | bool], unset: tuple[str, ...] = (), *more: str) -> Effect:
    before = job(*more)
    changes = FlagChanges(set_, unset)
    return Effect(before, before.changed(changes), changes)


def test_a_slower_step_is_more_and_a_faster_one_less() -> None:
    recompute = {
        "--recompute-granularity": "full",
        "--recompute-method": "uniform",
        "--recompute-num-layers": "1",
    }
    slower = effect(dict(recompute))
    words = [part for pair in recompute.items() for part in pair]
    faster = effect({}, tuple(recompute), *words)
    for one, word in ((slower, "more"), (faster, "less")):
        told = re.fullmatch(
            rf"Step [\d,.]+ → [\d,.]+ s \((\d+) %(?:, (\d+) to (\d+) %)? {word}\).*", str(one)
        )
        assert told is not None, str(one)
        gain = one.gain
        assert gain is not None
        assert (gain.expected > 0) == (word == "less")
        assert int(told[1]) == round(100 * abs(gain.expected))
        assert told[2] is None or int(told[2]) <= int(told[1]) <= int(told[3])


def test_a_step_of_more_samples_is_compared_by_sample() -> None:
    samples = job().plan.batch.samples_per_rollout
    size = job().plan.batch.rollout_batch_size
    assert samples is not None
    assert size is not None
    doubled = effect(
        {"--rollout-batch-size": str(2 * size), "--global-batch-size": str(2 * samples)}
    )
    before, after = doubled.before.time.scenarios, doubled.after.time.scenarios
    assert after[1] > before[1]
    assert doubled.gain is not None
    assert doubled.gain.expected == 1 - after[1] / 2 / before[1]
    assert re.match(
        rf"Step \S+ s for {samples:,} samples → \S+ s for {2 * samples:,} \(.* per sample\)",
        str(doubled),
    )


def test_a_reason_names_options_and_facts_and_no_comparison() -> None:
    reasons = [judgement.reason for judgement in judge(load_rules(), job())]
    told = [
        found for reason in reasons for found in re.findall(r"(?:hold|holds) \((.*)\)$", reason)
    ]
    assert told
    for values in told:
        assert not re.search(r'" ?\)? (?:[<>]|[=!]=|in|not) ', values), values
