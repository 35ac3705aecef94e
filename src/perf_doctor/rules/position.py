"""Text of a rule file that still knows where each of its characters stands."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.shell.model import Place


class RuleError(Exception):
    """One thing that is wrong in a rule file, with its exact place and the nearest right name.

    ``rule`` and ``field`` are filled in by the catalog when it knows them.
    """

    def __init__(
        self,
        message: str,
        place: Place,
        *,
        nearest: str | None = None,
        rule: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.nearest = nearest
        self.rule = rule
        self.field = field

    def __str__(self) -> str:
        """Return one line: ``file:line:column: R-P05, Check: message; did you mean 'x'?``."""
        where = f"{self.place.file}:{self.place.line}:{self.place.column}"
        subject = ", ".join(part for part in (self.rule, self.field) if part)
        hint = f"; did you mean {self.nearest!r}?" if self.nearest else ""
        return f"{where}: {subject + ': ' if subject else ''}{self.message}{hint}"


class Located(NamedTuple):
    """A text joined from pieces of a file; ``starts`` holds (offset, line, column) of each."""

    text: str
    file: str
    starts: tuple[tuple[int, int, int], ...]

    def place(self, offset: int = 0) -> Place:
        """Return where the character at ``offset`` stands in the file."""
        at = self.starts[0]
        for start in self.starts:
            if start[0] > offset:
                break
            at = start
        return Place(self.file, at[1], at[2] + max(0, offset - at[0]))

    def cut(self, begin: int, end: int) -> Located:
        """Return the part from ``begin`` to ``end``, without the spaces around it."""
        part = self.text[begin:end]
        begin += len(part) - len(part.lstrip())
        part = part.strip()
        if len(self.starts) == 1:
            offset, line, column = self.starts[0]
            return Located(part, self.file, ((0, line, column + begin - offset),))
        first = self.place(begin)
        later = tuple(
            (offset - begin, line, column)
            for offset, line, column in self.starts
            if begin < offset < begin + len(part)
        )
        return Located(part, self.file, ((0, first.line, first.column), *later))

    def error(self, message: str, offset: int = 0, nearest: str | None = None) -> RuleError:
        """Return the error that says ``message`` about the character at ``offset``."""
        return RuleError(message, self.place(offset), nearest=nearest)


def located(text: str, file: str = "<expression>", line: int = 1, column: int = 1) -> Located:
    """Return ``text`` as it stands on one line of ``file``."""
    return Located(text, file, ((0, line, column),))


def nearest_name(name: str, known: list[str]) -> str | None:
    """Return the known name that ``name`` was most likely meant to be, or None."""
    from difflib import get_close_matches  # noqa: PLC0415 - only on the way to an error

    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return close[0] if close else None
