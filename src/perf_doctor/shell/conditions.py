"""``[ … ]`` and ``[[ … ]]``: true, false, or not decidable from the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from perf_doctor.shell.arithmetic import ArithmeticUnknown, evaluate
from perf_doctor.shell.patterns import matches
from perf_doctor.shell.values import Element, Value
from perf_doctor.shell.words import Literal, scan, split

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

Truth = bool | None
Range = tuple[int, int]

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


def single(interpreter: Interpreter, source: Source, start: int, end: int) -> Truth:
    """Return the truth of the inside of ``[ … ]`` or of the arguments of ``test``.

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
) -> tuple[list[Element], tuple[str, ...]]:
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


def test(interpreter: Interpreter, words: list[Value]) -> Truth:
    """Return what ``test`` says of these words; a usage error is false."""
    texts = [word.known for word in words]
    if not words:
        return False
    if len(words) == 1:
        return _not(words[0].empty)
    if len(words) == 3 and texts[1] in _TEXT | _NUMBER.keys():
        return _binary(interpreter, words[0], str(texts[1]), words[2])
    if texts[0] == "!":
        return _not(test(interpreter, words[1:]))
    if texts[0] == "(" and texts[-1] == ")":
        return test(interpreter, words[1:-1])
    for operator, combine in (("-o", _or), ("-a", _and)):
        if len(words) > 3 and operator in texts[1:-1]:
            at = texts.index(operator, 1)
            return combine(test(interpreter, words[:at]), test(interpreter, words[at + 1 :]))
    if len(words) == 2 and texts[0] is not None:
        return _unary(interpreter, texts[0], words[1])
    return False


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
        if operator not in ("=", "==", "!="):
            return _binary(self.interpreter, left, operator, self._value(right_range))
        _remember(self.interpreter, self.source, [left_range, (0, 0), right_range], [names, (), ()])
        pattern = self.interpreter.expander.pattern(self.source, *right_range)
        text = left.known
        if pattern is None or text is None:
            return None
        return matches(pattern, text) == (operator != "!=")


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
        try:
            numbers = evaluate(a, interpreter), evaluate(b, interpreter)
        except ArithmeticUnknown:
            return False
        return _NUMBER[operator](*numbers) if a.strip() and b.strip() else False
    return None


def _different(left: Value, right: Value, operator: str) -> Truth:
    """Return what can be said of a text that is not known: a required one is not empty."""
    for one, other in ((left, right), (right, left)):
        if other.empty is True and one.empty is False and operator in ("=", "==", "!="):
            return operator == "!="
    return None
