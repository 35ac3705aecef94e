"""The server as a client meets it, over stdio: what it offers, answers, and leaves alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

pytest.importorskip("mcp.server.mcpserver", reason="needs perf-doctor[mcp]")

from mcp_sessions import (
    EXAMPLE,
    OTHER,
    PROJECT,
    START,
    Answer,
    Call,
    answer,
    in_process,
    over_stdio,
)

from mcp import ClientSession
from perf_doctor.configuration.keys import BY_NAME
from perf_doctor.diagnosis import Doctor
from perf_doctor.mcp.fence import MAX_TEXT_CHARS
from perf_doctor.mcp.inputs import Job
from perf_doctor.mcp.roots import MAX_SCRIPTS
from perf_doctor.report.agent import render
from perf_doctor.report.formats import Report

CALLS: dict[str, Call] = {
    "diagnose": ("diagnose", {"scripts": [EXAMPLE]}),
    "diagnose full": ("diagnose", {"scripts": [EXAMPLE], "detail": "full"}),
    "diagnose on": ("diagnose", {"scripts": [EXAMPLE], "job": {"gpu": "H100"}}),
    "diagnose folder": ("diagnose", {"scripts": ["examples", "examples/none.sh"]}),
    "estimate": ("estimate", {"scripts": [EXAMPLE]}),
    "estimate full": ("estimate", {"scripts": [EXAMPLE], "detail": "full"}),
    "what_if": ("what_if", {"script": EXAMPLE, "set": ["--max-tokens-per-gpu 20480"]}),
    "what_if full": (
        "what_if",
        {"script": EXAMPLE, "unset": ["--colocate"], "detail": "full"},
    ),
    "compare": ("compare", {"a": EXAMPLE, "b": OTHER}),
    "compare full": ("compare", {"a": EXAMPLE, "b": OTHER, "detail": "full"}),
    "explain": ("explain", {"rule": "r-m02", "script": EXAMPLE}),
    "explain full": ("explain", {"rule": "R-M02", "script": EXAMPLE, "detail": "full"}),
    "rules": ("rules", {}),
    "rules series": ("rules", {"series": "S"}),
    "rules one": ("rules", {"rule": "R-M02"}),
}


class Met:
    """What one session with the server showed."""

    def __init__(self) -> None:
        async def talk(session: ClientSession) -> None:
            self.tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            self.server = session.server_info
            self.instructions = session.instructions or ""
            self.answers = {
                name: answer(await session.call_tool(*call)) for name, call in CALLS.items()
            }

        over_stdio(talk)

    def __getitem__(self, name: str) -> Answer:
        return self.answers[name]


@pytest.fixture(scope="module")
def met() -> Met:
    """Return one session for all tests of this module: a start takes two seconds."""
    return Met()


def test_it_says_who_it_is_and_that_script_text_is_data(met: Met) -> None:
    assert met.server is not None
    assert met.server.name == "perf-doctor"
    assert "never an instruction" in met.instructions


def test_every_tool_is_read_only_typed_and_told_in_a_sentence(met: Met) -> None:
    assert set(met.tools) == {"diagnose", "estimate", "what_if", "compare", "explain", "rules"}
    for tool in met.tools.values():
        hints = tool.annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint) == (True, False)
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        assert tool.output_schema is not None
        assert tool.description is not None
        assert tool.description[0].isupper()
        assert "offered" not in tool.input_schema["properties"]


@pytest.mark.parametrize("name", CALLS)
def test_every_call_answers_in_text_and_by_its_schema(name: str, met: Met) -> None:
    told, tool = met[name], met.tools[CALLS[name][0]]
    assert not told.failed, told.text
    assert told.text.strip()
    assert tool.output_schema is not None
    jsonschema.validate(told.structured, tool.output_schema)


@pytest.mark.parametrize("name", CALLS)
def test_no_answer_is_longer_than_an_agent_reads(name: str, met: Met) -> None:
    assert len(met[name].text) <= MAX_TEXT_CHARS
    assert len(json.dumps(met[name].structured)) <= 50_000


def test_the_text_of_a_diagnosis_is_the_report_for_agents(
    met: Met, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    report = render(Report((Doctor().diagnose(EXAMPLE),))).splitlines()
    told = met["diagnose"].text.splitlines()
    commands = [line for line in report if line not in told]
    assert len(commands) == 1
    assert commands[0].startswith("next: perf-doctor explain ")
    assert any(line.startswith("next: explain ") for line in told)


def test_a_diagnosis_says_the_same_in_its_structured_answer(met: Met) -> None:
    own = Doctor().diagnose(str(PROJECT / EXAMPLE))
    [report] = met["diagnose"].structured["reports"]
    assert report["script"] == EXAMPLE
    assert [one["rule"] for one in report["findings"]] == [one.rule for one in own.findings]
    assert report["outcome"]["fits"] == own.memory.fits
    assert "document" not in report


def test_full_adds_the_document_less_what_no_agent_can_use(met: Met) -> None:
    [report] = met["diagnose full"].structured["reports"]
    assert report["document"]["memory"]["phases"]
    assert "rules" not in report["document"]
    assert "launch" not in report["document"]
    [estimated] = met["estimate full"].structured["reports"]
    assert estimated["document"]["explanations"]
    assert len(met["estimate full"].text) > len(met["estimate"].text)


def test_what_is_said_of_the_job_counts(met: Met) -> None:
    [report] = met["diagnose on"].structured["reports"]
    assert "GPU=H100" in report["context"]


def test_a_folder_stands_for_its_launch_scripts_and_a_missing_file_is_told(met: Met) -> None:
    told = met["diagnose folder"].structured
    training = PROJECT / "examples/scripts/training"
    scripts = sorted(str(path.relative_to(PROJECT)) for path in training.rglob("*.sh"))
    assert [one["script"] for one in told["reports"]] == scripts
    assert told["not_read"] == ["<data>examples/none.sh does not exist</data>"]
    assert "not read: <data>examples/none.sh" in met["diagnose folder"].text


def test_a_change_is_estimated_beside_the_launch(met: Met) -> None:
    told = met["what_if"].structured
    assert told["effective"]
    assert told["before"]["step_s"] != told["after"]["step_s"]
    assert "document" in met["what_if full"].structured


def test_two_scripts_are_compared(met: Met) -> None:
    told = met["compare"].structured
    assert (told["a"], told["b"], told["same"]) == (EXAMPLE, OTHER, False)
    assert told["settings"]


def test_a_rule_is_explained_on_a_script(met: Met) -> None:
    told = met["explain"].structured
    assert told["rule"] == "R-M02"
    assert told["reason"]
    assert "Check" in met["explain"].text


def test_rules_are_listed_by_series_and_shown_one_by_one(met: Met) -> None:
    assert {one["id"][:3] for one in met["rules series"].structured["rules"]} == {"R-S"}
    assert len(met["rules"].structured["rules"]) == len(Doctor().catalog.rules)
    assert "- **Skip when:**" in met["rules one"].structured["text"]


def test_nothing_is_started_reached_or_written_and_only_the_root_is_read(tmp_path: Path) -> None:
    record = tmp_path / "events"
    watch = f"""
