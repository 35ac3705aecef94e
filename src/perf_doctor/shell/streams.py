"""What flows between commands: pipelines, redirections, here-documents and here-strings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from perf_doctor.shell.simple import here_string, run_simple
from perf_doctor.shell.status import SUCCESS, Status
from perf_doctor.shell.values import EMPTY, Value, join, literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

_TABS_OF_A_LINE: Final = r"(?<=\n)\t+"


def run_pipeline(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run a pipeline: every stage in a subshell, fed with what the one before it prints."""
    return _pipe(interpreter, source, [child for child in node.children if child.is_named])


def _pipe(interpreter: Interpreter, source: Source, stages: Sequence[Node]) -> Status:
    printed, stdin = interpreter.output, interpreter.stdin
    status = SUCCESS
    try:
        for number, stage in enumerate(stages, 1):
            output: list[Value] = []
            interpreter.output = printed if number == len(stages) else output
            with interpreter.subshell():
                status = interpreter.run(source, stage)
            interpreter.stdin = join(output)
    finally:
        interpreter.output, interpreter.stdin = printed, stdin
    return status


def run_redirected(interpreter: Interpreter, source: Source, node: Node) -> Status:
    """Run a statement with redirections: what goes to a file is not output."""
    body = node.child_by_field_name("body")
    printed, stdin = interpreter.output, interpreter.stdin
    extra: list[tuple[int, int]] = []
    behind: list[Node] = []
    for redirect in node.children:
        if redirect.type == "heredoc_redirect":
            interpreter.stdin = _heredoc(interpreter, source, redirect)
            behind = _behind_heredoc(interpreter, source, redirect)
        elif redirect.type == "herestring_redirect":
            interpreter.stdin = here_string(interpreter, source, redirect.start_byte + 3, redirect)
        elif redirect.type == "file_redirect":
            targets = redirect.children_by_field_name("destination")
            extra.extend((target.start_byte, target.end_byte) for target in targets[1:])
            _redirect(interpreter, source, redirect)
    try:
        if behind and behind[0].type == "pipeline" and body is not None:
            return _pipe(interpreter, source, [body, *behind[0].named_children])
        status = _run_body(interpreter, source, body, extra)
    finally:
        interpreter.output, interpreter.stdin = printed, stdin
    if len(behind) > 1 and status.ok == (behind[0].type == "&&"):
        return interpreter.run(source, behind[1])
    return status


def _redirect(interpreter: Interpreter, source: Source, redirect: Node) -> None:
    """Let standard output go elsewhere, or standard input come from a file that is not read."""
    text = source.slice(redirect)
    if text.startswith((">", "1>", "&>")):
        interpreter.output = None
    elif text.startswith("<") and source.text.startswith("<<", redirect.start_byte - 2):
        # behind `done` and `}` the syntax tree makes `<` of `<<<`
        interpreter.stdin = here_string(interpreter, source, redirect.start_byte + 1, redirect)
    elif text.startswith("<"):
        interpreter.stdin = None


def _behind_heredoc(interpreter: Interpreter, source: Source, redirect: Node) -> list[Node]:
    """Return what goes on behind ``<<END`` on its line, which the tree hangs into the redirection.

    That is a pipeline, or ``&&`` or ``||`` and a statement.
    """
    for child in redirect.children:
        if child.type == "file_redirect":
            _redirect(interpreter, source, child)
    for at, child in enumerate(redirect.children):
        if child.type == "pipeline":
            return [child]
        if child.type in ("&&", "||"):
            return redirect.children[at : at + 2]
    return []


def _run_body(
    interpreter: Interpreter, source: Source, body: Node | None, extra: list[tuple[int, int]]
) -> Status:
    if body is None:
        return SUCCESS
    if body.type == "command":
        return run_simple(interpreter, source, body, extra)
    return interpreter.run(source, body)


def _heredoc(interpreter: Interpreter, source: Source, redirect: Node) -> Value:
    """Return the text of a here-document, expanded unless its delimiter is quoted."""
    bodies = [child for child in redirect.children if child.type == "heredoc_body"]
    starts = [child for child in redirect.children if child.type == "heredoc_start"]
    if not bodies:
        return EMPTY
    body = bodies[0]
    if starts and any(mark in source.slice(starts[0]) for mark in "'\"\\"):
        value = literal(source.slice(body))
    else:
        value = interpreter.expander.value(source, body.start_byte, body.end_byte, quoted=True)
    return _without_tabs(value) if source.slice(redirect).startswith("<<-") else value


def _without_tabs(value: Value) -> Value:
    """Return the text with the tabs that lines begin with taken away."""
    parts = [
        re.sub(_TABS_OF_A_LINE, "", part.lstrip("\t") if not index else part)
        if isinstance(part, str)
        else part
        for index, part in enumerate(value.parts)
    ]
    return Value(tuple(parts), value.overridable_by, value.undecided)
