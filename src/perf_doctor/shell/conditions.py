"""``[ … ]`` and ``test``: true, false, or not decidable from the text; their operators."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from perf_doctor.shell.extents import split
from perf_doctor.shell.status import MISUSE, Status, of_truth
from perf_doctor.shell.values import Element, Value
from perf_doctor.shell.words import Literal, scan

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

Truth = bool | None
Range = tuple[int, int]

_INTEGER: Final = r"\s*[-+]?[0-9]{1,18}\s*"
_FILE: Final = frozenset("abcdefghkprstuwxGLNOS")
NUMBER_OPERATORS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
EQUALITY: Final = ("=", "==", "!=")
TEXT_OPERATORS: Final = frozenset({*EQUALITY, "<", ">", "=~", "-nt", "-ot", "-ef"})
_BINARY: Final = (TEXT_OPERATORS | NUMBER_OPERATORS.keys()) - {"=~"}


def single(interpreter: Interpreter, source: Source, start: int, end: int) -> Status:
    """Return the status of ``[ … ]``, whose inside stands at the range.

    Words are split first, as bash does: ``[ $X = a ]`` with X unset is an error, hence false.
    """
    ranges = split(source, start, end)
    words: list[Element] = []
    looked_at: list[tuple[str, ...]] = []
    for at in ranges:
        run = partial(interpreter.expander.words, source, *at)
        expanded, names = interpreter.trace.seen_by(run)
        words.extend(expanded)
        looked_at.append(names)
    if len(ranges) == 3 and source.text[slice(*ranges[1])] in EQUALITY:
        remember(interpreter, source, looked_at[0], ranges[2])
        remember(interpreter, source, looked_at[2], ranges[0])
    return test(interpreter, [word.value for word in words])


def remember(
    interpreter: Interpreter, source: Source, names: tuple[str, ...], other: Range
) -> None:
    """Note the text that a side which looked at one name is compared with: another way.

    Inside a function the name may be any argument, so nothing is noted there.
    """
    if interpreter.calls or len(names) != 1:
        return
    parts = scan(source, *other)
    if parts and all(isinstance(part, Literal) for part in parts):
        text = "".join(part.text for part in parts if isinstance(part, Literal))
        interpreter.trace.literals[names[0], text] = None


def test(interpreter: Interpreter, words: list[Value]) -> Status:
    """Return what ``test`` says of these words; wrong use is false, and stays so behind ``!``."""
    try:
        return of_truth(_Single(interpreter, words).decide())
    except _Misused:
        return MISUSE


class _Misused(Exception):
    """The words are no condition: bash prints an error, and the status is 2."""


class Joined(ABC):
    """Conditions joined by operators: *or* binds loosest, then *and*, then ``!``."""

    AND: ClassVar[str]
    OR: ClassVar[str]

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.at = 0

    @abstractmethod
    def _peek(self) -> str | None:
        """Return the next word, if it is known."""

    @abstractmethod
    def _positive(self) -> Truth:
        """Read one condition without ``!`` and return its truth."""

    def _or(self) -> Truth:
        value = self._and()
        while self._take(self.OR):
            value = disjunction(value, self._and())
        return value

    def _and(self) -> Truth:
        value = self._term()
        while self._take(self.AND):
            value = conjunction(value, self._term())
        return value

    def _term(self) -> Truth:
        negated = False
        while self._take("!"):
            negated = not negated
        value = self._positive()
        return negation(value) if negated else value

    def _take(self, text: str) -> bool:
        taken = self._peek() == text
        self.at += taken
        return taken


class _Single(Joined):
    """The words of ``[ … ]``, read by their number first, as POSIX demands, then by precedence."""

    AND, OR = "-a", "-o"

    def __init__(self, interpreter: Interpreter, words: list[Value]) -> None:
        super().__init__(interpreter)
        self.words = words
        self.texts = [word.known for word in words]

    def decide(self) -> Truth:
        """Return the truth of all the words."""
        count = len(self.words)
        if count == 4 and self.texts[0] == "!":
            return negation(self._three(1))
        if count == 4 and self.texts[0] == "(" and self.texts[3] == ")":
            return self._two(1)
        if count == 3:
            return self._three(0)
        if count == 2:
            return self._two(0)
        if count < 2:
            return negation(self.words[0].empty) if count else False
        value = self._or()
        if self.at != count:
            raise _Misused
        return value

    def _two(self, at: int) -> Truth:
        operator = self.texts[at]
        if operator == "!":
            return self.words[at + 1].empty
        if operator is None or not _is_unary(operator):
            raise _Misused
        return unary(self.interpreter, operator, self.words[at + 1])

    def _three(self, at: int) -> Truth:
        first, operator, last = self.texts[at : at + 3]
        left, right = self.words[at], self.words[at + 2]
        if operator in _BINARY:
            return binary(self.interpreter, left, str(operator), right)
        if operator in ("-a", "-o"):
            combine = conjunction if operator == "-a" else disjunction
            return combine(negation(left.empty), negation(right.empty))
        if first == "!":
            return negation(self._two(at + 1))
        if first == "(" and last == ")":
            return negation(self.words[at + 1].empty)
        raise _Misused

    def _peek(self) -> str | None:
        return self.texts[self.at] if self.at < len(self.texts) else None

    def _positive(self) -> Truth:
        at, left = self.at, len(self.words) - self.at
        if left < 1:
            raise _Misused
        text = self.texts[at]
        if text == "(":
            raise _Misused  # with parentheses bash counts words in ways of its own
        if left > 2 and self.texts[at + 1] in _BINARY:
            self.at += 3
            operator = str(self.texts[at + 1])
            return binary(self.interpreter, self.words[at], operator, self.words[at + 2])
        if left > 1 and text is not None and _is_unary(text):
            self.at += 2
            return unary(self.interpreter, text, self.words[at + 1])
        self.at += 1
        return negation(self.words[at].empty)


def _is_unary(text: str) -> bool:
    return len(text) == 2 and text[0] == "-" and (text[1] in _FILE or text[1] in "nzvotR")


def negation(value: Truth) -> Truth:
    """Return the opposite; what is not known stays so."""
    return None if value is None else not value


def conjunction(left: Truth, right: Truth) -> Truth:
    """Return whether both hold; one that does not decides alone."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def disjunction(left: Truth, right: Truth) -> Truth:
    """Return whether one holds; one that does decides alone."""
    return negation(conjunction(negation(left), negation(right)))


