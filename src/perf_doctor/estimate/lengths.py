"""How long responses are: log-normal, cut at the cap."""

from __future__ import annotations

from functools import lru_cache
from math import erf, exp, log, sqrt
from typing import NamedTuple

# Standard normal quantiles at (i + ½)/16, from the shortest sixteenth to the longest.
_Z = (
    -1.8627, -1.3180, -1.0100, -0.7764, -0.5791, -0.4023, -0.2372, -0.0784,
    0.0784, 0.2372, 0.4023, 0.5791, 0.7764, 1.0100, 1.3180, 1.8627,
)  # fmt: skip


class Lengths(NamedTuple):
    """Tokens of one sample: the prompt, and responses by mean, spread and cap."""

    prompt: float
    mean: float
    sigma: float
    cap: float


class Distribution(NamedTuple):
    """Responses: ``sixteenths`` from short to long, location ``mu`` and ``sigma`` of the logs."""

    sixteenths: tuple[float, ...]
    mu: float
    sigma: float
    cap: float

    @property
    def mean(self) -> float:
        """Mean length in tokens."""
        return sum(self.sixteenths) / len(self.sixteenths)

    @property
    def behind(self) -> float:
        """Tokens that a response at work has generated, on average over time: Σl² ÷ 2Σl."""
        return sum([one * one for one in self.sixteenths]) / (2 * sum(self.sixteenths))

    def longest(self, samples: float) -> float:
        """Return the longest of so many responses, as expected."""
        if samples <= 1:
            return self.mean
        return min(self.cap, exp(self.mu + self.sigma * (normal_quantile(1 - 1 / samples) + 0.25)))

    def stop_of_groups(self, share: float, group: int) -> float:
        """Return the length at which ``share`` of the groups have all their responses."""
        at = normal_quantile(min(1 - 1e-9, max(1e-9, share ** (1 / group))))
        return min(self.cap, exp(self.mu + self.sigma * at))

    def cut(self, limit: float) -> Distribution:
        """Return the responses, each cut at ``limit``."""
        cut = tuple([min(limit, one) for one in self.sixteenths])
        return Distribution(cut, self.mu, self.sigma, min(self.cap, limit))


@lru_cache(maxsize=256)
def distribution(lengths: Lengths) -> Distribution:
    """Return responses whose mean after the cut at the cap is as stated."""
    cap, sigma = lengths.cap, lengths.sigma
    mean = min(lengths.mean, 0.995 * cap)
    if sigma <= 0.01:
        return Distribution((mean,) * 16, log(mean), 0.01, cap)
    low, high = log(mean) - sigma * sigma, log(cap) + 4 * sigma
    for _ in range(24):
        middle = (low + high) / 2
        if _cut_mean(middle, sigma, cap) < mean:
            low = middle
        else:
            high = middle
    raw = [min(cap, exp(low + sigma * z)) for z in _Z]
    scale = mean * len(raw) / sum(raw)
    return Distribution(tuple([min(cap, scale * one) for one in raw]), low, sigma, cap)


def _cut_mean(mu: float, sigma: float, cap: float) -> float:
    at = (log(cap) - mu) / sigma
    inside = exp(mu + sigma * sigma / 2) * _below(at - sigma)
    return inside + cap * (1 - _below(at))


def _below(z: float) -> float:
    """Share of a standard normal below ``z``."""
    return 0.5 * (1 + erf(z / sqrt(2)))


def normal_quantile(share: float) -> float:
    """Return z with that share of a standard normal below it (Abramowitz & Stegun 26.2.23)."""
    if share < 0.5:
        return -normal_quantile(1 - share)
    t = sqrt(-2 * log(max(1e-300, 1 - share)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return t - above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


class Samples(NamedTuple):
    """Whole samples: ``tokens`` on average, ``attended`` by a token of them, and their spread."""

    tokens: float
    attended: float
    variation: float


def samples_of(lengths: Lengths) -> Samples:
    """Return prompt and response together: mean, Σl² ÷ 2Σl, deviation ÷ mean."""
    whole = [lengths.prompt + one for one in distribution(lengths).sixteenths]
    count = len(whole)
    mean, square = sum(whole) / count, sum([one * one for one in whole]) / count
    return Samples(mean, square / (2 * mean), sqrt(max(0.0, square / (mean * mean) - 1)))
