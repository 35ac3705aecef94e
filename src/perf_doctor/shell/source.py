"""A file of shell text and its syntax tree.

tree-sitter counts bytes and Python counts characters. A launch script may hold Chinese
comments, so the parser is given a shadow of the text in which every non-ASCII
character is one dot: offsets in the tree are then offsets in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from time import thread_time
from typing import TYPE_CHECKING, Any

from tree_sitter import Language, Parser

from perf_doctor.language import said
from perf_doctor.shell.limits import MAX_COMMENTS, MAX_SYNTAX_NODES, PARSE_SECONDS, ScriptError
from perf_doctor.shell.model import Comment, Place

if TYPE_CHECKING:
    from tree_sitter import Node

    from perf_doctor.shell.values import Element


def _language() -> Language:
    """Return the grammar, from the compiled module alone.

    The package around it imports importlib.resources, for queries that nobody asks for here; that
    takes longer than parsing ten scripts.
    """
    package = PathFinder.find_spec("tree_sitter_bash")
    folders = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec("tree_sitter_bash._binding", folders) if folders else None
    if spec is None or spec.loader is None:
        import tree_sitter_bash  # noqa: PLC0415 - installed in a way of its own

        return Language(tree_sitter_bash.language())
    binding = module_from_spec(spec)
    spec.loader.exec_module(binding)
    return Language(binding.language())


_LANGUAGE = _language()
_UNDERSTOOD = ("<<", "in")
"""What the parser takes for an error and the reader knows: ``done <<< x``, ``for i in; do``."""
_NON_ASCII = re.compile(r"[^\x00-\x7f]")


class Source:
    """Shell text with its tree, its comments and its command substitutions.

    ``scanned`` and ``static`` keep what was found out about a word, for files that many scripts
    source: its parts, and what a word without expansions stands for. ``array_words`` holds the
    ranges of the words of an array by its offset.

    Raises ``ScriptError`` when parsing takes too long or yields too much.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.root = _parse(text)
        self.substitutions: dict[int, Node] = {}
        self.scanned: dict[tuple[int, int, bool], Any] = {}
        self.static: dict[tuple[int, int], tuple[Element, ...]] = {}
        self.array_words: dict[int, list[tuple[int, int]]] = {}
        self._places: dict[int, Place] = {}
        self._line_starts = _line_starts(text)
        self.comments: list[Comment] = []
        self._comments_by_line: dict[int, tuple[Comment, ...]] | None = None
        self._index()

    def place(self, offset: int) -> Place:
        """Return the line and column of a character offset."""
        place = self._places.get(offset)
        if place is None:
            line = self._row(offset)
            place = Place(self.path, line + 1, offset - self._line_starts[line] + 1)
            self._places[offset] = place
        return place

    def slice(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text[node.start_byte : node.end_byte]

    def comments_near(self, line: int) -> tuple[Comment, ...]:
        """Return the comments that speak of a line.

        These are the ones on the line itself and the ones that stand alone above it with
        no blank line in between.
        """
        if self._comments_by_line is None:
            self._comments_by_line = self._bind_comments()
        return self._comments_by_line.get(line, ())

    def substitution_end(self, offset: int) -> int | None:
        """Return the end of the command substitution that begins at ``offset``."""
        node = self.substitutions.get(offset)
        return node.end_byte if node is not None else None

    def first_error(self) -> int | None:
        """Return the offset of the first text that the parser did not understand."""
        node = self.root
        if not node.has_error:
            return None
        while not (node.is_error or node.is_missing):
            wrong = [
                child
                for child in node.children
                if (child.has_error or child.is_missing)
                and not (child.is_error and self.slice(child) in _UNDERSTOOD)
            ]
            if not wrong:
                return None
            node = wrong[0]
        return node.start_byte

    def header(self) -> str:
        """Return the comment block the file opens with, without the hash signs."""
        lines: list[str] = []
        for line in self.text.splitlines():
            if not line.startswith("#"):
                if line.strip() or lines:
                    break
                continue
            if not line.startswith("#!"):
                lines.append(line.lstrip("#").strip())
        return "\n".join(lines).strip()

    def _row(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset) - 1

    def _index(self) -> None:
        """Collect comments and substitutions with a cursor: nesting must not cost stack."""
        cursor = self.root.walk()
        for _ in range(MAX_SYNTAX_NODES):
            node = cursor.node
            kind = node.type if node is not None else ""
            if node is not None and kind == "comment":
                if len(self.comments) < MAX_COMMENTS:
                    self._add_comment(node)
            elif node is not None and kind == "command_substitution":
                self.substitutions[node.start_byte] = node
            if cursor.goto_first_child() or cursor.goto_next_sibling():
                continue
            while cursor.goto_parent():
                if cursor.goto_next_sibling():
                    break
            else:
                return
        raise ScriptError(
            said("holds more than {limit} pieces of syntax", limit=f"{MAX_SYNTAX_NODES:,}")
        )

    def _add_comment(self, node: Node) -> None:
        place = self.place(node.start_byte)
        start = self._line_starts[self._row(node.start_byte)]
        own_line = not self.text[start : node.start_byte].strip()
        self.comments.append(Comment(self.slice(node).rstrip("\r\n"), place, own_line))

    def _bind_comments(self) -> dict[int, tuple[Comment, ...]]:
        on_line: dict[int, list[Comment]] = {}
        for comment in self.comments:
            on_line.setdefault(comment.place.line, []).append(comment)
        bound: dict[int, tuple[Comment, ...]] = {}
        block: list[Comment] = []
        for number, line in enumerate(self.text.split("\n"), 1):
            here = on_line.get(number, [])
            if not line.strip():
                block = []
            elif here and here[0].own_line:
                block.extend(here)
            elif block or here:
                bound[number] = (*block, *here)
        return bound


CHUNK = 1 << 16
"""Bytes given to the parser at once; it takes a deadline only with a text given in pieces."""


def _parse(text: str) -> Node:
    shadow = text if text.isascii() else _NON_ASCII.sub(".", text)
    deadline = thread_time() + PARSE_SECONDS

    def late(_offset: int, _error: bool) -> bool:
        return thread_time() > deadline

    try:
        data = shadow.encode("ascii")
        return (
            Parser(_LANGUAGE)
            .parse(lambda offset, _point: data[offset : offset + CHUNK], progress_callback=late)
            .root_node
        )
    except ValueError:
        raise ScriptError(said("its syntax takes too long to read")) from None


def _line_starts(text: str) -> list[int]:
    starts = [0]
    starts.extend(match.end() for match in re.finditer("\n", text))
    return starts
