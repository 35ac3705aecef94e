"""Two jobs in a few lines: does each start, how long is a step, does it fit, what is found."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from perf_doctor.estimate.interval import Interval
from perf_doctor.explore.pair import Pair, stopped_by
from perf_doctor.inert import inert, shortened
from perf_doctor.report.cells import UNKNOWN, number, seconds
from perf_doctor.rules.job import Job
from perf_doctor.rules.judgement import Finding

MAX_COLUMNS: Final = 100


def verdicts(pair: Pair) -> Iterator[str]:
    """Yield a line each on the start, the step and the memory, where that differs."""
    yield from _starts(pair)
    before, after, gain = pair.before.time, pair.after.time, pair.gain
    if before.step_s is not None and after.step_s is not None and gain is not None:
        steps = [seconds(before.step_s), seconds(after.step_s)]
        if steps[0] != steps[1]:
            yield f"step    {' → '.join(steps)} s, {share_text(gain)}{_resting_on(pair)}"
    else:
        why = [no_step(job) for job in (pair.before, pair.after)]
        if why != [no_memory(job) for job in (pair.before, pair.after)]:
            yield from _unknown("step    ", *why)
    yield from _memory_verdict(pair)


def _memory_verdict(pair: Pair) -> Iterator[str]:
    before, after = pair.before.memory, pair.after.memory
    if before.peak_gib is None or after.peak_gib is None:
        yield from _unknown("memory  ", no_memory(pair.before), no_memory(pair.after))
        return
    peaks = [number(one.expected) for one in (before.peak_gib, after.peak_gib)]
    told = []
    if peaks[0] != peaks[1]:
        of = "" if after.capacity_gib is None else f" of {after.capacity_gib:.0f}"
        told.append(f"peak {' → '.join(peaks)}{of} GiB")
    if before.fits != after.fits:
        told.append(f"fits: {before.fits or UNKNOWN} → {after.fits or UNKNOWN}")
    elif told and after.fits:
        told.append(f"fits: {after.fits}")
    why = [clause for clause in after.reasons if clause not in before.reasons]
    if told or why:
        yield from _hanging("memory  ", inert("; ".join([*told, *why])))


def _unknown(lead: str, before: str | None, after: str | None) -> Iterator[str]:
    told = ["known" if why is None else f"not known ({inert(why)})" for why in (before, after)]
    yield from _hanging(lead, " → ".join(dict.fromkeys(told)))


def _starts(pair: Pair) -> Iterator[str]:
    before, after = stopped_by(pair.findings_before), stopped_by(pair.findings_after)
    if not before and not after:
        return
    told = [f"stopped by {', '.join(rules)}" if rules else "yes" for rules in (before, after)]
    both = told[0] == told[1]
    yield from _hanging("starts  ", told[0] if both else f"{told[0]} → {told[1]}")


def _hanging(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        lead + text, MAX_COLUMNS, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )


def share_text(gain: Interval) -> str:
    """Return ``16 % less (12 to 19)``, or more; a share that is known stands alone."""
    sign = 1 if gain.expected >= 0 else -1
    ends = sorted(round(100 * sign * end) for end in (gain.low, gain.high))
    word = "less" if sign > 0 else "more"
    span = "" if ends[0] == ends[1] else f" ({ends[0]} to {ends[1]})"
    return f"{abs(gain.expected) * 100:.0f} % {word}{span}"


def _resting_on(pair: Pair) -> str:
    """Return the assumption that matters most, for both jobs; nothing where somebody gave it."""
    means = []
    for job in (pair.before, pair.after):
        made = job.time.job
        if made is not None and job.lengths.mean_response is None and made.mode != "sft":
            means.append(f"{made.lengths[1].mean:,.0f}")
    shown = " → ".join(dict.fromkeys(means))
    return f", at a mean response of {shown} tokens" if shown else ""


def no_memory(job: Job) -> str | None:
    """Return why a job has no estimate of memory, None for one that has."""
    found = job.memory
    return None if found.peak is not None else found.unknown or "the job holds nothing"


def no_step(job: Job) -> str | None:
    """Return why a job has no estimate of time, None for one that has."""
    found = job.time
    return None if found.step_s is not None else found.unknown or "no reason is known"


def found_lines(pair: Pair, appears: str, vanishes: str) -> list[str]:
    """Return a line for each finding that is in one job alone or weighs otherwise in the other."""
    changes = pair.finding_changes
    lines = [
        *(_found(appears, finding.severity, finding) for finding in changes.appeared),
        *(_found(vanishes, finding.severity, finding) for finding in changes.vanished),
        *(
            _found("changes", f"{old.severity} → {new.severity}", new)
            for old, new in changes.changed
        ),
    ]
    return lines or ["findings: the same"] if _any_finding(pair) else lines


def _any_finding(pair: Pair) -> bool:
    return bool(pair.findings_before or pair.findings_after)


def _found(how: str, severity: str, finding: Finding) -> str:
    stops = " (stops the launch)" if finding.blocks_launch else ""
    head = f"{how:<9}{severity.upper():<8} {finding.rule}  "
    room = MAX_COLUMNS - len(head) - len(stops)
    return f"{head}{shortened(inert(finding.title), room)}{stops}"
