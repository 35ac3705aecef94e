"""The abstract interpreter: walks the statements of a script and never runs a command.

It goes the way bash would go. Where the way depends on something that cannot be known it
takes one arm, remembers the branch, and marks every variable that the other arm would have
set: if such a variable reaches a launch, the other way is worth a look of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, Final, NoReturn

from perf_doctor.language import said
from perf_doctor.shell import assignments, compound, loops, streams
from perf_doctor.shell.arithmetic import ArithmeticUnknown
from perf_doctor.shell.expansion import Expander
from perf_doctor.shell.limits import (
    EVALUATION_SECONDS,
    MAX_BRANCHES,
    MAX_CALL_DEPTH,
    MAX_NESTING,
    MAX_STEPS,
    LimitReached,
)
from perf_doctor.shell.model import Command, Place, Unknown, Word
from perf_doctor.shell.simple import run_simple
from perf_doctor.shell.state import State, Trace
from perf_doctor.shell.status import ASSUMED, SUCCESS, LoopControl, Returned, ScriptEnd, Status
from perf_doctor.shell.values import EMPTY, Element, Value, Variable, join, literal

if TYPE_CHECKING:
    from tree_sitter import Node

    from perf_doctor.shell.files import Files
    from perf_doctor.shell.source import Source
    from perf_doctor.shell.words import Substitution

_BACKGROUND: Final = re.compile(r"[ \t]*&(?!&)")
FindProgram = Callable[[list[str]], int | None]


class Interpreter:
    """One way through a script.

    ``find_program`` recognises the words of a launch and returns where its program begins;
    ``forced`` holds the (file, offset) of undecided branches to decide the other way; ``deadline``
    is the processor time of this thread at which to stop.

    After a run, ``launches`` holds the launches in order, ``branches`` what could not be decided
    and ``relevant`` the numbers of those branches on which a launch depends.
    """

    def __init__(
        self,
        files: Files,
        state: State,
        find_program: FindProgram,
        forced: set[tuple[str, int]],
        deadline: float,
    ) -> None:
        self.files = files
        self.state = state
        self.find_program = find_program
        self.forced = forced
        self.trace = Trace()
        self.expander = Expander(self)
        self.launches: list[Command] = []
        self.relevant: set[int] = set()
        self.branches: dict[tuple[str, int, str], int] = {}
        self.arrays: dict[str, Place] = {}
        self.positional_required = False
        self.waited = False
        self.output: list[Value] | None = None
        self.stdin: Value | None = None
        self.substituted: Status = SUCCESS
        self.undecided: tuple[int, ...] = ()
        self.depth = 0
        self.calls = 0
        self.loops = 0
        self._steps = 0
        self._expansions = 0
        self._at: tuple[Source, int]
        self._deadline = deadline

    # -- statements ---------------------------------------------------------------------

    def block(self, source: Source, nodes: Iterable[Node]) -> Status:
        """Run statements one after the other; the status of the last one."""
        status = SUCCESS
        for node in nodes:
            if node.is_named:
                status = self._statement(source, node)
        return status

    def _statement(self, source: Source, node: Node) -> Status:
        if _BACKGROUND.match(source.text, node.end_byte):
            with self.subshell():
                self.run(source, node)
            self.state.last = SUCCESS
            return SUCCESS
        return self.run(source, node)

    def run(self, source: Source, node: Node) -> Status:
        """Run one statement."""
        handler = _HANDLERS.get(node.type)
        if handler is None:
            return SUCCESS
        self._count_step(source, node)
        if self.depth >= MAX_NESTING:
            place = source.place(node.start_byte)
            text = said("nested deeper than {limit}; skipped from here", limit=MAX_NESTING)
            self.trace.note(text, place)
            return ASSUMED
        self.depth += 1
        try:
            status = handler(self, source, node)
        finally:
            self.depth -= 1
        self.state.last = status
        return status

    def _count_step(self, source: Source, node: Node) -> None:
        self._steps += 1
        self._at = source, node.start_byte
        if self._steps > MAX_STEPS:
            self._stop(
                said("stopped after {limit} steps; what comes later was not read", limit=MAX_STEPS)
            )
        if not self._steps & 15:
            self.check_time()

    def count_expansion(self) -> None:
        """Mind the time inside one word, too: it may hold any number of expansions."""
        self._expansions += 1
        if not self._expansions & 127:
            self.check_time()

    def check_time(self) -> None:
        """Raise ``LimitReached`` when the time for the script is over."""
        if thread_time() > self._deadline:
            seconds = f"{EVALUATION_SECONDS:g}"
            self._stop(
                said("stopped after {limit} seconds; what comes later was not read", limit=seconds)
            )

    def _stop(self, text: str) -> NoReturn:
        source, offset = self._at
        place = source.place(offset)
        raise LimitReached(f"{place.file}:{place.line}: {text}")

    # -- subshells and substitutions ------------------------------------------------------

    def subshell(self) -> _Subshell:
        """Return a context in which nothing but launches and notes survives."""
        return _Subshell(self)

    def substitute(self, source: Source, part: Substitution) -> Value:
        """Return what a command substitution would print, without running anything."""
        opening = part.start - (1 if part.backtick else 2)
        node = source.substitutions.get(opening)
        if node is None:
            return Value((Unknown("command", said("a command substitution that cannot be read")),))
        saved, self.output = self.output, []
        status = SUCCESS
        try:
            with self.subshell():
                status = self.block(source, node.children)
            output = self.output
        finally:
            self.output = saved
        self.substituted = status
        if not any(child.type in _HANDLERS for child in node.children):
            return Value((Unknown("file", said("the content of a file")),))
        return _without_newlines(join(output or []))

    # -- names ----------------------------------------------------------------------------

    def require(self, name: str, reason: str) -> Value:
        """Take a name to be set from outside: unknown, and not empty."""
        value = Value((Unknown(name, reason, required=True),))
        if name == "#" or name.isdigit():
            self.positional_required = True
            self.trace.required.setdefault("arguments", None)
        else:
            self.trace.required.setdefault(name, None)
            self.state.assign(name, Variable(value))
        return value

    def depends_on(self, sites: tuple[int, ...]) -> None:
        """Remember that the words being expanded depend on undecided branches."""
        self.undecided = (*self.undecided, *sites)

    def number_text(self, name: str, index: int | None) -> str:
        """Return the text of a variable in arithmetic; raises when it is not known."""
        self.count_expansion()
        variable = self.state.get(name)
        if variable is None:
            if self.state.nounset:
                self.require(name, said("the script stops where it is unset (set -u)"))
                raise ArithmeticUnknown
            self.trace.look_at((name,))
            return ""
        value = variable.scalar
        if index is not None:
            elements = variable.elements or ()
            value = elements[index].value if -len(elements) <= index < len(elements) else EMPTY
        if (known := value.known) is None:
            raise ArithmeticUnknown
        return known

    def assign_number(self, name: str, index: int | None, value: int) -> None:
        """Set a variable from arithmetic."""
        if index is None:
            self.state.assign(name, Variable(literal(str(value))))
        else:
            place = Place(self.state.sources[-1] if self.state.sources else "", 1)
            assignments.set_element(self, name, index, Element(literal(str(value)), place))

    # -- functions ------------------------------------------------------------------------

    def call(self, name: str, arguments: list[Value]) -> Status:
        """Run a function with these arguments."""
        function = self.state.functions[name]
        if self.calls >= MAX_CALL_DEPTH:
            self.trace.note(
                said("function {name} calls itself too deeply; not followed further", name=name)
            )
            return ASSUMED
        saved, saved_loops = self.state.positional, self.loops
        self.state.positional = tuple(arguments)
        self.state.locals = (*self.state.locals, {})
        self.calls += 1
        self.loops = 0
        try:
            return self.run(function.source, function.body)
        except Returned as returned:
            return returned.status
        finally:
            self.calls -= 1
            self.loops = saved_loops
            self.state.positional = saved
            self.state.leave_function()

    # -- launches -------------------------------------------------------------------------

    def launch(self, source: Source, words: list[Element], place: Place, program: int) -> None:
        """Record a launch whose program begins at the word ``program``."""
        self.relevant.update(self.undecided)
        for word in words[program:]:
            self.relevant.update(word.value.undecided)
        self.launches.append(
            Command(
                self._words(source, words),
                program,
                place,
                self.state.exported(),
            )
        )

    def cut_off(self, source: Source, words: list[Element]) -> None:
        """Record words that stand behind a launch and that bash does not pass to it."""
        last = self.launches[-1]
        self.launches[-1] = replace(last, cut=(*last.cut, *self._words(source, words)))

    def _words(self, source: Source, elements: Iterable[Element]) -> tuple[Word, ...]:
        opened = self.files.opened
        words: list[Word] = []
        for value, place, group in elements:
            comments = opened.get(place.file, source).comments_near(place.line)
            marks = value.unknown, value.overridable_by, comments
            words.append(Word(value.text, place, group or None, *marks))
        return tuple(words)

    # -- branches -------------------------------------------------------------------------

    def branch(self, source: Source, node: Node, text: str) -> int | None:
        """Return the number of an undecided branch; None, with a note, beyond a limit."""
        site = (source.path, node.start_byte, text)
        if site not in self.branches and len(self.branches) >= MAX_BRANCHES:
            self.trace.note(
                said(
                    "more than {limit} branches that cannot be decided; only the first are looked"
                    " at both ways",
                    limit=MAX_BRANCHES,
                )
            )
            return None
        return self.branches.setdefault(site, len(self.branches))

    def mark(self, names: Iterable[str], site: int) -> None:
        """Mark variables as ones that an undecided branch sets."""
        for name in names:
            if (variable := self.state.variables.get(name)) is not None:
                self.state.variables[name] = variable.marked(site)
            else:
                before = self.state.unset_depends_on.get(name, ())
                self.state.unset_depends_on[name] = (*before, site)

    def attempt(self, run: Callable[[], Status], *, excuse: bool) -> Status | None:
        """Run an arm; None, and nothing done, when it ends the script without a launch.

        That happens only with an ``excuse``: the way into the arm hung on something absent.
        """
        if not excuse:
            return run()
        state = self.state.copy()
        trace = self.trace
        names, looked_at_file = tuple(trace.looked_at), trace.looked_at_file
        notes, required = dict(trace.notes), dict(trace.required)
        try:
            return run()
        except ScriptEnd:
            if self.launches:
                raise
        self.state = state
        trace.notes, trace.required = notes, required
        trace.looked_at_file = looked_at_file
        for name in names:
            self.require(name, said("the script ends where it is unset"))
        return None


class _Subshell:
    """Gives the state back as it was; ``exit`` inside ends only the subshell."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.state = interpreter.state

    def __enter__(self) -> None:
        self.interpreter.state = self.state.copy()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        required = self.interpreter.trace.required
        inner = self.interpreter.state
        self.interpreter.state = self.state
        for name in required:
            if name in inner.variables and name not in self.state.variables:
                self.state.variables[name] = inner.variables[name]
        return kind is not None and issubclass(kind, (ScriptEnd, Returned, LoopControl))


