"""The language that people are spoken to: English as it stands in the code, or a table of it.

A message is written where it is made, in English, with its values named; ``said`` puts them in.
When another language is spoken, the message is looked up in the tables of that language first, one
for each room, and one that is missing there is said in English. The language is that of the whole
process, as a locale is. What programs read (ids, verdicts, names of modes) is no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "zh")
_FOLDER: Final = f"{__file__.removesuffix('language.py')}data/messages"

_spoken = ENGLISH
_table: Mapping[str, str] = {}


def speak(language: str) -> None:
    """Speak one of ``LANGUAGES`` from now on."""
    global _spoken, _table  # noqa: PLW0603 - a process speaks one language
    _spoken = language
    _table = {} if language == ENGLISH else tables(language)


def spoken() -> str:
    """Return the language that is spoken."""
    return _spoken


def said(message: str, **values: object) -> str:
    """Return a message in the spoken language; with values, ``{name}`` in it stands for one."""
    found = _table.get(message, message)
    return found.format(**values) if values else found


def of_locale(environment: Mapping[str, str]) -> str:
    """Return the language of the user's locale, English where we have none for it."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    language = locale.partition("_")[0].partition(".")[0].lower()
    return language if language in LANGUAGES else ENGLISH


def tables(language: str) -> dict[str, str]:
    """Return every message of a language by its English text, whichever room it belongs to."""
    import json  # noqa: PLC0415 - English needs neither
    import os  # noqa: PLC0415

    folder = f"{_FOLDER}/{language}"
    messages: dict[str, str] = {}
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            messages.update(json.load(file))
    return messages
