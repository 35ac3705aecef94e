"""Makes what is answered safe to read: inert, without a secret, marked as data, and bounded."""

from __future__ import annotations

from typing import Final

from perf_doctor.inert import inert, shortened
from perf_doctor.report.fence import unmarked

MAX_TEXT_CHARS: Final = 24_000
"""What agents take in one piece: beyond some thirty thousand characters they lose the middle."""
MAX_STRING_CHARS: Final = 1_000


def data_block(text: str) -> str:
    """Return a report of several lines, which quotes a script, between the same marks.

    The report is inert as it is made: its line ends are ours.
    """
    return f"<data>\n{unmarked(text.strip())}\n</data>\n"


def harmless(value: object) -> object:
    """Return what JSON is made of with every text in it on one line, visible and bounded."""
    if isinstance(value, str):
        return shortened(inert(value), MAX_STRING_CHARS)
    if isinstance(value, dict):
        return {shortened(inert(str(key))): harmless(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [harmless(inner) for inner in value]
    return value if isinstance(value, (bool, int, float)) or value is None else inert(str(value))


def bounded(text: str) -> str:
    """Return a text that is not longer than an agent reads, cut at a line and said so."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    kept = text[:MAX_TEXT_CHARS].rpartition("\n")[0]
    closing = "</data>\n" if kept.count("<data>") > kept.count("</data>") else ""
    return f"{kept}\n{closing}… cut here: ask for fewer scripts, or for brief answers\n"
