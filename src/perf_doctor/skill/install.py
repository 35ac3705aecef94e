"""Put the skill where an agent looks for it.

Only files that this program wrote and nobody has changed since are ever replaced. A small record
beside them holds what was written; whatever else stands in the folder belongs to somebody else,
and then nothing is touched at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from perf_doctor.frozen import frozen

Scope = Literal["project", "user"]
Action = Literal["write", "update", "remove", "keep", "refuse"]

NAME: Final = "perf-doctor"
RECORD: Final = ".installed.json"

# Where each agent looks for skills, from the project's root and from the home folder:
# https://agentskills.io and the documents of Claude Code, opencode and Codex.
FOLDERS: Final[Mapping[str, Mapping[Scope, str]]] = {
    "claude": {"project": ".claude/skills", "user": ".claude/skills"},
    "opencode": {"project": ".opencode/skills", "user": ".config/opencode/skills"},
    "codex": {"project": ".agents/skills", "user": ".agents/skills"},
}


@frozen
class Step:
    """What happens to one file; ``reason`` says why one is refused."""

    action: Action
    path: Path
    reason: str = ""


def skill_files() -> dict[str, bytes]:
    """Return the files of the skill by their path inside it, SKILL.md first."""
    root = Path(__file__).parent
    paths = [root / "SKILL.md", *sorted(root.glob("references/*.md"))]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def target(agent: str, scope: Scope, *, project: Path, home: Path) -> Path:
    """Return the folder in which an agent finds the skill."""
    return (project if scope == "project" else home) / FOLDERS[agent][scope] / NAME


def project_root(start: Path) -> Path:
    """Return the folder above ``start`` that git works in, ``start`` itself without one."""
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def install(files: Mapping[str, bytes], folder: Path, *, dry_run: bool = False) -> list[Step]:
    """Return what was done to every file so that ``folder`` holds exactly the skill.

    A second time everything is up to date. When one file is somebody else's, or was changed since
    it was written, no file is touched and only the refusals are returned. With ``dry_run``
    nothing is written.

    Raises:
        OSError: a file cannot be read or written.
    """
    steps = list(_steps(files, folder))
    refused = [step for step in steps if step.action == "refuse"]
    if refused or dry_run:
        return refused or steps
    changed = [step for step in steps if step.action != "keep"]
    for step in changed:
        if step.action == "remove":
            step.path.unlink()
        else:
            _write(step.path, files[step.path.relative_to(folder).as_posix()])
    if changed or not (folder / RECORD).exists():
        sums = {name: _sum(content) for name, content in files.items()}
        _write(folder / RECORD, (json.dumps(sums, indent=1) + "\n").encode())
    return steps


def _steps(files: Mapping[str, bytes], folder: Path) -> Iterator[Step]:
    for path in (folder, folder / "references", folder / RECORD):
        if path.is_symlink():
            yield Step("refuse", path, "it is a link")
            return
    written = _record(folder / RECORD)
    for name, content in files.items():
        yield _step(folder / name, content, written.get(name))
    for name in sorted(written.keys() - files.keys()):
        path = folder / name
        if path.is_file() and not path.is_symlink() and _sum(path.read_bytes()) == written[name]:
            yield Step("remove", path)


def _step(path: Path, content: bytes, written: str | None) -> Step:
    if path.is_symlink():
        return Step("refuse", path, "it is a link")
    if not path.exists():
        return Step("write", path)
    if not path.is_file():
        return Step("refuse", path, "it is no file")
    found = path.read_bytes()
    if found == content:
        return Step("keep", path)
    if written is None:
        return Step("refuse", path, "perf-doctor did not write it")
    if _sum(found) != written:
        return Step("refuse", path, "it was changed since perf-doctor wrote it")
    return Step("update", path)


def _record(path: Path) -> dict[str, str]:
    """Return the check sums of what was written, by path inside the skill; of ours alone."""
    try:
        sums = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(sums, dict):
        return {}
    return {name: str(total) for name, total in sums.items() if _is_ours(name)}


def _is_ours(name: str) -> bool:
    """Tell whether a name in a record is one this program could have written."""
    folder, _, file = name.rpartition("/")
    return folder in ("", "references") and file.endswith(".md") and not file.startswith(".")


def _sum(content: bytes) -> str:
    return sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Put ``content`` into ``path``; a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
