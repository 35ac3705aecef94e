"""Text for formats that are no markdown: without a secret, and on one line."""

from __future__ import annotations

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.inert import inert


def plain(diagnosis: Diagnosis, text: str) -> str:
    """Return text as it may be shown, to be escaped as the format wants it and not before.

    A secret that is escaped or cut already would not be known again.
    """
    return inert(diagnosis.redactor.redact(text))
