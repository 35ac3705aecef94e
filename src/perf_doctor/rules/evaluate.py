"""The language of rule conditions: three-valued evaluation.

A value is known, absent (None: an option that is not given and has no default, a size that this
kind of model does not have) or *unknown* (bash would know it, a reader of the script cannot).

* **Unknown** spreads: arithmetic, comparisons and functions of an unknown are unknown. ``and``,
  ``or`` and ``not`` follow Kleene: ``False and unknown`` is false, ``True or unknown`` is true.
  So learning an unknown value never contradicts an answer that was given without it.
* **Absent** satisfies no comparison: ``x < 3``, ``x == 3``, ``x != 3`` and ``x not in (3,)`` are
  all false when x is None. Only ``x == None`` and ``x != None``, with None written out, test it.
  Arithmetic with it is None, and so is division by zero. As a condition it counts as false.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from perf_doctor.rules.expression import MAX_NUMBER, Expression, Node
from perf_doctor.rules.functions import FUNCTIONS, Flags, Scalar, Value
from perf_doctor.shell.model import Unknown


class Scope(Protocol):
    """What an expression is evaluated against: the facts of one job and its flags."""

    @property
    def flags(self) -> Flags:
        """The options of the launch."""
        ...

    def fact(self, name: str) -> Value:
        """Return the value of a fact of the table."""
        ...


class Step(NamedTuple):
    """One part of an expression and the value it had."""

    text: str
    value: Value
    is_name: bool


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: Expression, scope: Scope) -> Value:
    """Return the value of a checked expression.

    Raises:
        RuleError: a value is not what the expression needs; nothing else is ever raised.
    """
    return _Evaluation(expression, scope, None).of(expression.tree)


def holds(expression: Expression, scope: Scope) -> bool | Unknown:
    """Return whether a condition holds; an absent value counts as false."""
    return _Evaluation(expression, scope, None).truth(expression.tree)


def trace(expression: Expression, scope: Scope) -> tuple[Step, ...]:
    """Return every part of the expression that was looked at, innermost first, with its value."""
    steps: list[Step] = []
    _Evaluation(expression, scope, steps).of(expression.tree)
    return tuple(steps)


class _Evaluation:
    """One evaluation of one expression."""

    def __init__(self, expression: Expression, scope: Scope, steps: list[Step] | None) -> None:
        self.expression = expression
        self.scope = scope
        self.steps = steps

    def of(self, node: Node) -> Value:
        """Return the value of a part of the expression, and record it when a trace is wanted."""
        value = _METHODS[node[0]](self, node)
        if self.steps is not None and node[0] not in ("value", "list"):
            self.steps.append(Step(self.expression.segment(node), value, node[0] == "fact"))
        return value

    def truth(self, node: Node) -> bool | Unknown:
        """Return the value of a part that is a condition."""
        value = self.of(node)
        if value is None:
            return False
        if isinstance(value, (bool, Unknown)):
            return value
        raise self._mismatch(node, "a condition", value)

    def _value(self, node: Node) -> Value:
        value: Scalar = node[3]
        return value

    def _fact(self, node: Node) -> Value:
        return self.scope.fact(node[3])

    def _list(self, node: Node) -> Value:
        return tuple(item[3] for item in node[4:])

    def _connective(self, node: Node) -> bool | Unknown:
        """Kleene's ``and`` and ``or``: the first part that decides wins, an unknown one waits."""
        deciding = node[3] == "or"
        waiting: Unknown | None = None
        for part in node[4:]:
            value = self.truth(part)
            if isinstance(value, Unknown):
                waiting = waiting or value
            elif value is deciding:
                return deciding
        return waiting or not deciding

    def _unary(self, node: Node) -> Value:
        operator_, operand = node[3:]
        if operator_ == "not":
            value = self.truth(operand)
            return value if isinstance(value, Unknown) else not value
        number = self._number(operand)
        return number if number is None or isinstance(number, Unknown) else -number

    def _conditional(self, node: Node) -> Value:
        test_node, body_node, else_node = node[4:]
        test = self.truth(test_node)
        if not isinstance(test, Unknown):
            return self.of(body_node if test else else_node)
        body, orelse = self.of(body_node), self.of(else_node)
        same = type(body) is type(orelse) and body == orelse
        return body if same else test

    def _number(self, node: Node) -> float | Unknown | None:
        value = self.of(node)
        if value is None or isinstance(value, Unknown):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._mismatch(node, "a number", value)
        return value

    def _arithmetic(self, node: Node) -> Value:
        sign, left_node, right_node = node[3:]
        left, right = self._number(left_node), self._number(right_node)
        if left is None or right is None:
            return None
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            if right == 0 and sign in ("/", "//", "%"):
                return None
            return left if isinstance(left, Unknown) else right
        try:
            return self._bounded(node, _ARITHMETIC[sign](left, right))
        except ZeroDivisionError:
            return None
        except OverflowError:
            raise self.expression.error(node, "the result is too large") from None

    def _bounded(self, node: Node, value: float) -> float:
        if not abs(value) <= MAX_NUMBER:
            raise self.expression.error(node, "the result is beyond 2^63")
        return value

    def _comparison(self, node: Node) -> bool | Unknown:
        signs, left_node, *others = node[3:]
        waiting: Unknown | None = None
        left = self.of(left_node)
        for sign, right_node in zip(signs, others, strict=True):
            right = self.of(right_node)
            value = self._compare(sign, (left_node, left), (right_node, right))
            if value is False:
                return False
            if isinstance(value, Unknown):
                waiting = waiting or value
            left_node, left = right_node, right
        return waiting or True

    def _compare(
        self, sign: str, first: tuple[Node, Value], second: tuple[Node, Value]
    ) -> bool | Unknown:
        (left_node, left), (right_node, right) = first, second
        negated = sign in ("!=", "not in")
        if sign in ("==", "!=") and (_is_none(left_node) or _is_none(right_node)):
            return _negated_if(_absent(left, right), negated)
        if left is None or right is None:
            return False
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return left if isinstance(left, Unknown) else right  # type: ignore[return-value]
        if sign in ("in", "not in"):
            if not isinstance(right, (tuple, Mapping)):
                raise self._mismatch(right_node, "a list", right)
            return _negated_if(_member(left, right), negated)
        if sign in ("==", "!="):
            return _negated_if(_equal(left, right), negated)
        for side, value in (first, second):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self._mismatch(side, "a number", value)
        return _ORDER[sign](left, right)  # type: ignore[arg-type]

    def _call(self, node: Node) -> Value:
        name, *argument_nodes = node[3:]
        function = FUNCTIONS[name]
        arguments = [self.of(argument) for argument in argument_nodes]
        if not function.takes_absent:
            if None in arguments:
                return None
            for argument in arguments:
                if isinstance(argument, Unknown):
                    return argument
        elif isinstance(arguments[0], Unknown):
            return arguments[0]
        extra = (self.scope.flags,) if function.sees_flags else ()
        try:
            result = function.call(*extra, *arguments)
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise self.expression.error(node, f"{name}() cannot take this") from None
        if isinstance(result, float) and not math.isfinite(result):
            raise self.expression.error(node, "the result is too large")
        return result

    def _mismatch(self, node: Node, needed: str, value: object) -> Exception:
        text = self.expression.segment(node)
        return self.expression.error(node, f"{needed} is needed, and `{text}` is {value!r:.60}")


def _is_none(node: Node) -> bool:
    return node[0] == "value" and node[3] is None


def _absent(left: Value, right: Value) -> bool | Unknown:
    for side in (left, right):
        if isinstance(side, Unknown):
            return side
    return left is None and right is None


def _negated_if(value: bool | Unknown, negate: bool) -> bool | Unknown:
    return value if isinstance(value, Unknown) else value is not negate


def _equal(left: Value, right: Value) -> bool:
    """Return equality that never takes True for 1."""
    return isinstance(left, bool) is isinstance(right, bool) and left == right


def _member(left: Value, right: tuple[object, ...] | Mapping[str, object]) -> bool:
    return any(_equal(left, item) for item in right)  # type: ignore[arg-type]


_METHODS: Mapping[str, Callable[[_Evaluation, Node], Value]] = {
    "value": _Evaluation._value,
    "fact": _Evaluation._fact,
    "list": _Evaluation._list,
    "connective": _Evaluation._connective,
    "unary": _Evaluation._unary,
    "arithmetic": _Evaluation._arithmetic,
    "compare": _Evaluation._comparison,
    "if": _Evaluation._conditional,
    "call": _Evaluation._call,
}
