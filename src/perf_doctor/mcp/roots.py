"""The folders a client may have read from, and the scripts that lie in them.

Links are resolved before a path is tested, and what is read afterwards is the very path that was
tested. What a script sources is bounded further on, by ``shell.files``: to the tree it belongs to,
and to these folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from perf_doctor.inert import inert, shortened
from perf_doctor.shell.files import Files, Library
from perf_doctor.shell.limits import MAX_PATH_CHARS, ScriptError

MAX_SCRIPTS: Final = 10
"""Launch scripts in one answer: some 500 tokens each."""
MAX_TRIED: Final = 100
"""Shell files of a folder that are read in search of launches."""
_MAX_FOLDERS: Final = 2_000
_PERCENT = re.compile("(?:%[0-9A-Fa-f]{2})+")


class PathError(ScriptError):
    """A path that may not be read, or is none; the message is one line that names it."""


class Found(NamedTuple):
    """Shell files below a folder, sorted; ``whole`` is False where the search was cut short."""

    files: tuple[str, ...]
    whole: bool


class Roots:
    """Folders, links resolved. Relative paths are looked up in each of them, in order."""

    def __init__(self, folders: Sequence[str]) -> None:
        real = (os.path.realpath(folder) for folder in folders)
        self.folders = tuple(dict.fromkeys(folder for folder in real if os.path.isdir(folder)))

    def resolve(self, path: str) -> str:
        """Return the path of something that exists in one of the folders, without any link.

        It is relative to the working folder where it lies in that, as short names are read best.
        Whether there is anything outside is not told.
        """
        if not path.strip() or "\0" in path or len(path) > MAX_PATH_CHARS:
            raise PathError(f"{shown(path) or 'an empty text'} is no path")
        files = Files(self.folders, Library())
        named = [path] if os.path.isabs(path) else [f"{root}/{path}" for root in self.folders]
        inside = [real for name in named if (real := files.resolve(name)) is not None]
        if not inside:
            raise PathError(f"{shown(path)} {self._outside()}")
        found = next((real for real in inside if os.path.exists(real)), None)
        if found is None:
            raise PathError(f"{shown(path)} does not exist")
        return _short(found)

    def _outside(self) -> str:
        if not self.folders:
            return (
                "lies in no folder that may be read, as there is none: open a folder in the client,"
                " or start the server with --root DIR"
            )
        return f"lies outside {', '.join(map(shown, self.folders[:4]))}"


def shown(path: str) -> str:
    """Return a path as a message has it."""
    return shortened(inert(path))


def _short(real: str) -> str:
    home = os.getcwd()
    return os.path.relpath(real, home) if real.startswith(f"{home.rstrip('/')}/") else real


def shell_files_of(folder: str) -> Found:
    """Return the shell files below a folder, not more than are worth a look.

    Hidden folders and links are passed over.
    """
    files = tuple(islice(_walk(folder), MAX_TRIED + 1))
    whole = len(files) <= MAX_TRIED
    return Found(files[:MAX_TRIED], whole)


def _walk(folder: str) -> Iterator[str]:
    for path, folders, names in islice(os.walk(folder), _MAX_FOLDERS):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = os.path.join(path, name)
            if name.endswith(".sh") and not os.path.islink(file):
                yield file


def folder_of(uri: str) -> str | None:
    """Return the folder a ``file://`` address of this machine names, None for any other."""
    scheme, _, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    if scheme.lower() != "file" or not slash or host.lower() not in ("", "localhost"):
        return None
    decoded = _PERCENT.sub(_decoded, f"/{path}")
    return None if "\0" in decoded else decoded


def _decoded(match: re.Match[str]) -> str:
    return os.fsdecode(bytes.fromhex(match.group().replace("%", "")))


def working_folder() -> tuple[str, ...]:
    """Return the folder the server was started in; none for ``/``, which bounds nothing."""
    folder = os.getcwd()
    return () if folder == "/" else (folder,)
