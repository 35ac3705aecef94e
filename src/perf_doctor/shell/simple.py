"""Simple commands: functions, builtins, launches, and everything that is not evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from perf_doctor.language import said
from perf_doctor.shell import assignments
from perf_doctor.shell.builtins import BUILTINS
from perf_doctor.shell.extents import behind_escapes
from perf_doctor.shell.limits import MAX_WORDS
from perf_doctor.shell.model import Place, Unknown
from perf_doctor.shell.status import ASSUMED, SUCCESS, ScriptEnd, Status
from perf_doctor.shell.values import Element, Value, join, literal

if TYPE_CHECKING:
    from tree_sitter import Node

    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

_NOT_WORDS: Final = ("file_redirect", "heredoc_redirect", "comment")
_PREFIXES: Final = {"command": True, "builtin": False, "exec": True, "time": True}
"""Words that run the command behind them; the value tells whether they skip functions."""
_ESCAPED_BLANK: Final = re.compile(r"[ \t]+(\\[ \t])[ \t]*(?=\n|$)")
_SHELLS: Final = ("bash", "sh")


def run_simple(
    interpreter: Interpreter,
    source: Source,
    node: Node,
    extra: Sequence[tuple[int, int]] = (),
) -> Status:
    """Run a simple command; ``extra`` are word ranges that stand behind a redirection."""
    prefixes, words, here = _parts(source, node)
    words.extend(extra)
    elements: list[Element] = []
    for start, end in words:
        elements.extend(interpreter.expander.words(source, start, end))
        if len(elements) > MAX_WORDS:
            text = said(
                "a command of more than {limit} words; the rest is left out", limit=MAX_WORDS
            )
            interpreter.trace.note(text, source.place(node.start_byte))
            del elements[MAX_WORDS:]
            break
    interpreter.substituted = SUCCESS
    undo = _assign_prefixes(interpreter, source, prefixes, lasting=not elements)
    if not elements:
        return interpreter.substituted
    stdin = interpreter.stdin
    if here is not None:
        interpreter.stdin = here_string(interpreter, source, here.start_byte + 3, here)
    try:
        return execute(interpreter, source, elements, source.place(node.start_byte))
    finally:
        if here is not None:
            interpreter.stdin = stdin
        undo()


def _parts(
    source: Source, node: Node
) -> tuple[list[tuple[Node, int]], list[tuple[int, int]], Node | None]:
    """Return the assignments in front of a command, with their ends, its word ranges, ``<<<``."""
    prefixes: list[tuple[Node, int]] = []
    rest: list[Node] = []
    here = None
    for child in node.children:
        if child.type == "variable_assignment" and not rest:
            prefixes.append((child, child.end_byte))
        elif (
            prefixes
            and not rest
            and child.start_byte in (end := prefixes[-1][1], behind_escapes(source.text, end))
        ):
            # the syntax tree cut the value of the assignment in two
            prefixes[-1] = (prefixes[-1][0], child.end_byte)
        elif child.type == "herestring_redirect":
            here = child
        else:
            rest.append(child)
    ranges = assignments.word_ranges(source, rest, skip=_NOT_WORDS)
    if blank := _ESCAPED_BLANK.match(source.text, node.end_byte):
        ranges.append(blank.span(1))  # `\ ` at the end of a line: bash passes a blank, and stops
    return prefixes, ranges, here


def here_string(interpreter: Interpreter, source: Source, start: int, redirect: Node) -> Value:
    """Return the text that ``<<< word`` feeds to a command; ``start`` is behind the operator."""
    while source.text[start : start + 1] in (" ", "\t"):
        start += 1
    return join([interpreter.expander.value(source, start, redirect.end_byte), literal("\n")])


def _assign_prefixes(
    interpreter: Interpreter,
    source: Source,
    prefixes: Sequence[tuple[Node, int]],
    *,
    lasting: bool,
) -> Callable[[], None]:
    """Carry out ``NAME=value`` in front of a command and return what takes it back."""
    if not prefixes:
        return _nothing
    state = interpreter.state
    before = dict(state.variables)
    names = [
        assignments.assign(interpreter, source, node, end, exported=not lasting)
        for node, end in prefixes
    ]
    if lasting:
        return _nothing

    def undo() -> None:
        variables = interpreter.state.variables
        for name in names:
            if name in before:
                variables[name] = before[name]
            else:
                variables.pop(name, None)

    return undo


def _nothing() -> None:
    return None


def execute(
    interpreter: Interpreter,
    source: Source,
    words: list[Element],
    place: Place,
    *,
    functions: bool = True,
) -> Status:
    """Carry out a command given as words."""
    name = words[0].value.known
    if name in _PREFIXES and len(words) > 1:
        return _prefixed(interpreter, source, words, place)
    if name is not None and functions and name in interpreter.state.functions:
        return interpreter.call(name, [word.argument() for word in words[1:]])
    if name is not None and (builtin := BUILTINS.get(name)) is not None:
        return builtin(interpreter, source, words, place)
    if words[0].value.text.startswith("-") and interpreter.launches:
        interpreter.cut_off(source, words)
        return ASSUMED
    program = interpreter.find_program([word.value.text for word in words])
    if program is not None:
        interpreter.launch(source, words, place, program)
    command = (name or "command").rsplit("/", 1)[-1]
    if command in _SHELLS and program is None:
        _note_script(interpreter, words, place)
    if interpreter.output is not None:
        reason = said("the output of {command}, which is not run", command=command)
        interpreter.output.append(Value((Unknown(command, reason),)))
    return ASSUMED


def _note_script(interpreter: Interpreter, words: list[Element], place: Place) -> None:
    """Name the script that another shell is started with: it may hold the launch."""
    for word in words[1:]:
        if not word.value.text.startswith("-"):
            if word.value.text.endswith(".sh"):
                text = said("starts {script}, which is not followed", script=word.value.text)
                interpreter.trace.note(text, place)
            return


def _prefixed(
    interpreter: Interpreter, source: Source, words: list[Element], place: Place
) -> Status:
    """Carry out the command behind ``command``, ``exec`` and the like."""
    at, functions, ends = 0, True, False
    while (name := words[at].value.known) in _PREFIXES and at + 1 < len(words):
        functions &= not _PREFIXES[name or ""]
        ends |= name == "exec"
        at += 1
        while at + 1 < len(words) and words[at].value.text.startswith("-"):
            if name == "command" and words[at].value.known in ("-v", "-V"):
                return replace_unknown_output(interpreter, "command")
            at += 1
    status = execute(interpreter, source, words[at:], place, functions=functions)
    if ends:
        raise ScriptEnd
    return status


def replace_unknown_output(interpreter: Interpreter, name: str) -> Status:
    """Let a command that is not evaluated print something unknown."""
    if interpreter.output is not None:
        reason = said("the output of {command}", command=name)
        interpreter.output.append(Value((Unknown(name, reason),)))
    return ASSUMED
