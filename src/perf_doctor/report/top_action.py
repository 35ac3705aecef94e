"""What to do first: one line, the same in every format."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.language import said
from perf_doctor.report.flags import changed_flags


class TopAction(NamedTuple):
    """The fix of the finding to act on first.

    ``flags`` are what to set and to remove, ready to copy; where nobody can say them, they are
    empty and ``text`` says what to do. As text: one of them, with the rule.
    """

    rule: str
    flags: str
    text: str

    def __str__(self) -> str:
        """Return the action and the rule behind it, as programs are told it."""
        return f"{self.flags or self.text} ({self.rule})"


NOTHING_TO_DO = "none needed"
"""What programs are told where ``nothing_to_do`` is what people are told."""


def nothing_to_do() -> str:
    """Return what stands where nothing needs to be done."""
    return said("none needed")


def top_action(diagnosis: Diagnosis) -> TopAction | None:
    """Return what to do first, None when nothing needs to be done: an info is no need."""
    worst = next((found for found in diagnosis.findings if found.severity != "info"), None)
    if worst is None:
        return None
    return TopAction(worst.rule, changed_flags(worst.fix.changes), worst.fix.text)
