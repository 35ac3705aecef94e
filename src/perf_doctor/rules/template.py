"""Prose with values in it, and the flag changes of a fix.

In the Cost, Fix and Patch of a rule a pair of braces holds an expression: "TP{tp} = {tp * cp}".
A brace before a quoted key is an ordinary one, so that JSON (``{"image": "image"}``) may stand in
the text as it is; an expression that begins with a text is put in round brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from os.path import normpath
from typing import Final, NamedTuple

from perf_doctor.language import said
from perf_doctor.rules.evaluate import Scope, evaluate, holds
from perf_doctor.rules.expression import Expression, parse_expression
from perf_doctor.rules.functions import Value
from perf_doctor.rules.position import Located
from perf_doctor.rules.quote import quoted
from perf_doctor.shell.model import Unknown

MAX_LISTED = 12

# Compiled where rules are parsed: the rules that come with the program are parsed already.
HOLE: Final = r"\{(?=[A-Za-z0-9(_-])"
"""What begins a hole."""
_JSON: Final = r'\{(?:\}|\s*"[^"]*"\s*:)'
_WHEN: Final = r"when `(?P<condition>[^`]+)`:\s*"
_CODE: Final = r"`([^`]+)`"
_SEPARATORS = frozenset({"", ",", ";", "and"})


class Template(NamedTuple):
    """Prose whose holes are expressions."""

    parts: tuple[str | Expression, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions of the holes, in order."""
        return tuple(part for part in self.parts if isinstance(part, Expression))

    def values(self, scope: Scope) -> Iterator[Value]:
        """Yield the value of each hole."""
        return (evaluate(expression, scope) for expression in self.expressions)

    def fill(self, scope: Scope) -> str:
        """Return the prose with every hole filled; what a script says stands there as code."""
        return "".join(
            part if isinstance(part, str) else show(evaluate(part, scope)) for part in self.parts
        )

    def literal(self, scope: Scope) -> str:
        """Return the text with every hole filled by the value as a command line takes it."""
        return "".join(
            part if isinstance(part, str) else written(evaluate(part, scope)) for part in self.parts
        )


class Edit(NamedTuple):
    """One flag to set (to a value, or None for a switch) or to remove."""

    flag: str
    remove: bool
    value: Template | None
    source: Located


class Way(NamedTuple):
    """Changes that fix something together, where ``condition`` holds."""

    edits: tuple[Edit, ...]
    condition: Expression | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions of the values, in order."""
        return tuple(e for edit in self.edits if edit.value for e in edit.value.expressions)


class FlagChanges(NamedTuple):
    """One way to fix something: options to set, with their values, and options to remove.

    A switch is set to True, as the ``setting`` of a finding shows it.
    """

    set: Mapping[str, str | bool]
    unset: tuple[str, ...] = ()


def parse_template(source: Located) -> Template:
    """Return the prose of ``source`` with its holes parsed.

    Raises:
        RuleError: a hole is not closed, or holds no expression.
    """
    text = source.text
    if "{" not in text:
        return Template((text,))
    at = 0
    parts: list[str | Expression] = []
    hole, json_ = re.compile(HOLE), re.compile(_JSON)
    for brace in re.finditer(r"\{", text):
        if not (hole.match(text, brace.start()) or json_.match(text, brace.start())):
            raise source.error("a brace begins a hole, as {tp} or {(…)}, or JSON", brace.start())
    for match in hole.finditer(text):
        if match.start() < at:
            continue
        close = text.find("}", match.end())
        if close < 0:
            raise source.error("a brace is not closed", match.start())
        parts.append(text[at : match.start()])
        parts.append(parse_expression(source.cut(match.end(), close)))
        at = close + 1
    parts.append(text[at:])
    return Template(tuple(part for part in parts if part != ""))


def parse_patch(source: Located) -> tuple[Way, ...]:
    """Return the ways to fix: ``when `x > 1`: `set --x {expr}` `unset --y` or `set --z 1```.

    Raises:
        RuleError: something else stands there.
    """
    condition, at = None, 0
    if match := re.match(_WHEN, source.text):
        condition = parse_expression(source.cut(*match.span("condition")))
        at = match.end()
    ways: list[list[Edit]] = [[]]
    for match in re.compile(_CODE).finditer(source.text, at):
        between = source.text[at : match.start()].strip().strip(",;").strip()
        if between == "or" and ways[-1]:
            ways.append([])
        elif between not in _SEPARATORS:
            raise source.error(f"{between!r} between the changes; only 'or' can stand there", at)
        ways[-1].append(_edit(source.cut(match.start(1), match.end(1))))
        at = match.end()
    rest = source.text[at:].strip()
    if rest not in ("", ".") or not ways[-1]:
        raise source.error("a change reads `set --flag value` or `unset --flag`, in backquotes", at)
    return tuple(Way(tuple(way), condition) for way in ways)


def _edit(source: Located) -> Edit:
    verb, _, rest = source.text.partition(" ")
    flag, _, value = rest.strip().partition(" ")
    if verb not in ("set", "unset") or not flag.startswith("--") or (verb == "unset" and value):
        raise source.error("a change reads `set --flag value` or `unset --flag`")
    if not value:
        return Edit(flag, verb == "unset", None, source)
    start = len(source.text) - len(value)
    return Edit(flag, False, parse_template(source.cut(start, len(source.text))), source)


def changes(ways: tuple[Way, ...], scope: Scope) -> tuple[FlagChanges, ...]:
    """Return every way that is open to this job and whose values are known, in order.

    What is set so already is left out, and so is what would remove an option that is not given.
    """
    found = (_changes(way, scope) for way in ways)
    return tuple(way for way in found if way is not None)


def _changes(way: Way, scope: Scope) -> FlagChanges | None:
    if way.condition is not None and holds(way.condition, scope) is not True:
        return None
    settings: dict[str, str | bool] = {}
    for edit in way.edits:
        if edit.remove:
            continue
        if edit.value is None:
            if scope.flags.on(edit.flag) is not True:
                settings[edit.flag] = True
            continue
        if any(value is None or isinstance(value, Unknown) for value in edit.value.values(scope)):
            return None
        text = edit.value.literal(scope)
        if not scope.flags.given(edit.flag) or written(scope.flags.value(edit.flag)) != text:
            settings[edit.flag] = text
    removed = (edit.flag for edit in way.edits if edit.remove and scope.flags.given(edit.flag))
    return FlagChanges(settings, tuple(removed))


def show(value: Value) -> str:
    """Return a value as prose shows it: long lists cut, the way of a path made straight."""
    if value is None:
        return said("not given")
    if isinstance(value, bool):
        return said("on") if value else said("off")
    if isinstance(value, tuple):
        shown = [show(part) for part in value[:MAX_LISTED]]
        return ", ".join([*shown, "…"] if len(value) > MAX_LISTED else shown)
    return quoted(_straight(value) if isinstance(value, str) else written(value))


def _straight(text: str) -> str:
    """Return a full path without ``..``, as places in the script are shown; other text as it is."""
    return normpath(text) if text.startswith("/") and "/." in text else text


def written(value: Value) -> str:
    """Return a value as it is written on a command line."""
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, tuple):
        return " ".join(written(part) for part in value)
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
