"""How fast perf-doctor is: cold start against a bare interpreter, and scripts per second.

    python benchmarks/speed.py [--runs N] [FOLDER …]

Prints the median of N cold processes with and without perf-doctor, their ratio (the promise is
12), and the time per script when one process diagnoses 100 of them (the promise is 10 ms after
the first). FOLDERs hold the scripts; by default those of examples/.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter

from perf_doctor import diagnosis
from perf_doctor.diagnosis import Doctor
from perf_doctor.report.markdown import markdown_report
from perf_doctor.rules import job
from perf_doctor.shell.files import shell_files
from perf_doctor.shell.limits import ScriptError

ROOT = Path(__file__).parent.parent
SCRIPTS = 100
PROMISED_RATIO = 12
PROMISED_MS = 10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", default=[str(ROOT / "examples")])
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    scripts = [script for folder in arguments.folders for script in _launches(folder)]
    _cold_start(scripts[0], arguments.runs)
    _many(scripts)
    _shares(scripts)


def _launches(folder: str) -> list[str]:
    doctor = Doctor()
    found = []
    for path in shell_files(folder):
        try:
            doctor.diagnose(path)
        except ScriptError:
            continue
        found.append(path)
    return found


def _cold_start(script: str, runs: int) -> None:
    """Time both commands in turn, so that a slow moment of the machine hits both."""
    bare, cold = [], []
    for _ in range(runs + 1):
        bare.append(_seconds([sys.executable, "-c", "pass"]))
        cold.append(_seconds([sys.executable, "-m", "perf_doctor", script, "--fail-on", "never"]))
    bare_ms, cold_ms = (statistics.median(times[1:]) * 1000 for times in (bare, cold))
    ratios = [b / a for a, b in zip(bare[1:], cold[1:], strict=True)]
    print(f"cold start: {cold_ms:.0f} ms, bare interpreter {bare_ms:.0f} ms, "
          f"ratio {statistics.median(ratios):.1f} (promise {PROMISED_RATIO})")  # fmt: skip


def _seconds(command: list[str]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - start


def _many(scripts: list[str]) -> None:
    """Time the whole way, text of the report included, for each of 100 scripts in one process."""
    doctor = Doctor()
    times = []
    for script in islice(cycle(scripts), SCRIPTS):
        start = perf_counter()
        markdown_report(doctor.diagnose(script))
        times.append((perf_counter() - start) * 1000)
    first, rest = times[0], times[1:]
    print(f"{SCRIPTS} scripts in one process: first {first:.1f} ms, then median "
          f"{statistics.median(rest):.1f} ms, worst {max(rest):.1f} ms "
          f"(promise {PROMISED_MS} ms; {len(scripts)} different ones)")  # fmt: skip


def _shares(scripts: list[str]) -> None:
    """Print what a diagnosis spends its time on: reading, plans, estimates, rules."""
    doctor = Doctor()
    for script in scripts:
        doctor.diagnose(script)
    spent = {"reading": 0.0, "estimates": 0.0, "rules": 0.0}
    with (
        _timed(diagnosis, "read_script", spent, "reading"),
        _timed(job, "estimate_memory", spent, "estimates"),
        _timed(job, "estimate_time", spent, "estimates"),
        _timed(diagnosis, "judge", spent, "rules"),
    ):
        start = perf_counter()
        for script in scripts:
            doctor.diagnose(script)
        whole = perf_counter() - start
    spent["rules"] -= spent["estimates"]
    spent["rest"] = whole - sum(spent.values())
    shares = ", ".join(f"{name} {seconds / whole:.0%}" for name, seconds in spent.items())
    print(f"of a diagnosis: {shares} (rules with the plans of their experiments)")


@contextmanager
def _timed(module: object, name: str, spent: dict[str, float], part: str) -> Iterator[None]:
    """Add the seconds of a function to ``spent`` while the context lasts."""
    original = getattr(module, name)

    def measured(*args: object, **kwargs: object) -> object:
        start = perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            spent[part] += perf_counter() - start

    setattr(module, name, measured)
    try:
        yield
    finally:
        setattr(module, name, original)


if __name__ == "__main__":
    main()
