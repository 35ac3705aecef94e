"""Bundle the measured runs that ``perf-doctor validate`` is judged on.

Usage: python tools/build_measurements.py MEASURED_TRAINING_JSON

Writes src/perf_doctor/data/measured_memory.json: the runs that say something about memory, with
their source, and nothing that is null or empty. Runs of one layout that differ in nothing but the
number of micro-batches stay: each was measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from perf_doctor.estimate.validate import is_about_memory

TARGET = Path(__file__).parents[1] / "src/perf_doctor/data/measured_memory.json"
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


def main() -> int:
    """Write the table."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    table = bundle(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    rows = ",\n".join(json.dumps(point, ensure_ascii=False) for point in table["points"])
    meta = json.dumps(table["meta"], ensure_ascii=False)
    TARGET.write_text(f'{{"meta": {meta},\n"points": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{len(table['points'])} runs in {TARGET.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
