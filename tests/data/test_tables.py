"""The tables that ship: whole, sourced, and rebuilt by the tools as they stand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from perf_doctor.data import table

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_flags  # noqa: E402  a tool, not part of the package
import relax_options  # noqa: E402


def test_every_gpu_has_what_a_plan_needs() -> None:
    """A name, its memory, its node; an unpublished figure is null, never 0."""
    seen = set()
    for gpu in table("gpus")["gpus"]:
        assert (gpu["name"], gpu["memory_gb"]) not in seen
        seen.add((gpu["name"], gpu["memory_gb"]))
        assert gpu["accelerator"] in ("gpu", "npu", "klx")
        assert gpu["gpus_per_node"] in (4, 8, 16)
        assert gpu["usable_gib"] is None or gpu["usable_gib"] < gpu["memory_gb"]
        assert gpu["sources"]
        assert gpu["confidence"]
    assert ("H20", 96) in seen


def test_writing_the_registry_back_changes_nothing(tmp_path: Path) -> None:
    """What the tool loads it writes, byte for byte."""
    shipped, versions = build_flags.load(build_flags.DATA)
    build_flags.write(shipped, versions, tmp_path)
    for name in ("flags.json", "flag_sources.json"):
        assert (tmp_path / name).read_text() == (build_flags.DATA / name).read_text()


SOURCE = """
def add(parser):
    parser.add_argument("--max-staleness", type=int, default=3)
    parser.add_argument("--brand-new", "--newest", action="store_true", help="x")
    parser.add_argument("--twice", type=json.loads, default='{"a": 1}', dest="second")
    parser.add_argument("--on", action=argparse.BooleanOptionalAction, default=compute())
    parser.add_argument(name, default=1)
    reset_arg(parser, "--seed", type=int, default=99)
    os.system("touch /tmp/never")
"""


def test_a_checkout_is_read_and_never_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Added options, changed defaults, one line for each; nothing is imported."""
    file = tmp_path / relax_options.ARGUMENT_FILES[0]
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    out = tmp_path / "data"
    out.mkdir()
    for name in ("flags.json", "flag_sources.json"):
        (out / name).write_bytes((build_flags.DATA / name).read_bytes())
    assert build_flags.main(["--relax", str(tmp_path), "--data", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "--max-staleness: default 0 → 3" in printed
    assert "added --brand-new (switch" in printed
    assert "--seed: default 1234 → 99" in printed
    rows = json.loads((out / "flags.json").read_text())["options"]
    assert rows["--brand-new"] == ["switch", "relax", False, None, None, {"aliases": ["--newest"]}]
    assert rows["--twice"] == ["json", "relax", {"a": 1}, None, None, {"dest": "second"}]
    assert rows["--on"][5] == {"aliases": ["--no-on"], "off_flags": ["--no-on"]}
    assert rows["--max-staleness"] == ["int", "relax", 3]
