"""The language of rule conditions: the type check.

Every name, function and flag of an expression must exist and be used as what it is. The check
needs no launch: it runs when a catalog is loaded, and a mistake is an error with its place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, Protocol

from perf_doctor.rules.expression import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_NODES,
    REFUSED,
    Expression,
)
from perf_doctor.rules.functions import FUNCTIONS, Function
from perf_doctor.rules.position import nearest_name


class Type(NamedTuple):
    """The kind of a value: bool, number, text, list, json, none or any; and its possible texts."""

    kind: str
    choices: tuple[str, ...] = ()


BOOL, NUMBER, TEXT, LIST, JSON = (Type(kind) for kind in ("bool", "number", "text", "list", "json"))
NONE, ANY = Type("none"), Type("any")

_NEED = {
    "bool": "a condition (true or false)",
    "number": "a number",
    "text": "text",
    "list": "a list",
    "json": "a JSON value",
    "collection": "a list or text",
}


class Vocabulary(Protocol):
    """The names a rule may use: facts with their types, and the options that exist."""

    @property
    def facts(self) -> Mapping[str, Type]:
        """Every fact and its type."""
        ...

    def option(self, flag: str) -> Type | None:
        """Return the type of an option's value, or None if there is no such option."""
        ...

    def nearest_option(self, flag: str) -> str | None:
        """Return the option that was most likely meant, or None."""
        ...


def check_condition(expression: Expression, vocabulary: Vocabulary) -> None:
    """Return if ``expression`` is a condition over ``vocabulary``.

    Raises:
        RuleError: a name is unknown, or something is used as what it is not.
    """
    found = check_expression(expression, vocabulary)
    if found.kind not in ("bool", "any"):
        raise expression.error(
            expression.tree, f"this is {_NEED.get(found.kind, found.kind)}, not a condition"
        )


def check_expression(expression: Expression, vocabulary: Vocabulary) -> Type:
    """Return the type of the value ``expression`` has.

    Raises:
        RuleError: a name is unknown, or something is used as what it is not.
    """
    return _Check(expression, vocabulary).of(expression.tree)


