"""Reads the options a Relax checkout registers, from its source text alone.

Nothing of the checkout is imported or run: every ``add_argument`` and ``reset_arg`` call
is read from the syntax tree, and only literal values count.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The files whose parsers see the words of a launch (relax/utils/arguments.py:2310-2345).
ARGUMENT_FILES = (
    "relax/utils/arguments.py",
    "relax/backends/megatron/arguments.py",
    "relax/backends/sglang/arguments.py",
    "relax/utils/opd/opd_utils.py",
)
KINDS = {"int": "int", "float": "float", "str": "str", "json.loads": "json", "bool": "bool"}
NOT_LITERAL = "<not a literal>"


@dataclasses.dataclass(frozen=True)
class Registered:
    """One option as the checkout registers it; values that are no literals stay unread.

    ``reset`` marks a ``reset_arg`` call, which only swaps the default when Megatron
    already has the option (relax/utils/arguments.py:34-48).
    """

    flag: str
    aliases: tuple[str, ...]
    kind: str
    dest: str
    default: Any
    has_default: bool
    nargs: Any
    choices: Any
    off_flags: tuple[str, ...]
    reads: str | None
    source: str
    reset: bool


def registered_options(checkout: Path) -> list[Registered]:
    """Return every option the argument files of ``checkout`` register, in file order."""
    found: list[Registered] = []
    for name in ARGUMENT_FILES:
        path = checkout / name
        if path.is_file():
            tree = ast.parse(path.read_text(encoding="utf-8"), filename=name)
            found += [option for call in _calls(tree, name) if (option := _read(call, name))]
    return found


def _calls(tree: ast.AST, file: str) -> Iterator[ast.Call]:
    """Yield the registering calls.

    SGLang's arguments look ahead with a throw-away parser that repeats three options; the
    one of that name in relax/utils/arguments.py holds switches no other parser has.
    """
    thrown_away = "temp_parser" if "sglang" in file else ""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "add_argument":
            owner = function.value
            if not (isinstance(owner, ast.Name) and owner.id == thrown_away):
                yield node
        elif isinstance(function, ast.Name) and function.id == "reset_arg":
            yield node


def _read(call: ast.Call, file: str) -> Registered | None:
    """Return the option of one call, None when its name is no literal."""
    flags = [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and argument.value.startswith("--")
    ]
    if not flags:
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    action = ast.unparse(given["action"]).strip("'\"").split(".")[-1] if "action" in given else ""
    kind, reads = _kind(given, action)
    dest = _literal(given.get("dest")) or flags[0].lstrip("-").replace("-", "_")
    aliases = flags[1:]
    off: tuple[str, ...] = ()
    if action == "BooleanOptionalAction":
        off = tuple(f"--no-{flag[2:]}" for flag in flags)
        aliases = [*aliases, *off]
    elif action == "store_false":
        off = tuple(flags)
    implied = {"store_true": False, "store_false": True}.get(action)
    return Registered(
        flag=flags[0],
        aliases=tuple(aliases),
        kind=kind,
        dest=str(dest),
        default=_literal(given["default"]) if "default" in given else implied,
        has_default="default" in given or implied is not None,
        nargs=_literal(given.get("nargs")),
        choices=_literal(given.get("choices")),
        off_flags=off,
        reads=reads,
        source=f"{file}:{call.lineno}",
        reset=isinstance(call.func, ast.Name),
    )


def _kind(given: dict[str, ast.expr], action: str) -> tuple[str, str | None]:
    """Return the kind of value and the converter's name where it is none of the usual."""
    if action in ("store_true", "store_false", "BooleanOptionalAction"):
        return "switch", None
    if "type" not in given:
        return "str", None
    name = ast.unparse(given["type"])
    return KINDS.get(name, "str"), None if name in KINDS else name[:40]


def _literal(node: ast.expr | None) -> Any:
    """Return the value of a literal, ``NOT_LITERAL`` for anything else, None for nothing."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return NOT_LITERAL
