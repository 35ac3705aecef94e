"""Compound statements: lists, groups, branches, functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from perf_doctor.language import said
from perf_doctor.shell import conditions
from perf_doctor.shell.double_brackets import double_brackets
from perf_doctor.shell.limits import TooMuch
from perf_doctor.shell.patterns import matches
from perf_doctor.shell.state import Function
from perf_doctor.shell.status import FAILURE, SUCCESS, UNDECIDED, Status, of_truth
from perf_doctor.shell.words import Literal, scan

if TYPE_CHECKING:
    from tree_sitter import Node

    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

_LAUNCHER = re.compile(r"\b(?:ray|python3?|torchrun)\b")


class Look(NamedTuple):
    """What a condition came to, and whether absence can excuse a dead end behind it."""

    status: Status
    excuse: bool


def look(interpreter: Interpreter, run: Callable[[], Status], *, keep: bool = False) -> Look:
    """Run a condition and see what it hung on.

    The trace's ``looked_at`` then holds the names this condition saw, and with ``keep`` the
    earlier ones too.
    """
    trace = interpreter.trace
    before, before_file = trace.looked_at, trace.looked_at_file
    trace.looked_at, trace.looked_at_file = {}, False
    status = run()
    if keep:
        trace.looked_at = {**before, **trace.looked_at}
        trace.looked_at_file |= before_file
    excuse = bool(trace.looked_at) or trace.looked_at_file or status.basis != "known"
    return Look(status, excuse)


def run_list(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``a && b`` or ``a || b``."""
    left, operator, right = node.children[0], node.children[1].type, node.children[-1]
    found = look(interpreter, lambda: interpreter.run(source, left), keep=True)
    status = found.status
    site = _undecided(interpreter, source, node, status, [right], only_tests=True)
    if site is not None:
        status = _forced(interpreter, source, node, status)
    if status.ok != (operator == "&&"):
        return status
    result = _arm(interpreter, source, [right], found.excuse, site)
    return SUCCESS if result is None else result


