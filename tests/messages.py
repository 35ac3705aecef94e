"""The messages of the program, found in its source, and the tables that translate them."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2

from perf_doctor.language import LANGUAGES
from perf_doctor.rules.expression import walk
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Rule

PACKAGE = Path(__file__).parent.parent / "src" / "perf_doctor"
TABLES = PACKAGE / "data" / "messages"
MARK = "# messages"
"""What stands behind an assignment whose texts are messages."""
ORDER = ("wording", "shell", "launch", "plan", "estimate", "rules", "diagnosis", "explore",
         "report", "configuration", "validation", "mcp", "cli")  # fmt: skip
"""The rooms, the lowest first: a message of several stands in the table of the first."""
TRANSLATED = LANGUAGES[1:]
# wording.py makes the message of its noun; a rule names its noun, which is looked for in the rules.
_OF_THEIR_ARGUMENTS = {"said": ("wording.py",), "counted": ("rules/functions.py",)}


class Said(NamedTuple):
    """A message where it is said: ``keywords`` are None where they are not written out."""

    text: str
    room: str
    place: str
    keywords: frozenset[str] | None = None


class Found(NamedTuple):
    """What the source of the program says, and the places where it cannot be told.

    ``kept`` are places that would keep a message in the language of the moment it was said in.
    """

    messages: tuple[Said, ...]
    unreadable: tuple[str, ...]
    kept: tuple[str, ...]


class _Module(NamedTuple):
    path: str
    tree: ast.Module
    marked: frozenset[int]


@cache
def found() -> Found:
    """Return every message of the program: of Python, of its page template and of its rules."""
    return read_sources(
        {
            str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8")
            for pattern in ("*.py", "*.jinja")
            for path in sorted(PACKAGE.rglob(pattern))
        },
        load_rules().rules,
    )


def read_sources(sources: dict[str, str], rules: Iterable[Rule] = ()) -> Found:
    """Return the messages of these sources, by their paths in the package."""
    modules = [_module(path, text) for path, text in sources.items() if path.endswith(".py")]
    modules = [module for module in modules if module is not None]
    tables = {name for module in modules for name, _ in _tables(module)}
    said: list[Said] = []
    unreadable: list[str] = []
    for module in modules:
        room = _room(module.path)
        said += [Said(t, room, module.path) for _, texts in _tables(module) for t in texts]
        for call in ast.walk(module.tree):
            if isinstance(call, ast.Call) and (name := _called(module, call)):
                if module.path in _OF_THEIR_ARGUMENTS[name]:
                    continue
                texts = _said(call, room, module.path) if name == "said" else _nouns(call, module)
                if texts is not None:
                    said += texts
                elif name != "said" or not _of_table(call, tables):
                    unreadable.append(f"{module.path}:{call.lineno}: {ast.unparse(call)[:80]}")
    for path, text in sources.items():
        if path.endswith(".jinja"):
            said += [Said(t, _room(path), path) for t in _of_template(text)]
    said += [Said("{n} " + noun, "wording", "rules") for noun in _nouns_of_rules(rules)]
    kept = [
        f"{module.path}:{call.lineno}"
        for module in modules
        for call in _kept(module.tree)
        if _called(module, call)
    ]
    return Found(tuple(said), tuple(unreadable), tuple(kept))


def _room(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py")


def _module(path: str, text: str) -> _Module | None:
    if not re.search(rf"\bsaid\b|\bcounted\b|{MARK}", text):
        return None
    marked = frozenset(
        token.start[0]
        for token in (tokenize.generate_tokens(io.StringIO(text).readline) if MARK in text else ())
        if token.type == tokenize.COMMENT and token.string.startswith(MARK)
    )
    return _Module(path, ast.parse(text), marked)


def _tables(module: _Module) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of the module's tables of messages, with the texts of their values."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            if not {node.lineno, node.end_lineno} & module.marked:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), list(_texts(node.value))


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts of a table's values; the keys are no messages."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Dict(values=values):
            for value in values:
                yield from _texts(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                yield from _texts(part)
        case ast.Call(args=arguments, keywords=keywords):
            for part in (*arguments, *(keyword.value for keyword in keywords)):
                yield from _texts(part)


def _called(module: _Module, call: ast.Call) -> str | None:
    """Return ``said`` or ``counted`` where the call is one of ours."""
    if not isinstance(call.func, ast.Name) or call.func.id not in _OF_THEIR_ARGUMENTS:
        return None
    name = call.func.id
    imported = any(
        isinstance(node, ast.ImportFrom)
        and node.module in ("perf_doctor.language", "perf_doctor.wording")
        and any(alias.name == name and alias.asname is None for alias in node.names)
        for node in ast.walk(module.tree)
    )
    return name if imported else None


def _said(call: ast.Call, room: str, path: str) -> list[Said] | None:
    match call.args:
        case [ast.Constant(value=str(text))]:
            names = frozenset(k.arg for k in call.keywords if k.arg is not None)
            written_out = len(names) == len(call.keywords)
            place = f"{path}:{call.lineno}"
            return [Said(text, room, place, names if written_out else None)]
    return None


def _nouns(call: ast.Call, module: _Module) -> list[Said] | None:
    nouns = _constants(call.args[-1]) if len(call.args) == 2 else None
    place = f"{module.path}:{call.lineno}"
    return nouns and [Said("{n} " + noun, "wording", place) for noun in nouns]


def _constants(node: ast.expr) -> list[str] | None:
    """Return the text that is written there, or both of a choice between two."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp(body=body, orelse=other):
            first, second = _constants(body), _constants(other)
            return [*first, *second] if first and second else None
    return None


