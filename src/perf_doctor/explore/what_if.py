"""What if: one launch, and the same launch with some options changed."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.explore.asked import Asked
from perf_doctor.explore.pair import Pair
from perf_doctor.explore.written import Written, written_in
from perf_doctor.frozen import frozen
from perf_doctor.rules.ranking import findings


class Changed(NamedTuple):
    """An option that was asked about, as it stands in the launch and as it would."""

    flag: str
    before: Written
    after: Written

    @property
    def differs(self) -> bool:
        """Whether the trainer would see another value."""
        return bool(self.before.stored != self.after.stored)


@frozen
class WhatIf:
    """A launch and its changes; ``asked`` is what they were said to be."""

    script: Diagnosis
    asked: Asked
    pair: Pair
    options: tuple[Changed, ...]
    removed_unknown: tuple[str, ...] = ()

    @property
    def changes_anything(self) -> bool:
        """Whether the changed launch is another one."""
        return bool(self.removed_unknown) or any(option.differs for option in self.options)


def what_if(script: Diagnosis, asked: Asked) -> WhatIf:
    """Return a launch beside the same launch with the changes made, planned and judged anew."""
    before = script.job
    after = before.with_settings(asked.to(before.settings))
    told = script.judge(after)
    flags = {setting.option.dest: setting.flag for setting in asked.set}
    passed = {unknown.flag for unknown in before.settings.unknown_flags}
    unknown = tuple(flag for flag in asked.unset if flag in passed)
    known = [*flags.values(), *(flag for flag in asked.unset if flag not in passed)]
    return WhatIf(
        script,
        asked,
        Pair(
            before,
            after,
            script.findings,
            findings(judgement for judgement in told if judgement.verdict != "suppressed"),
        ),
        tuple(
            Changed(flag, written_in(before.settings, flag), written_in(after.settings, flag))
            for flag in dict.fromkeys(known)
        ),
        unknown,
    )
