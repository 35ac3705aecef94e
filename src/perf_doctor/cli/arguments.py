"""The arguments of every command, and what a wrong one is told."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import nan
from typing import Final, NoReturn

from perf_doctor._version import __version__
from perf_doctor.configuration.keys import BY_NAME
from perf_doctor.inert import inert, shortened
from perf_doctor.language import LANGUAGES
from perf_doctor.report.formats import FORMATS
from perf_doctor.rules.severity import WORST_FIRST

_MAX_TOLD_CHARS: Final = 1_000
_EPILOG: Final = """\
commands:
  perf-doctor show SCRIPT           every resolved setting and where it came from
  perf-doctor estimate SCRIPT       GiB by phase and component, and whether the job fits
  perf-doctor what-if SCRIPT …      memory, time and findings with some flags changed
  perf-doctor compare A B           two scripts: what differs, and what that does
  perf-doctor explain RULE SCRIPT   a rule's condition with this script's values, and its fix tried
  perf-doctor validate              the estimate against measured runs
  perf-doctor rules …               list, show, lint, test, facts, new
  perf-doctor gpus                  the GPUs that --gpu knows
  perf-doctor schema                the JSON Schema of --format json
  perf-doctor skill install         the same for coding agents: /perf-doctor SCRIPT
  perf-doctor mcp                   the same for agents and editors, over MCP
  perf-doctor completion SHELL      what makes bash, zsh or fish complete these words
  perf-doctor doctor                version, catalog, data and their dates

examples:
  perf-doctor run-qwen3-4B-8xgpu.sh
  perf-doctor scripts/training --gpu H800 --format json -o report.json
  perf-doctor run.sh --env MODE=async        another branch of the script
"""


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations and complains in one line."""

    def __init__(
        self, prog: str = "perf-doctor", description: str = "", epilog: str | None = None
    ) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_argument("--version", action="version", version=f"perf-doctor {__version__}")

    def error(self, message: str) -> NoReturn:
        """Print one line, whatever the arguments hold, and exit with 2."""
        told = shortened(inert(message), _MAX_TOLD_CHARS)
        self.exit(2, f"perf-doctor: {told}; try {self.prog} --help\n")


def diagnose_parser() -> Parser:
    """Return the parser of the command without a name."""
    parser = Parser(
        "perf-doctor",
        "Read Relax launch scripts without running them and say what is wrong with them for "
        "speed and for GPU memory.",
        _EPILOG,
    )
    parser.usage = "perf-doctor [OPTION…] SCRIPT…"
    add_scripts(parser)
    add_surroundings(parser)
    add_lengths(parser)
    add_catalog(parser)
    group = parser.add_argument_group("the report")
    group.add_argument(
        "-o", "--output", action="append", default=[], type=_destination, metavar="[FORMAT=]FILE",
        help="write the report to a file, in the format it names or ends with; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--format", choices=tuple(FORMATS), metavar="FORMAT",
        help="; ".join(f"{name}: {one.about}" for name, one in FORMATS.items()),
    )  # fmt: skip
    group.add_argument(
        "--diff", dest="format", action="store_const", const="diff",
        help="print each fix as a diff of the script, which is never written",
    )  # fmt: skip
    group.add_argument(
        "--summary", dest="format", action="store_const", const="summary",
        help="print a table with a line for each script",
    )  # fmt: skip
    group.add_argument(
        "--write-accepted", type=path, metavar="FILE",
        help="write a file that accepts today's findings, and stop; reasons in it are kept",
    )  # fmt: skip
    group.add_argument(
        "--show-settings", action="store_true",
        help="print what holds for a script and who said it, and stop",
    )  # fmt: skip
    group.add_argument("--all", action="store_true", help="show every finding, however many")
    group.add_argument(
        "--fail-on", choices=(*WORST_FIRST, "never"),
        help="exit with 1 when a finding is at least this severe (default critical)",
    )  # fmt: skip
    return parser


def show_parser() -> Parser:
    """Return the parser of ``perf-doctor show``."""
    parser = Parser(
        "perf-doctor show", "Print every resolved setting, its value and where it came from."
    )
    add_scripts(parser)
    add_surroundings(parser)
    add_output(parser)
    return parser


def add_scripts(parser: argparse.ArgumentParser) -> None:
    """Add the scripts to read."""
    parser.add_argument(
        "scripts", nargs="+", type=path, metavar="SCRIPT",
        help="a script, a folder of scripts, or - for standard input",
    )  # fmt: skip
    parser.add_argument(
        "--skip-no-launch", action="store_true",
        help="pass over a named script that launches nothing, as over one in a folder",
    )  # fmt: skip


