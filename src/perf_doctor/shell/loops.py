"""Loops: ``for``, ``while``, ``until``; bounded, and left early where they wait for the world."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_LOOP_ITERATIONS
from perf_doctor.shell.status import SUCCESS, LoopControl, Status
from perf_doctor.shell.values import Element, Variable

if TYPE_CHECKING:
    from tree_sitter import Node

    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

_LIST_FOLLOWS: Final = re.compile(r"\s+in\b")


def _iterate(
    interpreter: Interpreter, source: Source, node: Node, rounds: Iterable[object]
) -> Status:
    """Run a loop's body once per round, minding ``break`` and ``continue``.

    A loop that sleeps waits for something outside the script: it is left after one round.
    """
    body = node.child_by_field_name("body")
    status = SUCCESS
    if body is None:
        return status
    interpreter.loops += 1
    try:
        for count, _ in enumerate(rounds):
            if count >= MAX_LOOP_ITERATIONS:
                place = source.place(node.start_byte)
                text = said("loop left after {limit} rounds", limit=MAX_LOOP_ITERATIONS)
                interpreter.trace.note(text, place)
                break
            interpreter.waited = False
            try:
                status = interpreter.run(source, body)
            except LoopControl as control:
                status = SUCCESS
                if control.levels > 1:
                    raise LoopControl(control.kind, control.levels - 1) from None
                if control.kind == "break":
                    break
            if interpreter.waited:
                break
    finally:
        interpreter.loops -= 1
    return status


def run_for(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``for name in words``; an unknown list counts as one unknown word."""
    name_node = node.child_by_field_name("variable")
    if name_node is None:
        return SUCCESS
    name = source.slice(name_node)
    place = source.place(node.start_byte)
    values = node.children_by_field_name("value")
    if values:
        elements = [
            element
            for value in values
            for element in interpreter.expander.words(source, value.start_byte, value.end_byte)
        ]
    elif _LIST_FOLLOWS.match(source.text, name_node.end_byte):
        elements = []
    else:
        elements = [Element(value, place) for value in interpreter.state.positional]

    def rounds() -> Iterator[None]:
        for element in elements:
            interpreter.state.assign(name, Variable(element.value, place=place))
            yield

    return _iterate(interpreter, source, node, rounds())


def run_c_style_for(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``for ((init; condition; update))``."""
    begin = source.text.find("((", node.start_byte) + 2
    end = source.text.find("))", begin)
    cuts = [at for at in range(begin, end) if source.text[at] == ";"]
    if len(cuts) != 2:
        return SUCCESS
    expander = interpreter.expander
    expander.arithmetic(source, begin, cuts[0])

    def rounds() -> Iterator[None]:
        while source.text[cuts[0] + 1 : cuts[1]].strip() == "" or expander.arithmetic(
            source, cuts[0] + 1, cuts[1]
        ):
            yield
            expander.arithmetic(source, cuts[1] + 1, end)

    return _iterate(interpreter, source, node, rounds())


def run_while(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``while`` or ``until``; a condition that cannot be decided ends the loop."""
    wanted = node.children[0].type == "while"
    body = node.child_by_field_name("body")
    condition = [child for child in node.children[1:] if child != body]

    def rounds() -> Iterator[None]:
        while True:
            status = interpreter.block(source, condition)
            if status.basis != "known" or status.ok != wanted:
                return
            yield

    return _iterate(interpreter, source, node, rounds())
