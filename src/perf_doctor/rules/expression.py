"""The language of rule conditions: what an expression is made of.

An expression is Python-like and read-only. It may hold names of facts, numbers, text, ``True``,
``False`` and ``None``, ``and or not``, comparisons (chained ones too), ``+ - * / // %``, ``in``
with a list in the text, a conditional, and calls of named functions. It cannot loop, index, reach
into an object, raise to a power or build text, and it is bounded in every direction, so that a
rule file is data and never a program. Nothing here evaluates Python code.

Its tree is made of plain sequences, which can be kept in a file and read back: a node is
``(kind, begin, end, detail, *parts)``, where ``begin`` and ``end`` delimit its text, ``detail``
depends on the kind, and ``parts`` are nodes.

===========  =============================  ===========================================
kind         detail                         parts
===========  =============================  ===========================================
value        the number, text, True, …      none
fact         its name                       none
list         None                           the entries
connective   ``and`` or ``or``              two or more
unary        ``not`` or ``-``               one
arithmetic   ``+ - * / // %``               left, right
compare      the operators, one or more     one more than operators
if           None                           the test, the value if it holds, the other one
call         the function, None if no name  the arguments
foreign      what stands there instead      none: it is no part of the language
===========  =============================  ===========================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from perf_doctor.rules.position import Located, RuleError, located

MAX_CHARACTERS = 2_000
MAX_NODES = 200
MAX_DEPTH = 30
MAX_NUMBER = 2**63

Node = Sequence[Any]


class Expression(NamedTuple):
    """An expression by Python's grammar; ``check_expression`` tells whether it is one of ours."""

    source: Located
    tree: Node

    @property
    def text(self) -> str:
        """The expression as written, on one line."""
        return self.source.text

    def segment(self, node: Node) -> str:
        """Return the text of one part of the expression."""
        return self.source.text[node[1] : node[2]]

    def error(self, node: Node, message: str, nearest: str | None = None) -> RuleError:
        """Return the error that says ``message`` about one part of the expression."""
        return self.source.error(message, node[1], nearest)


def walk(tree: Node) -> Iterator[Node]:
    """Yield every node, the outer ones before the inner ones."""
    nodes = [tree]
    for node in nodes:
        nodes += node[4:]
        yield node


def reads(expression: Expression) -> Iterator[str]:
    """Yield the facts and the options that an expression rests on."""
    for kind, _, _, detail, *parts in walk(expression.tree):
        if kind == "fact":
            yield detail
        elif kind == "call":
            texts = (part[3] for part in parts if part[0] == "value")
            yield from (text for text in texts if isinstance(text, str) and text.startswith("--"))


def parse_expression(source: Located | str) -> Expression:
    """Return the expression that ``source`` holds, as Python's own grammar reads it.

    What it is made of is not looked at yet: only ``check_expression`` lets an expression through
    to the evaluation, and refuses everything that is not part of the language.

    Raises:
        RuleError: it is no expression, or it is larger than the language allows.
    """
    from perf_doctor.rules.syntax import syntax_tree  # noqa: PLC0415 - compiled rules need none

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
    return Expression(source, syntax_tree(source))
