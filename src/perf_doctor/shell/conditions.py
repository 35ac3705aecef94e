"""``[ … ]`` and ``[[ … ]]``: true, false, or not decidable from the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from perf_doctor.shell.arithmetic import ArithmeticUnknown, evaluate
from perf_doctor.shell.limits import TooMuch
from perf_doctor.shell.model import Unknown
from perf_doctor.shell.patterns import matches
from perf_doctor.shell.regex import search
from perf_doctor.shell.status import MISUSE, Status, of_truth
from perf_doctor.shell.values import Element, Value, Variable, literal
from perf_doctor.shell.words import Literal, scan, split

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

Truth = bool | None
Range = tuple[int, int]

_INTEGER: Final = r"\s*[-+]?[0-9]{1,18}\s*"
_FILE: Final = frozenset("abcdefghkprstuwxGLNOS")
_NUMBER: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_TEXT: Final = frozenset({"=", "==", "!=", "<", ">", "=~", "-nt", "-ot", "-ef"})
_BINARY: Final = (_TEXT | _NUMBER.keys()) - {"=~"}


def single(interpreter: Interpreter, source: Source, start: int, end: int) -> Status:
    """Return the status of ``[ … ]``, whose inside stands at the range.

    Words are split first, as bash does: ``[ $X = a ]`` with X unset is an error, hence false.
    """
    ranges = split(source, start, end)
    words: list[Element] = []
    looked_at: list[tuple[str, ...]] = []
    for begin, stop in ranges:
        expanded, names = _expand(interpreter, source, begin, stop)
        words.extend(expanded)
        looked_at.append(names)
    if len(ranges) == 3 and source.text[slice(*ranges[1])] in ("=", "==", "!="):
        _remember(interpreter, source, ranges, looked_at)
    return test(interpreter, [word.value for word in words])


def _expand(
    interpreter: Interpreter, source: Source, begin: int, stop: int
) -> tuple[Sequence[Element], tuple[str, ...]]:
    """Return the words of a range and the names it was seen to depend on."""
    trace = interpreter.trace
    before, trace.looked_at = trace.looked_at, {}
    words = interpreter.expander.words(source, begin, stop)
    names = tuple(trace.looked_at)
    trace.looked_at = {**before, **trace.looked_at}
    return words, names


def _remember(
    interpreter: Interpreter,
    source: Source,
    ranges: list[Range],
    looked_at: list[tuple[str, ...]],
) -> None:
    """Note the text a name was compared with: another way through the script.

    Inside a function the name may be any argument, so nothing is noted there.
    """
    if interpreter.calls:
        return
    for names, other in ((looked_at[0], ranges[2]), (looked_at[2], ranges[0])):
        parts = scan(source, *other)
        if len(names) == 1 and parts and all(isinstance(part, Literal) for part in parts):
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


class _Single:
    """The words of ``[ … ]``, read by their number first, as POSIX demands, then by precedence."""

    def __init__(self, interpreter: Interpreter, words: list[Value]) -> None:
        self.interpreter = interpreter
        self.words = words
        self.texts = [word.known for word in words]
        self.at = 0

    def decide(self) -> Truth:
        """Return the truth of all the words."""
        count = len(self.words)
        if count == 4 and self.texts[0] == "!":
            return _not(self._three(1))
        if count == 4 and self.texts[0] == "(" and self.texts[3] == ")":
            return self._two(1)
        if count == 3:
            return self._three(0)
        if count == 2:
            return self._two(0)
        if count < 2:
            return _not(self.words[0].empty) if count else False
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
        return _unary(self.interpreter, operator, self.words[at + 1])

    def _three(self, at: int) -> Truth:
        first, operator, last = self.texts[at : at + 3]
        left, right = self.words[at], self.words[at + 2]
        if operator in _BINARY:
            return _binary(self.interpreter, left, str(operator), right)
        if operator in ("-a", "-o"):
            combine = _and if operator == "-a" else _or
            return combine(_not(left.empty), _not(right.empty))
        if first == "!":
            return _not(self._two(at + 1))
        if first == "(" and last == ")":
            return _not(self.words[at + 1].empty)
        raise _Misused

    def _or(self) -> Truth:
        value = self._and()
        while self._take("-o"):
            value = _or(value, self._and())
        return value

    def _and(self) -> Truth:
        value = self._term()
        while self._take("-a"):
            value = _and(value, self._term())
        return value

    def _take(self, text: str) -> bool:
        taken = self.at < len(self.texts) and self.texts[self.at] == text
        self.at += taken
        return taken

    def _term(self) -> Truth:
        negated = False
        while self._take("!"):
            negated = not negated
        value = self._positive()
        return _not(value) if negated else value

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
            return _binary(self.interpreter, self.words[at], operator, self.words[at + 2])
        if left > 1 and text is not None and _is_unary(text):
            self.at += 2
            return _unary(self.interpreter, text, self.words[at + 1])
        self.at += 1
        return _not(self.words[at].empty)


def _is_unary(text: str) -> bool:
    return len(text) == 2 and text[0] == "-" and (text[1] in _FILE or text[1] in "nzvotR")


def double(interpreter: Interpreter, source: Source, start: int, end: int) -> Truth:
    """Return the truth of the inside of ``[[ … ]]``: no splitting, patterns, ``&&`` and ``||``."""
    return _Double(interpreter, source, split(source, start, end, breaks="()")).parse()


class _Double:
    def __init__(self, interpreter: Interpreter, source: Source, ranges: list[Range]) -> None:
        self.interpreter = interpreter
        self.source = source
        self.ranges = ranges
        self.at = 0

    def parse(self) -> Truth:
        value = self._and()
        while self._take("||"):
            value = _or(value, self._and())
        return value

    def _and(self) -> Truth:
        value = self._primary()
        while self._take("&&"):
            value = _and(value, self._primary())
        return value

    def _peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.source.text[slice(*self.ranges[at])] if at < len(self.ranges) else ""

    def _take(self, text: str) -> bool:
        if self._peek() == text:
            self.at += 1
            return True
        return False

    def _primary(self) -> Truth:
        if self._take("!"):
            return _not(self._primary())
        if self._take("("):
            value = self.parse()
            self._take(")")
            return value
        first = self._peek()
        if first.startswith("-") and len(first) == 2 and self._peek(1) not in ("", "&&", "||", ")"):
            self.at += 2
            return _unary(self.interpreter, first, self._value(self.ranges[self.at - 1]))
        if self.at >= len(self.ranges):
            return False
        left_range = self.ranges[self.at]
        self.at += 1
        operator = self._peek()
        if operator == "=~":
            return self._search(left_range)
        if operator in _TEXT or operator in _NUMBER:
            self.at += 2
            if self.at > len(self.ranges):
                return False
            return self._compare(left_range, operator, self.ranges[self.at - 1])
        return _not(self._value(left_range).empty)

    def _value(self, at: Range) -> Value:
        return self.interpreter.expander.value(self.source, *at)

    def _compare(self, left_range: Range, operator: str, right_range: Range) -> Truth:
        trace = self.interpreter.trace
        before, trace.looked_at = trace.looked_at, {}
        left = self._value(left_range)
        names = tuple(trace.looked_at)
        trace.looked_at = {**before, **trace.looked_at}
        if operator in _NUMBER:
            return self._compare_numbers(left, operator, self._value(right_range))
        if operator not in ("=", "==", "!="):
            return _binary(self.interpreter, left, operator, self._value(right_range))
        _remember(self.interpreter, self.source, [left_range, (0, 0), right_range], [names, (), ()])
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
        return _NUMBER[operator](*numbers)

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
            elements = (Element(Value((Unknown("BASH_REMATCH", "a match"),)), place),)
        self.interpreter.state.assign("BASH_REMATCH", Variable(elements=elements))
        return None if found is None else bool(found)


def _not(value: Truth) -> Truth:
    return None if value is None else not value


def _and(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Truth, right: Truth) -> Truth:
    return _not(_and(_not(left), _not(right)))


def _unary(interpreter: Interpreter, operator: str, word: Value) -> Truth:
    if operator == "-z":
        return word.empty
    if operator == "-n":
        return _not(word.empty)
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


def _binary(interpreter: Interpreter, left: Value, operator: str, right: Value) -> Truth:
    a, b = left.known, right.known
    if a is None or b is None:
        return _different(left, right, operator)
    if operator in ("=", "=="):
        return a == b
    if operator == "!=":
        return a != b
    if operator in "<>":
        return a < b if operator == "<" else a > b
    if operator in _NUMBER:
        if not (re.fullmatch(_INTEGER, a) and re.fullmatch(_INTEGER, b)):
            raise _Misused
        return _NUMBER[operator](int(a), int(b))
    return None


def _different(left: Value, right: Value, operator: str) -> Truth:
    """Return what can be said of a text that is not known: a required one is not empty."""
    for one, other in ((left, right), (right, left)):
        if other.empty is True and one.empty is False and operator in ("=", "==", "!="):
            return operator == "!="
    return None
