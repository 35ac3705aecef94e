"""Typed settings of a launch: what argparse makes of the words, with where each came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.launch.registry import ABBREVIATED, Option, Registry, registry
from perf_doctor.launch.values import RefusedError, typed
from perf_doctor.shell.model import Place, Unknown, Word

_HELP = ("-h", "--help")
_NOWHERE = Place("", 0)
# The nearest flag is looked for this often; a script with more unknown flags is no launch.
_MOST_NEAREST = 20


@frozen
class Setting:
    """One option as it is written: ``words`` are the flag word and the words it takes.

    ``value`` is typed; a switch's is True, whatever its spelling stores. It is ``Unknown``
    where a word has an unknown part or argparse would refuse it. ``overrides`` are the
    earlier settings of the same destination, which lose; only the one that wins has them.
    """

    option: Option
    flag: str
    value: Any
    words: tuple[Word, ...]
    overrides: tuple[Setting, ...] = ()

    @property
    def place(self) -> Place:
        """Where the flag is written."""
        return self.words[0].place

    @property
    def group(self) -> str | None:
        """The array the flag came through, None on the command itself."""
        return self.words[0].group

    @property
    def text(self) -> str:
        """The value as it is written, words joined by a space; empty for a switch."""
        if len(self.words) > 1:
            return " ".join(word.text for word in self.words[1:])
        return self.words[0].text.partition("=")[2]

    @property
    def stored(self) -> Any:
        """What the trainer's namespace holds: False for ``--no-rope-fusion``, else the value."""
        return self.option.stores(self.flag) if self.option.kind == "switch" else self.value


@frozen
class UnknownFlag:
    """A flag no parser of the trainer knows: it and the words after it are dropped silently.

    ``nearest`` is the flag that was probably meant. ``ignored`` marks a flag that scripts
    use on purpose although no parser has it any more.
    """

    word: Word
    nearest: str | None
    words: tuple[Word, ...] = ()
    ignored: bool = False

    @property
    def flag(self) -> str:
        """The flag without a value after ``=``."""
        return self.word.text.partition("=")[0]


@frozen
class BadValue:
    """Words argparse itself refuses, ending the start with ``text``."""

    words: tuple[Word, ...]
    text: str