def _kept(tree: ast.AST, *, kept: bool = True) -> Iterator[ast.Call]:
    """Yield the calls that are made once: while a module is read, or in a function with a cache."""
    for node in ast.iter_child_nodes(tree):
        inside = kept
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            inside = any(re.match(r"(?:lru_)?cache\b", ast.unparse(one)) for one in decorators)
        if kept and isinstance(node, ast.Call):
            yield node
        yield from _kept(node, kept=inside)


def _of_table(call: ast.Call, tables: set[str]) -> bool:
    """Tell whether a message is looked up in a table of messages."""
    match call.args:
        case [ast.Subscript(value=table)]:
            while isinstance(table, ast.Subscript):
                table = table.value
            return ast.unparse(table).rpartition(".")[2] in tables
    return False


def _of_template(text: str) -> Iterator[str]:
    """Yield the messages of a page template: ``said("…")`` and ``"…" | said``."""
    from jinja2 import nodes

    for node in (
        jinja2.Environment(autoescape=True).parse(text).find_all((nodes.Call, nodes.Filter))
    ):
        if isinstance(node, nodes.Filter):
            name, message = node.name, node.node
        else:
            name = getattr(node.node, "name", "")
            message = node.args[0] if node.args else None
        if name == "said":
            assert isinstance(message, nodes.Const), f"no literal in line {node.lineno}"
            yield message.value


def _nouns_of_rules(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        templates = [rule.cost, rule.fix, *(case.cost for case in rule.cases)]
        expressions = [e for template in templates if template for e in template.expressions]
        for expression in expressions:
            for node in walk(expression.tree):
                if node[0] == "call" and node[3] == "counted":
                    chosen = [part for part in walk(node[5]) if part[0] == "value"]
                    yield from (part[3] for part in chosen if isinstance(part[3], str))


def table_of(language: str, name: str) -> dict[str, str]:
    """Return a table as its file holds it; an entry that stands in it twice is an error."""

    def entries(pairs: list[tuple[str, str]]) -> dict[str, str]:
        names = [key for key, _ in pairs]
        assert len(set(names)) == len(names), {key for key in names if names.count(key) > 1}
        return dict(pairs)

    text = (TABLES / language / f"{name}.json").read_text(encoding="utf-8")
    table = json.loads(text, object_pairs_hook=entries)
    assert isinstance(table, dict)
    return table


def tables_of(language: str) -> dict[str, dict[str, str]]:
    """Return every table of a language by its room."""
    return {
        path.stem: table_of(language, path.stem)
        for path in sorted((TABLES / language).glob("*.json"))
    }


def room_of(message: str) -> str | None:
    """Return the lowest room that says a message."""
    return _rooms().get(message)


@cache
def _rooms() -> dict[str, str]:
    highest_first = sorted(found().messages, key=lambda one: ORDER.index(one.room), reverse=True)
    return {one.text: one.room for one in highest_first}
