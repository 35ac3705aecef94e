"""``perf-doctor skill``: the same diagnosis for coding agents."""

from __future__ import annotations

from perf_doctor.cli.arguments import Parser
from perf_doctor.skill import install


def run(words: list[str]) -> int:
    """Install the skill where agents look for it."""
    parser = Parser("perf-doctor skill", "Give coding agents the skill /perf-doctor SCRIPT.")
    install.add_arguments(parser)
    return install.run(parser.parse_args(words))
