"""Sequence lengths in tokens."""

from __future__ import annotations

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.reading import whole


@frozen
class Lengths:
    """Limits in tokens as the script gives them; None when it gives none or it is not known.

    ``prompt`` is filled in by the framework as context − 1 when only the context is given
    (relax/utils/arguments.py:2999). ``seq_length`` is a placeholder in RL: sequences are packed
    and have the lengths they have.
    """

    response: int | None
    prompt: int | None
    context: int | None
    seq_length: int | None
    eval_response: int | None


def read_lengths(settings: Settings) -> Lengths:
    """Return the limits."""
    context = whole(settings, "--rollout-max-context-len")
    prompt = whole(settings, "--rollout-max-prompt-len")
    if prompt is None and context is not None and not settings.given("--rollout-max-prompt-len"):
        prompt = context - 1
    return Lengths(
        response=whole(settings, "--rollout-max-response-len"),
        prompt=prompt,
        context=context,
        seq_length=whole(settings, "--seq-length"),
        eval_response=whole(settings, "--eval-max-response-len"),
    )
