"""Tables with a source for each row: launch options, GPUs, known model architectures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def table(name: str) -> Any:
    """Return the parsed ``<name>.json`` of this folder; it is read once and never changed."""
    text = Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)  # bytes would be searched for their encoding first
