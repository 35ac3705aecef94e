"""Compile the catalog of rules: ``make rules``, or ``python tools/compile_rules.py``.

Parses and checks ``references/rules.md`` and writes what comes out to ``data/rules.jsonl``, from
which the program starts faster. A broken rule is told as everywhere, and nothing is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

from perf_doctor.rules.built_in import BUILT_IN, COMPILED, NAME, compiled
from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.model import CatalogError
from perf_doctor.rules.rule import parse_catalog


def compiled_text() -> str:
    """Return the compiled form of the catalog as it stands.

    Raises:
        CatalogError: a rule is broken.
    """
    page = Path(BUILT_IN).read_bytes()
    return "".join(compiled(parse_catalog([(page.decode(), NAME)], vocabulary()), page))


def main() -> int:
    """Write the compiled form; return 2 when a rule is broken."""
    try:
        Path(COMPILED).write_text(compiled_text(), "utf-8")
    except CatalogError as broken:
        print(broken, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
