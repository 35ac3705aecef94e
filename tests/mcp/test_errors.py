"""What cannot be answered is a tool error of one line; what lies outside the roots is not read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="needs perf-doctor[mcp]")

from mcp_sessions import EXAMPLE, OTHER, PROJECT, Answer, Call, Mode, answer, in_process, over_stdio

from mcp import ClientSession
from perf_doctor.cli.mcp import run
from perf_doctor.mcp.reading import Catalogs
from perf_doctor.mcp.roots import MAX_SCRIPTS, folder_of

TEXT = (PROJECT / EXAMPLE).read_text()
MODEL = (PROJECT / "examples/scripts/models/qwen3-4B.sh").read_text()
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a launch tree with a script, and beside it a folder that is none of its own."""
    root = tmp_path / "tree"
    for folder in ("scripts/models", "scripts/training"):
        (root / folder).mkdir(parents=True)
    (root / "scripts/models/qwen3-4B.sh").write_text(MODEL)
    (root / "scripts/training/run.sh").write_text(TEXT)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "run.sh").write_text(TEXT)
    return root


WRONG: dict[str, tuple[Call, str]] = {
    "no such tool": (("fix", {}), "no tool is called fix"),
    "no scripts": (("diagnose", {"scripts": []}), "scripts: "),
    "text for a list": (("diagnose", {"scripts": EXAMPLE}), "scripts: "),
    "too many": (("diagnose", {"scripts": [EXAMPLE] * (MAX_SCRIPTS + 1)}), "scripts: "),
    "not an argument": (("diagnose", {"scripts": [EXAMPLE], "gpu": "H20"}), "gpu belongs in job"),
    "nearly an argument": (("estimate", {"script": [EXAMPLE]}), "did you mean scripts?"),
    "not of a job": (
        ("diagnose", {"scripts": [EXAMPLE], "job": {"gpus": 8}}),
        "job.gpus: there is no such thing",
    ),
    "no number": (
        ("diagnose", {"scripts": [EXAMPLE], "job": {"prompt_len": 0}}),
        "job.prompt_len: ",
    ),
    "no name": (("diagnose", {"scripts": [EXAMPLE], "job": {"env": {"A B": "1"}}}), "job.env"),
    "no card": (("diagnose", {"scripts": [EXAMPLE], "job": {"gpu": "H2O"}}), "not a known card"),
    "full of two": (("diagnose", {"scripts": [EXAMPLE, OTHER], "detail": "full"}), "one script"),
    "full of a folder": (("diagnose", {"scripts": ["examples"], "detail": "full"}), "name one"),
    "missing": (("diagnose", {"scripts": ["none.sh"]}), "none.sh does not exist"),
    "no path": (("diagnose", {"scripts": [" "]}), "is no path"),
    "NUL": (("diagnose", {"scripts": ["a\0b"]}), "is no path"),
    "launches nothing": (
        ("diagnose", {"scripts": ["examples/scripts/models/qwen3-4B.sh"]}),
        "no launch found",
    ),
    "folder for a script": (("what_if", {"script": "examples"}), "is a folder"),
    "no change": (("what_if", {"script": EXAMPLE}), "nothing to change"),
    "no flag": (("what_if", {"script": EXAMPLE, "set": ["--colocat"]}), "did you mean"),
    "no rule": (("explain", {"rule": "R-M2", "script": EXAMPLE}), "no rule is called"),
    "no rule to show": (("rules", {"rule": "R-Q01"}), "no rule is called"),
    "no series": (("rules", {"series": "X"}), "series: "),
}


@pytest.fixture(scope="module")
def wrong() -> dict[str, Answer]:
    """Return what each wrong call gets."""
    answers = in_process(*(call for call, _ in WRONG.values()), folders=[PROJECT])
    return dict(zip(WRONG, answers, strict=True))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_an_error_of_one_line(name: str, wrong: dict[str, Answer]) -> None:
    told = wrong[name]
    assert told.failed
    assert WRONG[name][1] in told.text
    assert "\n" not in told.text
    assert len(told.text) < 700
    assert told.structured is None