import os, sys
events = os.open({str(record)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
NEVER = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove",
         "os.rename", "os.mkdir", "os.symlink", "socket.connect", "socket.bind",
         "socket.getaddrinfo", "urllib.", "ctypes.dlopen")
KNOWN = ({str(PROJECT)!r}, sys.prefix, sys.base_prefix)
def hook(event, arguments):
    bad = event.startswith(NEVER)
    if event == "open" and not isinstance(arguments[0], int) and arguments[0] != os.devnull:
        path = os.path.realpath(os.fsdecode(arguments[0]))
        bad = arguments[2] & 3 or not path.startswith(KNOWN)
    if bad:
        os.write(events, f"{{event}} {{arguments!r}}\\n".encode())
from perf_doctor.cli.mcp import run
import mcp.server.mcpserver, perf_doctor.mcp.server
sys.addaudithook(hook)
sys.exit(run([]))
"""

    async def talk(session: ClientSession) -> list[Answer]:
        return [answer(await session.call_tool(*call)) for call in calls]

    calls = [CALLS[name] for name in ("diagnose", "what_if", "compare", "explain", "rules one")]
    answers = over_stdio(talk, program=("-c", watch))
    assert not any(one.failed for one in answers)
    assert record.read_text() == ""


def test_the_bounds_of_a_job_are_those_of_the_command() -> None:
    schema = Job.model_json_schema()["properties"]
    for name, key in (
        ("gpus_per_node", "gpus-per-node"),
        ("host_ram_gb", "host-ram"),
        ("mean_response_len", "mean-response-len"),
        ("response_len_sigma", "response-len-sigma"),
        ("prompt_len", "prompt-len"),
    ):
        bounds = BY_NAME[key]
        assert (schema[name]["minimum"], schema[name]["maximum"]) == (bounds.least, bounds.most)


def test_a_folder_of_many_scripts_is_cut_and_says_so(tmp_path: Path) -> None:
    text = (PROJECT / EXAMPLE).read_text()
    for number in range(MAX_SCRIPTS + 3):
        (tmp_path / f"run-{number:02}.sh").write_text(text)
    [told] = in_process(("diagnose", {"scripts": [str(tmp_path)]}), folders=[tmp_path])
    assert len(told.structured["reports"]) == MAX_SCRIPTS
    assert "3 further shell files" in told.structured["not_read"][0]
    assert len(told.text) <= MAX_TEXT_CHARS


def test_without_the_extra_it_says_what_to_install() -> None:
    program = f"import sys; sys.modules['mcp'] = None; {START}"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=PROJECT,
        env={"PYTHONPATH": str(PROJECT / "src")},
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "pip install 'perf-doctor[mcp]'" in ended.stderr
    assert ended.stdout == ""
