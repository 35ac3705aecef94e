"""``perf-doctor completion SHELL``: what makes a shell complete this command's words."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from perf_doctor.cli.arguments import Parser
from perf_doctor.cli.output import put

FILES: Final = {"bash": "perf-doctor.bash", "zsh": "_perf-doctor", "fish": "perf-doctor.fish"}
_HOW: Final = """\
how to install it:
  bash   perf-doctor completion bash > ~/.local/share/bash-completion/completions/perf-doctor
  zsh    perf-doctor completion zsh > a folder of $fpath/_perf-doctor
  fish   perf-doctor completion fish > ~/.config/fish/completions/perf-doctor.fish
"""


def run(words: list[str]) -> int:
    """Print the completion file of a shell."""
    shell: str = make_parser().parse_args(words).shell
    folder = files("perf_doctor.data") / "completion"
    put((folder / FILES[shell]).read_text(encoding="utf-8"))
    return 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser("perf-doctor completion", "Print the completion file of a shell.", _HOW)
    parser.add_argument("shell", choices=tuple(FILES), metavar="bash|zsh|fish")
    return parser
