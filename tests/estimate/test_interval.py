"""Intervals: what is certain stays certain, what errs alone averages out."""

from hypothesis import given
from hypothesis import strategies as st

from perf_doctor.estimate.interval import Interval, exactly, independent_sum, larger

ends = st.lists(st.floats(0, 1e12), min_size=3, max_size=3).map(sorted)
intervals = ends.map(lambda three: Interval(*three))


def test_what_errs_together_adds_end_by_end():
    assert Interval(1, 2, 4) + Interval(10, 20, 40) == Interval(11, 22, 44)
    assert Interval(1, 2, 4) * 2 == Interval(2, 4, 8)
    assert Interval(1, 2, 4) * Interval(3, 3, 5) == Interval(3, 6, 20)
    assert 0.5 * Interval(2, 4, 8) == Interval(1, 2, 4)


def test_what_errs_alone_adds_its_deviations_as_squares():
    total = independent_sum(Interval(7, 10, 13), Interval(6, 10, 14))
    assert total == Interval(15, 20, 25)  # 3, 4 → 5


@given(intervals, intervals)
def test_an_independent_sum_lies_within_the_sum_of_the_ends(one, other):
    total, ends = independent_sum(one, other), one + other
    slack = 1e-6 * (1 + ends.high)
    assert ends.low - slack <= total.low <= total.expected <= total.high <= ends.high + slack


@given(intervals, intervals)
def test_the_larger_is_not_less_than_either(one, other):
    result = larger(one, other)
    assert result.low >= max(one.low, other.low)
    assert result.low <= result.expected <= result.high


def test_a_known_number_is_inside_itself():
    assert 3.0 in exactly(3.0)
    assert 2.9 not in exactly(3.0)
