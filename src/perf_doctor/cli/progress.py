"""How far a long call is, on standard error, where somebody looks at it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

FEW: Final = 20
"""Scripts that are read within a second: nothing is shown for so many."""

T = TypeVar("T")


def followed(scripts: Sequence[T]) -> Iterable[T]:
    """Return the scripts, with a bar that shows how many are done while they are gone through."""
    if len(scripts) <= FEW or not sys.stderr.isatty():
        return scripts
    from rich.console import Console  # noqa: PLC0415 - only for a person who waits
    from rich.progress import track  # noqa: PLC0415

    return track(scripts, description="", console=Console(stderr=True), transient=True)
