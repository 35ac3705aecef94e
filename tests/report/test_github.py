"""Annotations: what GitHub decodes is the text, and no script can write one of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.inert import inert
from perf_doctor.report.formats import Report, rendered

PROJECT = Path(__file__).parent.parent.parent
EXAMPLE = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
LAUNCH = "ray job submit -- python3 -m relax.entrypoints.train"
SECRET = "p%ss,w:rd-9876zz"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def diagnosed(path: Path, text: str) -> Diagnosis:
    path.write_text(text)
    return Doctor().diagnose(str(path))


def decoded(*diagnoses: Diagnosis) -> list[tuple[str, dict[str, str], str]]:
    """Return level, properties and message of each line, as GitHub's runner reads them."""
    return [_command(line) for line in rendered("github", Report(diagnoses)).splitlines()]


def _command(line: str) -> tuple[str, dict[str, str], str]:
    head, _, message = line.removeprefix("::").partition("::")
    level, _, properties = head.partition(" ")
    pairs = (pair.partition("=") for pair in properties.split(","))
    return level, {name: _unescaped(text) for name, _, text in pairs}, _unescaped(message)


def _unescaped(text: str) -> str:
    plain = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    return re.sub("%(?:0D|0A|3A|2C|25)", lambda found: plain[found.group()], text)


def test_what_is_decoded_is_what_the_finding_says() -> None:
    diagnosis = Doctor().diagnose(EXAMPLE)
    told = decoded(diagnosis)
    assert told
    level = {"critical": "error", "warn": "warning", "info": "notice"}
    for (kind, properties, message), found in zip(told, diagnosis.findings, strict=True):
        assert kind == level[found.severity]
        assert properties["title"] == f"{found.rule} — {found.title}"
        assert message.startswith(inert(found.cost.text))
        assert message.endswith(inert(found.fix.text))
        if found.setting:
            row = found.setting[0]
            place = (properties["file"], properties["line"], properties["col"])
            assert place == (row.file, str(row.line), str(row.column))
        else:
            assert properties["file"] == EXAMPLE


@pytest.mark.parametrize("name", ["a,line=9::b.sh", "100%0A::error::x.sh", "n\n::error::x\r.sh"])
def test_a_file_name_stays_one_property(name: str, tmp_path: Path) -> None:
    diagnosis = diagnosed(tmp_path / name, f"{LAUNCH} --colocate --no-such-flag 1\n")
    told = decoded(diagnosis)
    assert len(told) == len(diagnosis.findings) > 0
    for _, properties, _ in told:
        assert properties["file"] == inert(str(tmp_path / name))
        assert properties.get("line") in (None, "1")
        assert "\n" not in "".join(properties.values())


def test_a_flag_of_the_script_cannot_begin_a_second_annotation(tmp_path: Path) -> None:
    flag = "$'--no\\n::error::forged %0A::error::forged\\x1b[31m`<script>'"
    diagnosis = diagnosed(tmp_path / "x.sh", f"{LAUNCH} --colocate {flag} 1\n")
    lines = rendered("github", Report((diagnosis,))).split("\n")
    assert len(lines) == len(diagnosis.findings) + 1
    assert any("forged" in line for line in lines)
    assert not any(re.match("::error::", line) or "%0A" in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_secret_with_escaped_characters_is_masked(tmp_path: Path) -> None:
    text = f"{LAUNCH} --colocate --wandb-key '{SECRET}' '--no-such-{SECRET}' 1\n"
    for name in ("x.sh", f"{SECRET}.sh"):
        shown = rendered("github", Report((diagnosed(tmp_path / name, text),)))
        assert "REDACTED" in shown
        assert "9876zz" not in shown
