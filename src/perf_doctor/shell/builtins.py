"""Commands whose effect can be told from their words: shell builtins and pure tools.

Nothing here runs anything. Every tool is the small part of it that launch scripts use.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from perf_doctor.language import said
from perf_doctor.shell import inputs
from perf_doctor.shell.arithmetic import UNKNOWN_MARK, ArithmeticUnknown, evaluate
from perf_doctor.shell.conditions import test
from perf_doctor.shell.filters import FILTERS
from perf_doctor.shell.limits import MAX_WORDS
from perf_doctor.shell.model import Place, Unknown
from perf_doctor.shell.printf import format_words, unescape
from perf_doctor.shell.sourcing import source_file
from perf_doctor.shell.status import (
    ASSUMED,
    FAILURE,
    MISUSE,
    SUCCESS,
    LoopControl,
    Returned,
    ScriptEnd,
    Status,
    of_truth,
)
from perf_doctor.shell.values import Element, Value, Variable, join, literal

if TYPE_CHECKING:
    from perf_doctor.shell.interpreter import Interpreter
    from perf_doctor.shell.source import Source

Builtin = Callable[["Interpreter", "Source", list[Element], Place], Status]
NEWLINE: Final = literal("\n")


def _print(interpreter: Interpreter, *values: Value) -> Status:
    if interpreter.output is not None:
        interpreter.output.extend(values)
    return SUCCESS


def _print_unknown(interpreter: Interpreter, name: str, status: Status = SUCCESS) -> Status:
    reason = said("the output of {command}, which is not run", command=name)
    _print(interpreter, Value((Unknown(name, reason),)))
    return status


def _known(words: list[Element]) -> list[str] | None:
    """Return the texts of the words, None when one of them is not known."""
    texts = [word.value.known for word in words]
    return None if any(text is None for text in texts) else [str(text) for text in texts]


def _joined(words: list[Element]) -> Value:
    """Return the arguments of a command as one value."""
    return join(word.value for word in words[1:])


def _true(*_: object) -> Status:
    return SUCCESS


def _false(*_: object) -> Status:
    return FAILURE


def _echo(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    arguments = [word.value for word in words[1:]]
    newline, escapes = True, False
    while arguments and (option := arguments[0].known) and re.fullmatch(r"-[neE]+", option):
        newline &= "n" not in option
        escapes |= "e" in option
        arguments = arguments[1:]
    text = join(arguments, " ")
    if escapes and (known := text.known) is not None:
        text = _unescaped(text, known)
    return _print(interpreter, text, *([NEWLINE] if newline else []))


def _unescaped(value: Value, known: str) -> Value:
    text = unescape(known)
    parts = (Unknown("echo", said("an escape that is not evaluated")) if text is None else text,)
    return Value(parts, value.overridable_by, value.undecided)


def _printf(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    arguments = [word.value for word in words[1:]]
    target = None
    if len(arguments) > 2 and arguments[0].known == "-v":
        target = arguments[1].known
        arguments = arguments[2:]
    if arguments and arguments[0].known == "--":
        arguments = arguments[1:]
    text = format_words(arguments)
    if target is None:
        return _print(interpreter, text)
    interpreter.state.assign(target, Variable(text))
    return SUCCESS


def _cd(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    paths = [w.value for w in words[1:] if w.value.known not in ("--", "-P", "-L", "-e")]
    target = paths[0].known if paths else None
    cwd = interpreter.state.cwd.known
    if target is None or target == "-" or (not target.startswith("/") and cwd is None):
        interpreter.state.cwd = Value((Unknown("PWD", said("a folder that is not known")),))
    elif target:
        interpreter.state.cwd = literal(os.path.normpath(os.path.join(cwd or "/", target)))
    return SUCCESS


def _pwd(interpreter: Interpreter, *_: object) -> Status:
    return _print(interpreter, interpreter.state.cwd, NEWLINE)


def _path_tool(change: Callable[[list[str], str], str | None], name: str) -> Builtin:
    """Return a builtin for a tool that prints a path made from its arguments."""

    def run(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
        texts = _known(words[1:])
        cwd = interpreter.state.cwd.known
        plain = [text for text in texts or [] if text != "--" and not text.startswith("-")]
        made = change(plain, cwd) if plain and cwd is not None else None
        if made is None:
            return _print_unknown(interpreter, name)
        return _print(interpreter, _joined(words).with_text(made), NEWLINE)

    return run


def _dirname(paths: list[str], _cwd: str) -> str:
    path = paths[0].rstrip("/") or ("/" if paths[0] else "")
    return os.path.dirname(path).rstrip("/") or ("/" if path.startswith("/") else ".")


def _basename(paths: list[str], _cwd: str) -> str | None:
    if len(paths) > 2:
        return None
    name = os.path.basename(paths[0].rstrip("/")) or "/"
    if len(paths) > 1 and name.endswith(paths[1]) and name != paths[1]:
        name = name[: len(name) - len(paths[1])]
    return name


def _absolute(paths: list[str], cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, paths[0]))


def _seq(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    texts = _known(words[1:]) or []
    separator = "\n"
    if len(texts) > 1 and texts[0] == "-s":
        separator, texts = texts[1], texts[2:]
    elif texts and texts[0].startswith("-s"):
        separator, texts = texts[0][2:], texts[1:]
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        return _print_unknown(interpreter, "seq")
    if not 1 <= len(numbers) <= 3 or max(map(abs, numbers)) > 1 << 62:
        return _print_unknown(interpreter, "seq")
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[-1])
    if len(numbers) == 3:
        step = numbers[1]
    if step == 0 or (last - first) // step > MAX_WORDS:
        return _print_unknown(interpreter, "seq")
    values = range(first, last + (1 if step > 0 else -1), step)
    text = separator.join(map(str, values))
    if not text:
        return SUCCESS
    return _print(interpreter, _joined(words).with_text(text), NEWLINE)


def _cat(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    """Pass standard input on: ``cat``, ``cat -``, ``tee FILE``."""
    name = words[0].value.known
    passes = name == "tee" or len(words) == 1 or [w.value.known for w in words[1:]] == ["-"]
    if passes and interpreter.stdin is not None:
        return _print(interpreter, interpreter.stdin)
    return _print_unknown(interpreter, str(name))


def _filter(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    """Run a pure filter on a known standard input."""
    name, arguments, stdin = words[0].value.text, _known(words[1:]), interpreter.stdin
    text = stdin.known if stdin is not None else None
    made = FILTERS[name](arguments, text) if arguments is not None and text is not None else None
    if arguments is None or made is None or stdin is None:
        return _print_unknown(interpreter, name, ASSUMED)
    if name != "grep":
        return _print(interpreter, stdin.with_text(made))
    if not any("q" in argument for argument in arguments[:-1]):
        _print(interpreter, stdin.with_text(made))
    interpreter.trace.look_at(stdin.overridable_by)
    return of_truth(made not in ("", "0\n"))


def _test(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    return test(interpreter, [word.value for word in words[1:]])


def _exit(*_: object) -> Status:
    raise ScriptEnd


def _return(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    state = interpreter.state
    if not interpreter.calls and len(state.sources) < 2:
        return MISUSE  # neither in a function nor in a sourced file: bash complains and goes on
    if len(words) == 1:
        raise Returned(state.last)
    known = words[1].value.known
    if known is None or not re.fullmatch(r"\d{1,9}", known):
        raise Returned(ASSUMED)
    code = int(known) & 0xFF
    raise Returned(Status(code == 0, "known", code))


def _loop_control(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    if not interpreter.loops:
        return SUCCESS  # bash complains and goes on
    levels = min(_count(words), interpreter.loops)
    raise LoopControl("break" if words[0].value.known == "break" else "continue", levels)


def _count(words: list[Element]) -> int:
    """Return the number a builtin was given; 1 without any."""
    known = words[1].value.known if len(words) > 1 else "1"
    return int(known) if known and re.fullmatch(r"[0-9]{1,9}", known) else 1


def _shift(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    count = _count(words)
    if count > len(interpreter.state.positional):
        return FAILURE
    interpreter.state.positional = interpreter.state.positional[count:]
    return SUCCESS


def _set(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    state = interpreter.state
    arguments = [word.value for word in words[1:]]
    while arguments:
        text = arguments.pop(0).known or ""
        if text == "--":
            state.positional = tuple(arguments)
            break
        if text[:1] in ("-", "+") and text[1:].isalpha():
            if "u" in text:
                state.nounset = text[0] == "-"
            if text.endswith("o") and arguments:
                if arguments[0].known == "nounset":
                    state.nounset = text[0] == "-"
                arguments = arguments[1:]
    return SUCCESS


def _source(interpreter: Interpreter, _s: Source, words: list[Element], place: Place) -> Status:
    if len(words) < 2:
        return FAILURE
    return source_file(interpreter, words[1].value, [word.value for word in words[2:]], place)


def _eval(interpreter: Interpreter, _s: Source, _w: list[Element], place: Place) -> Status:
    interpreter.trace.note(said("eval is not followed"), place)
    return _print_unknown(interpreter, "eval")


def _sleep(interpreter: Interpreter, *_: object) -> Status:
    interpreter.waited = True
    return SUCCESS


def _let(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    number = None
    for word in words[1:]:
        try:
            number = evaluate(word.value.known or UNKNOWN_MARK, interpreter)
        except ArithmeticUnknown:
            number = None
    return of_truth(None if number is None else number != 0)


def _declare(interpreter: Interpreter, _s: Source, words: list[Element], _p: Place) -> Status:
    """Carry out ``export "$X"`` and the like, where the syntax tree sees a plain command."""
    for text in (word.value.known for word in words[1:]):
        name, equals, value = (text or "").partition("=")
        if equals and name.isidentifier():
            interpreter.state.assign(name, Variable(literal(value)))
    return SUCCESS


BUILTINS: Final[dict[str, Builtin]] = {
    ":": _true, "true": _true, "false": _false,
    "echo": _echo, "printf": _printf,
    "cd": _cd, "pwd": _pwd,
    "dirname": _path_tool(_dirname, "dirname"),
    "basename": _path_tool(_basename, "basename"),
    "realpath": _path_tool(_absolute, "realpath"),
    "readlink": _path_tool(_absolute, "readlink"),
    "seq": _seq, "cat": _cat, "tee": _cat,
    **dict.fromkeys(FILTERS, _filter),
    "test": _test,
    "exit": _exit, "return": _return, "break": _loop_control, "continue": _loop_control,
    "shift": _shift, "set": _set,
    "source": _source, ".": _source,
    "read": inputs.read, "mapfile": inputs.mapfile, "readarray": inputs.mapfile,
    "getopts": inputs.getopts,
    "eval": _eval, "let": _let, "sleep": _sleep,
    "export": _declare, "declare": _declare, "local": _declare, "readonly": _declare,
}  # fmt: skip
