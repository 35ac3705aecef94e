"""Seconds by what limits them, and the interval that follows from how well each limit is known."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from perf_doctor.estimate.efficiencies import (
    CP_EXPOSED,
    GEMM,
    HBM,
    LAUNCH_DENSE_S,
    LAUNCH_EXPERT_S,
    LINK,
    TRAFFIC_BACKWARD,
    UNMODELLED,
    Family,
)
from perf_doctor.estimate.interval import Interval


class Spent(NamedTuple):
    """Seconds: ``matrix`` products, ``memory`` traffic, ``link`` traffic, waiting for the host."""

    matrix: float = 0.0
    memory: float = 0.0
    link: float = 0.0
    host: float = 0.0

    @property
    def total(self) -> float:
        """All seconds."""
        return self.matrix + self.memory + self.link + self.host

    def plus(self, other: Spent, times: float = 1.0) -> Spent:
        """Return this and ``times`` the other."""
        return Spent(
            self.matrix + times * other.matrix,
            self.memory + times * other.memory,
            self.link + times * other.link,
            self.host + times * other.host,
        )


def _relative(*rates: Interval) -> tuple[float, float]:
    """Return how far seconds may lie below and above, as fractions, for rates that multiply."""
    below = hypot(*(1 - rate.expected / rate.high for rate in rates))
    above = hypot(*(rate.expected / rate.low - 1 for rate in rates))
    return min(below, 0.9), above


def _amount(amount: Interval) -> tuple[float, float]:
    return 1 - amount.low / amount.expected, amount.high / amount.expected - 1


_MATRIX = {family: _relative(rate) for family, rate in GEMM.items()}
_TRAFFIC = _amount(TRAFFIC_BACKWARD)
_STREAM = _relative(HBM)
_MEMORY = (hypot(_TRAFFIC[0], _STREAM[0]), hypot(_TRAFFIC[1], _STREAM[1]))
_LINKS = (
    hypot(_relative(LINK)[0], _amount(CP_EXPOSED)[0] / 2),
    hypot(_relative(LINK)[1], _amount(CP_EXPOSED)[1] / 2),
)
_HOST_DENSE, _HOST_EXPERT = _amount(LAUNCH_DENSE_S), _amount(LAUNCH_EXPERT_S)


def interval_of(spent: Spent, family: Family, *, experts: bool) -> Interval:
    """Return the seconds with their range; the four limits err on their own."""
    host = _HOST_EXPERT if experts else _HOST_DENSE
    parts = (
        (spent.matrix, _MATRIX[family]),
        (spent.memory, _MEMORY),
        (spent.link, _LINKS),
        (spent.host, host),
    )
    below = sum([(seconds * rate[0]) ** 2 for seconds, rate in parts]) ** 0.5
    above = sum([(seconds * rate[1]) ** 2 for seconds, rate in parts]) ** 0.5
    total = spent.total
    below = hypot(below, total * (1 - UNMODELLED.low))
    above = hypot(above, total * (UNMODELLED.high - 1))
    return Interval(max(0.0, total - below), total, total + above)
