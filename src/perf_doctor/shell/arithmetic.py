"""Shell arithmetic: 64-bit integers, C operators, assignment to variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, Protocol

from perf_doctor.shell.limits import MAX_NESTING

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+#[0-9A-Za-z@_]+|0[xX][0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>\*\*|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),\[\]])"
    r"|(?P<unknown>\x00))"
)
_PRECEDENCE: Final = {
    operator: level
    for level, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")
    )
    for operator in operators.split()
}
_ASSIGN: Final = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="})
UNKNOWN_MARK: Final = "\x00"
"""Stands in the text of an expression for a part that is not known."""


class ArithmeticUnknown(Exception):
    """Raised when the result depends on something unknown or the expression is an error."""


class Variables(Protocol):
    """What an expression may read and write."""

    def number_text(self, name: str, index: int | None) -> str:
        """Return the text of a variable or array element; empty when unset."""

    def assign_number(self, name: str, index: int | None, value: int) -> None:
        """Set a variable or array element."""


def evaluate(text: str, variables: Variables, depth: int = 0) -> int:
    """Return the value of an expression after expansion, as a signed 64-bit integer.

    Raises ``ArithmeticUnknown`` for an unknown part, a syntax error or a division by zero.
    """
    if depth > MAX_NESTING:
        raise ArithmeticUnknown
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < 19:
        return int(text)
    return _Evaluator(text, variables, depth).run()


def wrap(number: int) -> int:
    """Return the number as a signed 64-bit integer, as bash overflows."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


class _Evaluator:
    def __init__(self, text: str, variables: Variables, depth: int) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.variables = variables
        self.depth = depth
        self.live = True  # false in the arm of && || ?: that is not taken

    def run(self) -> int:
        if self.tokens == [("end", "")]:
            return 0
        value = self._comma()
        if self._peek() != "":
            raise ArithmeticUnknown
        return value

    def _peek(self) -> str:
        kind, text = self.tokens[self.at]
        return text if kind == "op" else "" if kind == "end" else "\x01"

    def _take(self, *operators: str) -> str | None:
        kind, text = self.tokens[self.at]
        if kind == "op" and text in operators:
            self.at += 1
            return text
        return None

    def _expect(self, operator: str) -> None:
        if not self._take(operator):
            raise ArithmeticUnknown

    def _comma(self) -> int:
        value = self._assignment()
        while self._take(","):
            value = self._assignment()
        return value

    def _assignment(self) -> int:
        kind, name = self.tokens[self.at]
        if kind == "name":
            mark = self.at
            self.at += 1
            index = self._index()
            if operator := self._take(*_ASSIGN):
                right = self._assignment()
                if operator != "=":
                    right = _apply(operator[:-1], self._read(name, index), right, self.live)
                return self._write(name, index, right)
            self.at = mark
        return self._ternary()

    def _ternary(self) -> int:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._guarded(bool(condition), self._assignment)
        self._expect(":")
        no = self._guarded(not condition, self._assignment)
        return yes if condition else no

    def _guarded(self, live: bool, parse: Callable[[], int]) -> int:
        before = self.live
        self.live = before and live
        try:
            return parse()
        finally:
            self.live = before

    def _binary(self, level: int) -> int:
        """Return the value of operators that bind at ``level`` or tighter."""
        left = self._power()
        while True:
            kind, operator = self.tokens[self.at]
            own = _PRECEDENCE.get(operator, -1) if kind == "op" else -1
            if own < level:
                return left
            self.at += 1
            if operator in ("&&", "||"):
                needed = bool(left) if operator == "&&" else not left
                right = self._guarded(needed, partial(self._binary, own + 1))
                both = bool(left) and bool(right)
                left = int(both if operator == "&&" else bool(left) or bool(right))
            else:
                left = _apply(operator, left, self._binary(own + 1), self.live)

    def _power(self) -> int:
        base = self._unary()
        if self._take("**"):
            exponent = self._power()
            if exponent < 0:
                raise ArithmeticUnknown
            return wrap(pow(base, exponent, 1 << 64))
        return base

    def _unary(self) -> int:
        self.depth += 1
        if self.depth > MAX_NESTING * 2:
            raise ArithmeticUnknown
        try:
            if operator := self._take("++", "--"):
                kind, name = self.tokens[self.at]
                if kind != "name":
                    raise ArithmeticUnknown
                self.at += 1
                index = self._index()
                step = 1 if operator == "++" else -1
                return self._write(name, index, self._read(name, index) + step)
            if operator := self._take("-", "+", "!", "~"):
                value = self._unary()
                return wrap({"-": -value, "+": value, "!": int(not value), "~": ~value}[operator])
            return self._primary()
        finally:
            self.depth -= 1

    def _primary(self) -> int:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return _number(text)
        if kind == "op" and text == "(":
            value = self._comma()
            self._expect(")")
            return value
        if kind != "name":
            raise ArithmeticUnknown
        index = self._index()
        value = self._read(text, index)
        if operator := self._take("++", "--"):
            self._write(text, index, value + (1 if operator == "++" else -1))
        return value

    def _index(self) -> int | None:
        if not self._take("["):
            return None
        index = self._comma()
        self._expect("]")
        return index

    def _read(self, name: str, index: int | None) -> int:
        if not self.live:
            return 0
        return evaluate(self.variables.number_text(name, index), self.variables, self.depth + 1)

    def _write(self, name: str, index: int | None, value: int) -> int:
        value = wrap(value)
        if self.live:
            self.variables.assign_number(name, index, value)
        return value


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    text = text.strip()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match or match.lastgroup == "unknown" or not match.lastgroup:
            raise ArithmeticUnknown
        tokens.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    tokens.append(("end", ""))
    return tokens


def _number(text: str) -> int:
    if "#" in text:
        base_text, digits = text.split("#", 1)
        return _in_base(digits, int(base_text))
    if text[:2] in ("0x", "0X"):
        return wrap(int(text, 16))
    if len(text) > 1 and text[0] == "0":
        if any(char > "7" for char in text):
            raise ArithmeticUnknown
        return wrap(int(text, 8))
    if len(text) > 40:
        raise ArithmeticUnknown
    return wrap(int(text))


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"


def _in_base(digits: str, base: int) -> int:
    if not 2 <= base <= 64 or len(digits) > 64:
        raise ArithmeticUnknown
    value = 0
    for char in digits.lower() if base <= 36 else digits:
        digit = _DIGITS.index(char)
        if digit >= base:
            raise ArithmeticUnknown
        value = value * base + digit
    return wrap(value)


def _apply(operator: str, left: int, right: int, live: bool) -> int:
    if operator in ("/", "%"):
        if right == 0:
            if not live:
                return 0
            raise ArithmeticUnknown
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrap(quotient if operator == "/" else left - quotient * right)
    return wrap(_SIMPLE[operator](left, right))


_SIMPLE: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