def _without_newlines(value: Value) -> Value:
    """Return a command's output as a substitution takes it: trailing newlines fall off."""
    parts = list(value.parts)
    while parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip("\n")
        if parts[-1]:
            break
        parts.pop()
    return Value(tuple(parts), value.overridable_by, value.undecided)


def _sequence(interpreter: Interpreter, source: Source, node: Node) -> Status:
    return interpreter.block(source, node.children)


def _assignment(interpreter: Interpreter, source: Source, node: Node) -> Status:
    interpreter.substituted = SUCCESS
    assignments.assign(interpreter, source, node)
    return interpreter.substituted  # the status of an assignment is that of its substitution


def _assignment_list(interpreter: Interpreter, source: Source, node: Node) -> Status:
    interpreter.substituted = SUCCESS
    for child in node.named_children:
        assignments.assign(interpreter, source, child)
    return interpreter.substituted


_Handler = Callable[[Interpreter, "Source", "Node"], Status]
_HANDLERS: dict[str, _Handler] = {
    "program": _sequence,
    "ERROR": _sequence,
    "do_group": _sequence,
    "variable_assignment": _assignment,
    "variable_assignments": _assignment_list,
    "declaration_command": assignments.declare,
    "unset_command": assignments.unset,
    "command": run_simple,
    "test_command": compound.run_test,
    "redirected_statement": streams.run_redirected,
    "pipeline": streams.run_pipeline,
    "list": compound.run_list,
    "negated_command": compound.run_negated,
    "subshell": compound.run_subshell,
    "compound_statement": compound.run_group,
    "if_statement": compound.run_if,
    "case_statement": compound.run_case,
    "for_statement": loops.run_for,
    "c_style_for_statement": loops.run_c_style_for,
    "while_statement": loops.run_while,
    "function_definition": compound.define_function,
}
