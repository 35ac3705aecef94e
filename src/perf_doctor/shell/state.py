"""What a shell knows at one moment: variables, functions, positions, directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_NOTES
from perf_doctor.shell.model import Note, Place, Unknown
from perf_doctor.shell.status import SUCCESS, Status
from perf_doctor.shell.values import EMPTY, Element, Value, Variable, literal

if TYPE_CHECKING:
    from tree_sitter import Node

    from perf_doctor.shell.source import Source

T = TypeVar("T")
MACHINE_NAMES = frozenset(
    {"HOME", "USER", "LOGNAME", "PATH", "SHELL", "TERM", "HOSTNAME", "UID", "EUID", "PPID",
     "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID", "HOSTTYPE",
     "OSTYPE", "MACHTYPE", "BASH_VERSION"}
)  # fmt: skip
"""Names every shell has a value for, which no reader of the script can tell."""


@dataclass(slots=True)
class Function:
    """A function's body and the file it was read from."""

    source: Source
    body: Node


@dataclass(slots=True)
class State:
    """Variables and everything else a subshell copies."""

    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    positional: tuple[Value, ...] = ()
    script_name: str = ""
    cwd: Value = EMPTY
    nounset: bool = False
    last: Status = SUCCESS
    sources: tuple[str, ...] = ()
    locals: tuple[dict[str, Variable | None], ...] = ()
    unset_depends_on: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def copy(self) -> State:
        """Return a state that can change without this one changing."""
        return State(
            dict(self.variables),
            dict(self.functions),
            self.positional,
            self.script_name,
            self.cwd,
            self.nounset,
            self.last,
            self.sources,
            tuple(dict(scope) for scope in self.locals),
            dict(self.unset_depends_on),
        )

    def get(self, name: str) -> Variable | None:
        """Return the variable, or None when it is unset."""
        if (variable := self.variables.get(name)) is not None:
            return variable
        if name.isdecimal() and name.isascii():
            return self._position(int(name)) if len(name) < 6 else None
        if name in MACHINE_NAMES:
            return Variable(Value((Unknown(name, said("set by the machine"), required=True),)))
        if name in _SPECIAL:
            return self._special(name)
        return None

    def _position(self, index: int) -> Variable | None:
        if index == 0:
            return Variable(literal(self.script_name))
        if index <= len(self.positional):
            return Variable(self.positional[index - 1])
        return None

    def _special(self, name: str) -> Variable | None:
        if name == "#":
            return Variable(literal(str(len(self.positional))))
        if name == "?":
            return Variable(self._last_status())
        if name in "$!":
            return Variable(Value((Unknown("PID", said("a process number"), required=True),)))
        if name in "-_":
            return Variable(EMPTY)
        if name == "PWD":
            return Variable(self.cwd)
        if name == "BASH_SOURCE":
            place = Place(self.sources[-1] if self.sources else "", 1)
            names = tuple(Element(literal(path), place) for path in reversed(self.sources))
            return Variable(elements=names)
        return None

    def _last_status(self) -> Value:
        if self.last.basis == "test":
            return Value((Unknown("?", said("the status of a condition that cannot be decided")),))
        return literal("0" if self.last.ok else str(self.last.failure))

    def assign(self, name: str, variable: Variable) -> None:
        """Set a variable; it stays exported if it was."""
        before = self.variables.get(name)
        if before is not None and before.exported and not variable.exported:
            variable = replace(variable, exported=True)
        self.variables[name] = variable

    def unset(self, name: str) -> None:
        """Remove a variable and, where there is none, a function."""
        if self.variables.pop(name, None) is None:
            self.functions.pop(name, None)

    def declare_local(self, name: str) -> None:
        """Remember what ``name`` is outside the running function."""
        if self.locals:
            self.locals[-1].setdefault(name, self.variables.get(name))

    def leave_function(self) -> None:
        """Give every local name back what it was outside."""
        *rest, scope = self.locals
        self.locals = tuple(rest)
        for name, before in scope.items():
            if before is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = before

    def exported(self) -> Mapping[str, str]:
        """Return the environment that a command started now would get from the script."""
        return {
            name: variable.scalar.text
            for name, variable in self.variables.items()
            if variable.exported
        }


_SPECIAL = frozenset({"#", "?", "$", "!", "-", "_", "PWD", "BASH_SOURCE"})


@dataclass(slots=True)
class Trace:
    """What a way through the script reports, and what its conditions looked at.

    ``looked_at`` holds the names seen unset, empty or at a default since the last reset;
    ``looked_at_file`` whether a file was asked for. ``literals`` collects every (name, text) that a
    condition compared, as a hint to other ways through the script.
    """

    notes: dict[Note, None] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    looked_at: dict[str, None] = field(default_factory=dict)
    looked_at_file: bool = False
    literals: dict[tuple[str, str], None] = field(default_factory=dict)

    def note(self, text: str, place: Place | None = None) -> None:
        """Add a note once."""
        if len(self.notes) < 10 * MAX_NOTES:
            self.notes.setdefault(Note(text, place), None)

    def look_at(self, names: Iterable[str]) -> None:
        """Remember the names whose absence or default a condition saw."""
        self.looked_at.update(dict.fromkeys(names))

    def seen_by(self, run: Callable[[], T]) -> tuple[T, tuple[str, ...]]:
        """Return what ``run`` returns and the names it looked at."""
        before, self.looked_at = self.looked_at, {}
        result = run()
        names = tuple(self.looked_at)
        self.looked_at = {**before, **self.looked_at}
        return result, names