class Settings:
    """All settings of a launch in the order they are written."""

    __slots__ = ("_all", "_by_dest", "_registry", "problems", "stray", "unclear", "unknown_flags")

    def __init__(
        self,
        settings: Iterable[Setting],
        *,
        unknown_flags: tuple[UnknownFlag, ...] = (),
        stray: tuple[Word, ...] = (),
        unclear: tuple[Word, ...] = (),
        problems: tuple[BadValue, ...] = (),
    ) -> None:
        """Link the setting that wins to the earlier ones it overrides.

        ``stray`` are words no option takes. ``unclear`` are words that are unknown and no
        option's value, so that any flag may hide in them.
        """
        self._registry: Registry = registry()
        self._by_dest: dict[str, Setting] = {}
        linked: list[Setting] = []
        places: dict[str, list[int]] = {}
        for setting in settings:
            places.setdefault(setting.option.dest, []).append(len(linked))
            linked.append(replace(setting, overrides=()) if setting.overrides else setting)
        for dest, [*earlier, last] in places.items():
            if earlier:
                lost = tuple(linked[index] for index in earlier)
                linked[last] = replace(linked[last], overrides=lost)
            self._by_dest[dest] = linked[last]
        self._all = tuple(linked)
        self.unknown_flags = unknown_flags
        self.stray = stray
        self.unclear = unclear
        self.problems = problems

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def _option(self, flag: str) -> Option:
        option = self._registry.get(flag)
        if option is None:
            raise KeyError(f"no such option: {flag}")
        return option

    def given(self, flag: str) -> Setting | None:
        """Return the setting that wins for this option, whichever spelling it is written in.

        ``--x`` and ``--no-x`` share a destination, so either finds the last of both. Raises
        KeyError for a flag the registry lacks.
        """
        return self._by_dest.get(self._option(flag).dest)

    def value(self, flag: str) -> Any:
        """Return the typed value: the given one, else the parser's default, else None.

        A switch answers in its own sense: ``value("--no-rope-fusion")`` is True when the
        fusion is off, and None when nothing is given and the parser leaves it open
        (``--offload-train``). ``Unknown`` means the script does not tell.
        """
        option = self._option(flag)
        setting = self._by_dest.get(option.dest)
        if option.kind != "switch":
            return setting.value if setting else option.default
        stored = setting.stored if setting else option.default
        return stored if stored is None or isinstance(stored, Unknown) else self.on(flag)

    def on(self, flag: str) -> bool | Unknown:
        """Tell whether things stand as this switch asks, by default or because it is written.

        ``on("--no-rope-fusion")`` is False until the script says so, since its destination
        ``apply_rope_fusion`` is true by default; ``on("--use-tensorboard")`` is True unless
        ``--no-use-tensorboard`` comes last. A ``type=bool`` option answers with its value,
        any other with whether it is given.
        """
        option = self._option(flag)
        setting = self._by_dest.get(option.dest)
        if option.kind not in ("switch", "bool"):
            return setting is not None
        stored = setting.stored if setting else option.default
        if isinstance(stored, Unknown):
            return stored
        if option.kind == "bool":
            return bool(stored)
        return stored is not None and bool(stored) == option.stores(flag)

    def replace(self, set: Mapping[str, str | None], unset: Iterable[str] = ()) -> Settings:
        """Return settings with these options set anew and those taken away.

        The value of an option that takes several is split at spaces; a switch has None.
        """
        words = [word for item in set.items() for word in self._words(*item)]
        return self.updated(read_settings(words), unset)

    def updated(self, added: Settings, unset: Iterable[str] = ()) -> Settings:
        """Return settings with others in the place of what they and ``unset`` are about."""
        gone = [*unset]
        dropped = {setting.option.dest for setting in added}
        dropped |= {option.dest for flag in gone if (option := self._registry.get(flag))}
        kept = [setting for setting in self._all if setting.option.dest not in dropped]
        lost = {id(s.words[0]) for s in self._all if s.option.dest in dropped}
        return Settings(
            [*kept, *added],
            unknown_flags=tuple(f for f in self.unknown_flags if f.flag not in gone),
            stray=self.stray,
            unclear=self.unclear,
            problems=tuple(p for p in self.problems if id(p.words[0]) not in lost) + added.problems,
        )

    def _words(self, flag: str, value: str | None) -> list[Word]:
        """Return the words that set ``flag``, at the place of the setting they replace."""
        option, earlier = self._option(flag), self.given(flag)
        at = earlier.words[0] if earlier else Word(flag, _NOWHERE)
        parts = [] if value is None else [value] if option.nargs is None else value.split()
        return [Word(text, at.place, at.group) for text in (flag, *parts)]


def read_settings(argv: Sequence[Word]) -> Settings:
    """Return what the trainer's parsers make of the words after the program's name.

    The last occurrence wins, ``--flag=value`` works, a flag takes words up to the next one
    that starts with ``-`` and is no negative number, and a unique beginning is enough for
    ``--sglang-*`` options only.
    """
    return _Reader(argv).read()


