"""Training steps judged by efficiencies that have not seen their source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perf_doctor.data import table
from perf_doctor.estimate.rates import ranges_of
from perf_doctor.validation.fit import Case, choose, leave_one_source_out
from perf_doctor.validation.judged import summarize
from perf_doctor.validation.step import Step, is_judged, judge_steps
from perf_doctor.validation.step_rates import STEP_FIT, Grouping, step_cases
from perf_doctor.validation.subjects import Validation

POINTS = table("measured_time")["points"]
CASES = step_cases(POINTS)


def test_ampere_and_hopper_in_16_bits_are_judged() -> None:
    assert len(CASES) >= 50
    assert {one.given.card.family for one in CASES} == {"ampere", "hopper"}
    assert len({one.source for one in CASES}) >= 6
    assert not any(is_judged({**point, "tier": "C"}) for point in POINTS)
    assert not any(is_judged({**point, "dtype": "fp8"}) for point in POINTS)


def test_the_table_is_near_what_was_measured() -> None:
    found = summarize(judge_steps(POINTS))
    assert found.eligible == len(CASES)
    assert found.covered == 1.0
    assert found.median_abs_error is not None
    assert found.median_abs_error < 0.08
    assert found.inside is not None
    assert found.inside >= 0.8


@pytest.mark.parametrize("by", ["repository", "document"])
def test_sources_left_out_are_predicted(by: Grouping, crossed: Validation) -> None:
    """Within 15 % in the median, and four in five within the printed range."""
    by_table = summarize([one.judged for one in CASES])
    if by == "repository":
        left_out = summarize(crossed.left_out["train step"])
    else:
        left_out = summarize(leave_one_source_out(STEP_FIT, step_cases(POINTS, by)))
    assert by_table.eligible == left_out.eligible >= 50
    assert by_table.median_abs_error is not None
    assert left_out.median_abs_error is not None
    assert by_table.median_abs_error < left_out.median_abs_error < 0.15
    assert left_out.inside is not None
    assert left_out.inside >= 0.8


def test_chosen_efficiencies_stay_in_their_ranges() -> None:
    for (name, family), value in choose(STEP_FIT, CASES[::4]).items():
        allowed = ranges_of(family or "hopper")[name]
        assert allowed.low <= value <= allowed.high, name


def test_a_choice_follows_the_runs_it_is_made_on() -> None:
    """Steps twice as long ask for slower efficiencies throughout."""

    def slower(one: Case[Step]) -> Case[Step]:
        measured = one.judged.measured
        assert measured is not None
        return one._replace(judged=replace(one.judged, measured=1.3 * measured))

    dense = [one for one in CASES if "mlm-h100" in one.judged.id]
    key = ("gemm", "hopper")
    assert choose(STEP_FIT, [slower(one) for one in dense])[key] < choose(STEP_FIT, dense)[key]


def test_documents_are_finer_than_repositories() -> None:
    by_document = step_cases(POINTS, "document")
    assert len(by_document) == len(CASES)
    assert len({one.source for one in by_document}) > len({one.source for one in CASES})


def test_what_is_not_judged_is_shown_with_the_reason() -> None:
    rows = judge_steps(POINTS)
    assert all(one.eligible == (one.apart is None) for one in rows)
    apart = {one.apart for one in rows if one.apart}
    assert apart == {"blackwell", "blackwell in 8 or 4 bits", "hopper in 8 or 4 bits"}
