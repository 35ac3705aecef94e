"""Builds ``src/perf_doctor/data/gpus.json`` from a table of measured and published figures.

    python tools/build_gpus.py hardware.json

A row is one card in one memory size. ``name`` is what a person types, ``memory_gb`` the
nominal size (10^9 bytes), ``usable_gib`` what torch reports as total (2^30 bytes).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "src" / "perf_doctor" / "data" / "gpus.json"
# Name and other names of each row of the source. The first row of a name is its usual size.
NAMES: dict[str, tuple[str, list[str]]] = {
    "H20-96GB": ("H20", []),
    "H20-141GB (H20-3e)": ("H20", ["H20-3e"]),
    "H800-80GB": ("H800", []),
    "H100-SXM-80GB": ("H100", ["H100-SXM"]),
    "H200-141GB": ("H200", []),
    "A100-SXM-80GB": ("A100", ["A100-SXM"]),
    "A100-SXM-40GB": ("A100", ["A100-SXM"]),
    "A800-80GB": ("A800", []),
    "B200": ("B200", []),
    "B300": ("B300", []),
    "GB200": ("GB200", []),
    "L40S": ("L40S", []),
    "MI300X": ("MI300X", []),
    "Ascend-910B": ("Ascend-910B", ["910B"]),
    "Ascend-910C": ("Ascend-910C", ["910C", "NPU"]),
    "Kunlun-P800": ("P800", ["Kunlun-P800", "KLX"]),
}
# The software sees two devices on a 910C; a launch counts them, 16 on a node
# (docs of Relax: --num-gpus-per-node 16). Their figures are the card's, divided.
DEVICES_PER_CARD = {"Ascend-910C": 2}
PER_CARD = ("mem_nominal_gb", "mem_usable_gib", "hbm_tb_s", "bf16_dense_tflops",
            "nvlink_gb_s_per_dir", "net_gb_s_per_gpu", "pcie_gb_s_per_dir")  # fmt: skip
FIELDS = (
    "vendor", "arch", "hbm_tb_s", "bf16_dense_tflops", "fp8_dense_tflops", "fp32_tflops",
    "int8_tops", "nvlink_gb_s_per_dir", "nvlink_domain", "c2c_gb_s_per_dir",
    "net_gb_s_per_gpu", "pcie", "pcie_gb_s_per_dir", "gpus_per_node", "tdp_w", "effective",
    "effective_source", "sources", "confidence",
)  # fmt: skip
NOTES = ("mem_usable_source", "bf16_note", "nvlink_note", "net_note", "notes")


def row(key: str, source: dict[str, Any]) -> dict[str, Any]:
    """Return the shipped row of one card; a figure nobody published stays null."""
    name, aliases = NAMES[key]
    devices = DEVICES_PER_CARD.get(name, 1)
    if devices > 1:
        source = {k: v / devices if k in PER_CARD and v else v for k, v in source.items()}
        source["gpus_per_node"] = source["gpus_per_node"] * devices
        source["notes"] = f"one of the {devices} devices of a card: figures of the card halved"
    kind = {"Huawei": "npu", "Kunlunxin (Baidu)": "klx"}.get(source["vendor"], "gpu")
    return {
        "name": name,
        "memory_gb": source["mem_nominal_gb"],
        "aliases": aliases,
        "accelerator": kind,
        "usable_gib": source["mem_usable_gib"],
        **{field: source[field] for field in FIELDS if field in source},
        "notes": [source[note] for note in NOTES if note in source],
    }


def main(argv: list[str]) -> int:
    """Write the table and return the exit code."""
    facts = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    rows = [json.dumps(row(k, v), ensure_ascii=False) for k, v in facts["gpus"].items()]
    units = json.dumps(
        {"date": facts["meta"]["date"], "units": facts["meta"]["units"]}, ensure_ascii=False
    )[1:-1]
    OUT.write_text(f'{{{units},\n"gpus": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")
    print(f"{len(rows)} GPUs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
