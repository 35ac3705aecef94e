"""An experiment: one job, changed, estimated again, compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from perf_doctor.estimate.fits import Fits
from perf_doctor.estimate.interval import Interval
from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.rules.job import Job
from perf_doctor.rules.severity import SEVERITIES
from perf_doctor.rules.template import FlagChanges

CRITICAL_SHARE: Final = 0.25
WARN_SHARE: Final = 0.05
CLEAR_SHARE: Final = WARN_SHARE / 2
"""What a change has to gain even at the end of the range where it gains least."""
NO_SHARE: Final = 0.01
_FITS: Final = {"yes": 0, "borderline": 1, "no": 2}


@frozen
class Effect:
    """What changes do to a job, by the estimates; None is not modelled.

    ``gain``: the share of today's seconds for a sample that goes away, negative where they grow;
    compared with short, expected and long answers, as both steps rest on the same ones. A step has
    as many samples after most changes, and then it is the share of the step. ``memory_gib``: by how
    much the peak grows.
    """

    before: Job
    after: Job
    changes: FlagChanges

    @property
    def fits(self) -> Fits | None:
        """Whether the changed job fits."""
        return self.after.memory.fits

    @property
    def fits_no_worse(self) -> bool:
        """Whether the change keeps the job on its cards as well as today; not known counts so."""
        before, after = self.before.memory.fits, self.after.memory.fits
        return before is None or after is None or _FITS[after] <= _FITS[before]

    @property
    def memory_gib(self) -> float | None:
        """Most likely peak of the changed job less that of today's, GiB."""
        before, after = self.before.memory.peak_gib, self.after.memory.peak_gib
        return None if before is None or after is None else after.expected - before.expected

    @property
    def gain(self) -> Interval | None:
        """The share of a sample's seconds that goes away: least, most likely and most."""
        before, after = self.before.time.scenarios, self.after.time.scenarios
        if not before or not after:
            return None
        fewer = _samples(self.before) / _samples(self.after)
        shares = [1 - new * fewer / old for old, new in zip(before, after, strict=True)]
        return Interval(min(shares), shares[1], max(shares))

    def __str__(self) -> str:
        """What was compared: the step with its share, or nothing where it is not modelled."""
        before, after, gain = self.before.time.step_s, self.after.time.step_s, self.gain
        if before is None or after is None or gain is None:
            return ""
        low, expected, high = gain.low, gain.expected, gain.high
        slower = expected < 0
        if slower:
            low, expected, high = -high, -expected, -low
        span = f"{expected:.0%}".replace("%", " %")
        if round(100 * low) != round(100 * high):
            span = said(
                "{share}, {low} to {high} %", share=span, low=_percent(low), high=_percent(high)
            )
        old, new = _seconds(before.expected), _seconds(after.expected)
        if (many := _samples(self.before)) != (then := _samples(self.after)):
            old = said("{seconds} s for {n} samples", seconds=old, n=f"{many:,.0f}")
            new = said("{seconds} s for {n}", seconds=new, n=f"{then:,.0f}")
            told = _compared_by_sample(old, new, span, slower=slower)
        else:
            told = _compared(old, new, span, slower=slower)
        mean = _assumed_response(self.before)
        if mean is None:
            return f"{told}{said('.')}"
        return said("{told} at a mean response of {mean} tokens.", told=told, mean=f"{mean:,.0f}")


def _compared(before_s: str, after_s: str, share: str, *, slower: bool) -> str:
    if slower:
        return said(
            "Step {before} → {after} s ({share} more)", before=before_s, after=after_s, share=share
        )
    return said(
        "Step {before} → {after} s ({share} less)", before=before_s, after=after_s, share=share
    )


def _compared_by_sample(before: str, after: str, share: str, *, slower: bool) -> str:
    if slower:
        return said(
            "Step {before} → {after} ({share} more per sample)",
            before=before, after=after, share=share,
        )  # fmt: skip
    return said(
        "Step {before} → {after} ({share} less per sample)", before=before, after=after, share=share
    )


def _samples(job: Job) -> float:
    """Return the samples of a step; 1 where no step is estimated."""
    made = job.time.job
    return made.samples if made is not None and made.samples else 1.0


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _assumed_response(job: Job) -> float | None:
    """Return the assumption that matters most: the tokens of an answer; None where it is known."""
    made = job.time.job
    if made is None or job.lengths.mean_response is not None or made.mode == "sft":
        return None
    return made.lengths[1].mean


def severity_of(gain: Interval, allowed: tuple[str, str]) -> str | None:
    """Return what a gain is worth, within a rule's range; None for one that nobody would notice.

    critical from a quarter of the step, warn from 5 %, info below or where it is not clear, nothing
    where the change may as well cost 5 %. A rule
    that can only inform, because its fix changes more than speed, speaks from twice that.
    """
    clear = gain.low >= CLEAR_SHARE
    if gain.expected < NO_SHARE or gain.low < -WARN_SHARE:
        return None
    if allowed == ("info", "info") and (gain.expected < 2 * WARN_SHARE or gain.low < -CLEAR_SHARE):
        return None
    found = "info"
    if clear and gain.expected >= WARN_SHARE:
        found = "critical" if gain.expected >= CRITICAL_SHARE else "warn"
    low, high = (SEVERITIES.index(end) for end in allowed)
    return SEVERITIES[min(high, max(low, SEVERITIES.index(found)))]


def together(ways: Iterable[FlagChanges]) -> FlagChanges:
    """Return the changes of several fixes as one; of two that touch a flag the first counts."""
    set_flags: dict[str, str | bool] = {}
    unset: list[str] = []
    for way in ways:
        touched = {*set_flags, *unset}
        if touched.isdisjoint(_flags(way)):
            set_flags.update(way.set)
            unset += way.unset
    return FlagChanges(set_flags, tuple(unset))


def _flags(way: FlagChanges) -> Iterator[str]:
    yield from way.set
    yield from way.unset
