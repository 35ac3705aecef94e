"""The shell text of CI recipes, run as a server runs it, with a stub for what it installs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TEXT = "scripts/training/text"

_PYTHON = """\
#!/bin/bash
# Stands for the Python of a CI job: notes what it is asked, and "installs" the program under test.
printf '%s\\n' "$@" >> "$STUB_LOG"
if [ "$2" = venv ]; then
  mkdir -p "$3/bin"
  cp "$0" "$3/bin/python"
  cat > "$3/bin/perf-doctor" <<'PROGRAM'
#!/bin/bash
printf '%s\\n' "$@" > "$STUB_WORDS"
exec "$STUB_REAL" -m perf_doctor "$@"
PROGRAM
  chmod +x "$3/bin/perf-doctor"
fi
"""


def yaml_of(name: str) -> Any:
    """Return what a YAML file of the project holds."""
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a piece of shell text ended."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Machine:
    """A CI machine in a temporary folder, with the examples as the checked-out repository."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("workspace", "temp", "bin"):
            (self.folder / name).mkdir()
        copytree(ROOT / "examples/scripts", self.workspace / "scripts")
        for name in ("python", "python3"):
            python = self.folder / "bin" / name
            python.write_text(_PYTHON, "utf-8")
            python.chmod(0o755)
        self.environment = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "STUB_LOG": str(self.folder / "log"),
            "STUB_WORDS": str(self.folder / "words"),
            "STUB_REAL": sys.executable,
        }

    @property
    def workspace(self) -> Path:
        """The folder in which steps run."""
        return self.folder / "workspace"

    @property
    def python(self) -> str:
        """The stub's path."""
        return str(self.folder / "bin/python")

    @property
    def installed(self) -> list[str]:
        """The words that the stub for Python got."""
        return (self.folder / "log").read_text("utf-8").splitlines()

    @property
    def words(self) -> list[str]:
        """The lines of the words that the program got last."""
        return (self.folder / "words").read_text("utf-8").splitlines()

    def run(self, text: str, more: Mapping[str, str]) -> Outcome:
        """Run shell text as GitHub and GitLab do: bash that stops at the first failure."""
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
            cwd=self.workspace,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return text with every ``${{ name }}`` replaced, as the server does it; all must be known."""
    return re.sub(r"\$\{\{\s*(.+?)\s*\}\}", lambda match: values[match[1]], text)
