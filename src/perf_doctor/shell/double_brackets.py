"""``[[ … ]]``: no splitting, patterns and regular expressions, ``&&`` and ``||``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_doctor.language import said
from perf_doctor.shell.arithmetic import ArithmeticUnknown, evaluate
from perf_doctor.shell.conditions import (
    EQUALITY,
    NUMBER_OPERATORS,
    TEXT_OPERATORS,
    Joined,
    Range,
    Truth,
    binary,
    negation,
    remember,
    unary,
)
from perf_doctor.shell.extents import split
from perf_doctor.shell.limits import MAX_NESTING, TooMuch
from perf_doctor.shell.model import Unknown
from perf_doctor.shell.patterns import matches
from perf_doctor.shell.regex import search
from perf_doctor.shell.values import Element, Value, Variable, literal

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source


def double_brackets(interpreter: Interpreter, source: Source, start: int, end: int) -> Truth:
    """Return the truth of the inside of ``[[ … ]]``: no splitting, patterns, ``&&`` and ``||``."""
    return _Double(interpreter, source, split(source, start, end, breaks="()")).parse()


class _Double(Joined):
    AND, OR = "&&", "||"

    def __init__(self, interpreter: Interpreter, source: Source, ranges: list[Range]) -> None:
        super().__init__(interpreter)
        self.source = source
        self.ranges = ranges
        self.depth = 0

    def parse(self) -> Truth:
        return self._or()

    def _peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.source.text[slice(*self.ranges[at])] if at < len(self.ranges) else ""

    def _positive(self) -> Truth:
        if self._take("("):
            return self._group()
        first = self._peek()
        if first.startswith("-") and len(first) == 2 and self._peek(1) not in ("", "&&", "||", ")"):
            self.at += 2
            return unary(self.interpreter, first, self._value(self.ranges[self.at - 1]))
        if self.at >= len(self.ranges):
            return False
        left_range = self.ranges[self.at]
        self.at += 1
        operator = self._peek()
        if operator == "=~":
            return self._search(left_range)
        if operator in TEXT_OPERATORS or operator in NUMBER_OPERATORS:
            self.at += 2
            if self.at > len(self.ranges):
                return False
            return self._compare(left_range, operator, self.ranges[self.at - 1])
        return negation(self._value(left_range).empty)

    def _group(self) -> Truth:
        if self.depth >= MAX_NESTING:
            self.at = len(self.ranges)
            return None
        self.depth += 1
        value = self._or()
        self.depth -= 1
        self._take(")")
        return value

    def _value(self, at: Range) -> Value:
        return self.interpreter.expander.value(self.source, *at)

    def _compare(self, left_range: Range, operator: str, right_range: Range) -> Truth:
        left, names = self.interpreter.trace.seen_by(lambda: self._value(left_range))
        if operator in NUMBER_OPERATORS:
            return self._compare_numbers(left, operator, self._value(right_range))
        if operator not in EQUALITY:
            return binary(self.interpreter, left, operator, self._value(right_range))
        remember(self.interpreter, self.source, names, right_range)
        pattern = self.interpreter.expander.pattern(self.source, *right_range)
        text = left.known
        if pattern is None or text is None:
            return None
        try:
            return matches(pattern, text) == (operator != "!=")
        except TooMuch:
            return None

    def _compare_numbers(self, left: Value, operator: str, right: Value) -> Truth:
        """Compare two arithmetic expressions; one that is not valid makes it false."""
        a, b = left.known, right.known
        if a is None or b is None:
            return None
        try:
            numbers = evaluate(a, self.interpreter), evaluate(b, self.interpreter)
        except ArithmeticUnknown:
            return False
        return NUMBER_OPERATORS[operator](*numbers)

    def _search(self, left_range: Range) -> Truth:
        """Match a regular expression, which goes on to the next ``&&`` or ``||``."""
        begin = self.at = self.at + 1
        depth = 0
        while (word := self._peek()) not in ("", "&&", "||") and (word != ")" or depth):
            depth += {"(": 1, ")": -1}.get(word, 0)
            self.at += 1
        if self.at == begin:
            return False
        text = self._value(left_range).known
        span = self.ranges[begin][0], self.ranges[self.at - 1][1]
        pieces = self.interpreter.expander.pieces(self.source, *span)
        found = None if text is None or pieces is None else search(pieces, text)
        place = self.source.place(span[0])
        groups = found if isinstance(found, tuple) else ()
        elements = tuple(Element(literal(group), place) for group in groups)
        if found is None:
            elements = (Element(Value((Unknown("BASH_REMATCH", said("a match")),)), place),)
        self.interpreter.state.assign("BASH_REMATCH", Variable(elements=elements))
        return None if found is None else bool(found)
