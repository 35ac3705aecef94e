"""What a rule says about a job: the shapes of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from perf_doctor.frozen import frozen
from perf_doctor.rules.effect import Effect
from perf_doctor.rules.template import FlagChanges


@frozen
class SettingRow:
    """An option as it stands in the script; a switch has the value True.

    ``line`` and ``column`` are where its first word begins, from 1.
    """

    flag: str
    value: object
    file: str
    line: int
    group: str | None
    column: int = 1


@frozen
class Cost:
    """What today's setting costs against the fixed one; None where that is not modelled.

    ``step_time_fraction`` is a share of the step, ``memory_gib`` GiB of GPU memory, ``startup_s``
    seconds.
    """

    text: str
    step_time_fraction: float | None = None
    memory_gib: float | None = None
    startup_s: float | None = None


@frozen
class Fix:
    """What to change: in words, as flags, and in other ways that would do too.

    ``instead``: what other rules would change against the same problem.
    """

    text: str
    changes: FlagChanges
    alternatives: tuple[FlagChanges, ...] = ()
    instead: tuple[FlagChanges, ...] = ()


@frozen
class Finding:
    """A rule that applies to the job, as the report shows it.

    ``effect``: what the first change of ``fix`` does by the estimates, None where nothing was
    tried.
    """

    rule: str
    title: str
    category: str
    severity: str
    verdict: str
    blocks_launch: bool
    setting: tuple[SettingRow, ...]
    basis: str
    cost: Cost
    fix: Fix
    skip_if: str
    effect: Effect | None = field(default=None, compare=False)
    reason_in_script: str | None = None


@frozen
class Judgement:
    """The verdict of one rule on one job.

    ``verdict`` is applies, borderline, not-applicable, needs-judgement or suppressed; ``finding``
    is there for the first two, and for the last as what would have been reported. ``why`` makes
    the sentence that ``reason`` returns, which most reports do not show. ``tried``: the changes
    that were tried on the job and what they do, the best one first.
    """

    rule: str
    verdict: str
    why: Callable[[], str] = field(repr=False, compare=False)
    finding: Finding | None = None
    tried: tuple[Effect, ...] = field(default=(), compare=False)

    @property
    def reason(self) -> str:
        """One sentence with the numbers that the verdict rests on."""
        return self.why()
