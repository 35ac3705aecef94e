"""Builtins that take words in: ``read`` and ``mapfile`` from standard input, ``getopts``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from perf_doctor.language import said
from perf_doctor.shell.expansion import DEFAULT_IFS, split_fields
from perf_doctor.shell.filters import lines
from perf_doctor.shell.model import Place, Unknown
from perf_doctor.shell.status import ASSUMED, FAILURE, SUCCESS, Status
from perf_doctor.shell.values import EMPTY, Element, Value, Variable, literal

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

_WITH_VALUE: Final = frozenset("adnNptui")
"""Options of ``read`` and ``mapfile`` that take a word."""


def _options(words: list[Element]) -> tuple[dict[str, str], list[str]]:
    """Return the options with their values and the names of a ``read`` or ``mapfile``."""
    texts = [word.value.known or "" for word in words[1:]]
    options: dict[str, str] = {}
    while texts and texts[0].startswith("-"):
        letters = texts.pop(0)[1:]
        for at, letter in enumerate(letters):
            options[letter] = ""
            if letter in _WITH_VALUE and not (letter == "t" and words[0].value.known != "read"):
                options[letter] = letters[at + 1 :] or (texts.pop(0) if texts else "")
                break
    return options, [text for text in texts if text.isidentifier()]


def read(interpreter: Interpreter, _s: Source, words: list[Element], place: Place) -> Status:
    """Carry out ``read``: evaluated where standard input is known, else the names are unknown."""
    options, names = _options(words)
    array = options.get("a")
    names = names or ([] if array else ["REPLY"])
    text = interpreter.stdin.known if interpreter.stdin is not None else None
    line = text.split("\n", 1)[0] if text is not None else ""
    if text is None or options.keys() - set("rap") or ("\\" in line and "r" not in options):
        for name in [*names, *([array] if array else [])]:
            unknown = Value((Unknown(name, said("read while the script runs")),))
            interpreter.state.assign(name, Variable(unknown))
        return ASSUMED
    if not text:
        return FAILURE
    interpreter.stdin = literal(text[len(line) + 1 :])
    ifs = interpreter.expander.ifs()
    fields = [field for field in split_fields(line, ifs) if field is not None]
    if array:
        elements = tuple(Element(literal(field), place) for field in fields)
        interpreter.state.assign(array, Variable(elements=elements, place=place))
        return SUCCESS
    for name, value in zip(names, _shared_out(ifs, line, fields, len(names)), strict=True):
        interpreter.state.assign(name, Variable(value, place=place))
    return SUCCESS


def _shared_out(ifs: str, line: str, fields: list[str], count: int) -> list[Value]:
    """Return the values of ``count`` names; the last one takes what is left of the line."""
    if len(fields) <= count:
        values = [literal(field) for field in fields]
        return values + [EMPTY] * (count - len(fields))
    if ifs.strip(DEFAULT_IFS):
        rest = Value((Unknown("read", said("the rest of a line with separators")),))
    else:
        rest = literal(line.strip(ifs).split(None, count - 1)[-1])
    return [*map(literal, fields[: count - 1]), rest]


def mapfile(interpreter: Interpreter, _s: Source, words: list[Element], place: Place) -> Status:
    """Carry out ``mapfile -t NAME``; anything else leaves the array unknown."""
    options, names = _options(words)
    name = names[-1] if names else "MAPFILE"
    text = interpreter.stdin.known if interpreter.stdin is not None else None
    if text is None or options.keys() != {"t"}:
        unknown = Value((Unknown(name, said("read while the script runs")),))
        interpreter.state.assign(name, Variable(elements=(Element(unknown, place, name),)))
        return ASSUMED
    elements = tuple(Element(literal(line), place, name) for line in lines(text))
    interpreter.state.assign(name, Variable(elements=elements, place=place))
    return SUCCESS


def getopts(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    """Carry out ``getopts SPEC NAME``: the next option of the arguments into NAME and OPTARG.

    Options that stand in one word (``-ab``) are not taken apart: the second is then unknown.
    """
    state = interpreter.state
    texts = [word.value.known for word in words[1:]]
    if len(texts) < 2 or texts[0] is None or texts[1] is None:
        return ASSUMED
    spec, name = texts[0], texts[1]
    arguments = [word.value for word in words[3:]] or list(state.positional)
    before = state.get("OPTIND")
    known = before.scalar.known if before is not None else "1"
    at = int(known) - 1 if known and known.isdecimal() and len(known) < 6 else 0
    word = arguments[at].known if 0 <= at < len(arguments) else None
    if word is None or len(word) < 2 or word[0] != "-" or word == "--":
        state.assign(name, Variable(literal("?")))
        return FAILURE
    letter, rest = word[1], word[2:]
    at += 1
    found = spec.find(letter)
    value: Value | None = None
    if found < 0 or letter == ":":
        state.assign("OPTARG", Variable(literal(letter) if spec.startswith(":") else EMPTY))
        letter = "?"
    elif spec[found + 1 : found + 2] == ":":
        if not rest and at < len(arguments):
            value = arguments[at]
            at += 1
        else:
            value = literal(rest)
    elif rest:
        value = Value((Unknown("OPTARG", said("options written in one word")),))
    if value is not None:
        state.assign("OPTARG", Variable(value))
    state.assign(name, Variable(literal(letter)))
    state.assign("OPTIND", Variable(literal(str(at + 1))))
    return SUCCESS
