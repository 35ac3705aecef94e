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

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from perf_doctor.rules.expression import Expression
from perf_doctor.rules.functions import FUNCTIONS, LIMIT, Flags, Scalar, Value
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


_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDER: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
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

    def of(self, node: ast.expr) -> Value:
        """Return the value of a part of the expression, and record it when a trace is wanted."""
        value = _METHODS[type(node)](self, node)
        if self.steps is not None and not isinstance(node, (ast.Constant, ast.Tuple, ast.List)):
            text = self.expression.segment(node)
            self.steps.append(Step(text, value, isinstance(node, ast.Name)))
        return value

    def truth(self, node: ast.expr) -> bool | Unknown:
        """Return the value of a part that is a condition."""
        value = self.of(node)
        if value is None:
            return False
        if isinstance(value, (bool, Unknown)):
            return value
        raise self._mismatch(node, "a condition", value)

    def _constant(self, node: ast.Constant) -> Value:
        assert isinstance(node.value, bool | int | float | str | None)
        return node.value

    def _fact(self, node: ast.Name) -> Value:
        return self.scope.fact(node.id)

    def _list(self, node: ast.Tuple | ast.List) -> Value:
        return tuple(self._scalar(item) for item in node.elts)

    def _scalar(self, node: ast.expr) -> Scalar:
        assert isinstance(node, ast.Constant)
        assert isinstance(node.value, bool | int | float | str)
        return node.value

    def _connective(self, node: ast.BoolOp) -> bool | Unknown:
        """Kleene's ``and`` and ``or``: the first part that decides wins, an unknown one waits."""
        deciding = isinstance(node.op, ast.Or)
        waiting: Unknown | None = None
        for part in node.values:
            value = self.truth(part)
            if isinstance(value, Unknown):
                waiting = waiting or value
            elif value is deciding:
                return deciding
        return waiting or not deciding

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            value = self.truth(node.operand)
            return value if isinstance(value, Unknown) else not value
        number = self._number(node.operand)
        return number if number is None or isinstance(number, Unknown) else -number

    def _conditional(self, node: ast.IfExp) -> Value:
        test = self.truth(node.test)
        if not isinstance(test, Unknown):
            return self.of(node.body if test else node.orelse)
        body, orelse = self.of(node.body), self.of(node.orelse)
        same = type(body) is type(orelse) and body == orelse
        return body if same else test

    def _number(self, node: ast.expr) -> float | Unknown | None:
        value = self.of(node)
        if value is None or isinstance(value, Unknown):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._mismatch(node, "a number", value)
        return value

    def _arithmetic(self, node: ast.BinOp) -> Value:
        left, right = self._number(node.left), self._number(node.right)
        if left is None or right is None:
            return None
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            if right == 0 and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
                return None
            return left if isinstance(left, Unknown) else right
        try:
            return self._bounded(node, _ARITHMETIC[type(node.op)](left, right))
        except ZeroDivisionError:
            return None
        except OverflowError:
            raise self.expression.error(node, "the result is too large") from None

    def _bounded(self, node: ast.expr, value: float) -> float:
        if not abs(value) <= LIMIT:
            raise self.expression.error(node, "the result is beyond 2^63")
        return value

    def _comparison(self, node: ast.Compare) -> bool | Unknown:
        left_node, waiting = node.left, None
        left = self.of(left_node)
        for compare, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.of(right_node)
            value = self._compare(node, compare, (left_node, left), (right_node, right))
            if value is False:
                return False
            if isinstance(value, Unknown):
                waiting = waiting or value
            left_node, left = right_node, right
        return waiting or True

    def _compare(
        self,
        node: ast.Compare,
        compare: ast.cmpop,
        first: tuple[ast.expr, Value],
        second: tuple[ast.expr, Value],
    ) -> bool | Unknown:
        (left_node, left), (right_node, right) = first, second
        if isinstance(compare, (ast.Eq, ast.NotEq)) and (
            _is_none(left_node) or _is_none(right_node)
        ):
            return _negated_if(_absent(left, right), isinstance(compare, ast.NotEq))
        if left is None or right is None:
            return False
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return left if isinstance(left, Unknown) else right  # type: ignore[return-value]
        if isinstance(compare, (ast.In, ast.NotIn)):
            if not isinstance(right, (tuple, Mapping)):
                raise self._mismatch(right_node, "a list", right)
            return _negated_if(_member(left, right), isinstance(compare, ast.NotIn))
        if isinstance(compare, (ast.Eq, ast.NotEq)):
            return _negated_if(_equal(left, right), isinstance(compare, ast.NotEq))
        for side, value in (first, second):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self._mismatch(side, "a number", value)
        return _ORDER[type(compare)](left, right)  # type: ignore[arg-type]

    def _call(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Name)
        function = FUNCTIONS[node.func.id]
        arguments = [self.of(argument) for argument in node.args]
        if not function.takes_absent:
            if any(argument is None for argument in arguments):
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
            raise self.expression.error(node, f"{node.func.id}() cannot take this") from None
        if isinstance(result, float) and not math.isfinite(result):
            raise self.expression.error(node, "the result is too large")
        return result

    def _mismatch(self, node: ast.expr, needed: str, value: object) -> Exception:
        text = self.expression.segment(node)
        return self.expression.error(node, f"{needed} is needed, and `{text}` is {value!r:.60}")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


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


_METHODS: Mapping[type[ast.AST], Callable[[_Evaluation, Any], Value]] = {
    ast.Constant: _Evaluation._constant,
    ast.Name: _Evaluation._fact,
    ast.Tuple: _Evaluation._list,
    ast.List: _Evaluation._list,
    ast.BoolOp: _Evaluation._connective,
    ast.UnaryOp: _Evaluation._unary,
    ast.BinOp: _Evaluation._arithmetic,
    ast.Compare: _Evaluation._comparison,
    ast.IfExp: _Evaluation._conditional,
    ast.Call: _Evaluation._call,
}