def unary(interpreter: Interpreter, operator: str, word: Value) -> Truth:
    """Return the truth of ``-z word``, ``-f file`` and the like."""
    if operator == "-z":
        return word.empty
    if operator == "-n":
        return negation(word.empty)
    text = word.known
    if operator == "-v" and text is not None:
        interpreter.trace.look_at((text,))
        return interpreter.state.get(text) is not None
    if operator in ("-t", "-o"):
        return False
    if len(operator) == 2 and operator[1] in _FILE:
        interpreter.trace.looked_at_file = True
        return interpreter.files.test(operator[1], text, interpreter.state.cwd.known)
    return False


def binary(interpreter: Interpreter, left: Value, operator: str, right: Value) -> Truth:
    """Return the truth of ``left operator right``; raises where a number is none."""
    a, b = left.known, right.known
    if a is None or b is None:
        return _different(left, right, operator)
    if operator in ("=", "=="):
        return a == b
    if operator == "!=":
        return a != b
    if operator in "<>":
        return a < b if operator == "<" else a > b
    if operator in NUMBER_OPERATORS:
        if not (re.fullmatch(_INTEGER, a) and re.fullmatch(_INTEGER, b)):
            raise _Misused
        return NUMBER_OPERATORS[operator](int(a), int(b))
    return None


def _different(left: Value, right: Value, operator: str) -> Truth:
    """Return what can be said of a text that is not known: a required one is not empty."""
    for one, other in ((left, right), (right, left)):
        if other.empty is True and one.empty is False and operator in EQUALITY:
            return operator == "!="
    return None
