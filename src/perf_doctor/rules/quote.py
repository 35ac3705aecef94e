"""Text of a script inside our own prose: quoted, short and inert.

The sentences of a finding are markdown. What comes from a script stands in them as a code span,
so that it can neither format the report, nor link, nor reach the terminal.
"""

from __future__ import annotations

from perf_doctor.inert import code, plain_or_code, shortened


class Prose(str):
    """Text that is markdown of our own already and is shown as it is."""

    __slots__ = ()


def quoted(text: str) -> str:
    """Return markdown that shows ``text``: a plain word as it is, anything else as code."""
    return text if isinstance(text, Prose) else plain_or_code(shortened(text))


def as_code(text: str) -> str:
    """Return a code span with ``text``, shortened in the middle, on one line, nothing hidden."""
    return code(shortened(text))
