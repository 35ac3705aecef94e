"""Installing the skill: where it goes, a second time, and what is never overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf_doctor.cli.skill import run
from perf_doctor.skill.install import FOLDERS, RECORD, install, project_root, skill_files, target

FILES = {"SKILL.md": b"one", "references/rules.md": b"two"}
PLACES = [
    ("claude", "project", "work/.claude/skills/perf-doctor"),
    ("claude", "user", "home/.claude/skills/perf-doctor"),
    ("opencode", "project", "work/.opencode/skills/perf-doctor"),
    ("opencode", "user", "home/.config/opencode/skills/perf-doctor"),
    ("codex", "project", "work/.agents/skills/perf-doctor"),
    ("codex", "user", "home/.agents/skills/perf-doctor"),
]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with git, started from one of its folders, and a home folder."""
    (tmp_path / "work/.git").mkdir(parents=True)
    (tmp_path / "work/deep/inside").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "work/deep/inside")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def command(*words: str) -> int:
    return run(["install", *words])


def written(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def actions(folder: Path, files: dict[str, bytes] = FILES, *, dry_run: bool = False) -> list[str]:
    return [step.action for step in install(files, folder, dry_run=dry_run)]


def test_the_skill_is_its_page_and_its_references() -> None:
    names = list(skill_files())
    assert names[0] == "SKILL.md"
    assert set(names) == {
        "SKILL.md",
        "references/baselines.md",
        "references/rules.md",
        "references/rules.zh.md",
        "references/writing-rules.md",
    }


@pytest.mark.parametrize(("agent", "scope", "where"), PLACES)
def test_each_agent_finds_it_where_it_looks(
    agent: str, scope: str, where: str, places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--agent", agent, "--scope", scope) == 0
    folder = places / where
    assert written(folder) == {*skill_files(), RECORD}
    for name, content in skill_files().items():
        assert (folder / name).read_bytes() == content
    assert written(places) == {f"{where}/{name}" for name in written(folder)}
    said = capsys.readouterr().out.splitlines()
    assert said == [f"wrote {folder / name}" for name in skill_files()]


@pytest.mark.parametrize("scope", ["project", "user"])
def test_all_is_every_agent_and_the_default(scope: str, places: Path) -> None:
    assert command("--scope", scope) == 0
    for agent, at, where in PLACES:
        assert (places / where / "SKILL.md").exists() is (at == scope), agent


def test_dry_run_says_what_would_happen_and_writes_nothing(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--dry-run") == 0
    assert written(places) == set()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(FOLDERS) * len(skill_files())
    assert all(line.startswith("would write ") for line in said)


def test_the_project_is_the_folder_that_git_works_in(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/.git").write_text("gitdir: elsewhere\n")
    assert project_root(tmp_path / "a/b") == tmp_path.resolve() / "a"
    folder = target("claude", "project", project=tmp_path, home=tmp_path)
    assert folder == tmp_path / ".claude/skills/perf-doctor"


def test_a_second_time_everything_is_up_to_date(tmp_path: Path) -> None:
    assert actions(tmp_path / "s") == ["write", "write"]
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")}
    assert actions(tmp_path / "s") == ["keep", "keep"]
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")} == before


def test_a_newer_version_replaces_what_the_older_one_wrote(tmp_path: Path) -> None:
    actions(tmp_path / "s")
    assert actions(tmp_path / "s", {"SKILL.md": b"new"}) == ["update", "remove"]
    assert written(tmp_path / "s") == {"SKILL.md", RECORD}
    assert (tmp_path / "s/SKILL.md").read_bytes() == b"new"


def test_equal_files_of_somebody_else_are_simply_up_to_date(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert actions(tmp_path) == ["keep", "keep"]
    assert actions(tmp_path, {**FILES, "SKILL.md": b"new"}) == ["update", "keep"]


def test_a_foreign_file_is_left_alone_and_so_is_everything_else(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    (folder / "references").mkdir(parents=True)
    (folder / "references/rules.md").write_text("mine")
    (step,) = install(FILES, folder)
    assert (step.action, step.reason) == ("refuse", "perf-doctor did not write it")
    assert written(folder) == {"references/rules.md"}
    assert (folder / "references/rules.md").read_text() == "mine"


def test_a_file_that_was_changed_is_left_alone(tmp_path: Path) -> None:
    actions(tmp_path)
    (tmp_path / "SKILL.md").write_text("mine now")
    (step,) = install({"SKILL.md": b"new"}, tmp_path)
    assert step.reason == "it was changed since perf-doctor wrote it"
    assert written(tmp_path) == {*FILES, RECORD}


def test_a_file_that_is_no_longer_part_of_it_and_was_changed_stays(tmp_path: Path) -> None:
    actions(tmp_path)
    (tmp_path / "references/rules.md").write_text("mine now")
    assert actions(tmp_path, {"SKILL.md": b"one"}) == ["keep"]
    assert (tmp_path / "references/rules.md").exists()


@pytest.mark.parametrize("linked", ["", "references", "SKILL.md", RECORD])
def test_nothing_is_written_through_a_link(linked: str, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "s", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if linked:
        folder.mkdir()
    (folder / linked).symlink_to(elsewhere)
    (step,) = install(FILES, folder)
    assert (step.action, step.reason) == ("refuse", "it is a link")
    assert written(elsewhere) == set()


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"[]",
        b"\xff",
        json.dumps({"../victim.md": "x", "/etc/hosts": "x", "references/../../victim.md": "x"}),
    ],
)
def test_a_record_that_was_tampered_with_leads_nowhere(record: bytes | str, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (tmp_path / "victim.md").write_text("x")
    (folder / RECORD).write_bytes(record if isinstance(record, bytes) else record.encode())
    assert actions(folder) == ["write", "write"]
    assert (tmp_path / "victim.md").exists()


def test_a_refusal_is_exit_code_2_and_says_what_to_do(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = places / "work/.claude/skills/perf-doctor/SKILL.md"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine")
    assert command() == 2
    said = capsys.readouterr()
    assert f"{foreign}: perf-doctor did not write it; nothing is written for claude" in said.err
    assert foreign.read_text() == "mine"
    assert (places / "work/.agents/skills/perf-doctor/SKILL.md").exists()


def test_a_folder_that_cannot_be_written_is_exit_code_2(
    places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (places / "work/.claude").write_text("a file, no folder")
    assert command("--agent", "claude") == 2
    assert capsys.readouterr().err.startswith("perf-doctor: claude: ")
