"""Training steps judged by efficiencies that have not seen their source."""

from __future__ import annotations

import pytest

from perf_doctor.data import table
from perf_doctor.estimate.cross_validation import (
    Grouping,
    Measured,
    accuracy,
    choose,
    cross_validate,
    in_sample,
    is_judged,
    judged_steps,
)
from perf_doctor.estimate.rates import ranges_of

POINTS = table("measured_time")["points"]


@pytest.fixture(scope="module")
def steps() -> tuple[Measured, ...]:
    return judged_steps(POINTS)[0]


def test_ampere_and_hopper_in_16_bits_are_judged(steps: tuple[Measured, ...]) -> None:
    assert len(steps) >= 50
    assert {one.step.card.family for one in steps} == {"ampere", "hopper"}
    assert len({one.source for one in steps}) >= 6
    assert not any(is_judged({**point, "tier": "C"}) for point in POINTS)
    assert not any(is_judged({**point, "dtype": "fp8"}) for point in POINTS)


def test_the_table_is_near_what_was_measured(steps: tuple[Measured, ...]) -> None:
    found = accuracy(in_sample(steps), 1.0)
    assert found.median_abs_error < 0.08
    assert found.inside >= 0.8


@pytest.mark.parametrize("by", ["repository", "document"])
def test_sources_left_out_are_predicted(by: Grouping) -> None:
    """Within 15 % in the median, and four in five within the printed range."""
    by_table, left_out = cross_validate(POINTS, by)
    assert by_table.steps == left_out.steps >= 50
    assert by_table.median_abs_error < left_out.median_abs_error < 0.15
    assert left_out.inside >= 0.8


def test_chosen_efficiencies_stay_in_their_ranges(steps: tuple[Measured, ...]) -> None:
    for (name, family), value in choose(steps[::4]).items():
        allowed = ranges_of(family or "hopper")[name]
        assert allowed.low <= value <= allowed.high, name


def test_a_choice_follows_the_runs_it_is_made_on(steps: tuple[Measured, ...]) -> None:
    """Steps twice as long ask for slower efficiencies throughout."""
    dense = [one for one in steps if "mlm-h100" in one.id]
    slow = [one._replace(step=one.step._replace(measured=1.3 * one.step.measured)) for one in dense]
    key = ("gemm", "hopper")
    assert choose(slow)[key] < choose(dense)[key]


def test_documents_are_finer_than_repositories() -> None:
    by_document, covered = judged_steps(POINTS, "document")
    assert covered == 1.0
    assert len({one.source for one in by_document}) > 6
