"""Generated shell against real bash: words, assignments, arithmetic, conditions, programs.

Many pieces run in one bash (``bash_oracle.bash_words``). Where the reader claims to know every word
it must be the word that bash passes; an honest unknown is allowed, but not often.
"""

from __future__ import annotations

import pytest
from generated import ALL, NAMES
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reading import agrees, is_certain, is_understood, launches, read

from bash_oracle import bash_words

PIECES = 40
BATCHES = 6
CERTAIN = {"words": 0.85, "assignments": 0.85, "arithmetic": 0.85, "conditions": 0.85,
           "printing": 0.7, "programs": 0.9}  # fmt: skip


@pytest.mark.parametrize("kind", ALL)
def test_reads_what_bash_passes(kind: str) -> None:
    """What the reader knows about a generated piece of shell is what bash does with it."""
    certain: list[bool] = []
    wrong: list[str] = []

    @settings(
        max_examples=BATCHES,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(ALL[kind], min_size=PIECES, max_size=PIECES))
    def compare(pieces: list[str]) -> None:
        for piece, truth in zip(pieces, bash_words(pieces), strict=True):
            script = read(piece)
            certain.append(is_certain(script) and is_understood(script))
            if is_understood(script) and not agrees(script, truth):
                shown = piece.replace(NAMES, "")
                wrong.append(f"{shown}\nbash: {truth}\nread: {launches(script)}\n")

    compare()
    assert not wrong, "\n".join(sorted(wrong, key=len)[:3])
    assert sum(certain) >= CERTAIN[kind] * len(certain)
