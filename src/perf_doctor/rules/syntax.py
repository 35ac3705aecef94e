"""The language of rule conditions: from text to the tree of an expression.

Python's own parser does the work. This module is imported only where rules are parsed: the rules
that come with the program are kept as trees.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from perf_doctor.rules.expression import MAX_DEPTH, MAX_NODES, Node
from perf_doctor.rules.position import Located

# A number that runs into a word (``1if``) makes Python remark on style, to the terminal.
_STYLE_REMARK: Final = re.compile(r"\d[A-Za-z_]")

# What people reach for, and what to say instead of the syntax tree's name for it.
_FOREIGN: Final[Mapping[type[ast.AST], str]] = {
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
    ast.UAdd: "a leading +",
    ast.Invert: "'~'",
    ast.BitAnd: "'&'; write 'and'",
    ast.BitOr: "'|'; write 'or'",
}
_OPERATORS: Final[Mapping[type[ast.AST], str]] = {
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "-",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


def syntax_tree(source: Located) -> Node:
    """Return the tree of an expression; what is not part of the language is a foreign node.

    Raises:
        RuleError: it is no expression of Python's, or one with more parts than the language allows.
    """
    return _Tree(source).of(_parsed(source))


def _parsed(source: Located) -> ast.expr:
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


class _Tree:
    """Makes nodes of ours out of Python's; a node without a method is foreign."""

    def __init__(self, source: Located) -> None:
        self.source = source
        self.nodes = self.depth = 0

    def of(self, node: ast.expr) -> Node:
        """Return the node of ours that stands for one of Python's."""
        self.nodes += 1
        self.depth += 1
        begin = self._offset(node.col_offset)
        if self.nodes > MAX_NODES:
            raise self.source.error(f"an expression of more than {MAX_NODES} parts", begin)
        if self.depth > MAX_DEPTH:
            raise self.source.error(f"an expression nested more than {MAX_DEPTH} deep", begin)
        kind, detail, parts = _METHODS.get(type(node), _Tree._foreign)(self, node)
        found = (kind, begin, self._offset(node.end_col_offset), detail, *map(self.of, parts))
        self.depth -= 1
        return found

    def _offset(self, count: int | None) -> int:
        """Return an offset in letters: Python's tree counts bytes."""
        assert count is not None
        text = self.source.text
        return count if text.isascii() else len(text.encode()[:count].decode())

    def _foreign(self, node: ast.AST) -> _Made:
        return "foreign", _FOREIGN.get(type(node), f"'{type(node).__name__}'"), ()

    def _constant(self, node: ast.Constant) -> _Made:
        if isinstance(node.value, bool | int | float | str | None):
            return "value", node.value, ()
        return "foreign", f"{node.value!r:.40}", ()

    def _fact(self, node: ast.Name) -> _Made:
        return "fact", node.id, ()

    def _list(self, node: ast.Tuple | ast.List) -> _Made:
        return "list", None, node.elts

    def _connective(self, node: ast.BoolOp) -> _Made:
        return "connective", _OPERATORS[type(node.op)], node.values

    def _unary(self, node: ast.UnaryOp) -> _Made:
        operator = _OPERATORS.get(type(node.op))
        return ("unary", operator, (node.operand,)) if operator else self._foreign(node.op)

    def _arithmetic(self, node: ast.BinOp) -> _Made:
        operator = _OPERATORS.get(type(node.op))
        parts = (node.left, node.right)
        return ("arithmetic", operator, parts) if operator else self._foreign(node.op)

    def _comparison(self, node: ast.Compare) -> _Made:
        return "compare", [_OPERATORS[type(op)] for op in node.ops], (node.left, *node.comparators)

    def _conditional(self, node: ast.IfExp) -> _Made:
        return "if", None, (node.test, node.body, node.orelse)

    def _call(self, node: ast.Call) -> _Made:
        named = isinstance(node.func, ast.Name) and not node.keywords
        return "call", node.func.id if named else None, node.args  # type: ignore[attr-defined]


_Made = tuple[str, Any, Iterable[ast.expr]]
_METHODS: Final[Mapping[type[ast.AST], Callable[[_Tree, Any], _Made]]] = {
    ast.Constant: _Tree._constant,
    ast.Name: _Tree._fact,
    ast.Tuple: _Tree._list,
    ast.List: _Tree._list,
    ast.BoolOp: _Tree._connective,
    ast.UnaryOp: _Tree._unary,
    ast.BinOp: _Tree._arithmetic,
    ast.Compare: _Tree._comparison,
    ast.IfExp: _Tree._conditional,
    ast.Call: _Tree._call,
}
