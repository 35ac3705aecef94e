"""Numbers that are not known exactly."""

from __future__ import annotations

from math import hypot

from perf_doctor.frozen import frozen


@frozen
class Interval:
    """A number between ``low`` and ``high`` that is most likely ``expected``."""

    low: float
    expected: float
    high: float

    def __add__(self, other: Interval) -> Interval:
        """Return the sum of two numbers that err together, end by end."""
        return Interval(
            self.low + other.low, self.expected + other.expected, self.high + other.high
        )

    def __sub__(self, other: Interval) -> Interval:
        """Return the difference at its widest: the low end less the high one."""
        return Interval(
            self.low - other.high, self.expected - other.expected, self.high - other.low
        )

    def __mul__(self, other: Interval | float) -> Interval:
        """Return the product of numbers that are not negative."""
        if isinstance(other, Interval):
            return Interval(
                self.low * other.low, self.expected * other.expected, self.high * other.high
            )
        return Interval(self.low * other, self.expected * other, self.high * other)

    __rmul__ = __mul__

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def exactly(value: float) -> Interval:
    """Return a number that is known."""
    return Interval(value, value, value)


def larger(first: Interval, second: Interval) -> Interval:
    """Return the larger of two numbers, end by end."""
    return Interval(
        max(first.low, second.low),
        max(first.expected, second.expected),
        max(first.high, second.high),
    )


def excess(ratio: Interval, size: float) -> Interval:
    """Return what lies between ``size`` and ``ratio`` times it: (ratio − 1) · size."""
    return Interval((ratio.low - 1) * size, (ratio.expected - 1) * size, (ratio.high - 1) * size)


def independent_sum(*terms: Interval) -> Interval:
    """Return the sum of numbers that err on their own: their deviations add as squares."""
    expected = sum(term.expected for term in terms)
    below = hypot(*(term.expected - term.low for term in terms))
    above = hypot(*(term.high - term.expected for term in terms))
    return Interval(expected - below, expected, expected + above)
