"""Two jobs in a few lines: does each start, how long is a step, does it fit, what is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.memory import fits_word
from perf_doctor.explore.pair import Pair, stopped_by
from perf_doctor.inert import inert
from perf_doctor.language import said
from perf_doctor.report.cells import number, seconds
from perf_doctor.rules.job import Job
from perf_doctor.rules.judgement import Finding
from perf_doctor.width import fitted, hanging, left, width

MAX_COLUMNS: Final = 100
_LEAD: Final = 8


def verdicts(pair: Pair) -> Iterator[str]:
    """Yield a line each on the start, the step and the memory, where that differs."""
    yield from _starts(pair)
    before, after, gain = pair.before.time, pair.after.time, pair.gain
    if before.step_s is not None and after.step_s is not None and gain is not None:
        steps = [seconds(before.step_s), seconds(after.step_s)]
        if steps[0] != steps[1]:
            yield f"{left(said('step'), _LEAD)}{_step(' → '.join(steps), gain, pair)}"
    else:
        why = [no_step(job) for job in (pair.before, pair.after)]
        if why != [no_memory(job) for job in (pair.before, pair.after)]:
            yield from _unknown(said("step"), *why)
    yield from _memory_verdict(pair)


def _memory_verdict(pair: Pair) -> Iterator[str]:
    before, after = pair.before.memory, pair.after.memory
    if before.peak_gib is None or after.peak_gib is None:
        yield from _unknown(said("memory"), no_memory(pair.before), no_memory(pair.after))
        return
    peaks = [number(one.expected) for one in (before.peak_gib, after.peak_gib)]
    told = []
    if peaks[0] != peaks[1]:
        told.append(_peak(" → ".join(peaks), after.capacity_gib))
    if before.fits != after.fits:
        told.append(
            said("fits: {fits}", fits=f"{fits_word(before.fits)} → {fits_word(after.fits)}")
        )
    elif told and after.fits:
        told.append(said("fits: {fits}", fits=fits_word(after.fits)))
    why = [clause for clause in after.reasons if clause not in before.reasons]
    if told or why:
        yield from _told(said("memory"), inert("; ".join([*told, *why])))


def _peak(peaks: str, capacity_gib: float | None) -> str:
    if capacity_gib is None:
        return said("peak {gib} GiB", gib=peaks)
    return said("peak {gib} of {capacity} GiB", gib=peaks, capacity=f"{capacity_gib:.0f}")


def _unknown(lead: str, before: str | None, after: str | None) -> Iterator[str]:
    told = [
        said("known") if why is None else said("not known ({why})", why=inert(why))
        for why in (before, after)
    ]
    yield from _told(lead, " → ".join(dict.fromkeys(told)))


def _starts(pair: Pair) -> Iterator[str]:
    before, after = stopped_by(pair.findings_before), stopped_by(pair.findings_after)
    if not before and not after:
        return
    told = [
        said("stopped by {rules}", rules=", ".join(rules)) if rules else said("yes")
        for rules in (before, after)
    ]
    both = told[0] == told[1]
    yield from _told(said("starts"), told[0] if both else f"{told[0]} → {told[1]}")


def _told(lead: str, text: str) -> list[str]:
    return hanging(left(lead, _LEAD), text, MAX_COLUMNS)


def _step(steps: str, gain: Interval, pair: Pair) -> str:
    """Return both steps and the share between them, with what that rests on."""
    tokens = _mean_response(pair)
    if not tokens:
        return said("{steps} s, {share}", steps=steps, share=share_text(gain))
    return said(
        "{steps} s, {share}, at a mean response of {tokens} tokens",
        steps=steps,
        share=share_text(gain),
        tokens=tokens,
    )


def share_text(gain: Interval) -> str:
    """Return ``16 % less (12 to 19)``, or more; a share that is known stands alone."""
    sign = 1 if gain.expected >= 0 else -1
    low, high = sorted(round(100 * sign * end) for end in (gain.low, gain.high))
    share = f"{abs(gain.expected) * 100:.0f}"
    told = said("{share} % less", share=share) if sign > 0 else said("{share} % more", share=share)
    return (
        told if low == high else said("{share} ({low} to {high})", share=told, low=low, high=high)
    )


def _mean_response(pair: Pair) -> str:
    """Return the assumption that matters most, for both jobs; nothing where somebody gave it."""
    means = []
    for job in (pair.before, pair.after):
        made = job.time.job
        if made is not None and job.lengths.mean_response is None and made.mode != "sft":
            means.append(f"{made.lengths[1].mean:,.0f}")
    return " → ".join(dict.fromkeys(means))


def no_memory(job: Job) -> str | None:
    """Return why a job has no estimate of memory, None for one that has."""
    found = job.memory
    return None if found.peak is not None else found.unknown or said("the job holds nothing")


def no_step(job: Job) -> str | None:
    """Return why a job has no estimate of time, None for one that has."""
    found = job.time
    return None if found.step_s is not None else found.unknown or said("no reason is known")


def found_lines(pair: Pair, appears: str, vanishes: str) -> list[str]:
    """Return a line for each finding that is in one job alone or weighs otherwise in the other."""
    changes = pair.finding_changes
    lines = [
        *(_found(appears, finding.severity, finding) for finding in changes.appeared),
        *(_found(vanishes, finding.severity, finding) for finding in changes.vanished),
        *(
            _found(said("changes"), f"{old.severity} → {new.severity}", new)
            for old, new in changes.changed
        ),
    ]
    return lines or [said("findings: the same")] if _any_finding(pair) else lines


def _any_finding(pair: Pair) -> bool:
    return bool(pair.findings_before or pair.findings_after)


def _found(how: str, severity: str, finding: Finding) -> str:
    stops = f" ({said('stops the launch')})" if finding.blocks_launch else ""
    head = f"{left(how, 9)}{severity.upper():<8} {finding.rule}  "
    room = MAX_COLUMNS - width(head) - width(stops)
    return f"{head}{fitted(inert(finding.title), room)}{stops}"
