"""Reads a script: the way bash takes by default, and the other ways it offers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from time import thread_time

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.shell.files import Files, Library, decode, narrowed, tree_root
from perf_doctor.shell.interpreter import FindProgram, Interpreter
from perf_doctor.shell.limits import (
    EVALUATION_SECONDS,
    MAX_NOTES,
    MAX_RUNS,
    LimitReached,
    ScriptError,
)
from perf_doctor.shell.model import Note, Run, Script
from perf_doctor.shell.source import Source
from perf_doctor.shell.state import State
from perf_doctor.shell.status import LoopControl, Returned, ScriptEnd
from perf_doctor.shell.values import Variable, literal
from perf_doctor.wording import counted

STDIN_NAME = "<stdin>"
_OTHER = "other"
"""Stands for any text that a script does not compare with."""


@frozen
class Surroundings:
    """What a script finds around it.

    ``environment`` and ``arguments`` are given by the user; ``defaults`` are environment
    variables that the script may replace; ``folders`` may be sourced from, beside the script's
    own tree; nothing outside ``within`` is opened, where that names any.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    within: Sequence[str] = ()


def read_script(
    path: str,
    surroundings: Surroundings,
    find_program: FindProgram,
    *,
    text: bytes | None = None,
    library: Library | None = None,
) -> Script:
    """Return everything that reading the script yields; ``text`` stands for standard input.

    Nothing is executed. A ``library`` lets several scripts share the files they source. Raises
    ``ScriptError`` with one line when the script itself cannot be read.
    """
    root = tree_root(path) if text is None else os.getcwd()
    base = None if os.path.isabs(path) else os.getcwd()
    roots = narrowed((root, *surroundings.folders), surroundings.within)
    files = Files(roots, library or Library(), base)
    if text is None:
        source = files.source(path, path)
    else:
        source = Source(path, decode(text))
        files.opened[path] = source
    reading = _Reading(path, source, files, surroundings, find_program, from_stdin=text is not None)
    runs = reading.all_runs()
    comments = [comment for opened in files.opened.values() for comment in opened.comments]
    texts = {name: opened.text for name, opened in files.opened.items()}
    return Script(path, tuple(runs), texts, source.header(), reading.variables, tuple(comments))


class _Reading:
    def __init__(
        self,
        path: str,
        source: Source,
        files: Files,
        surroundings: Surroundings,
        find_program: FindProgram,
        *,
        from_stdin: bool,
    ) -> None:
        self.path = path
        self.source = source
        self.files = files
        self.surroundings = surroundings
        self.find_program = find_program
        self.from_stdin = from_stdin
        self.variables: dict[str, str] = {}
        self.deadline = thread_time() + EVALUATION_SECONDS

    def all_runs(self) -> list[Run]:
        """Return the default way, then every other way whose launches differ.

        "Other than what it is compared with" counts only where it leads to another command.
        """
        first = self._interpret({}, set())
        runs = [_as_run(first, None)]
        seen = {_signature(runs[0])}
        places = {launch.place for launch in runs[0].launches}
        for condition, names, forced in self._alternatives(first):
            if len(runs) >= MAX_RUNS or thread_time() > self.deadline:
                runs[0] = _with_note(
                    runs[0], said("not every other way through the script was looked at")
                )
                break
            run = _as_run(self._interpret(names, forced), condition)
            elsewhere = any(launch.place not in places for launch in run.launches)
            if _OTHER in names.values() and not elsewhere:
                continue
            if run.launches and (signature := _signature(run)) not in seen:
                seen.add(signature)
                runs.append(run)
                places |= {launch.place for launch in run.launches}
        return runs

    def _alternatives(
        self, first: Interpreter
    ) -> Iterator[tuple[str, dict[str, str], set[tuple[str, int]]]]:
        """Yield (condition, names to set, branches to turn) for the ways not taken."""
        for name, text in list(first.trace.literals)[: 2 * MAX_RUNS]:
            if name not in self.surroundings.environment and name != "#":
                shown = f"${name}" if name.isdigit() else name
                yield f"{shown}={text}", {name: text}, set()
                other = said("{name} other than {text}", name=shown, text=text)
                yield other, {name: _OTHER}, set()
        relevant = first.relevant | ({*range(len(first.branches))} if not first.launches else set())
        branches = list(first.branches)
        for site in sorted(relevant)[:MAX_RUNS]:
            path, offset, text = branches[site]
            yield said("{branch} decided the other way", branch=text), {}, {(path, offset)}

    def _interpret(self, names: Mapping[str, str], forced: set[tuple[str, int]]) -> Interpreter:
        interpreter = Interpreter(
            self.files, self._state(names), self.find_program, forced, self.deadline
        )
        try:
            interpreter.block(self.source, self.source.root.children)
        except (ScriptEnd, Returned, LoopControl):
            pass
        except LimitReached as limit:
            interpreter.trace.note(str(limit))
        except RecursionError:
            interpreter.trace.note(said("nested too deeply; what comes later was not read"))
        for source in self.files.opened.values():
            if (offset := source.first_error()) is not None:
                place = source.place(offset)
                interpreter.trace.note(
                    said("not understood as shell from here; the rest was read"), place
                )
        self.variables.update(
            (name, text)
            for name, variable in interpreter.state.variables.items()
            if (text := variable.scalar.known)
        )
        return interpreter

    def _state(self, names: Mapping[str, str]) -> State:
        surroundings = self.surroundings
        environment = {**surroundings.defaults, **surroundings.environment}
        arguments = [literal(text) for text in surroundings.arguments]
        for name, text in names.items():
            if name.isdigit():
                arguments.extend([literal("")] * (int(name) - len(arguments)))
                arguments[int(name) - 1] = literal(text)
            else:
                environment[name] = text
        script = "bash" if self.from_stdin else self.path
        return State(
            variables={
                name: Variable(literal(text), exported=True) for name, text in environment.items()
            },
            positional=tuple(arguments),
            script_name=script,
            cwd=literal(os.getcwd()),
            sources=() if self.from_stdin else (self.path,),
        )


def _as_run(interpreter: Interpreter, condition: str | None) -> Run:
    notes = list(interpreter.trace.notes)
    if required := tuple(interpreter.trace.required):
        names = ", ".join(said("arguments") if one == "arguments" else one for one in required)
        text = said("the script insists on {names}; give a value with --env or --arg", names=names)
        notes.append(Note(text))
    if len(notes) > MAX_NOTES:
        more = counted(len(notes) - MAX_NOTES, "further note")
        notes = [*notes[:MAX_NOTES], Note(said("{notes} left out", notes=more))]
    launches, arrays = tuple(interpreter.launches), dict(interpreter.arrays)
    return Run(launches, condition, tuple(notes), required, arrays)


def _with_note(run: Run, text: str) -> Run:
    return replace(run, notes=(*run.notes, Note(text)))


def _signature(run: Run) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(word.text for word in launch.words[launch.program :]) for launch in run.launches
    )


__all__ = ["STDIN_NAME", "ScriptError", "Surroundings", "read_script"]