def add_surroundings(parser: argparse.ArgumentParser) -> None:
    """Add what is said about the job beside its script."""
    group = parser.add_argument_group("the job")
    group.add_argument(
        "--gpu", metavar="NAME", help="the card, perhaps with its memory: H20-141GB (default H20)"
    )
    group.add_argument(
        "--gpus-per-node",
        type=_within("gpus-per-node"),
        metavar="N",
        help="GPUs of a machine",
    )
    group.add_argument(
        "--host-ram",
        type=_within("host-ram"),
        metavar="GB",
        help="memory of a node in GB (unknown without it)",
    )
    group.add_argument(
        "--network",
        type=_within("network"),
        metavar="GB/S",
        help="GB/s of one GPU to other nodes, one direction (default: the card's usual network)",
    )
    group.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", type=_assignment,
        help="an environment variable the script is started with; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--arg", action="append", default=[], metavar="WORD", help="an argument of the script"
    )
    group.add_argument(
        "--model-config-dir", type=path, metavar="DIR",
        help="where ${MODEL_CONFIG_DIR}/<model>.sh is found",
    )  # fmt: skip
    _add_trust(parser)


def _add_trust(parser: argparse.ArgumentParser) -> None:
    """Add whose word counts, and the language."""
    group = parser.add_argument_group("the run")
    add_language(group)
    group.add_argument(
        "--config", type=path, metavar="FILE",
        help="this configuration, not the one found upwards from the script",
    )  # fmt: skip
    group.add_argument(
        "--untrusted", action="store_true",
        help="follow nothing that the script's own tree says for it: no configuration, no reason "
        "and no directive in a comment",
    )  # fmt: skip


def add_language(parser: argparse._ActionsContainer) -> None:
    """Add which language is spoken."""
    parser.add_argument(
        "--lang", choices=LANGUAGES,
        help="the language of what people read (default: that of the locale, or English)",
    )  # fmt: skip


def add_lengths(parser: argparse.ArgumentParser) -> None:
    """Add what is known of sequence lengths; the defaults are named as assumptions."""
    group = parser.add_argument_group("lengths of a real run")
    for name in ("mean-response-len", "response-len-sigma", "prompt-len"):
        group.add_argument(f"--{name}", type=_within(name), metavar="N", help=BY_NAME[name].about)


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add which rules are in force."""
    group = parser.add_argument_group("the rules")
    group.add_argument(
        "--rules", action="append", default=[], type=path, metavar="FILE",
        help="a catalog of your own, beside the built-in one; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--baselines", action="append", default=[], type=path, metavar="FILE",
        help="known-good configurations of your own, beside the built-in ones; repeatable",
    )  # fmt: skip
    group.add_argument(
        "--accepted", type=path, metavar="FILE",
        help="do not tell the findings that this file accepts (--write-accepted makes it)",
    )  # fmt: skip
    group.add_argument(
        "--select", action="append", default=[], type=_rule_ids, metavar="RULES",
        help="only these rules: ids or beginnings of ids, R-M01,R-P",
    )  # fmt: skip
    group.add_argument(
        "--ignore", action="append", default=[], type=_rule_ids, metavar="RULES",
        help="not these rules",
    )  # fmt: skip


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where the report goes."""
    parser.add_argument(
        "-o", "--output", type=path, metavar="FILE", help="write the report to a file"
    )


def path(text: str) -> str:
    """Return a path as it is given; a NUL character is refused."""
    if "\0" in text:
        raise argparse.ArgumentTypeError("a path holds no NUL character")
    return text


def _destination(text: str) -> tuple[str, str | None]:
    """Return a file and the format that is named for it, if one is."""
    name, equals, file = path(text).partition("=")
    if not equals or not name.isalpha() or not name.islower():
        return text, None
    if name not in FORMATS or not file:
        wrong = f"{name}= names no file" if name in FORMATS else f"there is no format {name!r}"
        raise argparse.ArgumentTypeError(
            f"{wrong}; it reads FORMAT=FILE with one of {', '.join(FORMATS)}, "
            f"and ./{shortened(text, 40)} is a file of that name"
        )
    return file, name


def _rule_ids(text: str) -> tuple[str, ...]:
    return tuple(part.strip().upper() for part in text.split(",") if part.strip())


def _within(name: str) -> Callable[[str], float]:
    """Return what reads the number of a key, within its bounds; text and NaN are none."""
    key = BY_NAME[name]
    whole = key.kind == "whole number"

    def read(text: str) -> float:
        try:
            number = int(text) if whole else float(text)
        except ValueError:
            number = nan
        if not key.least <= number <= key.most:
            kind = "a whole number" if whole else "a number"
            wanted = f"must be {kind} from {key.least:,} to {key.most:,} {key.unit}".rstrip()
            raise argparse.ArgumentTypeError(f"{wanted}, not {shortened(text, 40)!r}")
        return number

    return read


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value