class _Reader:
    """One pass over the words; every parser's view of it."""

    def __init__(self, argv: Sequence[Word]) -> None:
        self.registry = registry()
        ends = next((i for i, word in enumerate(argv) if word.text == "--"), len(argv))
        self.words, self.rest = tuple(argv[:ends]), tuple(argv[ends + 1 :])
        self.settings: list[Setting] = []
        self.unknown: list[UnknownFlag] = []
        self.problems: list[BadValue] = []
        self.taken = bytearray(len(self.words))

    def read(self) -> Settings:
        for index, word in enumerate(self.words):
            if word.text[:1] == "-":
                self._flag(index, word)
        left = [word for word, taken in zip(self.words, self.taken, strict=True) if not taken]
        return Settings(
            self.settings,
            unknown_flags=tuple(self.unknown),
            stray=tuple(word for word in (*left, *self.rest) if not word.unknown),
            unclear=tuple(word for word in (*left, *self.rest) if word.unknown),
            problems=tuple(self.problems),
        )

    def _flag(self, index: int, word: Word) -> None:
        """Read the word at ``index`` if it is a flag, and what it takes."""
        option, flag, joined = self._known(word.text)
        if option is None:
            if not _argument_like(word.text):
                self._unknown_flag(index, word)
            return
        self._setting(index, option, flag, joined)

    def _known(self, text: str) -> tuple[Option | None, str, bool]:
        """Return the option a word names, its spelling, and whether a value is joined by ``=``."""
        option = self.registry.get(text)
        if option is not None and not _dropped(option):
            return option, text, False
        name, equals, _ = text.partition("=")
        option = self.registry.get(name)
        if equals and option is not None and not _dropped(option):
            return option, name, True
        if option is None:
            return self._shortened(name, bool(equals))
        return None, name, bool(equals)

    def _shortened(self, name: str, joined: bool) -> tuple[Option | None, str, bool]:
        """Return the option of which ``name`` is the only possible beginning."""
        flags = self.registry.beginning(name)
        if len(flags) != 1:
            return None, name, joined
        return self.registry.get(flags[0]), flags[0], joined

    def _unknown_flag(self, index: int, word: Word) -> None:
        """Note a flag no parser takes; the words after it go with it."""
        name = word.text.partition("=")[0]
        if any(str(part) in name for part in word.unknown):
            return  # nobody can say which flag it is
        after = self._arguments(index, "trainer")
        self._take(index, 1 + len(after))
        several = self.registry.beginning(name)
        if name in _HELP:
            text = said("{flag} prints the help and ends", flag=name)
            self.problems.append(BadValue((word,), text))
            return
        if several:
            text = f"ambiguous option: {name} could match {', '.join(several[:4])}"
            self.problems.append(BadValue((word,), text))
        option = self.registry.get(name)
        asked = not several and len(self.unknown) < _MOST_NEAREST
        nearest = self.registry.nearest(name) if asked else None
        self.unknown.append(
            UnknownFlag(word, nearest, after, option is not None and option.ignored)
        )

    def _take(self, index: int, count: int) -> None:
        self.taken[index : index + count] = b"\1" * count

    def _arguments(self, index: int, parser: str) -> tuple[Word, ...]:
        """Return the words after ``index`` that this parser sees as arguments."""
        end = index + 1
        while end < len(self.words) and self._is_argument(self.words[end].text, parser):
            end += 1
        return self.words[index + 1 : end]

    def _is_argument(self, text: str, parser: str) -> bool:
        if text[:1] != "-" or len(text) == 1:
            return True
        option, _, _ = self._known(text)
        if option is not None and _parser(option) == parser:
            return False
        return _argument_like(text)

    def _setting(self, index: int, option: Option, flag: str, joined: bool) -> None:
        """Add the setting of a known flag, with the words its ``nargs`` takes."""
        word = self.words[index]
        after = () if joined else self._arguments(index, _parser(option))
        taken = after[: _most(option)]
        self._take(index, 1 + len(taken))
        values = (replace(word, text=word.text.partition("=")[2]),) if joined else taken
        value: Any = True
        try:
            _check_count(option, len(values), joined)
            if option.kind != "switch":
                value = _value(option, values)
        except RefusedError as refused:
            self.problems.append(BadValue((word, *taken), f"argument {flag}: {refused.text}"))
            value = True if option.kind == "switch" else Unknown(flag, refused.text)
        self.settings.append(Setting(option, flag, value, (word, *taken)))


def _parser(option: Option) -> str:
    """Return the parser of the option: Relax's own one and Megatron's are one, ``trainer``."""
    return next((prefix for prefix in ABBREVIATED if option.flag.startswith(prefix)), "trainer")


def _dropped(option: Option) -> bool:
    """Tell whether the trainer drops the option: no parser has it, or only ``ray job submit``."""
    return option.ignored or option.owner == "ray"


def _argument_like(text: str) -> bool:
    """Tell whether argparse takes an unknown word that starts with ``-`` for an argument."""
    if len(text) == 1 or " " in text:
        return True
    whole, dot, fraction = text[1:].partition(".")
    if dot:
        return fraction.isdecimal() and (not whole or whole.isdecimal())
    return whole.isdecimal()


def _most(option: Option) -> int | None:
    """Return how many words the option takes at most, None for any number."""
    if option.kind == "switch":
        return 0
    if option.nargs in (None, "?"):
        return 1
    return option.nargs if isinstance(option.nargs, int) else None


def _check_count(option: Option, count: int, joined: bool) -> None:
    """Raise with argparse's words where an option has too few or too many."""
    if option.kind == "switch":
        if joined:
            raise RefusedError("ignored explicit argument")
    elif option.nargs is None and not count:
        raise RefusedError("expected one argument")
    elif option.nargs == "+" and not count:
        raise RefusedError("expected at least one argument")
    elif isinstance(option.nargs, int) and count != option.nargs:
        raise RefusedError(f"expected {option.nargs} argument{'s' if option.nargs > 1 else ''}")


def _value(option: Option, words: Sequence[Word]) -> Any:
    """Return the typed value of the words, ``Unknown`` when one has an unknown part."""
    for word in words:
        if word.unknown:
            return word.unknown[0]
    values = [typed(option, word.text) for word in words]
    if option.nargs in (None, "?"):
        return values[0] if values else None
    return values
