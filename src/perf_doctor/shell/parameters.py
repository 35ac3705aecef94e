"""``${name…}``: what a parameter expansion stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.shell import patterns
from perf_doctor.shell.model import Unknown
from perf_doctor.shell.values import EMPTY, Element, Value, Variable, join, literal
from perf_doctor.shell.words import Literal, scan

if TYPE_CHECKING:
    from perf_doctor.shell.expansion import Expander
    from perf_doctor.shell.source import Source
    from perf_doctor.shell.words import Parameter


@frozen
class Operand:
    """The word behind the operator stands for the parameter; ``mark`` is what it brings along."""

    range: tuple[int, int]
    mark: Value


Resolved = Value | Operand | list[Element]


def resolve(expander: Expander, source: Source, part: Parameter) -> Resolved:
    """Return what a parameter expansion stands for.

    A list is ``name[@]``, ``name[*]``, ``$@`` or ``$*``; an ``Operand`` is still to be expanded
    in its place, because its quotes count there.
    """
    state = expander.interpreter.state
    expander.interpreter.count_expansion()
    name = part.name
    if part.indirect and part.subscript in ("@", "*"):
        return _indices(expander, source, name)
    if part.indirect:
        target = state.get(name)
        known = target.scalar.known if target else None
        if not known or not known.replace("_", "a").isalnum():
            return Value((Unknown(name, said("an indirect name that is not known")),))
        name = known
    if part.subscript is not None and _is_associative(expander, name):
        return _unknown(name, said("an associative array, which is not evaluated"))
    if part.subscript in ("@", "*"):
        return _all(expander, source, part, name)
    variable = _element(expander, source, part, name)
    if variable is not None and variable.elements == () and part.subscript is None:
        variable = None  # the first element of an empty array is unset
    _look_at(expander, name, variable)
    if part.length:
        known = variable.scalar.known if variable else ""
        return literal(str(len(known))) if known is not None else _unknown(name)
    if part.operator in _ALTERNATE or part.operator in _DEFAULTS:
        return _defaulted(expander, source, part, name, variable)
    if variable is None:
        return _unset(expander, source, part, name)
    if not part.operator:
        return variable.scalar
    return _transformed(expander, source, part, name, variable.scalar)


def _is_associative(expander: Expander, name: str) -> bool:
    variable = expander.interpreter.state.variables.get(name)
    return variable is not None and variable.kind == "A"


def _look_at(expander: Expander, name: str, variable: Variable | None) -> None:
    """Tell the trace that a condition may hang on this name."""
    trace = expander.interpreter.trace
    if variable is None or variable.scalar.empty is True:
        trace.look_at((name,))
    if variable is not None:
        trace.look_at(variable.scalar.overridable_by)


def _unknown(name: str, reason: str | None = None) -> Value:
    return Value((Unknown(name, reason or said("made from a value that is not known")),))


def _all(expander: Expander, source: Source, part: Parameter, name: str) -> Resolved:
    state = expander.interpreter.state
    if name in "@*":
        place = source.place(0)
        elements = [Element(value, place) for value in state.positional]
        if part.operator == ":":
            elements.insert(0, Element(literal(state.script_name), place))
    else:
        variable = state.get(name)
        if variable is None:
            elements = []
            if depends := state.unset_depends_on.get(name):
                expander.interpreter.depends_on(depends)
        elif variable.elements is None:
            if part.operator == ":":  # a plain text is cut as text
                return _transformed(expander, source, part, name, variable.value)
            elements = [Element(variable.value, source.place(0))]
        else:
            elements = list(variable.elements)
    if part.length:
        return literal(str(len(elements)))
    if part.operator in (":-", "-", *_ALTERNATE):
        return _default_of_all(part, elements)
    if part.operator == ":":
        return _slice(expander, source, part, elements)
    if part.operator:
        return [
            Element(_transformed(expander, source, part, name, e.value), e.place, e.group)
            for e in elements
        ]
    return elements


def _default_of_all(part: Parameter, elements: list[Element]) -> Resolved:
    absent = not elements or (
        part.operator.startswith(":") and len(elements) == 1 and elements[0].value.empty is True
    )
    if part.operator in _ALTERNATE:
        return [] if absent else Operand(part.operand, EMPTY)
    return Operand(part.operand, EMPTY) if absent else elements


def _slice(
    expander: Expander, source: Source, part: Parameter, elements: list[Element]
) -> Resolved:
    bounds = _bounds(expander, source, part)
    if bounds is None:
        return _unknown(part.name)
    offset, length = bounds
    if offset < 0:
        offset += len(elements)
    if offset < 0 or (length is not None and length < 0):
        return []
    return elements[offset:] if length is None else elements[offset : offset + length]


def _indices(expander: Expander, source: Source, name: str) -> list[Element]:
    """Return what ``${!name[@]}`` lists."""
    variable = expander.interpreter.state.get(name)
    if variable is not None and variable.kind == "A":
        return [Element(variable.value, source.place(0))]
    count = 0 if variable is None else 1 if variable.elements is None else len(variable.elements)
    return [Element(literal(str(index)), source.place(0)) for index in range(count)]


def _element(expander: Expander, source: Source, part: Parameter, name: str) -> Variable | None:
    variable = expander.interpreter.state.get(name)
    if part.subscript is None or variable is None:
        return variable
    index = expander.arithmetic(source, *part.index_range)
    if index is None:
        return Variable(_unknown(name))
    if variable.elements is None:
        return variable if index == 0 else None
    elements = variable.elements
    if -len(elements) <= index < len(elements):
        return Variable(elements[index].value)
    return None


def _unset(expander: Expander, source: Source, part: Parameter, name: str) -> Value:
    interpreter = expander.interpreter
    if depends := interpreter.state.unset_depends_on.get(name):
        return Value((), (), depends)
    if interpreter.positional_required and name.isdigit():
        return _unknown(name, said("a positional parameter that the script insists on"))
    if interpreter.state.nounset and not name.isdigit():
        return interpreter.require(name, said("the script stops where it is unset (set -u)"))
    return EMPTY


def _defaulted(
    expander: Expander, source: Source, part: Parameter, name: str, variable: Variable | None
) -> Resolved:
    """Return what an operator that asks whether the parameter is set makes of it."""
    if part.operator in _ALTERNATE:
        return EMPTY if _absent(part, variable) else Operand(part.operand, EMPTY)
    if variable is None or _absent(part, variable):
        return _DEFAULTS[part.operator](expander, source, part, name, variable)
    return variable.scalar


def _default(
    _expander: Expander, _source: Source, part: Parameter, name: str, variable: Variable | None
) -> Resolved:
    names = variable.scalar.overridable_by if variable else ()
    return Operand(part.operand, Value((), names or (name,)))


def _assign_default(
    expander: Expander, source: Source, part: Parameter, name: str, _variable: Variable | None
) -> Resolved:
    text = expander.value(source, *part.operand, quoted=part.quoted, operand=part.quoted)
    value = join([text, Value((), (name,))])
    expander.interpreter.state.assign(name, Variable(value, place=source.place(part.operand[0])))
    return value


def _insist(
    expander: Expander, _source: Source, _part: Parameter, name: str, _variable: Variable | None
) -> Resolved:
    return expander.interpreter.require(name, said("the script stops where it is unset"))


def _absent(part: Parameter, variable: Variable | None) -> bool:
    """Return whether the parameter counts as unset; an unknown text counts as not empty."""
    return variable is None or (part.operator.startswith(":") and variable.scalar.empty is True)


_ALTERNATE: Final = (":+", "+")
_Default = Callable[["Expander", "Source", "Parameter", str, Variable | None], Resolved]
_DEFAULTS: Final[dict[str, _Default]] = {
    ":-": _default, "-": _default, ":=": _assign_default, "=": _assign_default,
    ":?": _insist, "?": _insist,
}  # fmt: skip
"""What stands for a parameter that is absent."""


def _transformed(
    expander: Expander, source: Source, part: Parameter, name: str, value: Value
) -> Value:
    """Return the value behind one of the operators that change a text."""
    text = value.known
    if text is None:
        return _unknown(name)
    expander.interpreter.check_time()
    changed = _change(expander, source, part, text)
    if changed is None:
        return _unknown(name)
    return value.with_text(changed)


def _change(expander: Expander, source: Source, part: Parameter, text: str) -> str | None:
    operator = part.operator
    if operator == ":":
        return _substring(expander, source, part, text)
    if operator in _CASE and part.operand[0] == part.operand[1]:
        return _CASE[operator](text)
    if operator in ("/", "//", "/#", "/%"):
        return _replaced(expander, source, part, text)
    pattern = expander.pattern(source, *part.operand)
    if pattern is None:
        return None
    if operator in ("#", "##"):
        return patterns.strip_prefix(pattern, text, longest=operator == "##")
    if operator in ("%", "%%"):
        return patterns.strip_suffix(pattern, text, longest=operator == "%%")
    return None


def _substring(expander: Expander, source: Source, part: Parameter, text: str) -> str | None:
    bounds = _bounds(expander, source, part)
    if bounds is None:
        return None
    offset, length = bounds
    begin = len(text) + offset if offset < 0 else offset
    if begin < 0:
        return ""
    if length is None:
        return text[begin:]
    end = begin + length if length >= 0 else len(text) + length
    return text[begin:end] if end >= begin or length >= 0 else None


def upper(char: str) -> str:
    """Return a character in upper case; one character stays one."""
    large = char.upper()
    return large if len(large) == len(char) else char


_CASE: Final[dict[str, Callable[[str], str]]] = {
    "^^": lambda text: "".join(map(upper, text)),
    ",,": str.lower,
    "^": lambda text: upper(text[:1]) + text[1:],
    ",": lambda text: text[:1].lower() + text[1:],
}


def _replaced(expander: Expander, source: Source, part: Parameter, text: str) -> str | None:
    start, end = part.operand
    slash = _separator(source.text, start, end)
    pattern = expander.pattern(source, start, slash)
    start = min(slash + 1, end)
    replacement = expander.value(source, start, end).known
    if pattern is None or replacement is None:
        return None
    if replacement.count("&") != _quoted_text(source, start, end).count("&"):
        return None  # the text that matched since bash 5.2, an ampersand before
    return patterns.replace(
        pattern,
        text,
        replacement,
        everywhere=part.operator == "//",
        anchor=part.operator[1:] if part.operator in ("/#", "/%") else "",
    )


def _quoted_text(source: Source, start: int, end: int) -> str:
    return "".join(
        part.text for part in scan(source, start, end) if isinstance(part, Literal) and part.quoted
    )


def _separator(text: str, start: int, end: int) -> int:
    """Return the offset of the slash between pattern and replacement, or ``end``."""
    at = start
    while at < end and text[at] != "/":
        if text[at] == "\\":
            at += 1
        elif text[at] in "'\"":
            close = text.find(text[at], at + 1, end)
            at = close if close > 0 else at
        at += 1
    return min(at, end)


def _bounds(expander: Expander, source: Source, part: Parameter) -> tuple[int, int | None] | None:
    """Return offset and length of ``${name:offset:length}``; None when not known."""
    start, end = part.operand
    colon = _colon(source.text, start, end)
    offset = expander.arithmetic(source, start, colon)
    if offset is None:
        return None
    if colon == end:
        return offset, None
    length = expander.arithmetic(source, colon + 1, end)
    return None if length is None else (offset, length)


def _colon(text: str, start: int, end: int) -> int:
    """Return the offset of the colon between offset and length, or ``end``."""
    depth = 0
    for at in range(start, end):
        if text[at] in "([?":
            depth += 1
        elif text[at] in ")]" or (text[at] == ":" and depth):
            depth -= 1
        elif text[at] == ":":
            return at
    return end
