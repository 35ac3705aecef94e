"""How much a finding matters: the one list, which costs nothing to import."""

from __future__ import annotations

from typing import Final

SEVERITIES: Final = ("info", "warn", "critical")
"""From the least to the worst."""
WORST_FIRST: Final = SEVERITIES[::-1]
