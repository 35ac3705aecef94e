"""``perf-doctor skill``: the same diagnosis for coding agents."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from perf_doctor.cli.arguments import Parser
from perf_doctor.cli.output import complain, say
from perf_doctor.skill.install import FOLDERS, Action, install, project_root, skill_files, target

_DONE: Final[Mapping[Action, str]] = {
    "write": "wrote",
    "update": "updated",
    "remove": "removed",
    "keep": "up to date",
}
_WOULD: Final[Mapping[Action, str]] = {
    "write": "would write",
    "update": "would update",
    "remove": "would remove",
    "keep": "up to date",
}


def run(words: list[str]) -> int:
    """Install the skill where agents look for it, and say what was done; 2 when refused."""
    arguments = make_parser().parse_args(words)
    agents = FOLDERS if arguments.agent == "all" else (arguments.agent,)
    files, project = skill_files(), project_root(Path.cwd())
    done = [_install(agent, files, project, arguments) for agent in agents]
    return 0 if all(done) else 2


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        "perf-doctor skill", "Install the skill with which an agent answers /perf-doctor SCRIPT."
    )
    commands = parser.add_subparsers(dest="skill_command", required=True, metavar="install")
    command = commands.add_parser("install", help="copy the skill to where agents look for it")
    command.add_argument(
        "--agent", choices=(*FOLDERS, "all"), default="all", help="for which agent (default all)"
    )
    command.add_argument(
        "--scope", choices=("project", "user"), default="project",
        help="this project, from its git root, or all of yours (default project)",
    )  # fmt: skip
    command.add_argument(
        "--dry-run", action="store_true", help="say what would happen and write nothing"
    )
    return parser


def _install(
    agent: str, files: Mapping[str, bytes], project: Path, arguments: argparse.Namespace
) -> bool:
    """Install for one agent and say what was done; False, and told why, when it is refused."""
    try:
        folder = target(agent, arguments.scope, project=project, home=Path.home())
        steps = install(files, folder, dry_run=arguments.dry_run)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        complain(f"{agent}: {error}")
        return False
    words = _WOULD if arguments.dry_run else _DONE
    for step in steps:
        if step.action == "refuse":
            complain(
                f"{step.path}: {step.reason}; nothing is written for {agent}. Move it away and"
                " try again."
            )
        else:
            say(f"{words[step.action]} {step.path}")
    return all(step.action != "refuse" for step in steps)
