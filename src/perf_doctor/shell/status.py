"""How a command ended, and the ways control leaves it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class Status(NamedTuple):
    """Whether a command succeeds, and how sure that is.

    ``basis`` is ``known``, ``test`` (a condition that cannot be decided; taken as false) or
    ``command`` (a command that is not evaluated; taken to succeed). ``failure`` is the number a
    failing command leaves in ``$?``.
    """

    ok: bool
    basis: Literal["known", "test", "command"] = "known"
    failure: int = 1

    def negated(self) -> Status:
        """Return the status behind ``!``."""
        return Status(not self.ok, self.basis)


SUCCESS: Final = Status(True)
FAILURE: Final = Status(False)
MISUSE: Final = Status(False, failure=2)
ASSUMED: Final = Status(True, "command")
UNDECIDED: Final = Status(False, "test")


def of_truth(truth: bool | None) -> Status:
    """Return the status of a condition."""
    if truth is None:
        return UNDECIDED
    return SUCCESS if truth else FAILURE


class ScriptEnd(Exception):
    """The script has ended (``exit``, ``exec``)."""


class Returned(Exception):
    """A function or a sourced file has returned."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self.status = status


class LoopControl(Exception):
    """``break`` or ``continue``; ``levels`` loops are concerned."""

    def __init__(self, kind: Literal["break", "continue"], levels: int) -> None:
        super().__init__()
        self.kind = kind
        self.levels = levels
