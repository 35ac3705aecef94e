"""``NAME=value``, arrays, ``export`` and its relatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from perf_doctor.language import said
from perf_doctor.shell.arithmetic import UNKNOWN_MARK, ArithmeticUnknown, evaluate, wrap
from perf_doctor.shell.extents import behind_escapes, split
from perf_doctor.shell.limits import MAX_WORDS
from perf_doctor.shell.model import Place, Unknown
from perf_doctor.shell.status import SUCCESS, Status
from perf_doctor.shell.values import EMPTY, Element, Kind, Value, Variable, join
from perf_doctor.shell.words import Substitution, scan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

_FROM_OUTSIDE: Final = Place("environment", 1)


def assign(
    interpreter: Interpreter,
    source: Source,
    node: Node,
    end: int | None = None,
    *,
    exported: bool = False,
) -> str:
    """Carry out an assignment and return the name.

    ``end`` replaces the end of the node where the syntax tree cut the value short.
    """
    name_node = node.child_by_field_name("name") or node.children[0]
    value_node = node.child_by_field_name("value")
    end = behind_escapes(source.text, node.end_byte if end is None else end)
    appends = source.text.startswith("+=", name_node.end_byte)
    start = name_node.end_byte + (2 if appends else 1)
    if name_node.type == "subscript":
        return _assign_element(interpreter, source, name_node, start, end, appends=appends)
    name = source.slice(name_node)
    place = source.place(node.start_byte)
    before = interpreter.state.variables.get(name)
    if before is not None and before.kind == "A":
        return name
    if value_node is not None and value_node.type == "array":
        elements = _array(interpreter, source, value_node, name)
        if appends and before is not None:
            elements = _limited(interpreter, name, place, [*_as_elements(before), *elements])
        variable = Variable(elements=elements, place=place, exported=exported)
        if elements and elements[0].value.text.startswith("--"):
            interpreter.arrays[name] = place
    else:
        value = _scalar(interpreter, source, start, end, name)
        if appends and before is not None and before.elements is not None:
            first = Element(join([before.scalar, value]), place, name)
            variable = replace(before, elements=(first, *before.elements[1:]))
        else:
            kind = before.kind if before is not None else ""
            if kind == "i":
                value = _integer(interpreter, before.value if appends and before else EMPTY, value)
            elif appends and before is not None:
                value = join([before.value, value])
            variable = Variable(value, place=place, exported=exported, kind=kind)
    interpreter.state.assign(name, variable)
    return name


def _scalar(interpreter: Interpreter, source: Source, start: int, end: int, name: str) -> Value:
    value = interpreter.expander.value(source, start, end)
    if len(value.parts) == 1 and isinstance(value.parts[0], Unknown):
        parts = scan(source, start, end)
        only = value.parts[0]
        if len(parts) == 1 and isinstance(parts[0], Substitution) and not only.required:
            return value._replace(parts=(replace(only, name=name),))
    return value


def _integer(interpreter: Interpreter, before: Value, value: Value) -> Value:
    """Return what an integer variable holds after ``+=``, or after ``=`` where it was empty."""
    terms = [term for term in (before, value) if term.parts]
    texts = [term.known for term in terms]
    marks = join(terms)
    try:
        number = sum(evaluate(text or UNKNOWN_MARK, interpreter) for text in texts)
    except ArithmeticUnknown:
        return Value((Unknown("arithmetic", said("arithmetic on something that is not known")),))
    return marks.with_text(str(wrap(number)))


def _array(interpreter: Interpreter, source: Source, node: Node, name: str) -> tuple[Element, ...]:
    elements: list[Element] = []
    ranges = source.array_words.get(node.start_byte)
    if ranges is None:
        ranges = word_ranges(source, node.children, skip=("(", ")", "comment"))
        source.array_words[node.start_byte] = ranges
    for start, end in ranges:
        elements.extend(interpreter.expander.words(source, start, end, name))
        if len(elements) > MAX_WORDS:
            break
    return _limited(interpreter, name, source.place(node.start_byte), elements)


def _limited(
    interpreter: Interpreter, name: str, place: Place, elements: list[Element]
) -> tuple[Element, ...]:
    """Return the elements up to the limit, with a note when there are more."""
    if len(elements) > MAX_WORDS:
        text = said(
            "{name} has more than {limit} words; the rest is left out", name=name, limit=MAX_WORDS
        )
        interpreter.trace.note(text, place)
    return tuple(elements[:MAX_WORDS])


def word_ranges(
    source: Source, nodes: Iterable[Node], skip: tuple[str, ...]
) -> list[tuple[int, int]]:
    """Return the ranges of the words among the nodes.

    The syntax tree splits some unquoted words (``http://$HOST:$PORT/path``); two nodes with
    nothing between them, or only a line continuation, are one word.
    """
    ranges: list[tuple[int, int]] = []
    behind = -1
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        if behind >= 0 and start - behind > 1 and "\\" in source.text[behind:start]:
            for piece in split(source, behind, start):  # an escaped blank, `\ `, is in no node
                _add_range(source, ranges, *piece)
        behind = end
        if node.type not in skip:
            _add_range(source, ranges, start, end)
    if ranges and ranges[-1][1] == behind:
        ranges[-1] = (ranges[-1][0], behind_escapes(source.text, behind))
    return ranges


def _add_range(source: Source, ranges: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a range, as part of the last one when nothing stands between them."""
    if ranges and (
        ranges[-1][1] == start or not source.text[ranges[-1][1] : start].replace("\\\n", "")
    ):
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))


