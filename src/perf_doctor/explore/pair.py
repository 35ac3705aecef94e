"""Two jobs side by side: what each phase holds and takes, and what is found in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.time import PHASES
from perf_doctor.frozen import frozen
from perf_doctor.rules.effect import Effect
from perf_doctor.rules.job import Job
from perf_doctor.rules.judgement import Finding
from perf_doctor.rules.template import FlagChanges


class Row(NamedTuple):
    """A figure of both jobs; None where a job does not have it or it is not known."""

    name: str
    before: Interval | None
    after: Interval | None


class FindingChanges(NamedTuple):
    """Findings of the second job alone, of the first alone, and those whose severity differs."""

    appeared: tuple[Finding, ...]
    vanished: tuple[Finding, ...]
    changed: tuple[tuple[Finding, Finding], ...]


@frozen
class Pair:
    """Two jobs and the findings of each, the worst first."""

    before: Job
    after: Job
    findings_before: tuple[Finding, ...] = ()
    findings_after: tuple[Finding, ...] = ()

    @property
    def gain(self) -> Interval | None:
        """The share of the first job's step that the second saves; negative where it is longer."""
        return Effect(self.before, self.after, FlagChanges({})).gain

    @property
    def peak_grows_gib(self) -> float | None:
        """By how much the second job's most likely peak is above the first's, GiB."""
        return Effect(self.before, self.after, FlagChanges({})).memory_gib

    @property
    def memory_rows(self) -> tuple[Row, ...]:
        """GiB on one GPU by phase and role; of pipeline stages the heaviest."""
        before, after = _heaviest(self.before), _heaviest(self.after)
        names = _in_order(before, after)
        return tuple(Row(name, before.get(name), after.get(name)) for name in names)

    @property
    def time_rows(self) -> tuple[Row, ...]:
        """Seconds by phase, in the order of a step."""
        before, after = (job.time.phases or {} for job in (self.before, self.after))
        rows = (Row(name, before.get(name), after.get(name)) for name in PHASES)
        return tuple(row for row in rows if row.before is not None or row.after is not None)

    @property
    def finding_changes(self) -> FindingChanges:
        """What is found in one of them, or with another severity; a rule finds one thing."""
        before = {finding.rule: finding for finding in self.findings_before}
        after = {finding.rule: finding for finding in self.findings_after}
        both = ((before[rule], after[rule]) for rule in after if rule in before)
        return FindingChanges(
            tuple(finding for rule, finding in after.items() if rule not in before),
            tuple(finding for rule, finding in before.items() if rule not in after),
            tuple(pair for pair in both if pair[0].severity != pair[1].severity),
        )


def stopped_by(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the rules whose findings keep the job from its first step."""
    return tuple(finding.rule for finding in findings if finding.blocks_launch)


def _heaviest(job: Job) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for phase in job.memory.phases:
        role = "" if phase.role in ("actor", phase.phase) else f" {phase.role}"
        name = f"{phase.phase}{role}"
        known = found.get(name)
        if known is None or phase.total_gib.expected > known.expected:
            found[name] = phase.total_gib
    return found


def _in_order(before: Iterable[str], after: Sequence[str] | Iterable[str]) -> list[str]:
    """Return the names of both, each once; one that only the second has stands before its next."""
    names = [*before]
    at = 0
    for name in after:
        if name in names:
            at = names.index(name) + 1
        else:
            names.insert(at, name)
            at += 1
    return names
