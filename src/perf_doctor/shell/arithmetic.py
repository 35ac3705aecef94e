"""Shell arithmetic: 64-bit integers, C operators, assignment to variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

from perf_doctor.shell.limits import MAX_NESTING

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+#[0-9A-Za-z@_]+|0[xX][0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>\*\*|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),\[\]]))"
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
"""Stands in the text of an expression for a part that is not known: it is no token."""


class ArithmeticUnknown(Exception):
    """Raised when the result depends on something unknown or the expression is an error."""


class Variables(Protocol):
    """What an expression may read and write."""

    def number_text(self, name: str, index: int | None) -> str:
        """Return the text of a variable or array element; empty when unset."""

    def assign_number(self, name: str, index: int | None, value: int) -> None:
        """Set a variable or array element."""


@dataclass(slots=True)
class _Run:
    """One evaluation: the variables, and how many of them refer to each other."""

    variables: Variables
    depth: int

    def read(self, name: str, index: int | None) -> int:
        text = self.variables.number_text(name, index)
        return evaluate(text, self.variables, self.depth + 1)

    def write(self, name: str, index: int | None, value: int) -> int:
        value = wrap(value)
        self.variables.assign_number(name, index, value)
        return value


_Code = Callable[[_Run], int]


def evaluate(text: str, variables: Variables, depth: int = 0) -> int:
    """Return the value of an expression after expansion, as a signed 64-bit integer.

    Raises ``ArithmeticUnknown`` for an unknown part, a syntax error or a division by zero.
    """
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < 19:
        return int(text)
    if depth > MAX_NESTING:
        raise ArithmeticUnknown
    return _compiled(text)(_Run(variables, depth))


def wrap(number: int) -> int:
    """Return the number as a signed 64-bit integer, as bash overflows."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


@lru_cache(maxsize=512)
def _compiled(text: str) -> _Code:
    return _Parser(_tokens(text)).parse()


class _Parser:
    """Turns tokens into a function of a run; loops evaluate the same text many times."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def parse(self) -> _Code:
        if len(self.tokens) == 1:
            return _constant(0)
        code = self._comma()
        if self.tokens[self.at][0] != "end":
            raise ArithmeticUnknown
        return code

    def _take(self, *operators: str) -> str | None:
        kind, text = self.tokens[self.at]
        if kind == "op" and text in operators:
            self.at += 1
            return text
        return None

    def _expect(self, operator: str) -> None:
        if not self._take(operator):
            raise ArithmeticUnknown

    def _nested(self, parse: Callable[[], _Code]) -> _Code:
        self.depth += 1
        if self.depth > MAX_NESTING * 2:
            raise ArithmeticUnknown
        code = parse()
        self.depth -= 1
        return code

    def _comma(self) -> _Code:
        codes = [self._assignment()]
        while self._take(","):
            codes.append(self._assignment())
        return codes[0] if len(codes) == 1 else lambda run: [code(run) for code in codes][-1]

    def _assignment(self) -> _Code:
        kind, name = self.tokens[self.at]
        if kind == "name":
            mark = self.at
            self.at += 1
            index = self._index()
            if operator := self._take(*_ASSIGN):
                return _assigning(name, index, operator, self._nested(self._assignment))
            self.at = mark
        return self._ternary()

    def _ternary(self) -> _Code:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._nested(self._assignment)
        self._expect(":")
        no = self._nested(self._assignment)
        return lambda run: yes(run) if condition(run) else no(run)

    def _binary(self, level: int) -> _Code:
        """Return the code of operators that bind at ``level`` or tighter."""
        first = self._power()
        rest: list[tuple[str, _Code]] = []
        while True:
            kind, operator = self.tokens[self.at]
            own = _PRECEDENCE.get(operator, -1) if kind == "op" else -1
            if own < level:
                return _chained(first, rest) if rest else first
            self.at += 1
            rest.append((operator, self._binary(own + 1)))

    def _power(self) -> _Code:
        base = self._nested(self._unary)
        if not self._take("**"):
            return base
        if self.tokens[self.at] == ("op", "-") and self.tokens[self.at + 1][0] == "number":
            raise ArithmeticUnknown  # bash refuses it in an arm that is not taken, too
        exponent = self._nested(self._power)
        return lambda run: _raised(base(run), exponent(run))

    def _unary(self) -> _Code:
        if operator := self._take("++", "--"):
            kind, name = self.tokens[self.at]
            if kind != "name":
                raise ArithmeticUnknown
            self.at += 1
            return _stepping(name, self._index(), 1 if operator == "++" else -1, after=False)
        if operator := self._take("-", "+", "!", "~"):
            change, code = _UNARY[operator], self._nested(self._unary)
            return lambda run: wrap(change(code(run)))
        return self._primary()

    def _primary(self) -> _Code:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return _constant(_number(text))
        if kind == "op" and text == "(":
            code = self._comma()
            self._expect(")")
            return code
        if kind != "name":
            raise ArithmeticUnknown
        index = self._index()
        if operator := self._take("++", "--"):
            return _stepping(text, index, 1 if operator == "++" else -1, after=True)
        return lambda run: run.read(text, index(run) if index is not None else None)

    def _index(self) -> _Code | None:
        if not self._take("["):
            return None
        code = self._nested(self._comma)
        self._expect("]")
        return code


def _constant(value: int) -> _Code:
    return lambda _run: value


def _assigning(name: str, index: _Code | None, operator: str, right: _Code) -> _Code:
    def code(run: _Run) -> int:
        at = index(run) if index is not None else None
        if operator == "=":
            return run.write(name, at, right(run))
        left = run.read(name, at)
        return run.write(name, at, _apply(operator[:-1], left, right(run)))

    return code


def _stepping(name: str, index: _Code | None, step: int, *, after: bool) -> _Code:
    """Return the code of ``name++`` and the like; ``after`` gives the value before the step."""

    def code(run: _Run) -> int:
        at = index(run) if index is not None else None
        value = run.read(name, at)
        changed = run.write(name, at, value + step)
        return value if after else changed

    return code


def _chained(first: _Code, rest: list[tuple[str, _Code]]) -> _Code:
    """Return the code of binary operators from left to right; ``&&`` and ``||`` may stop short."""

    def code(run: _Run) -> int:
        value = first(run)
        for operator, right in rest:
            if operator == "&&":
                value = int(bool(value) and bool(right(run)))
            elif operator == "||":
                value = int(bool(value) or bool(right(run)))
            else:
                value = _apply(operator, value, right(run))
        return value

    return code


def _raised(base: int, exponent: int) -> int:
    if exponent < 0:
        raise ArithmeticUnknown
    return wrap(pow(base, exponent, 1 << 64))


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    text = text.strip()
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise ArithmeticUnknown
        kind, token = match.lastgroup, match.group(match.lastgroup)
        at = match.end()
        if token in ("++", "--") and not _is_step(tokens, text, at):
            token, at = token[0], at - 1  # two signs
        tokens.append((kind, token))
    tokens.append(("end", ""))
    return tokens


def _is_step(before: list[tuple[str, str]], text: str, at: int) -> bool:
    """Return whether ``++`` or ``--`` steps a variable: a name stands before or behind it."""
    if before and (before[-1][0] == "name" or before[-1][1] == "]"):
        return True
    behind = text[at:].lstrip()[:1]
    return behind.isalpha() or behind == "_"


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


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise ArithmeticUnknown
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrap(quotient if operator == "/" else left - quotient * right)
    return wrap(_SIMPLE[operator](left, right))


_UNARY: Final[dict[str, Callable[[int], int]]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "!": lambda a: not a,
    "~": lambda a: ~a,
}
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