def run_negated(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``! command``."""
    return interpreter.run(source, node.children[-1]).negated()


def run_subshell(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``( … )``."""
    with interpreter.subshell():
        return interpreter.block(source, node.children)
    return FAILURE  # reached where `exit` ended the subshell


def run_group(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``{ …; }`` or evaluate ``(( … ))``."""
    if not source.text.startswith("((", node.start_byte):
        return interpreter.block(source, node.children)
    number = interpreter.expander.arithmetic(source, node.start_byte + 2, node.end_byte - 2)
    return of_truth(None if number is None else number != 0)


def run_test(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run ``[ … ]`` or ``[[ … ]]``; a bare ``(( … ))`` may come as one, too."""
    start, end = node.start_byte, node.end_byte
    if source.text.startswith("[[", start):
        return of_truth(double_brackets(interpreter, source, start + 2, end - 2))
    if source.text.startswith("((", start):
        return run_group(interpreter, source, node)
    return conditions.single(interpreter, source, start + 1, end - 1)


# -- branches -----------------------------------------------------------------------------


class _Clause(NamedTuple):
    node: Node
    condition: list[Node]
    body: list[Node]


def run_if(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run the arm bash would take; an arm that only leads to an early end is not taken."""
    clauses, otherwise = _clauses(node)
    bodies = [clause.body for clause in clauses] + [otherwise]
    excused: list[_Clause] = []
    sites: list[int] = []
    outer = interpreter.trace.looked_at
    try:
        for number, clause in enumerate(clauses, 1):
            found = look(interpreter, partial(interpreter.block, source, clause.condition))
            status = found.status
            if status.basis != "known" and _is_fallback(interpreter, source, clause):
                return interpreter.block(source, clause.body)
            site = _undecided(interpreter, source, clause.node, status, _flat(bodies))
            if site is not None:
                sites.append(site)
                status = _forced(interpreter, source, clause.node, status)
            if found.excuse:
                excused.append(clause)
            if status.ok:
                _glance(interpreter, source, clauses[number:])
                result = _arm(interpreter, source, clause.body, found.excuse, site)
                if result is not None:
                    return result
        site = sites[-1] if sites else None
        result = _arm(interpreter, source, otherwise, bool(excused), site)
        if result is None:
            return interpreter.block(source, excused[0].body)
        return result
    finally:
        interpreter.trace.looked_at = outer


def _is_fallback(interpreter: Interpreter, source: Source, clause: _Clause) -> bool:
    """Return whether an arm only replaces values that the script asks the machine for.

    ``N=$(nvidia-smi -L | wc -l); if [ "$N" -le 0 ]; then N=8; fi``: the fallback is to the unknown
    value what the default is in ``${N:-8}``.
    """
    body = [node for node in clause.body if node.is_named and node.type != "comment"]
    for node in body:
        name = node.child_by_field_name("name")
        if node.type != "variable_assignment" or name is None:
            return False
        variable = interpreter.state.variables.get(source.slice(name))
        if variable is None or not variable.scalar.unknown or variable.scalar.empty is False:
            return False
    if body:
        names = ", ".join(dict.fromkeys(_assigned(source, body)))
        place = source.place(clause.node.start_byte)
        text = said("{names} depends on the machine; the fallback is taken", names=names)
        interpreter.trace.note(text, place)
    return bool(body)


def _glance(interpreter: Interpreter, source: Source, clauses: list[_Clause]) -> None:
    """Look at conditions behind the arm that is taken: they tell of other ways."""
    for clause in clauses:
        with interpreter.subshell():
            interpreter.block(source, clause.condition)


def _clauses(node: Node) -> tuple[list[_Clause], list[Node]]:
    clauses = [_clause(node)]
    otherwise: list[Node] = []
    for child in node.children:
        if child.type == "elif_clause":
            clauses.append(_clause(child))
        elif child.type == "else_clause":
            otherwise = list(child.children)
    return clauses, otherwise


def _clause(node: Node) -> _Clause:
    condition: list[Node] = []
    body: list[Node] = []
    target = condition
    for child in node.children[1:]:
        if child.type == "then":
            target = body
        elif child.type not in ("elif_clause", "else_clause"):
            target.append(child)
    return _Clause(node, condition, body)


def _flat(bodies: Iterable[Iterable[Node]]) -> list[Node]:
    return [node for body in bodies for node in body]


def _undecided(
    interpreter: Interpreter,
    source: Source,
    node: Node,
    status: Status,
    bodies: list[Node],
    *,
    only_tests: bool = False,
) -> int | None:
    """Return the number of the branch when it cannot be decided.

    Every variable set in one of its arms is marked, the arms that are not run included.
    """
    if status.basis == "known" or (only_tests and status.basis != "test"):
        return None
    place = source.place(node.start_byte)
    text = source.text[node.start_byte : node.end_byte].split("\n", 1)[0].split(";", 1)[0]
    shown = said("line {line}: {text}", line=place.line, text=text.strip())
    site = interpreter.branch(source, node, shown)
    if site is None:
        return None
    interpreter.mark(_assigned(source, bodies), site)
    if any(_LAUNCHER.search(source.slice(body)) for body in bodies):
        interpreter.relevant.add(site)
    return site


def _assigned(source: Source, nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the names that are set anywhere below the nodes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.type == "variable_assignment" and (name := node.child_by_field_name("name")):
            yield source.slice(name).split("[")[0]
        stack.extend(node.children)


def _forced(interpreter: Interpreter, source: Source, node: Node, status: Status) -> Status:
    forced = (source.path, node.start_byte) in interpreter.forced
    return status.negated() if forced else status


def _arm(
    interpreter: Interpreter, source: Source, body: list[Node], excuse: bool, site: int | None
) -> Status | None:
    """Run an arm; None when it leads nowhere and absence excuses not taking it."""
    saved = interpreter.undecided
    if site is not None:
        interpreter.undecided = (*saved, site)
    try:
        result = interpreter.attempt(lambda: interpreter.block(source, body), excuse=excuse)
    finally:
        interpreter.undecided = saved
    if site is not None:
        interpreter.mark(_assigned(source, body), site)
    return result


def run_case(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run the first arm whose pattern matches; an arm that only ends the script is not taken."""
    value_node = node.child_by_field_name("value")
    items = [child for child in node.children if child.type == "case_item"]
    if value_node is None:
        return SUCCESS
    outer = interpreter.trace.looked_at
    try:
        return _case(interpreter, source, node, value_node, items)
    finally:
        interpreter.trace.looked_at = outer


def _case(
    interpreter: Interpreter, source: Source, node: Node, value_node: Node, items: list[Node]
) -> Status:
    interpreter.trace.looked_at = {}
    value = interpreter.expander.value(source, value_node.start_byte, value_node.end_byte)
    names = tuple(interpreter.trace.looked_at)
    _remember_patterns(interpreter, source, names, items)
    text = value.known
    if text is None:
        chosen = list(reversed(items))  # the last arm is the general one
    else:
        chosen = [item for item in items if _matches(interpreter, source, item, text)][:1]
    rest = [item for item in items if item not in chosen]
    site = None
    if text is None:
        bodies = [body for item in items for body in item.children]
        site = _undecided(interpreter, source, node, UNDECIDED, bodies)
    excuse = text is None or bool(names)
    for item in [*chosen, *(rest if chosen else [])]:
        result = _arm(interpreter, source, _item_body(item), excuse, site)
        if result is not None:
            return result
        interpreter.trace.looked_at = {}
    return SUCCESS


def _matches(interpreter: Interpreter, source: Source, item: Node, text: str) -> bool:
    for value in item.children_by_field_name("value"):
        pattern = interpreter.expander.pattern(source, value.start_byte, value.end_byte)
        try:
            if pattern is not None and matches(pattern, text):
                return True
        except TooMuch:
            continue
    return False


def _item_body(item: Node) -> list[Node]:
    """Return the statements behind the closing parenthesis of the patterns."""
    at = next((i for i, child in enumerate(item.children) if child.type == ")"), -1)
    return item.children[at + 1 :]


def _remember_patterns(
    interpreter: Interpreter, source: Source, names: tuple[str, ...], items: list[Node]
) -> None:
    if len(names) != 1 or interpreter.calls:
        return
    for item in items:
        for value in item.children_by_field_name("value"):
            parts = scan(source, value.start_byte, value.end_byte)
            text = "".join(part.text for part in parts if isinstance(part, Literal))
            if text and not any(char in text for char in "*?["):
                interpreter.trace.literals[names[0], text] = None


def define_function(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Remember a function."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None and body is not None:
        interpreter.state.functions[source.slice(name)] = Function(source, body)
    return SUCCESS
