"""The language of rule conditions: parsing.

An expression is Python-like and read-only. It may hold names of facts, numbers, text, ``True``,
``False`` and ``None``, ``and or not``, comparisons (chained ones too), ``+ - * / // %``, ``in``
with a list in the text, a conditional, and calls of named functions. It cannot loop, index, reach
into an object, raise to a power or build text, and it is bounded in every direction, so that a
rule file is data and never a program. Nothing here evaluates Python code.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from typing import NamedTuple

from perf_doctor.rules.position import Located, RuleError, located

MAX_CHARACTERS = 2_000
MAX_NODES = 200
MAX_DEPTH = 30
MAX_INTEGER = 2**63

# A number that runs into a word (``1if``) makes Python remark on style, to the terminal.
_STYLE_REMARK = re.compile(r"\d[A-Za-z_]")

# What people reach for, and what to say instead of the syntax tree's name for it.
REFUSED: Mapping[type[ast.AST], str] = {
    ast.Attribute: "a dot (there are no attributes)",
    ast.Subscript: "an index in square brackets; use item(value, 'key')",
    ast.Lambda: "lambda",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a loop",
    ast.GeneratorExp: "a loop",
    ast.Dict: "a dictionary",
    ast.Set: "a set; write a list in round brackets",
    ast.NamedExpr: "an assignment",
    ast.Starred: "a star",
    ast.Pow: "a power",
    ast.Is: "'is'; write ==",
    ast.IsNot: "'is not'; write !=",
    ast.UAdd: "a leading +",
    ast.Invert: "'~'",
    ast.BitAnd: "'&'; write 'and'",
    ast.BitOr: "'|'; write 'or'",
}


class Expression(NamedTuple):
    """An expression by Python's grammar; ``check_expression`` tells whether it is one of ours."""

    source: Located
    tree: ast.expr

    @property
    def text(self) -> str:
        """The expression as written, on one line."""
        return self.source.text

    def segment(self, node: ast.expr) -> str:
        """Return the text of one part of the expression."""
        raw = self.text.encode()
        return raw[node.col_offset : node.end_col_offset].decode()

    def error(self, node: ast.expr, message: str, nearest: str | None = None) -> RuleError:
        """Return the error that says ``message`` about one part of the expression."""
        return _error_at(self.source, node.col_offset, message, nearest)


def _error_at(
    source: Located, byte_offset: int, message: str, nearest: str | None = None
) -> RuleError:
    """Return an error at a byte offset: the syntax tree counts bytes, a reader counts letters."""
    before = source.text.encode("utf-8", "replace")[:byte_offset]
    return source.error(message, len(before.decode("utf-8", "replace")), nearest)


def parse_expression(source: Located | str) -> Expression:
    """Return the expression that ``source`` holds, as Python's own grammar reads it.

    What it is made of is not looked at yet: only ``check_expression`` lets an expression through
    to the evaluation, and refuses everything that is not part of the language.

    Raises:
        RuleError: it is no expression, or it is longer than the language allows.
    """
    if isinstance(source, str):
        source = located(source)
    text = source.text
    if text != text.strip() or not text:
        source = source.cut(0, len(text))
        text = source.text
    if not text:
        raise source.error("an expression is missing here")
    if len(text) > MAX_CHARACTERS:
        raise source.error(
            f"an expression of {len(text)} characters; the limit is {MAX_CHARACTERS}"
        )
    if "\\" in text or not text.isprintable():
        bad = next(c for c in text if c == "\\" or not c.isprintable())
        raise source.error(f"{bad!r} is not part of an expression", text.index(bad))
    return Expression(source, _syntax_tree(source))


def _syntax_tree(source: Located) -> ast.expr:
    try:
        if _STYLE_REMARK.search(source.text) is None:
            return ast.parse(source.text, mode="eval").body
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, mode="eval").body
    except SyntaxError as error:
        reason = (error.msg or "invalid syntax").split(". Perhaps")[0]
        at = error.offset - 1 if error.offset else len(source.text)  # none: it ends too early
        raise source.error(reason, at) from None
    except (ValueError, MemoryError, RecursionError):
        raise source.error("too deeply nested, or not text") from None
