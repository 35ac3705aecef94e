"""Diagnose every launch of a checkout and write one table: script, then rules by severity.

    python tools/ecosystem.py CHECKOUT [--gpu GPU] [-o FILE]

The table holds ids alone, one line for each launch, so that a change of a rule shows in review
which real scripts it touches. Nothing of the checkout is executed or copied.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from perf_doctor.diagnosis import Diagnosis, Doctor, NoLaunchError, Options
from perf_doctor.rules.severity import WORST_FIRST
from perf_doctor.shell.limits import ScriptError

FOLDERS = ("scripts/training", "examples")


def main() -> int:
    """Write the table, and tell on stderr how many findings a script has."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--gpu")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    rows = list(table(arguments.checkout, arguments.gpu))
    if not rows:
        sys.stderr.write(f"{arguments.checkout} holds no launch script\n")
        return 2
    text = "".join(f"{row}\n" for row in rows)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        arguments.output.write_text(text, "utf-8")
    loud = [row.count(":critical") + row.count(":warn") for row in rows]
    rules = Counter(word for row in rows for word in row.split("\t")[1].split())
    sys.stderr.write(
        f"{len(rows)} launches, {sum(loud) / len(rows):.2f} findings at warn or above each,"
        f" at most {max(loud)}\n"
    )
    for rule, count in sorted(rules.items()):
        sys.stderr.write(f"  {count:4} {rule}\n")
    return 0


def table(checkout: Path, gpu: str | None = None) -> Iterator[str]:
    """Yield a line for each launch: its script (and branch), a tab, rules with severities."""
    doctor = Doctor(Options(gpu=gpu))
    for folder in FOLDERS:
        for path in sorted((checkout / folder).rglob("*.sh")):
            try:
                diagnosis = doctor.diagnose(str(path))
            except (NoLaunchError, ScriptError):
                continue
            name = path.relative_to(checkout).as_posix()
            yield _row(name, diagnosis)
            for variant in diagnosis.variants:
                yield _row(f"{name} [{variant.condition}]", variant)


def _row(name: str, diagnosis: Diagnosis) -> str:
    found = sorted((WORST_FIRST.index(f.severity), f.rule) for f in diagnosis.findings)
    return f"{name}\t{' '.join(f'{rule}:{WORST_FIRST[at]}' for at, rule in found)}"


if __name__ == "__main__":
    raise SystemExit(main())
