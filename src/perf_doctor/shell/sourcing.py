"""``source FILE``: which file is meant, whether it may be read, and reading it in this shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_SOURCE_DEPTH, ScriptError
from perf_doctor.shell.status import ASSUMED, Returned, Status

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.model import Place
    from perf_doctor.shell.source import Source
    from perf_doctor.shell.values import Value


def source_file(
    interpreter: Interpreter, path: Value, arguments: list[Value], place: Place
) -> Status:
    """Read a sourced file, if it may be read, in this shell."""
    interpreter.check_time()  # parsing may take long
    state = interpreter.state
    known, cwd = path.known, state.cwd.known
    if known is None or (not known.startswith("/") and cwd is None):
        text = said("sourced file {file} is not known; not read", file=path.text)
        interpreter.trace.note(text, place)
        return ASSUMED
    full = known if known.startswith("/") else f"{cwd}/{known}"
    if len(state.sources) >= MAX_SOURCE_DEPTH:
        interpreter.trace.note(said("{file} is sourced too deep; not read", file=known), place)
        return ASSUMED
    source = _open(interpreter, full, known, place)
    if source is None:
        return ASSUMED
    saved_positional = state.positional
    if arguments:
        state.positional = tuple(arguments)
    state.sources = (*state.sources, known)
    try:
        return interpreter.block(source, source.root.children)
    except Returned as returned:
        return returned.status
    finally:
        interpreter.state.sources = interpreter.state.sources[:-1]
        if arguments:
            interpreter.state.positional = saved_positional


def _open(interpreter: Interpreter, path: str, shown: str, place: Place) -> Source | None:
    """Return a file to be sourced; None, with a note, when it may not or cannot be read."""
    files, trace = interpreter.files, interpreter.trace
    try:
        return files.source(path)
    except ScriptError as error:
        if (inside := files.stand_in(path)) is None:
            trace.note(_unread(shown, error), place)
            return None
        trace.note(said("{file} is read in place of {other}", file=inside, other=shown), place)
    try:
        return files.source(inside)
    except ScriptError as error:
        trace.note(_unread(inside, error), place)
        return None


def _unread(file: str, error: ScriptError) -> str:
    return said("sourced file {file} {why}; not read", file=file, why=error)
