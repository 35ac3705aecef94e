"""Tables with a source for each row: launch options, GPUs, known model architectures."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any


@cache
def table(name: str) -> Any:
    """Return the parsed ``<name>.json`` of this folder; it is read once and never changed."""
    with open(f"{os.path.dirname(__file__)}/{name}.json", encoding="utf-8") as file:
        return json.load(file)
