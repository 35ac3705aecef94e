"""What reading a script yields: words with their origin, launches, notes.

These types are the whole surface of the room: everything after it sees words and
where they came from, never syntax.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perf_doctor.frozen import frozen


@frozen
class Unknown:
    """A part of a value that bash would know and a reader of the script cannot.

    ``required`` marks a name without which the script ends before its launch: it is then
    taken to be set, and not empty.
    """

    name: str
    reason: str
    required: bool = False

    def __str__(self) -> str:
        """Return the part as it is shown: ``${name}``."""
        return f"${{{self.name}}}"


@frozen
class Place:
    """Where something is written: a file as it was opened, a line and a column, both from 1."""

    file: str
    line: int
    column: int = 1


@frozen
class Comment:
    """A comment of the script: untrusted text, to be quoted and never obeyed.

    ``own_line`` tells a comment that stands alone from one that trails a word.
    """

    text: str
    place: Place
    own_line: bool


@frozen
class Word:
    """One word of a command as bash passes it; unknown parts are written ``${NAME}``.

    ``group`` is the array the word came through (``PERF_ARGS``), None for a word that
    stands on the command itself. ``overridable_by`` names the environment variables
    (or positional parameters, ``1``) whose default was used in it.
    """

    text: str
    place: Place
    group: str | None = None
    unknown: tuple[Unknown, ...] = ()
    overridable_by: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()


@frozen
class Note:
    """Something the reader should know about how the script was read."""

    text: str
    place: Place | None = None

    def __str__(self) -> str:
        """Return the note with its place in front, as compilers write it."""
        return f"{self.place.file}:{self.place.line}: {self.text}" if self.place else self.text


@frozen
class Command:
    """A launch: every word of it, wrappers and ``ray job submit`` included.

    ``program`` is the index of the word with which the launched program begins. ``exported``
    holds the environment the script had exported by then (unknown parts written ``${NAME}``).
    ``cut`` are words that stand where the command seems to go on but that bash does not pass,
    because a comment or a missing backslash ended it.
    """

    words: tuple[Word, ...]
    program: int
    place: Place
    exported: Mapping[str, str] = field(default_factory=dict)
    cut: tuple[Word, ...] = ()


@frozen
class Run:
    """One way through the script: the launches in the order bash reaches them.

    ``condition`` is None for the way bash takes by default and reads ``MODE=async`` for
    another one. ``arrays`` tells, for every array that holds flags (a first element that starts
    with ``--``), where it was set, so that one which is never passed can be reported.
    """

    launches: tuple[Command, ...]
    condition: str | None = None
    notes: tuple[Note, ...] = ()
    required: tuple[str, ...] = ()
    arrays: Mapping[str, Place] = field(default_factory=dict)


@frozen
class Script:
    """A script, read: the default way first, then the others, and every file that was opened.

    ``texts`` holds those files' text by the name they go by in places. ``header`` is the leading
    comment block. ``variables`` holds the known scalars at the end of every way, for masking the
    secret ones. ``comments`` are those of all the files.
    """

    path: str
    runs: tuple[Run, ...]
    texts: Mapping[str, str]
    header: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    comments: tuple[Comment, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were opened."""
        return tuple(self.texts)
