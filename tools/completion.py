"""Write the completion files of the shells from the parsers of the command line.

``python tools/completion.py`` writes ``src/perf_doctor/data/completion``.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Final

import shtab

from perf_doctor.cli import COMMANDS
from perf_doctor.cli.arguments import Parser, diagnose_parser, path, show_parser
from perf_doctor.cli.completion import FILES

FOLDER: Final = Path(__file__).parent.parent / "src/perf_doctor/data/completion"

_OPTIONS: Final = "_shtab_perf_doctor_options"
_FIRST: Final = """\
_shtab_perf_doctor_first() {
  _alternative 'commands::_shtab_perf_doctor_commands' 'scripts:script:_files'
}

_shtab_perf_doctor() {
"""
_SCRIPT: Final = f"""\
        *.sh|*/*|-) _arguments -s ${{{_OPTIONS}:#(: *|\\*::: *)}} '*:script:_files' ;;
        compare) _arguments"""
_ZSH: Final = {
    f"{_OPTIONS}+=(': :_shtab_perf_doctor_commands'": f"{_OPTIONS}+=(': :_shtab_perf_doctor_first'",
    "        compare) _arguments": _SCRIPT,
    "_shtab_perf_doctor() {\n": _FIRST,
}
"""What stands in the file for zsh, and what in its place."""


def whole() -> Parser:
    """Return one parser with every command below it; only its help and options are meant."""
    parser = diagnose_parser()
    commands = parser.add_subparsers(metavar="COMMAND")
    for name in COMMANDS:
        module = f"perf_doctor.cli.{name.replace('-', '_')}"
        one = show_parser() if name == "show" else import_module(module).make_parser()
        commands.choices[name] = one  # one that is made already
        choice = argparse.Action([], dest=name, help=one.description)
        choice.metavar = name
        commands._choices_actions.append(choice)
    # a command may stand where a script does, and is looked for first
    parser._actions.insert(1, parser._actions.pop())
    _files(parser)
    return parser


def _files(parser: argparse.ArgumentParser) -> None:
    """Have file names offered where a path is taken, in this parser and those below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in set(action.choices.values()):
                _files(below)
        elif action.type is path or action.dest == "output":
            action.complete = shtab.FILE  # type: ignore[attr-defined]


def completion(shell: str) -> str:
    """Return the completion file of a shell."""
    text = shtab.complete(whole(), shell).rstrip("\n") + "\n"
    return _with_scripts(text) if shell == "zsh" else text


def _with_scripts(text: str) -> str:
    """Return the file for zsh, where a script may stand in the place of a command.

    shtab offers there one or the other.
    """
    head, scripts, rest = text.partition('  "(*):a script, a folder of scripts')
    text = head + rest.partition("\n")[2]
    for old, new in _ZSH.items():
        if not scripts or text.count(old) != 1:
            raise SystemExit(f"shtab writes another file for zsh: {old}")
        text = text.replace(old, new)
    return text


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for shell, name in FILES.items():
        (FOLDER / name).write_text(completion(shell), encoding="utf-8")
