"""The files a reading may open: the script, its own tree, the model-config folder. No other.

Containment is tested on the resolved path, so neither ``..`` nor a link leads out. Only
regular files are opened, without blocking, and never more of them than the limits say.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from typing import Final

from perf_doctor.language import said
from perf_doctor.shell.limits import (
    MAX_FILE_BYTES,
    MAX_PATH_CHARS,
    MAX_SOURCED_FILES,
    ScriptError,
)
from perf_doctor.shell.source import Source

_MARKS: Final = ("scripts/models", ".git", "scripts")
"""What tells the top of a tree, the surest sign first."""


def tree_root(script: str) -> str:
    """Return the tree a script belongs to.

    That is the nearest folder above it that holds ``scripts/models``, else ``.git``, else
    ``scripts``; and its own folder where there is none.
    """
    folder = os.path.dirname(os.path.realpath(script))
    above = [folder]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    for mark in _MARKS:
        for candidate in above:
            if candidate != parent and os.path.exists(f"{candidate}/{mark}"):
                return candidate
    return folder


def narrowed(folders: Iterable[str], within: Sequence[str]) -> tuple[str, ...]:
    """Return what of these folders lies within others, all of it where no others are given."""
    real = tuple(map(os.path.realpath, folders))
    if not within:
        return real
    bounds = tuple(map(os.path.realpath, within))
    below = [folder for folder in real if any(_holds(bound, folder) for bound in bounds)]
    inner = [bound for bound in bounds if any(_holds(folder, bound) for folder in real)]
    return tuple(dict.fromkeys((*below, *inner)))


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Library:
    """Shell files parsed once: many scripts source the same model and entrypoint files.

    A file that has changed since is read again.
    """

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str], tuple[tuple[int, int], Source]] = {}

    def load(self, path: str, shown: str) -> Source:
        """Return the file at a resolved path, named ``shown`` in places."""
        version = _version(path)
        known = self._sources.get((path, shown))
        if known is not None and known[0] == version:
            return known[1]
        source = Source(shown, read_text(path))
        self._sources[path, shown] = version, source
        return source


def _version(path: str) -> tuple[int, int]:
    """Return what changes when a file is written; nothing for one that cannot be looked at."""
    try:
        seen = os.stat(path)
    except OSError:
        return 0, 0
    return seen.st_mtime_ns, seen.st_size


class Files:
    """Opens shell files inside the allowed roots and remembers which were opened.

    ``base`` is the folder that shown names are relative to, None for absolute names.
    """

    def __init__(self, roots: tuple[str, ...], library: Library, base: str | None = None) -> None:
        self.roots = tuple(os.path.realpath(root) for root in roots)
        self.opened: dict[str, Source] = {}
        self._library = library
        self._base = base
        self._resolved: dict[str, str | None] = {}

    def shown(self, path: str) -> str:
        """Return the name a file goes by in places: short, without ``..``."""
        plain = os.path.normpath(path)
        if self._base is not None and plain.startswith(self._base.rstrip("/") + "/"):
            return os.path.relpath(plain, self._base)
        return plain

    def resolve(self, path: str) -> str | None:
        """Return the path with links resolved if it lies in a root, else None.

        One reading sees one state of the disk: a path that was resolved stays so.
        """
        if path not in self._resolved:
            self._resolved[path] = self._resolve(path)
        return self._resolved[path]

    def _resolve(self, path: str) -> str | None:
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):  # too long, or characters no path can hold
            return None
        return real if any(_holds(root, real) for root in self.roots) else None

    def test(self, operator: str, path: str | None, cwd: str | None) -> bool | None:
        """Return what a file test says; None outside the roots, where nobody looks."""
        if path is None or (not path.startswith("/") and cwd is None):
            return None
        full = path if path.startswith("/") else f"{cwd}/{path}"
        if not path or "\0" in full or len(full) > MAX_PATH_CHARS:
            return False
        real = self.resolve(full)
        if real is None or operator not in "efsrwxd":
            return None
        check = {"d": os.path.isdir, "e": os.path.exists}.get(operator, os.path.isfile)
        return check(real)

    def stand_in(self, path: str) -> str | None:
        """Return the file of an allowed tree that an absolute path elsewhere stands for.

        Scripts name their own checkout by the place it has in a container,
        ``/root/slime/scripts/models/x.sh``; the part from ``scripts`` on is looked up.
        """
        _, found, tail = path.partition("/scripts/")
        if found:
            for root in self.roots:
                candidate = f"{root}/scripts/{tail}"
                real = self.resolve(candidate)
                if real is not None and os.path.isfile(real):
                    return candidate
        return None

    def source(self, path: str, shown: str | None = None) -> Source:
        """Return the file as shell text.

        Raises ``ScriptError`` with a reason that reads well behind the path.
        """
        real = self.resolve(path)
        if real is None:
            raise ScriptError(
                said("lies outside the script's own tree and the model-config folder")
            )
        name = self.shown(path) if shown is None else shown
        if name in self.opened:
            return self.opened[name]
        if len(self.opened) >= MAX_SOURCED_FILES:
            raise ScriptError(said("is one file too many (limit {limit})", limit=MAX_SOURCED_FILES))
        source = self._library.load(real, name)  # the very path that was tested
        self.opened[name] = source
        return source


def read_text(path: str) -> str:
    """Return the text of a regular file of sensible size; anything else is a ``ScriptError``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise ScriptError(_reason(error)) from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise ScriptError(said("is a folder"))
        if not stat.S_ISREG(kind):
            raise ScriptError(said("is not a regular file"))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ScriptError(_reason(error)) from None
    finally:
        os.close(descriptor)
    return decode(data)


def decode(data: bytes) -> str:
    """Return shell text; undecodable bytes are replaced, NUL and oversize are refused."""
    if len(data) > MAX_FILE_BYTES:
        raise ScriptError(said("is larger than {limit} KiB", limit=MAX_FILE_BYTES // 1024))
    if b"\0" in data:
        raise ScriptError(said("is a binary file, not a shell script"))
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return said("does not exist")
    if isinstance(error, PermissionError):
        return said("may not be read")
    return said("cannot be read ({why})", why=error.strerror)


def shell_files(folder: str) -> list[str]:
    """Return the ``.sh`` files below a folder, sorted; hidden folders and links are passed over."""
    found: list[str] = []
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        scripts = (os.path.join(path, name) for name in names if name.endswith(".sh"))
        found.extend(script for script in scripts if not os.path.islink(script))
    return sorted(found)
