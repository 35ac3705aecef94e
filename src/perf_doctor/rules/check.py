"""The language of rule conditions: the type check.

Every name, function and flag of an expression must exist and be used as what it is. The check
needs no launch: it runs when a catalog is loaded, and a mistake is an error with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn, Protocol

from perf_doctor.rules.expression import MAX_NUMBER, Expression, Node
from perf_doctor.rules.functions import FUNCTIONS, Function
from perf_doctor.rules.position import RuleError, nearest_name


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
    """One expression against one vocabulary."""

    def __init__(self, expression: Expression, vocabulary: Vocabulary) -> None:
        self.expression = expression
        self.vocabulary = vocabulary

    def of(self, node: Node) -> Type:
        """Return the type of a part of the expression."""
        return _METHODS[node[0]](self, node)

    def _foreign(self, node: Node) -> NoReturn:
        raise self._refusal(node, node[3])

    def _refusal(self, node: Node, what: str) -> RuleError:
        return self.expression.error(node, f"{what} is not part of an expression")

    def _value(self, node: Node) -> Type:
        value = node[3]
        if isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
            raise self.expression.error(node, "a number beyond 2^63")
        return _CONSTANTS[type(value)]

    def _list(self, node: Node) -> Type:
        for item in node[4:]:
            if item[0] != "value" or item[3] is None:
                raise self.expression.error(item, "a list may hold numbers and text only")
            self.of(item)
        return LIST

    def _connective(self, node: Node) -> Type:
        for part in node[4:]:
            self._need(part, "bool")
        return BOOL

    def _unary(self, node: Node) -> Type:
        operator, operand = node[3:]
        kind = BOOL if operator == "not" else NUMBER
        self._need(operand, kind.kind)
        return kind

    def _arithmetic(self, node: Node) -> Type:
        for part in node[4:]:
            self._need(part, "number")
        return NUMBER

    def _conditional(self, node: Node) -> Type:
        test, body, orelse = node[4:]
        self._need(test, "bool")
        return self._same(node, self.of(body), self.of(orelse))

    def _need(self, node: Node, kind: str) -> Type:
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

    def _fact(self, node: Node) -> Type:
        name = node[3]
        found = self.vocabulary.facts.get(name)
        if found is None:
            known = [*self.vocabulary.facts, *FUNCTIONS]
            raise self.expression.error(
                node, f"there is no fact {name!r}", nearest_name(name, known)
            )
        return found

    def _comparison(self, node: Node) -> Type:
        operators, left_node, *others = node[3:]
        left = self.of(left_node)
        for operator, right_node in zip(operators, others, strict=True):
            if operator in _IDENTITY:
                raise self._refusal(node, _IDENTITY[operator])
            if operator in ("in", "not in"):
                right = self._membership(left, right_node)
            else:
                right = self.of(right_node)
                self._comparable(node, left, right, ordering=operator not in ("==", "!="))
                self._choice(left, right_node)
                self._choice(right, left_node)
            left_node, left = right_node, right
        return BOOL

    def _membership(self, left: Type, right_node: Node) -> Type:
        right = self.of(right_node)
        if right.kind not in ("list", "json", "any"):
            raise self.expression.error(right_node, "a list is needed after 'in'")
        if right_node[0] == "list":
            for item in right_node[4:]:
                self._comparable(item, left, _CONSTANTS[type(item[3])], ordering=False)
                self._choice(left, item)
        return right

    def _comparable(self, node: Node, left: Type, right: Type, *, ordering: bool) -> None:
        kinds = {left.kind, right.kind} - {"any"}
        if ordering and kinds - {"number"}:
            raise self.expression.error(node, "only numbers have an order")
        if not ordering and len(kinds - {"none"}) > 1:
            first, second = sorted(kinds - {"none"})
            raise self.expression.error(node, f"{_NEED[first]} never equals {_NEED[second]}")

    def _choice(self, type_: Type, node: Node) -> None:
        """Raise if a literal is compared with something that never has that text."""
        text = node[3]
        if not type_.choices or node[0] != "value" or not isinstance(text, str):
            return
        if text not in type_.choices:
            raise self.expression.error(
                node,
                f"{text!r} is none of {', '.join(type_.choices[:12])}",
                nearest_name(text, list(type_.choices)),
            )

    def _same(self, node: Node, first: Type, second: Type) -> Type:
        if first.kind == second.kind:
            return Type(first.kind)
        kinds = {first.kind, second.kind} - {"none", "any"}
        if len(kinds) > 1:
            raise self.expression.error(node, "the two outcomes are of different kinds")
        return Type(kinds.pop()) if kinds and "any" not in (first.kind, second.kind) else ANY

    def _call(self, node: Node) -> Type:
        name, *arguments = node[3:]
        if name is None:
            raise self.expression.error(node, "only calls such as min(a, b) are possible")
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.expression.error(
                node, f"there is no function {name!r}", nearest_name(name, list(FUNCTIONS))
            )
        self._count(node, name, function)
        types = [
            self._argument(argument, function.takes[min(index, len(function.takes) - 1)])
            for index, argument in enumerate(arguments)
        ]
        if function.gives == "first":
            return self._same(node, types[0], types[1])
        return types[0] if function.gives == "option" else Type(function.gives)

    def _count(self, node: Node, name: str, function: Function) -> None:
        count, needed = len(node[4:]), len(function.takes)
        if count == needed or (function.variadic and count > needed):
            return
        raise self.expression.error(node, f"{name}() takes {needed} argument(s), not {count}")

    def _words(self, node: Node) -> Type:
        """Return the type of a text that stands in the rule: no word of a script reaches prose."""
        if node[0] == "value" and isinstance(node[3], str):
            return TEXT
        raise self.expression.error(node, 'words in quotes are needed here, such as "GPU"')

    def _argument(self, node: Node, kind: str) -> Type:
        if kind == "words":
            return self._words(node)
        if kind not in ("flag", "flags"):
            return self._need(node, kind)
        flag = node[3]
        if kind == "flags" and node[0] == "fact" and flag == "flags":
            return LIST
        if node[0] != "value" or not isinstance(flag, str):
            raise self.expression.error(
                node, 'a flag in quotes is needed here, such as "--colocate"'
            )
        found = self.vocabulary.option(flag)
        if found is None:
            raise self.expression.error(
                node, f"there is no option {flag}", self.vocabulary.nearest_option(flag)
            )
        return found


_IDENTITY = {"is": "'is'; write ==", "is not": "'is not'; write !="}
_CONSTANTS = {bool: BOOL, int: NUMBER, float: NUMBER, str: TEXT, type(None): NONE}
_METHODS: Mapping[str, Callable[[_Check, Node], Type]] = {
    "value": _Check._value,
    "fact": _Check._fact,
    "list": _Check._list,
    "connective": _Check._connective,
    "unary": _Check._unary,
    "arithmetic": _Check._arithmetic,
    "compare": _Check._comparison,
    "if": _Check._conditional,
    "call": _Check._call,
    "foreign": _Check._foreign,
}