class _Check:
    """One expression against one vocabulary; a node of no method is not part of the language."""

    def __init__(self, expression: Expression, vocabulary: Vocabulary) -> None:
        self.expression = expression
        self.vocabulary = vocabulary
        self.nodes = self.depth = 0

    def of(self, node: ast.expr) -> Type:
        """Return the type of a part of the expression."""
        self.nodes += 1
        self.depth += 1
        if self.nodes > MAX_NODES:
            raise self.expression.error(node, f"an expression of more than {MAX_NODES} parts")
        if self.depth > MAX_DEPTH:
            raise self.expression.error(node, f"an expression nested more than {MAX_DEPTH} deep")
        check = _METHODS.get(type(node))
        if check is None:
            self._refuse(node, node)
        found = check(self, node)
        self.depth -= 1
        return found

    def _refuse(self, node: ast.expr, foreign: ast.AST) -> NoReturn:
        name = REFUSED.get(type(foreign), f"'{type(foreign).__name__}'")
        raise self.expression.error(node, f"{name} is not part of an expression")

    def _constant(self, node: ast.Constant) -> Type:
        value = node.value
        found = _CONSTANTS.get(type(value))
        if found is None:
            raise self.expression.error(node, f"{value!r:.40} is not part of an expression")
        if isinstance(value, int | float) and not abs(value) <= MAX_INTEGER:
            raise self.expression.error(node, "a number beyond 2^63")
        return found

    def _list(self, node: ast.Tuple | ast.List) -> Type:
        for item in node.elts:
            if not isinstance(item, ast.Constant) or item.value is None:
                raise self.expression.error(item, "a list may hold numbers and text only")
            self.of(item)
        return LIST

    def _connective(self, node: ast.BoolOp) -> Type:
        for part in node.values:
            self._need(part, "bool")
        return BOOL

    def _unary(self, node: ast.UnaryOp) -> Type:
        if not isinstance(node.op, (ast.Not, ast.USub)):
            self._refuse(node, node.op)
        kind = BOOL if isinstance(node.op, ast.Not) else NUMBER
        self._need(node.operand, kind.kind)
        return kind

    def _arithmetic(self, node: ast.BinOp) -> Type:
        if not isinstance(node.op, _ARITHMETIC):
            self._refuse(node, node.op)
        self._need(node.left, "number")
        self._need(node.right, "number")
        return NUMBER

    def _conditional(self, node: ast.IfExp) -> Type:
        self._need(node.test, "bool")
        return self._same(node, self.of(node.body), self.of(node.orelse))

    def _need(self, node: ast.expr, kind: str) -> Type:
        """Return the type of ``node``; raise unless it can serve as ``kind``."""
        found = self.of(node)
        allowed = ("list", "json", "text") if kind == "collection" else (kind,)
        if found.kind in allowed or "any" in (found.kind, kind):
            return found
        hint = " (write a comparison)" if kind == "bool" else ""
        raise self.expression.error(
            node,
            f"{_NEED[kind]} is needed here, and `{self.expression.segment(node)}` is "
            f"{_NEED.get(found.kind, 'None')}{hint}",
        )

    def _fact(self, node: ast.Name) -> Type:
        found = self.vocabulary.facts.get(node.id)
        if found is None:
            known = [*self.vocabulary.facts, *FUNCTIONS]
            raise self.expression.error(
                node, f"there is no fact {node.id!r}", nearest_name(node.id, known)
            )
        return found

    def _comparison(self, node: ast.Compare) -> Type:
        left_node, left = node.left, self.of(node.left)
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, (ast.Is, ast.IsNot)):
                self._refuse(node, operator)
            if isinstance(operator, (ast.In, ast.NotIn)):
                right = self._membership(left, right_node)
            else:
                right = self.of(right_node)
                ordering = not isinstance(operator, (ast.Eq, ast.NotEq))
                self._comparable(node, left, right, ordering=ordering)
                self._choice(left, right_node)
                self._choice(right, left_node)
            left_node, left = right_node, right
        return BOOL

    def _membership(self, left: Type, right_node: ast.expr) -> Type:
        right = self.of(right_node)
        if right.kind not in ("list", "json", "any"):
            raise self.expression.error(right_node, "a list is needed after 'in'")
        if isinstance(right_node, (ast.Tuple, ast.List)):
            for item in right_node.elts:
                assert isinstance(item, ast.Constant)
                self._comparable(item, left, _CONSTANTS[type(item.value)], ordering=False)
                self._choice(left, item)
        return right

    def _comparable(self, node: ast.expr, left: Type, right: Type, *, ordering: bool) -> None:
        kinds = {left.kind, right.kind} - {"any"}
        if ordering and kinds - {"number"}:
            raise self.expression.error(node, "only numbers have an order")
        if not ordering and len(kinds - {"none"}) > 1:
            first, second = sorted(kinds - {"none"})
            raise self.expression.error(node, f"{_NEED[first]} never equals {_NEED[second]}")

    def _choice(self, type_: Type, node: ast.expr) -> None:
        """Raise if a literal is compared with something that never has that text."""
        if not type_.choices or not isinstance(node, ast.Constant):
            return
        if isinstance(node.value, str) and node.value not in type_.choices:
            raise self.expression.error(
                node,
                f"{node.value!r} is none of {', '.join(type_.choices[:12])}",
                nearest_name(node.value, list(type_.choices)),
            )

    def _same(self, node: ast.expr, first: Type, second: Type) -> Type:
        if first.kind == second.kind:
            return Type(first.kind)
        kinds = {first.kind, second.kind} - {"none", "any"}
        if len(kinds) > 1:
            raise self.expression.error(node, "the two outcomes are of different kinds")
        return Type(kinds.pop()) if kinds and "any" not in (first.kind, second.kind) else ANY

    def _call(self, node: ast.Call) -> Type:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.expression.error(node, "only calls such as min(a, b) are possible")
        name = node.func.id
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.expression.error(
                node, f"there is no function {name!r}", nearest_name(name, list(FUNCTIONS))
            )
        self._count(node, name, function)
        types = [
            self._argument(argument, function.takes[min(index, len(function.takes) - 1)])
            for index, argument in enumerate(node.args)
        ]
        if function.gives == "first":
            return self._same(node, types[0], types[1])
        return types[0] if function.gives == "option" else Type(function.gives)

    def _count(self, node: ast.Call, name: str, function: Function) -> None:
        count, needed = len(node.args), len(function.takes)
        if count == needed or (function.variadic and count > needed):
            return
        raise self.expression.error(node, f"{name}() takes {needed} argument(s), not {count}")

    def _argument(self, node: ast.expr, kind: str) -> Type:
        if kind not in ("flag", "flags"):
            return self._need(node, kind)
        if kind == "flags" and isinstance(node, ast.Name) and node.id == "flags":
            return LIST
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise self.expression.error(
                node, 'a flag in quotes is needed here, such as "--colocate"'
            )
        found = self.vocabulary.option(node.value)
        if found is None:
            raise self.expression.error(
                node, f"there is no option {node.value}", self.vocabulary.nearest_option(node.value)
            )
        return found


_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_CONSTANTS = {bool: BOOL, int: NUMBER, float: NUMBER, str: TEXT, type(None): NONE}
_METHODS: Mapping[type[ast.AST], Callable[[_Check, Any], Type]] = {
    ast.Constant: _Check._constant,
    ast.Name: _Check._fact,
    ast.Tuple: _Check._list,
    ast.List: _Check._list,
    ast.BoolOp: _Check._connective,
    ast.UnaryOp: _Check._unary,
    ast.BinOp: _Check._arithmetic,
    ast.Compare: _Check._comparison,
    ast.IfExp: _Check._conditional,
    ast.Call: _Check._call,
}
