"""The command line: arguments in, exit code out.

0: nothing at or above ``--fail-on``; 1: something is; 2: wrong usage, or a script that cannot be
read. Every command imports what it needs when it is called.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

Command = Callable[[list[str]], int]

_OBJECTS_PER_COLLECTION: Final = 50_000
"""Python's own 700 is for long-lived programs: hardly anything dies while this one starts."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    words = _after_dashes(list(sys.argv[1:] if argv is None else argv))
    command = COMMANDS.get(words[0]) if words else None
    try:
        return command(words[1:]) if command else _diagnose(words)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _after_dashes(words: list[str]) -> list[str]:
    """Return the words with names behind ``--`` that look like options made paths.

    Options may stand between scripts, and then argparse does not know that sign.
    """
    if "--" not in words:
        return words
    at = words.index("--")
    return words[:at] + [f"./{w}" if w[0:1] == "-" and w != "-" else w for w in words[at + 1 :]]


def _diagnose(words: list[str]) -> int:
    from perf_doctor.cli.arguments import diagnose_parser  # noqa: PLC0415

    arguments = diagnose_parser().parse_intermixed_args(words)
    from perf_doctor.cli.diagnose import run  # noqa: PLC0415 - --help needs none of it

    return run(arguments, "diagnose")


def _show(words: list[str]) -> int:
    from perf_doctor.cli.arguments import show_parser  # noqa: PLC0415

    arguments = show_parser().parse_intermixed_args(words)
    from perf_doctor.cli.diagnose import run  # noqa: PLC0415

    return run(arguments, "show")


def _of_its_own(name: str) -> Command:
    """Return a command that lives in a module of its name, imported when it is called."""

    def run(words: list[str]) -> int:
        module = import_module(f"perf_doctor.cli.{name.replace('-', '_')}")
        code: int = module.run(words)
        return code

    return run


_OWN: Final = (
    "estimate", "what-if", "compare", "explain", "rules", "gpus", "validate", "schema", "skill",
    "mcp", "completion", "doctor",
)  # fmt: skip
COMMANDS: Final[dict[str, Command]] = {
    "show": _show,
    **{name: _of_its_own(name) for name in _OWN},
}
"""Every command by its name."""
