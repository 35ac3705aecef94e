"""Which command of a script starts a training, and where its arguments begin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from perf_doctor.shell.model import Command, Word

_PYTHON: Final = re.compile(r"(?:.*/)?(?:python[0-9.]*|torchrun)$")
_TRAINERS: Final = re.compile(
    r"(?:relax\.entrypoints\.train|(?:.*/)?relax/entrypoints/train\.py"
    r"|(?:.*/)?train(?:_async)?\.py)$"
)
"""Relax's entry module or file, and slime's ``train.py`` and ``train_async.py``."""
_SUBMIT: Final = ["job", "submit"]
_WRAPPERS: Final[dict[str, frozenset[str]]] = {
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "numactl": frozenset(),
    "sudo": frozenset({"-u", "-g"}),
    "env": frozenset({"-u", "-C"}),
    "timeout": frozenset({"-s", "-k"}),
    "unbuffer": frozenset(),
}
"""Commands that run the command behind them, with the options of theirs that take a word."""


class Trainer(NamedTuple):
    """A launch, taken apart.

    ``program`` is what runs (``python3 -m relax.entrypoints.train``), ``argv`` the words it gets,
    ``submit`` the words of ``ray job submit`` before ``--``. ``framework`` is ``relax``, ``slime``
    or ``other`` for a program nobody here knows.
    """

    program: tuple[str, ...]
    argv: tuple[Word, ...]
    submit: tuple[Word, ...]
    framework: str


class _Split(NamedTuple):
    submit: int  # index behind `ray job submit`, or -1
    program: int  # index of the program's first word
    argv: int  # index of its first argument
    name: str  # the module or file that runs


def find_program(words: list[str]) -> int | None:
    """Return where the program begins in the words of a command that starts a training.

    ``ray job submit … -- python…`` always does; a direct ``python`` only with a known trainer.
    None for any other command.
    """
    split = _split(words)
    if split is None or (split.submit < 0 and not _TRAINERS.match(split.name)):
        return None
    return split.program


def read_trainer(command: Command) -> Trainer:
    """Return the launch taken apart; the command must be one that ``find_program`` accepts."""
    words = command.words
    split = _split([word.text for word in words])
    assert split is not None
    submit_end = split.program - 1 if split.submit >= 0 else 0
    return Trainer(
        tuple(word.text for word in words[split.program : split.argv]),
        words[split.argv :],
        words[max(split.submit, 0) : max(submit_end, 0)],
        _framework(split.name),
    )


def _framework(name: str) -> str:
    if "relax" in name:
        return "relax"
    return "slime" if _TRAINERS.match(name) else "other"


def _split(words: Sequence[str]) -> _Split | None:
    at = _behind_wrappers(words, 0)
    submit = -1
    if at < len(words) and words[at].rsplit("/", 1)[-1] == "ray":
        if list(words[at + 1 : at + 3]) != _SUBMIT or "--" not in words[at:]:
            return None
        submit = at + 3
        at = _behind_wrappers(words, words.index("--", at) + 1)
    program = _python(words, at)
    return _Split(submit, *program) if program else None


def _behind_wrappers(words: Sequence[str], at: int) -> int:
    """Return the index of the command that the wrappers in front of it run."""
    while at < len(words):
        wrapper = _WRAPPERS.get(words[at].rsplit("/", 1)[-1])
        if wrapper is None:
            break
        name = words[at].rsplit("/", 1)[-1]
        at += 1
        while at < len(words) and (
            words[at].startswith("-") or (name == "env" and "=" in words[at])
        ):
            at += 2 if words[at] in wrapper else 1
        if name == "timeout":
            at += 1
    return at


def _python(words: Sequence[str], at: int) -> tuple[int, int, str] | None:
    """Return program index, argument index and name of a Python program."""
    if at >= len(words):
        return None
    if words[at].endswith(".py"):
        return at, at + 1, words[at]
    if not _PYTHON.match(words[at]):
        return None
    program = at
    at += 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-m", "--module"):
            return (program, at + 2, words[at + 1]) if at + 1 < len(words) else None
        if words[at] == "-c":
            return None
        at += 2 if words[at] in ("-W", "-X") else 1
    return (program, at + 1, words[at]) if at < len(words) else None
