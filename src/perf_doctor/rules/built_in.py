"""The catalog that comes with the program: the page, and the form it is compiled to.

``references/rules.md`` is the catalog. To parse and check it takes longer than everything else, so
that ``tools/compile_rules.py`` keeps the outcome, with the check sum of the page, in
``data/rules.jsonl``. A page that has another check sum, because somebody added a rule, is parsed:
the compiled form is never needed and never wrong.

The first line of that file holds the check sum and the base jobs. Two lines follow for each rule:
what decides whether it applies, and what is read only for a rule that does.
"""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from perf_doctor.rules.expression import Expression
from perf_doctor.rules.model import Case, Catalog, Example, Rule
from perf_doctor.rules.position import Located
from perf_doctor.rules.template import Edit, Template, Way
from perf_doctor.shell.model import Place

_PACKAGE: Final = __file__.removesuffix("rules/built_in.py")
BUILT_IN: Final = f"{_PACKAGE}skill/references/rules.md"
COMPILED: Final = f"{_PACKAGE}data/rules.jsonl"
NAME: Final = "rules.md"
_FIRST: Final = (
    "id", "category", "severity", "place", "cases", "unless", "flags", "framework", "blocks_launch",
    "gains", "reads",
)  # fmt: skip
_LATER: Final = (
    "title", "cost", "fix", "patch", "trigger", "why", "skip_when", "source", "examples",
)  # fmt: skip

_Packed = Any
"""What JSON makes of a part of a rule; a place is its line and column, as the file is one."""


@cache
def built_in_text() -> tuple[str, str]:
    """Return the catalog that comes with the program, and the name of its file."""
    with open(BUILT_IN, encoding="utf-8") as file:
        return file.read(), NAME


@cache
def compiled_rules() -> Catalog | None:
    """Return the catalog from its compiled form; None if the page is another one by now."""
    with open(BUILT_IN, "rb") as page:
        check_sum = crc32(page.read())
    try:
        with open(COMPILED, encoding="utf-8") as file:
            head, *lines = file.read().rstrip("\n").split("\n")
    except FileNotFoundError:
        return None
    compiled_from, base_jobs = json.loads(head)
    if compiled_from != check_sum:
        return None
    rules = zip(lines[::2], lines[1::2], strict=True)
    return Catalog(tuple(_CompiledRule.of(first, later) for first, later in rules), base_jobs)


def compiled(catalog: Catalog, page: bytes) -> Iterator[str]:
    """Yield the lines of the compiled form of a catalog that was read from ``page``."""
    yield _line([crc32(page), catalog.base_jobs])
    for rule in catalog.rules:
        for names in (_FIRST, _LATER):
            yield _line([_packed(getattr(rule, name)) for name in names])


def _line(packed: _Packed) -> str:
    return json.dumps(packed, ensure_ascii=False, separators=(",", ":")) + "\n"


def _packed(part: object) -> _Packed:
    """Return a part of a rule without the name of its file, which is the same everywhere."""
    if isinstance(part, Place):
        return [part.line, part.column]
    if isinstance(part, Located):
        return [part.text, part.starts]
    if isinstance(part, Expression):
        return [*_packed(part.source), part.tree]
    if isinstance(part, tuple):
        return [_packed(item) for item in part]
    return part


class _CompiledRule(Rule):
    """A rule that reads the second of its lines when somebody asks for what stands there."""

    __slots__ = ("_later",)
    _later: str

    @staticmethod
    def of(first: str, later: str) -> Rule:
        """Return the rule of two lines."""
        rule = object.__new__(_CompiledRule)
        rule._fill(_FIRST, first)
        object.__setattr__(rule, "_later", later)
        return rule

    def __getattr__(self, name: str) -> Any:
        """Return what is not there yet: Python asks here for a slot that is empty."""
        if name not in _LATER:
            raise AttributeError(name)
        self._fill(_LATER, self._later)
        return getattr(self, name)

    def _fill(self, names: Iterable[str], line: str) -> None:
        for name, packed in zip(names, json.loads(line), strict=True):
            unpack = _UNPACK.get(name)
            object.__setattr__(self, name, unpack(packed) if unpack else packed)


def _place(packed: _Packed) -> Place:
    return Place(NAME, *packed)


def _located(packed: _Packed) -> Located:
    text, starts = packed
    return Located(text, NAME, starts)


def _expression(packed: _Packed) -> Expression:
    text, starts, tree = packed
    return Expression(Located(text, NAME, starts), tree)


def _template(packed: _Packed) -> Template:
    (parts,) = packed
    return Template(tuple(p if isinstance(p, str) else _expression(p) for p in parts))


def _case(packed: _Packed) -> Case:
    condition, severity, cost = packed
    return Case(_expression(condition), severity, cost and _template(cost))


def _edit(packed: _Packed) -> Edit:
    flag, remove, value, source = packed
    return Edit(flag, remove, value and _template(value), _located(source))


def _way(packed: _Packed) -> Way:
    edits, condition = packed
    return Way(tuple(map(_edit, edits)), condition and _expression(condition))


def _example(packed: _Packed) -> Example:
    fires, words, place = packed
    return Example(fires, words, _place(place))


_UNPACK: Final[Mapping[str, Callable[[_Packed], object]]] = {
    "severity": tuple,
    "place": _place,
    "cases": lambda packed: tuple(map(_case, packed)),
    "unless": lambda packed: packed and _expression(packed),
    "flags": tuple,
    "reads": tuple,
    "cost": lambda packed: packed and _template(packed),
    "fix": _template,
    "patch": lambda packed: tuple(map(_way, packed)),
    "examples": lambda packed: tuple(map(_example, packed)),
}
