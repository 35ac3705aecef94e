"""Changes as a person asks for them: ``--context-parallel-size 1``, read as the trainer would."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perf_doctor.frozen import frozen
from perf_doctor.launch.registry import registry
from perf_doctor.launch.secrets import Redactor
from perf_doctor.launch.settings import Setting, Settings, read_settings
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.model import Place, Word

_NOWHERE = Place("", 0)


class ChangeError(Exception):
    """A change that cannot be made; the message is one line."""


@frozen
class Asked:
    """Options to set and options to remove; ``redactor`` knows the secrets among the words."""

    set: Settings
    unset: tuple[str, ...]
    redactor: Redactor

    @property
    def changes(self) -> FlagChanges:
        """The same as flags with their values, a switch as True."""
        winners = (setting for setting in self.set if self.set.given(setting.flag) is setting)
        return FlagChanges(
            {s.flag: True if s.option.kind == "switch" else s.text for s in winners}, self.unset
        )

    def to(self, settings: Settings) -> Settings:
        """Return the settings of a launch with the changes made."""
        return settings.updated(self.set, self.unset)


def read_changes(to_set: Sequence[str], to_unset: Sequence[str], launch: Settings) -> Asked:
    """Return the changes that two lists of words ask for.

    Each text is split as a shell splits it, without expanding anything. One to set reads
    ``--flag``, ``--flag value…`` or ``--flag=value``; one to remove ``--flag``. An option that is
    set stands where it stood in ``launch``, so that what is said beside it still counts.

    Raises:
        ChangeError: nothing is asked for, no parser knows a flag or takes a value, or a flag is to
            be set and removed.
    """
    lists = [_split(text) for text in to_set]
    redactor = Redactor([word for words in lists for word in words])
    unset = tuple(flag for text in to_unset for flag in _flags_to_remove(text, launch))
    if not lists and not unset:
        raise ChangeError("nothing to change: --set '--flag value' or --unset --flag")
    try:
        asked = [setting for words in lists for setting in _settings(words)]
    except ChangeError as error:
        raise ChangeError(redactor.redact(str(error))) from None
    both = _dests(asked) & {option.dest for flag in unset if (option := registry().get(flag))}
    if both:
        flag = next(setting.flag for setting in asked if setting.option.dest in both)
        raise ChangeError(f"{flag} is to be set and to be removed")
    return Asked(Settings([_placed(one, launch) for one in asked]), unset, redactor)


def _dests(settings: Sequence[Setting]) -> set[str]:
    return {setting.option.dest for setting in settings}


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ChangeError(f"not a list of words: {str(error).lower()}") from None


def _settings(words: Sequence[str]) -> Settings:
    """Return the settings that the words make; every word must belong to one."""
    if not words or words[0][:2] != "--":
        shown = repr(words[0]) if words else "nothing"
        raise ChangeError(f"a change begins with a flag, --context-parallel-size 1, not {shown}")
    read = read_settings([Word(text, _NOWHERE) for text in words])
    for unknown in read.unknown_flags:
        raise _no_option(unknown.flag, unknown.nearest)
    for problem in read.problems:
        raise ChangeError(f"{problem.text}{_quoting(words[0])}")
    for word in read.stray:
        raise ChangeError(f"no option takes {word.text!r}; a value with spaces is quoted")
    return read


def _no_option(flag: str, nearest: str | None) -> ChangeError:
    meant = f"; did you mean {nearest}?" if nearest else ""
    return ChangeError(f"no parser of the trainer knows {flag}{meant}")


def _quoting(word: str) -> str:
    """Return how an option that takes JSON is written, nothing for another."""
    flag = word.partition("=")[0]
    option = registry().get(flag)
    if option is None or option.kind != "json":
        return ""
    return f"""; quotes within quotes keep JSON whole: --set "{flag} '{{}}'\""""


def _flags_to_remove(text: str, launch: Settings) -> Iterator[str]:
    """Yield flags that a parser knows, or that the launch passes though none does."""
    words = _split(text)
    if not words:
        raise ChangeError("a flag is removed by its name, not by nothing")
    passed = {unknown.flag for unknown in launch.unknown_flags}
    for word in words:
        if word[:2] != "--" or "=" in word:
            raise ChangeError(f"a flag is removed by its name alone, not {word!r}")
        if word in passed:
            yield word
            continue
        read = read_settings([Word(word, _NOWHERE)])
        for unknown in read.unknown_flags:
            raise _no_option(word, unknown.nearest)
        # an SGLang option may be shortened
        yield from (setting.flag for setting in read)


def _placed(setting: Setting, launch: Settings) -> Setting:
    """Return the setting at the place of the one that it replaces."""
    earlier = launch.given(setting.flag)
    if earlier is None:
        return setting
    at = earlier.words[0]
    words = tuple(replace(word, place=at.place, group=at.group) for word in setting.words)
    return replace(setting, words=words)
