"""How severe a project says its findings are."""

from __future__ import annotations

import pytest

from perf_doctor.diagnosis import Doctor
from perf_doctor.rules.judgement import Judgement
from perf_doctor.rules.overridden import overridden

LAUNCH = (
    "python3 -m relax.entrypoints.train --colocate --num-rollout 9"
    ' --resource \'{"actor": [1, 8], "rollout": [1, 8]}\' --rollout-batch-size 8'
    " --n-samples-per-prompt 8 --global-batch-size 64 --use-dynamic-batch-size"
    " --max-tokens-per-gpu 8192 --tensor-model-parallel-size 3 --overlap-cpu-optimizer-d2h-d2h\n"
)
STOPS, TYPO = "R-C07", "R-C01"


@pytest.fixture(scope="module")
def judgements(tmp_path_factory: pytest.TempPathFactory) -> tuple[Judgement, ...]:
    """The verdicts on a job that R-C07 keeps from starting and R-C01 warns of."""
    script = tmp_path_factory.mktemp("jobs") / "run-qwen3-4B-8xgpu.sh"
    script.write_text(LAUNCH)
    return Doctor().diagnose(str(script)).judgements


def severities(judgements: tuple[Judgement, ...]) -> dict[str, str]:
    """Return the severity of every finding."""
    return {each.rule: each.finding.severity for each in judgements if each.finding}


def test_the_findings_of_a_rule_are_as_severe_as_is_asked_for(
    judgements: tuple[Judgement, ...],
) -> None:
    before = severities(judgements)
    assert before[TYPO] == "warn"
    for severity in ("info", "critical"):
        assert severities(overridden(judgements, {TYPO: severity})) == {**before, TYPO: severity}


def test_what_keeps_a_job_from_starting_stays_critical(judgements: tuple[Judgement, ...]) -> None:
    assert severities(judgements)[STOPS] == "critical"
    assert severities(overridden(judgements, {STOPS: "info"}))[STOPS] == "critical"


def test_a_rule_that_found_nothing_and_an_unknown_one_change_nothing(
    judgements: tuple[Judgement, ...],
) -> None:
    quiet = next(each.rule for each in judgements if each.finding is None)
    assert overridden(judgements, {quiet: "critical", "R-Z99": "info"}) == judgements