def test_an_error_repeats_no_secret() -> None:
    secret = "hf_" + "aBcD" * 9
    calls: list[Call] = [
        ("diagnose", {"scripts": [EXAMPLE], "job": {"env": {"HF_TOKEN": secret, "B C": "1"}}}),
        ("diagnose", {"scripts": secret}),
        ("diagnose", {"scripts": [f"{secret}.sh"]}),
        ("what_if", {"script": EXAMPLE, "set": [f"--wandb-kee {secret}"]}),
    ]
    for told in in_process(*calls, folders=[PROJECT]):
        assert told.failed
        assert secret not in told.text


def test_a_defect_is_told_without_what_it_was_about(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("hunter2")

    monkeypatch.setattr("perf_doctor.mcp.tools.read_all", broken)
    [told] = in_process(("diagnose", {"scripts": [EXAMPLE]}), folders=[PROJECT])
    assert told.failed
    assert "ZeroDivisionError" in told.text
    assert "hunter2" not in told.text


def hostile_paths(tree: Path) -> list[str]:
    """Return paths that lead out of the tree, each in its own way."""
    outside = tree.parent / "outside"
    (tree / "link.sh").symlink_to(outside / "run.sh")
    (tree / "linked").symlink_to(outside)
    (tree / "loop.sh").symlink_to("loop.sh")
    return [
        str(outside / "run.sh"),
        "../outside/run.sh",
        f"{tree}/../outside/run.sh",
        f"{tree}-not/run.sh",
        "link.sh",
        "linked",
        "linked/run.sh",
        "loop.sh",
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/zero",
        f"{outside}/no-such-file.sh",
    ]


def argument_of(tool: str, path: str) -> dict[str, Any]:
    """Return arguments in which the path is what is to be read."""
    return {
        "diagnose": {"scripts": [path]},
        "estimate": {"scripts": [path]},
        "what_if": {"script": path, "set": ["--colocate"]},
        "compare": {"a": "scripts/training/run.sh", "b": path},
        "explain": {"rule": "R-M02", "script": path},
    }[tool]


@pytest.mark.parametrize("tool", ["diagnose", "estimate", "what_if", "compare", "explain"])
def test_no_tool_reads_outside_the_roots(tool: str, tree: Path) -> None:
    calls = [(tool, argument_of(tool, path)) for path in hostile_paths(tree)]
    answers = in_process(*calls, roots=[tree])
    for (_, arguments), told in zip(calls, answers, strict=True):
        assert told.failed, arguments
        assert "lies outside" in told.text or "does not exist" in told.text, told.text


def test_whether_a_file_outside_exists_is_not_told(tree: Path) -> None:
    outside = tree.parent / "outside"
    there, not_there = in_process(
        ("diagnose", {"scripts": [f"{outside}/run.sh"]}),
        ("diagnose", {"scripts": [f"{outside}/run_sh"]}),
        roots=[tree],
    )
    assert there.text.replace("run.sh", "run_sh") == not_there.text


def test_a_folder_of_model_files_must_lie_inside_too(tree: Path) -> None:
    job = {"model_config_dir": str(tree.parent / "outside")}
    [told] = in_process(
        ("diagnose", {"scripts": ["scripts/training/run.sh"], "job": job}), roots=[tree]
    )
    assert told.failed
    assert "lies outside" in told.text


def test_links_in_a_folder_are_passed_over(tree: Path) -> None:
    hostile_paths(tree)
    [told] = in_process(("diagnose", {"scripts": [str(tree)]}), roots=[tree])
    assert [Path(one["script"]).name for one in told.structured["reports"]] == ["run.sh"]


def test_what_a_script_sources_stays_inside_its_tree(tree: Path) -> None:
    leak = tree.parent / "outside/leak.sh"
    leak.write_text("LEAKED_ARGS=(--tb-project-name leaked-by-source)\n")
    script = tree / "scripts/training/run.sh"
    script.write_text(
        TEXT.replace("#!/bin/bash\n", f"#!/bin/bash\nsource {leak}\n").replace(
            "--colocate", '--colocate "${LEAKED_ARGS[@]}"'
        )
    )
    assert "source" in script.read_text().splitlines()[1]
    [told] = in_process(("diagnose", {"scripts": [str(script)], "detail": "full"}), roots=[tree])
    assert not told.failed, told.text
    assert "leaked-by-source" not in told.everything
    assert "not read" in told.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_relative_paths_are_looked_up_in_the_roots(mode: Mode, tree: Path) -> None:
    name = "scripts/training/run.sh"
    empty = tree.parent / "an empty folder"
    empty.mkdir()
    [told] = in_process(("diagnose", {"scripts": [name]}), roots=[empty, tree], mode=mode)
    [report] = told.structured["reports"]
    assert report["script"] == str(tree / name)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_roots_of_the_client_stand_for_the_working_folder(
    mode: Mode, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    call: Call = ("diagnose", {"scripts": [str(PROJECT / EXAMPLE)]})
    for roots, failed in ((None, False), ([], False), ([tree], True)):
        [told] = in_process(call, roots=roots, mode=mode)
        assert told.failed is failed


def test_a_root_of_the_command_counts_beside_those_of_the_client(tree: Path) -> None:
    call: Call = ("diagnose", {"scripts": [str(PROJECT / EXAMPLE)]})
    [told] = in_process(call, roots=[tree], folders=[PROJECT])
    assert not told.failed


def test_a_root_of_the_command_stands_for_the_working_folder(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    [told] = in_process(("diagnose", {"scripts": [EXAMPLE]}), folders=[tree])
    assert told.failed


def test_the_top_of_the_disk_is_no_root_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    [told] = in_process(("diagnose", {"scripts": [str(PROJECT / EXAMPLE)]}))
    assert told.failed
    assert "--root DIR" in told.text


def test_roots_that_are_no_folders_allow_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    roots = ["file://elsewhere/work", "file:///no/such/folder"]
    [told] = in_process(("diagnose", {"scripts": [EXAMPLE]}), roots=roots)
    assert told.failed


def test_a_client_that_does_not_tell_its_roots_gets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(PROJECT)
    [told] = in_process(("diagnose", {"scripts": [EXAMPLE]}), refuses=True)
    assert told.failed
    assert told.text == "the client has roots and did not tell them; nothing is read"


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///a/b%20c", "/a/b c"),
        ("file:///%E4%BD%A0", "/你"),
        ("file://localhost/a", "/a"),
        ("file://host/a", None),
        ("https://host/a", None),
        ("file:///a%00b", None),
        ("/a", None),
    ],
)
def test_folders_of_addresses(uri: str, folder: str | None) -> None:
    assert folder_of(uri) == folder


def test_roots_hold_over_stdio_as_well(tree: Path) -> None:
    async def talk(session: ClientSession) -> list[Answer]:
        return [
            answer(await session.call_tool("diagnose", {"scripts": [script]}))
            for script in ("scripts/training/run.sh", str(PROJECT / EXAMPLE))
        ]

    inside, outside = over_stdio(talk, roots=[tree])
    assert not inside.failed
    assert outside.failed
    with pytest.raises(ChildProcessError):  # the server has ended and nobody waits for it
        os.waitpid(-1, os.WNOHANG)


def test_rules_are_those_the_server_was_started_with() -> None:
    [told] = in_process(("rules", {}), catalogs=Catalogs(select=("R-M02",)))
    assert [one["id"] for one in told.structured["rules"]] == ["R-M02"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--root", "/no/such"], "is no folder"),
        (["--rules", "/no/such.md"], "does not exist"),
        (["--select", "R-Q"], "no rule is called"),
    ],
)
def test_a_server_that_cannot_start_says_why(words: list[str], said: str, capsys: Capture) -> None:
    assert run(words) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
