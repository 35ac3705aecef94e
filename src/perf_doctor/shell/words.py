"""The inside of a word: quotes, parameters and substitutions, as a flat list of parts.

Words are scanned from their text and not from the syntax tree, because tree-sitter splits
some unquoted words and flattens the operand of ``${X:-…}``. Only the extent of ``$(…)`` is
taken from the tree, which knows about quotes, comments and here-documents inside it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from perf_doctor.shell.extents import closing, closing_brace
from perf_doctor.shell.limits import MAX_VALUE_CHARS

if TYPE_CHECKING:
    from perf_doctor.shell.source import Source


class Literal(NamedTuple):
    """Text as it stands; quoted text is never split and keeps an empty word alive."""

    text: str
    quoted: bool


class Parameter(NamedTuple):
    """``$name`` or ``${name…}``.

    ``subscript`` is None, ``@``, ``*`` or an arithmetic text, which stands at ``index_range``.
    ``operand`` is the range of the text behind the operator. ``bare`` marks a name without braces.
    """

    name: str
    quoted: bool
    subscript: str | None = None
    index_range: tuple[int, int] = (0, 0)
    operator: str = ""
    operand: tuple[int, int] = (0, 0)
    length: bool = False
    indirect: bool = False
    bare: bool = False


class Substitution(NamedTuple):
    """A command substitution; ``start`` and ``end`` are the range of the commands inside."""

    start: int
    end: int
    quoted: bool
    backtick: bool = False


class Arithmetic(NamedTuple):
    """``$((…))``; the range of the expression inside."""

    start: int
    end: int
    quoted: bool


class Opaque(NamedTuple):
    """Something a static reader gives up on: process substitution, a malformed expansion."""

    name: str
    quoted: bool


Part = Literal | Parameter | Substitution | Arithmetic | Opaque

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-]")
_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|//|/#|/%|/|\^\^?|,,?|:|@")
_PLAIN = re.compile(r"[^\\'\"$`<>~]+")
_PLAIN_QUOTED = re.compile(r"[^\\\"$`]+")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b",
         "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v", "?": "?"}  # fmt: skip
_ANSI_NUMBER = r"x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})"


def scan(
    source: Source, start: int, end: int, *, quoted: bool = False, operand: bool = False
) -> tuple[Part, ...]:
    """Return the parts of the word that stands at ``source.text[start:end]``.

    With ``quoted`` the text is the inside of a double-quoted string or here-document, with
    ``operand`` that of a ``${…}`` in one. The result is kept on the source, since loops come back
    to the same word.
    """
    if end - start > MAX_VALUE_CHARS:
        return (Opaque("too-long", quoted=True),)
    key = (start, end, quoted)
    if (parts := source.scanned.get(key)) is None:
        parts = tuple(_Scanner(source, start, end, operand=operand).scan(quoted=quoted))
        source.scanned[key] = parts
    return parts


class _Scanner:
    def __init__(self, source: Source, start: int, end: int, *, operand: bool) -> None:
        self.source = source
        self.text = source.text
        self.start = self.at = start
        self.end = end
        self.operand = operand
        self.parts: list[Part] = []

    def scan(self, *, quoted: bool) -> list[Part]:
        if quoted:
            self._quoted_run(stop_at_quote=False)
            return self.parts
        while self.at < self.end:
            if match := _PLAIN.match(self.text, self.at, self.end):
                self.parts.append(Literal(match.group(), quoted=False))
                self.at = match.end()
                continue
            self._special()
        return self.parts

    def _special(self) -> None:
        char = self.text[self.at]
        if char == "\\":
            self._escape()
        elif char == "'":
            self._single(self.at + 1)
        elif char == '"':
            self._double(self.at + 1)
        elif char in "$`":
            self._dollar(quoted=False)
        elif char == "~" and self.at == self.start:
            self._tilde()
        elif char in "<>" and self.text[self.at + 1 : self.at + 2] == "(":
            self.parts.append(Opaque("process", quoted=True))
            self.at = self.end
        else:
            self.parts.append(Literal(char, quoted=False))
            self.at += 1

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following != "\n":
            self.parts.append(Literal(following, quoted=True))
        self.at += 2

    def _single(self, start: int) -> None:
        close = self.text.find("'", start, self.end)
        close = self.end if close < 0 else close
        self.parts.append(Literal(self.text[start:close], quoted=True))
        self.at = close + 1

    def _double(self, start: int) -> None:
        self.at = start
        before = len(self.parts)
        self._quoted_run(stop_at_quote=True)
        if len(self.parts) == before:
            self.parts.append(Literal("", quoted=True))

    def _quoted_run(self, *, stop_at_quote: bool) -> None:
        while self.at < self.end:
            if match := _PLAIN_QUOTED.match(self.text, self.at, self.end):
                self.parts.append(Literal(match.group(), quoted=True))
                self.at = match.end()
                continue
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                if stop_at_quote:
                    return
                self.parts.append(Literal("" if self.operand else char, quoted=True))
            elif char == "\\":
                self._quoted_escape(quote_is_special=stop_at_quote)
            else:
                self._dollar(quoted=True)

    def _quoted_escape(self, *, quote_is_special: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        special = '$`\\"}' if self.operand else '$`\\"' if quote_is_special else "$`\\"
        if following == "\n":
            pass
        elif following and following in special:
            self.parts.append(Literal(following, quoted=True))
        else:
            self.parts.append(Literal("\\" + following, quoted=True))
        self.at += 2

    def _tilde(self) -> None:
        if self.text[self.at + 1 : self.at + 2] in ("", "/") or self.at + 1 == self.end:
            self.parts.append(Parameter("HOME", quoted=True))
        else:
            self.parts.append(Literal("~", quoted=False))
        self.at += 1

    def _dollar(self, *, quoted: bool) -> None:
        text, at = self.text, self.at
        if text[at] == "`":
            self._backtick(quoted=quoted)
        elif text.startswith("$((", at) and self._arithmetic(quoted=quoted):
            return
        elif text.startswith("$(", at):
            close = self.source.substitution_end(at) or closing(text, at + 1, self.end)
            close = min(close, self.end)
            self.parts.append(Substitution(at + 2, close - 1, quoted))
            self.at = close
        elif text.startswith("${", at):
            self._braced(quoted=quoted)
        elif text.startswith("$'", at) and not quoted:
            self._ansi()
        elif text.startswith('$"', at) and not quoted:
            self._double(at + 2)
        elif match := _SIMPLE_NAME.match(text, at + 1, self.end):
            name = match.group()
            index = name if name in "@*" else None
            self.parts.append(Parameter(name, quoted, index, bare=len(name) > 1 or name.isalpha()))
            self.at = match.end()
        else:
            self.parts.append(Literal("$", quoted))
            self.at += 1

    def _backtick(self, *, quoted: bool) -> None:
        close = self.at + 1
        while close < self.end and self.text[close] != "`":
            close += 2 if self.text[close] == "\\" else 1
        if "\\" in self.text[self.at : close]:
            self.parts.append(Opaque("command", quoted))  # substitutions inside, most likely
        else:
            self.parts.append(Substitution(self.at + 1, close, quoted, backtick=True))
        self.at = close + 1

    def _arithmetic(self, *, quoted: bool) -> bool:
        close = closing(self.text, self.at + 1, self.end)
        inner_close = closing(self.text, self.at + 2, self.end)
        if inner_close != close - 1:
            return False  # $( (a) | b ): a command substitution that starts with a subshell
        self.parts.append(Arithmetic(self.at + 3, close - 2, quoted))
        self.at = close
        return True

    def _ansi(self) -> None:
        out = bytearray()
        at = self.at + 2
        while at < self.end and self.text[at] != "'":
            if self.text[at] != "\\":
                out += self.text[at].encode("utf-8", "replace")
                at += 1
            elif number := re.compile(_ANSI_NUMBER).match(self.text, at + 1, self.end):
                hexadecimal, octal, code = number.groups()
                if code:
                    out += chr(int(code, 16)).encode("utf-8", "replace")
                else:
                    out.append(int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF)
                at = number.end()
            else:
                following = self.text[at + 1 : at + 2]
                out += _ANSI.get(following, "\\" + following).encode("utf-8", "replace")
                at += 2
        text = out.split(b"\0", 1)[0].decode("utf-8", "replace")  # bash ends the text at NUL
        self.parts.append(Literal(text, quoted=True))
        self.at = at + 1

    def _braced(self, *, quoted: bool) -> None:
        begin = self.at + 2
        close = closing_brace(self.source, self.at, self.end, quoted=quoted)
        self.at = close + 1
        self.parts.append(_parameter(self.text, begin, close, quoted))


def _parameter(text: str, at: int, close: int, quoted: bool) -> Parameter | Opaque:
    """Return the parameter expansion whose inside is ``text[at:close]``."""
    length = indirect = False
    if text.startswith("#", at) and close > at + 1 and text[at + 1] not in "#%:-=?+/}":
        length, at = True, at + 1
    elif text.startswith("!", at) and close > at + 1:
        indirect, at = True, at + 1
    match = _NAME.match(text, at, close)
    if not match:
        return Opaque("expansion", quoted)
    name, at, index = match.group(), match.end(), None
    index_range = (0, 0)
    if text.startswith("[", at):
        end_of_index = closing(text, at, close) - 1
        index_range = (at + 1, end_of_index)
        index, at = text[at + 1 : end_of_index], end_of_index + 1
    elif name in "@*":
        index = name
    if at >= close:
        return Parameter(name, quoted, index, index_range, length=length, indirect=indirect)
    operator = _OPERATOR.match(text, at, close)
    if not operator or length:
        return Opaque(name, quoted)
    operand = operator.end(), close
    return Parameter(name, quoted, index, index_range, operator.group(), operand, length, indirect)
