"""What is told on the side: how the script was read, and its other launches."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.memory import verdict_line
from perf_doctor.estimate.time_text import step_line
from perf_doctor.inert import inert
from perf_doctor.language import said


def notes(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the verdicts on memory and on time, then one line for each note, safe to print."""
    yield inert(verdict_line(diagnosis.memory))
    yield inert(step_line(diagnosis.time))
    yield from reading_notes(diagnosis)


def reading_notes(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield one line for each note on how the script was read, safe to print."""
    for note in diagnosis.notes:
        yield inert(diagnosis.redactor.redact(str(note)))
    for variant in diagnosis.variants:
        yield inert(diagnosis.redactor.redact(_other_launch(variant)))


def _other_launch(variant: Diagnosis) -> str:
    """Return a sentence on another launch of the script, with how to see it."""
    condition = variant.condition or ""
    critical = variant.count("critical")
    found = said("{n} critical", n=critical) if critical else said("nothing critical")
    told = said(
        "the script holds another launch ({condition}): {found}", condition=condition, found=found
    )
    way = variant.way or ""
    name, equals, value = way.partition("=")
    if equals and name == "$1":
        return said("{launch}; see it with --arg {value}", launch=told, value=value)
    if equals and name.isidentifier():
        return said("{launch}; see it with --env {value}", launch=told, value=way)
    return told
