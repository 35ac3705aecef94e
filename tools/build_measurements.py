"""Bundle the measured runs that ``perf-doctor validate`` is judged on.

Usage: python tools/build_measurements.py MEASURED_TRAINING_JSON

Writes src/perf_doctor/data/measured_memory.json, the runs that say something about memory, and
measured_time.json, training steps with their seconds; with their source, and nothing that is null
or empty. Runs of one layout that differ in nothing but the
number of micro-batches stay: each was measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from perf_doctor.estimate.time_points import STEP_KINDS, Skipped, step_of
from perf_doctor.estimate.validate import is_about_memory

DATA = Path(__file__).parents[1] / "src/perf_doctor/data"
TARGET = DATA / "measured_memory.json"
STEPS = DATA / "measured_time.json"
META = {
    "units": "GB = 1e9 bytes, GiB = 2^30 bytes; peak_mem is torch's max_memory_allocated unless"
    " the notes say otherwise, nvidia_smi the device's; tp, pp, … as in the launch",
    "tiers": {
        "A": "full layout and a well-defined metric",
        "B": "a knob or the definition of the metric is missing",
        "C": "an anecdote",
    },
}


def bundle(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the bundled table: runs about memory in the order of their ids."""
    points = [compact(point) for point in measured["points"] if is_about_memory(point)]
    return {"meta": META, "points": sorted(points, key=lambda point: str(point["id"]))}


def compact(point: dict[str, Any]) -> dict[str, Any]:
    """Return a run without what is not known; steps and speeds belong to another table."""
    measured = {
        key: value
        for key, value in point["measured"].items()
        if "mem" in key or "gib" in key or "device" in key or key in ("oom", "fits")
    }
    known = {key: value for key, value in point.items() if value not in (None, {}, [])}
    return {**known, "measured": measured}


def bundle_steps(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the training steps that the time estimate covers, in the order of their ids."""
    points = [
        {key: value for key, value in point.items() if value not in (None, {}, [])}
        for point in measured["points"]
        if point.get("kind") in STEP_KINDS and not isinstance(step_of(point), Skipped)
    ]
    return {"meta": META, "points": sorted(points, key=lambda point: str(point["id"]))}


def write(table: dict[str, Any], target: Path) -> None:
    """Write a table, one run per line."""
    rows = ",\n".join(json.dumps(point, ensure_ascii=False) for point in table["points"])
    meta = json.dumps(table["meta"], ensure_ascii=False)
    target.write_text(f'{{"meta": {meta},\n"points": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{len(table['points'])} runs in {target.name}")


def main() -> int:
    """Write the tables."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    write(bundle(measured), TARGET)
    write(bundle_steps(measured), STEPS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
