"""Bundle the measured runs that ``perf-doctor validate`` is judged on.

Usage: python tools/build_measurements.py MEASURED_TRAINING_JSON MEASURED_ROLLOUT_JSON

Writes src/perf_doctor/data/measured_memory.json, the runs that say something about memory,
measured_time.json, training steps with their seconds, measured_decode.json, how fast engines
generate, and measured_rl.json, phases of RL steps; with their source, and nothing that is null or
empty. Runs of one layout that differ in nothing but the number of micro-batches stay: each was
measured.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from perf_doctor.validation.decode import (
    decode_point,
    is_about_decode,
    known_name,
    plain_point,
)
from perf_doctor.validation.memory import is_about_memory
from perf_doctor.validation.rl_phases import RL_KINDS
from perf_doctor.validation.step import STEP_KINDS, step_of

DATA = Path(__file__).parents[1] / "src/perf_doctor/data"
TARGET = DATA / "measured_memory.json"
STEPS = DATA / "measured_time.json"
SPEEDS = DATA / "measured_decode.json"
RL = DATA / "measured_rl.json"
# What the sources of RL steps say beside their tables, and Relax's own steps in the same form.
STATED = Path(__file__).parent / "rl_stated.json"
META = {
    "date": "2026-12",  # when the sources were read last
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
        if point.get("kind") in STEP_KINDS and not isinstance(step_of(point), str)
    ]
    return {"meta": META, "points": sorted(points, key=lambda point: str(point["id"]))}


def bundle_speeds(measured: dict[str, Any], rollout: dict[str, Any]) -> dict[str, Any]:
    """Return the decode speeds that the estimate covers, in the order of their ids.

    A speed that two tables print is kept once, sizes of a known model are left out.
    """
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for point in (*measured["points"], *rollout["points"]):
        served = decode_point(point) if is_about_decode(point) else "says nothing of it"
        if isinstance(served, str):
            continue
        plain = plain_point(point)
        known = known_name(str(plain["model"])) is not None
        left_out = ("dims", "notes") if known else ("notes",)
        kept = {
            key: value for key, value in plain.items() if key not in left_out or _says(key, value)
        }
        kept["extra"] = {key: value for key, value in kept["extra"].items() if value is not None}
        key = (served.serving, round(served.tokens_s, 1))
        found.setdefault(key, {k: v for k, v in kept.items() if v not in (None, {}, [])})
    return {"meta": META, "points": sorted(found.values(), key=lambda point: str(point["id"]))}


def _says(key: str, value: object) -> bool:
    """Tell whether notes say how requests arrive."""
    return key == "notes" and "request rate" in str(value)


def bundle_rl(
    measured: dict[str, Any], rollout: dict[str, Any], stated: dict[str, Any]
) -> dict[str, Any]:
    """Return RL steps and weight updates, with what their sources' scripts say, by id."""
    own = {str(point["id"]): point for point in rollout["points"]}
    dims = {str(one["model"]): one["dims"] for one in measured["points"] if one.get("dims")}
    dims.update(stated["dims"])
    runs = [
        {
            "kind": "rl_phase_time",
            "source": {"repo": own[run["id"]]["framework"], "path": own[run["id"]]["source"]},
            "tier": own[run["id"]]["grade"],
            "dtype": "bf16",
            **run,
        }
        for run in stated["runs"]
    ]
    points = [point for point in measured["points"] if point.get("kind") in RL_KINDS] + runs
    found = [compact_rl({"dims": dims.get(one["model"]), **one}, stated["added"]) for one in points]
    return {"meta": META, "points": sorted(found, key=lambda point: str(point["id"]))}


def compact_rl(point: dict[str, Any], added: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an RL step with what is stated elsewhere, and nothing that is null or empty.

    What is stated of a family of runs does not overrule a run's own row; of one run it does.
    """
    name, whole = str(point["id"]), dict(point)
    own = {key: value for key, value in (point.get("extra") or {}).items() if value is not None}
    general: dict[str, Any] = {}
    exact: dict[str, Any] = {}
    for one in added:
        if name == one["ids"] or (name.startswith(one["ids"]) and not one.get("exact")):
            whole.update(one.get("set", {}))
            (exact if one.get("exact") else general).update(one["extra"])
    whole["extra"] = {**general, **own, **exact}
    whole.pop("notes", None)
    kept = {
        key: {k: v for k, v in value.items() if v not in (None, {}, [])}
        if isinstance(value, dict)
        else value
        for key, value in whole.items()
    }
    return {key: value for key, value in kept.items() if value not in (None, {}, [])}


def write(table: dict[str, Any], target: Path) -> None:
    """Write a table, one run per line."""
    rows = ",\n".join(json.dumps(point, ensure_ascii=False) for point in table["points"])
    meta = json.dumps(table["meta"], ensure_ascii=False)
    target.write_text(f'{{"meta": {meta},\n"points": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{len(table['points'])} runs in {target.name}")


def main() -> int:
    """Write the tables."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    measured, rollout = (json.loads(Path(one).read_text(encoding="utf-8")) for one in sys.argv[1:])
    write(bundle(measured), TARGET)
    write(bundle_steps(measured), STEPS)
    write(bundle_speeds(measured, rollout), SPEEDS)
    stated = json.loads(STATED.read_text(encoding="utf-8"))
    write(bundle_rl(measured, rollout, stated), RL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