def _as_elements(variable: Variable) -> tuple[Element, ...]:
    if variable.elements is not None:
        return variable.elements
    return (Element(variable.value, variable.place or _FROM_OUTSIDE),)


def _assign_element(
    interpreter: Interpreter, source: Source, node: Node, start: int, end: int, *, appends: bool
) -> str:
    name_node, index_node = node.child_by_field_name("name"), node.child_by_field_name("index")
    name = source.slice(name_node) if name_node else ""
    index = (
        interpreter.expander.arithmetic(source, index_node.start_byte, index_node.end_byte)
        if index_node
        else None
    )
    value = interpreter.expander.value(source, start, end)
    before = interpreter.state.variables.get(name)
    if before is not None and before.kind == "A":
        return name
    if index is None:
        text = said("an element of {name} is set at an index that is not known", name=name)
        interpreter.trace.note(text, source.place(node.start_byte))
        return name
    elements = _as_elements(before) if before is not None else ()
    if index > len(elements):
        text = said(
            "{name} is set beyond its end; the elements count as if they followed each other",
            name=name,
        )
        interpreter.trace.note(text, source.place(node.start_byte))
    if appends and -len(elements) <= index < len(elements):
        value = join([elements[index].value, value])
    set_element(interpreter, name, index, Element(value, source.place(start), name))
    return name


def set_element(interpreter: Interpreter, name: str, index: int, element: Element) -> None:
    """Set one element; behind the end of the array it is appended, as launch scripts mean it."""
    before = interpreter.state.variables.get(name)
    elements = list(_as_elements(before)) if before is not None else []
    if -len(elements) <= index < len(elements):
        elements[index] = element
    else:
        elements.append(element)
    variable = replace(before or Variable(place=element.place), elements=tuple(elements))
    interpreter.state.assign(name, variable)


def declare(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Carry out ``export``, ``local``, ``readonly``, ``declare`` or ``typeset``."""
    command = node.children[0].type
    flags = "".join(
        source.slice(child)[1:]
        for child in node.children
        if child.type == "word" and source.slice(child).startswith("-")
    )
    exports = command == "export" or "x" in flags
    kind: Kind = "i" if "i" in flags else "A" if "A" in flags else ""
    is_local = command == "local" or (
        command in ("declare", "typeset") and "g" not in flags and bool(interpreter.state.locals)
    )
    children = [child for child in node.children[1:] if child.is_named]
    for child in children:
        if child.type == "variable_assignment":
            name_node = child.child_by_field_name("name")
            name = source.slice(name_node).split("[")[0] if name_node else ""
            if is_local:
                interpreter.state.declare_local(name)
            _set_kind(interpreter, name, kind)
            assign(interpreter, source, child, exported=exports)
        elif child.type == "variable_name":
            name = source.slice(child)
            _declare_name(interpreter, name, flags, exports=exports, is_local=is_local)
            _set_kind(interpreter, name, kind)
    return SUCCESS


def _set_kind(interpreter: Interpreter, name: str, kind: Kind) -> None:
    """Let a name be an integer or an associative array from here on."""
    if not kind:
        return
    variable = interpreter.state.variables.get(name) or Variable()
    if kind == "A":
        unknown = Value((Unknown(name, said("an associative array, which is not evaluated")),))
        variable = Variable(unknown, place=variable.place)
    interpreter.state.variables[name] = replace(variable, kind=kind)


def _declare_name(
    interpreter: Interpreter, name: str, flags: str, *, exports: bool, is_local: bool
) -> None:
    state = interpreter.state
    if is_local:
        state.declare_local(name)
        state.variables.pop(name, None)
    elif exports and (variable := state.variables.get(name)) is not None:
        state.variables[name] = replace(variable, exported="n" not in flags)


def unset(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Carry out ``unset``."""
    for child in node.children[1:]:
        if child.type == "variable_name" or (
            child.type == "word" and not source.slice(child).startswith("-")
        ):
            interpreter.state.unset(source.slice(child))
    return SUCCESS
