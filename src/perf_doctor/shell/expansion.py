"""From the parts of a word to the words bash makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from perf_doctor.language import said
from perf_doctor.shell import parameters
from perf_doctor.shell.arithmetic import UNKNOWN_MARK, ArithmeticUnknown, evaluate
from perf_doctor.shell.braces import expand_braces
from perf_doctor.shell.limits import MAX_NESTING, MAX_WORDS, TooMuch
from perf_doctor.shell.model import Place, Unknown
from perf_doctor.shell.patterns import Pattern, compile_pattern
from perf_doctor.shell.values import EMPTY, Element, Value, join, literal
from perf_doctor.shell.words import Arithmetic, Literal, Parameter, Part, Substitution, scan

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

T = TypeVar("T")
DEFAULT_IFS = " \t\n"
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=,@%+-]+\Z")
_PLAIN_STRING = re.compile(r'"([^"\\$`]*)"')
_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class _Field:
    """A word under construction."""

    values: list[Value] = field(default_factory=list)
    quoted: bool = False
    origin: Element | None = None


class _Fields:
    """Collects words; ``None`` as the current one means that no word has begun."""

    def __init__(self, ifs: str) -> None:
        self.done: list[_Field] = []
        self.current: _Field | None = None
        self.ifs = ifs

    def add(self, value: Value, *, quoted: bool, origin: Element | None = None) -> None:
        if self.current is None:
            self.current = _Field(origin=origin)
        self.current.values.append(value)
        self.current.quoted |= quoted

    def close(self) -> None:
        if self.current is None:
            return
        if self.current.quoted or any(value.parts for value in self.current.values):
            self.done.append(self.current)
            if len(self.done) > MAX_WORDS:
                raise TooMuch(said("more than {limit} words", limit=MAX_WORDS))
        self.current = None

    def split(self, value: Value, origin: Element | None = None) -> None:
        """Add an unquoted expansion: it is cut at the characters of IFS."""
        for part in value.parts:
            if isinstance(part, Unknown):
                self.add(Value((part,), value.overridable_by, value.undecided), quoted=False)
                continue
            for index, piece in enumerate(split_fields(part, self.ifs)):
                if index:
                    self.close()
                if piece is None:
                    continue
                one = Value((piece,), value.overridable_by, value.undecided)
                self.add(one, quoted=False, origin=origin)


def split_fields(text: str, ifs: str) -> Iterator[str | None]:
    """Yield the fields of a text; None stands for nothing before or behind a white-space cut."""
    if not ifs or not any(char in ifs for char in text):
        yield text or None
        return
    white = "".join(char for char in ifs if char in DEFAULT_IFS)
    hard = "".join(char for char in ifs if char not in DEFAULT_IFS)
    begin = at = 0
    if text[0] in white:
        yield None
        while at < len(text) and text[at] in white:
            at += 1
        begin = at
    while at < len(text):
        if text[at] not in ifs:
            at += 1
            continue
        piece = text[begin:at]
        seen_hard = False
        while at < len(text) and (text[at] in white or (text[at] in hard and not seen_hard)):
            seen_hard |= text[at] in hard
            at += 1
        yield piece
        begin = at
    yield text[begin:] or None


def _static_text(source: Source, start: int, end: int) -> str | None:
    """Return the one word that a text without expansions stands for, None where there is more."""
    text = source.text
    if _PLAIN_WORD.match(text, start, end):
        return text[start:end]
    if text[start] == "'" and text.find("'", start + 1, end) == end - 1:
        return text[start + 1 : end - 1]
    if match := _PLAIN_STRING.fullmatch(text, start, end):
        return match[1]
    return None


class Expander:
    """Expands words for an interpreter, whose variables it reads and (``:=``) writes."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.depth = 0

    def words(
        self, source: Source, start: int, end: int, group: str | None = None
    ) -> Sequence[Element]:
        """Return the words that the text at this range becomes; none, one or several.

        ``group`` is the array that the text stands in; a word out of another array keeps its own.
        """
        if (static := source.static.get((start, end))) is not None:
            return static
        place = source.place(start)
        if (text := _static_text(source, start, end)) is not None:
            static = (Element(literal(text), place, group),)
            source.static[start, end] = static
            return static
        parts = scan(source, start, end)
        try:
            if len(parts) == 1 and isinstance(parts[0], Parameter):
                whole = self._whole_array(parts[0])
                if whole is not None:
                    return whole
            return self._expand(source, parts, place, group)
        except TooMuch as limit:
            text = said("{limit}; the word is taken as unknown", limit=limit)
            self.interpreter.trace.note(text, place)
            return [Element(Value((Unknown("too-much", str(limit)),)), place, group)]

    def _whole_array(self, part: Parameter) -> Sequence[Element] | None:
        """Return the elements of ``"${A[@]}"`` as they are, also unquoted where no cut is possible.

        None when it takes the longer way.
        """
        if part.subscript != "@" or part.operator or part.length or part.indirect:
            return None
        state = self.interpreter.state
        variable = state.variables.get(part.name)
        if variable is None or not variable.elements or variable.kind:
            return None
        if part.quoted:
            return variable.elements if all(e.group for e in variable.elements) else None
        if "IFS" in state.variables:
            return None
        for value, _, group in variable.elements:
            text = value.known
            if not text or group is None or len(text.split(None, 1)) != 1 or text != text.strip():
                return None
        return variable.elements

    def _expand(
        self, source: Source, parts: tuple[Part, ...], place: Place, group: str | None
    ) -> list[Element]:
        elements: list[Element] = []
        for variant in expand_braces(parts):
            fields = _Fields(self.ifs())
            self._add(fields, source, variant)
            fields.close()
            for one_field in fields.done:
                value = join(one_field.values)
                origin = one_field.origin or value.origin
                elements.append(
                    Element(value, origin.place, origin.group)
                    if origin
                    else Element(value, place, group)
                )
        return elements

    def value(
        self, source: Source, start: int, end: int, *, quoted: bool = False, operand: bool = False
    ) -> Value:
        """Return the text as an assignment sees it: one value, never split."""
        try:
            return self.value_of(source, scan(source, start, end, quoted=quoted, operand=operand))
        except TooMuch as limit:
            if self.depth:
                raise
            text = said("{limit}; the value is taken as unknown", limit=limit)
            self.interpreter.trace.note(text, source.place(start))
            return Value((Unknown("too-much", str(limit)),))

    def value_of(self, source: Source, parts: Sequence[Part]) -> Value:
        """Return the parts as one value."""
        if len(parts) == 1:
            return self._part_value(source, parts[0])
        return join(self._part_value(source, part) for part in parts)

    def pattern(self, source: Source, start: int, end: int) -> Pattern | None:
        """Return the range as a pattern, or None when a part of it is unknown."""
        pieces = self.pieces(source, start, end)
        return None if pieces is None else compile_pattern(pieces)

    def pieces(self, source: Source, start: int, end: int) -> list[tuple[str, bool]] | None:
        """Return the range as pieces of text, each quoted or not; None when one is unknown."""
        found: list[tuple[str, bool]] = []
        try:
            for part in scan(source, start, end):
                text = self._part_value(source, part).known
                if text is None:
                    return None
                found.append((text, part.quoted))
        except TooMuch:
            return None
        return found

    def arithmetic(self, source: Source, start: int, end: int) -> int | None:
        """Return the value of an arithmetic expression, None when it is not known."""
        try:
            value = self.value(source, start, end, quoted=True)
            text = "".join(p if isinstance(p, str) else UNKNOWN_MARK for p in value.parts)
            return evaluate(text.replace('"', ""), self.interpreter)
        except ArithmeticUnknown:
            return None

    def ifs(self) -> str:
        """Return the characters at which words are split."""
        variable = self.interpreter.state.variables.get("IFS")
        if variable is None:
            return DEFAULT_IFS
        known = variable.scalar.known
        return DEFAULT_IFS if known is None else known

    def _add(self, fields: _Fields, source: Source, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Literal):
                fields.add(literal(part.text), quoted=part.quoted)
            elif isinstance(part, Parameter):
                self._add_parameter(fields, source, part)
            elif part.quoted:
                fields.add(self._part_value(source, part), quoted=True)
            else:
                fields.split(self._part_value(source, part))

    def _add_parameter(self, fields: _Fields, source: Source, part: Parameter) -> None:
        resolved = parameters.resolve(self, source, part)
        if isinstance(resolved, parameters.Operand):
            self._nested(lambda: self._add_operand(fields, source, resolved, quoted=part.quoted))
            return
        if isinstance(resolved, Value):
            if part.quoted:
                fields.add(resolved, quoted=True)
            else:
                fields.split(resolved)
            return
        if part.quoted and part.subscript == "*":
            ifs = self.ifs()
            fields.add(join((e.value for e in resolved), ifs[:1]), quoted=True)
            return
        keeps_empty = self.ifs()[:1] not in DEFAULT_IFS
        for index, element in enumerate(resolved):
            self.interpreter.count_expansion()
            if index:
                fields.close()
            origin = element if element.group else None
            if part.quoted:
                fields.add(element.value, quoted=True, origin=origin)
            elif keeps_empty and element.value.empty is True and index < len(resolved) - 1:
                fields.add(EMPTY, quoted=True, origin=origin)  # between two separators
            else:
                fields.split(element.value, origin)

    def _add_operand(
        self, fields: _Fields, source: Source, operand: parameters.Operand, *, quoted: bool
    ) -> None:
        """Add the default of ``${X:-default}``: its own quotes count, unless quoted as a whole."""
        start, end = operand.range
        if quoted:
            text = self.value(source, start, end, quoted=True, operand=True)
            value = join([text, operand.mark])
            fields.add(value, quoted=True)
            return
        for part in scan(source, start, end):
            if isinstance(part, Parameter):
                self._add_parameter(fields, source, part)
            elif isinstance(part, Literal) and part.quoted:
                fields.add(join([literal(part.text), operand.mark]), quoted=True)
            else:
                value = join([self._part_value(source, part), operand.mark])
                if part.quoted:
                    fields.add(value, quoted=True)
                else:
                    fields.split(value)
        if fields.current is not None:
            fields.current.values.append(operand.mark)

    def _part_value(self, source: Source, part: Part) -> Value:
        if isinstance(part, Literal):
            return literal(part.text)
        if isinstance(part, Parameter):
            return self._parameter_value(source, part)
        if isinstance(part, Arithmetic):
            number = self.arithmetic(source, part.start, part.end)
            if number is None:
                return Value(
                    (Unknown("arithmetic", said("arithmetic on something that is not known")),)
                )
            return self._mark(source, part).with_text(str(number))
        if isinstance(part, Substitution):
            return self._nested(lambda: self.interpreter.substitute(source, part))
        return Value((Unknown(part.name, said("an expansion that is not evaluated")),))

    def _mark(self, source: Source, part: Arithmetic) -> Value:
        """Return a value with what the names in an arithmetic expression bring along."""
        values = [self.value(source, part.start, part.end, quoted=True)]
        for name in dict.fromkeys(_NAMES.findall(source.text, part.start, part.end)):
            variable = self.interpreter.state.variables.get(name)
            if variable is not None:
                values.append(variable.scalar)
        return join(values)

    def _parameter_value(self, source: Source, part: Parameter) -> Value:
        resolved = parameters.resolve(self, source, part)
        if isinstance(resolved, parameters.Operand):
            start, end = resolved.range
            quoted = part.quoted
            text = self._nested(
                lambda: self.value(source, start, end, quoted=quoted, operand=quoted)
            )
            return join([text, resolved.mark])
        if isinstance(resolved, Value):
            return resolved
        separator = self.ifs()[:1] if part.subscript == "*" else " "
        return join((element.value for element in resolved), separator)

    def _nested(self, run: Callable[[], T]) -> T:
        if self.depth >= MAX_NESTING:
            raise TooMuch(said("expansions nested deeper than {limit}", limit=MAX_NESTING))
        self.depth += 1
        try:
            return run()
        finally:
            self.depth -= 1
