"""The options that the parsers of a Relax launch know.

Relax reads a command line with three parsers and drops what none of them knows: its own
one together with Megatron's, SGLang's under ``--sglang-*``, and a second SGLang one under
``--teacher-sglang-*`` (relax/utils/arguments.py:2300-2345).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from perf_doctor.data import table
from perf_doctor.frozen import frozen

Kind = Literal["switch", "int", "float", "str", "json", "bool"]

SGLANG = "--sglang-"
# The same options registered once more (relax/utils/opd/opd_utils.py:87-125, with every
# default suppressed; relax/backends/sglang/arguments.py:36-69).
TEACHER = "--teacher-sglang-"
SGLANG_ROUTER, ROUTER = "--sglang-router-", "--router-"
# SGLang's parsers accept a unique beginning of an option; the other has allow_abbrev=False.
ABBREVIATED = (SGLANG, TEACHER)
# A spelling less alike than this is no misspelling (difflib ratio; our own choice).
NEAREST_RATIO = 0.8


@frozen
class Option:
    """One option as its parser registers it.

    ``kind`` is how a value is read: ``switch`` takes none, ``bool`` is argparse's
    ``type=bool``, for which every non-empty word is true. ``default`` is what the trainer
    sees when the option is absent, a switch's being that of its destination. ``off_flags``
    are the spellings that store False. ``reads`` names a converter other than the kind's.
    ``newer``: only Relax after 13cc7ca knows it; ``since``: the Megatron version after
    0.17.1 that added it; ``ignored``: scripts use it, no parser knows it.
    """

    flag: str
    kind: Kind
    owner: str
    dest: str
    default: Any = None
    nargs: int | str | None = None
    choices: tuple[Any, ...] = ()
    aliases: tuple[str, ...] = ()
    off_flags: tuple[str, ...] = ()
    reads: str | None = None
    newer: bool = False
    ignored: bool = False
    accelerator: str | None = None
    since: str | None = None

    def stores(self, flag: str) -> bool:
        """Return what writing the switch as ``flag`` stores in its destination."""
        return flag not in self.off_flags


class Registry:
    """All options, looked up by any spelling; an ``Option`` is made when it is asked for."""

    __slots__ = ("_aliases", "_made", "_rows", "_served")

    def __init__(self, rows: dict[str, list[Any]]) -> None:
        """Take the rows of ``data/flags.json``."""
        self._rows = rows
        self._made: dict[str, Option] = {}
        self._served: list[str] = []
        self._aliases = {
            alias: flag
            for flag, row in rows.items()
            if len(row) > 5
            for alias in row[5].get("aliases", ())
        }

    def get(self, flag: str) -> Option | None:
        """Return the option with this exact spelling or alias, None when no parser has it."""
        option = self._made.get(flag)
        if option is None and (option := self._make(flag)) is not None:
            self._made[flag] = option
        return option

    def _make(self, flag: str) -> Option | None:
        name = self._aliases.get(flag, flag)
        row = self._rows.get(name)
        if row is not None:
            return _option(name, row)
        if flag.startswith(TEACHER):
            return self._mirror(flag, TEACHER, SGLANG, "sglang")
        if flag.startswith(SGLANG_ROUTER):
            return self._mirror(flag, SGLANG_ROUTER, ROUTER, "router")
        return None

    def _mirror(self, flag: str, prefix: str, original: str, owner: str) -> Option | None:
        """Return the option that another parser registers again under ``prefix``."""
        option = self.get(original + flag[len(prefix) :])
        if option is None or option.owner != owner:
            return None

        def renamed(flags: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(prefix + name[len(original) :] for name in flags)

        mirrored = replace(
            option,
            flag=renamed((option.flag,))[0],
            aliases=renamed(option.aliases),
            off_flags=renamed(option.off_flags),
        )
        if prefix == TEACHER:
            dest = f"teacher_{option.dest}"
            mirrored = replace(mirrored, owner="teacher", dest=dest, default=None)
        return mirrored

    def __iter__(self) -> Iterator[str]:
        """Yield the first spelling of every option that is not a mirror."""
        return iter(self._rows)

    def beginning(self, start: str) -> tuple[str, ...]:
        """Return the options an SGLang parser may mean by ``start``: several are refused.

        Only what no parser knows exactly is worth asking for.
        """
        if len(start) < 3 or not any(
            p.startswith(start) or start.startswith(p) for p in ABBREVIATED
        ):
            return ()
        if not self._served:
            self._served = self._all_served()
        first = bisect_left(self._served, start)
        # Not a walk: a script may hold ten thousand unknown words.
        return tuple(self._served[first : bisect_left(self._served, start + "\x7f", first)])

    def _all_served(self) -> list[str]:
        """Return every spelling SGLang's two parsers know, in order."""
        served = {flag for flag in (*self._rows, *self._aliases) if flag.startswith(SGLANG)}
        served |= {
            TEACHER + flag[len(SGLANG) :]
            for flag in served
            if (option := self.get(flag)) and option.owner == "sglang"
        }
        routers = (f for f in (*self._rows, *self._aliases) if f.startswith(ROUTER))
        served |= {routed for f in routers if self.get(routed := _routed(f))}
        return sorted(served)

    def nearest(self, flag: str) -> str | None:
        """Return the known spelling that ``flag`` most likely misspells, None when none is near.

        A flag that scripts use on purpose and no parser knows has no nearest one.
        """
        import difflib  # noqa: PLC0415  only on the way to an error message

        known = self.get(flag)
        if known is not None and known.ignored:
            return None
        prefix = next((p for p in (TEACHER, SGLANG_ROUTER) if flag.startswith(p)), None)
        original = {TEACHER: SGLANG, SGLANG_ROUTER: ROUTER}.get(prefix or "", "")
        asked = original + flag[len(prefix) :] if prefix else flag
        names = [name for name in (*self._rows, *self._aliases) if _trainer_knows(self.get(name))]
        near = difflib.get_close_matches(asked.replace("_", "-"), names, 1, NEAREST_RATIO)
        if not near:
            return None
        nearest: str = near[0]
        mirrored = (prefix or "") + nearest[len(original) :]
        return mirrored if self.get(mirrored) else nearest


def _routed(flag: str) -> str:
    return SGLANG_ROUTER + flag[len(ROUTER) :]


def _trainer_knows(option: Option | None) -> bool:
    """Tell whether a parser of the trainer takes the option (``ray job submit`` has its own)."""
    return option is not None and not option.ignored and option.owner != "ray"


def _option(flag: str, row: list[Any]) -> Option:
    kind, owner, default, nargs, choices, more = row + [None] * (6 - len(row))
    rest = more or {}
    return Option(
        flag=flag,
        kind=kind,
        owner=owner,
        dest=rest.get("dest") or flag[2:].replace("-", "_"),
        default=default,
        nargs=nargs,
        choices=tuple(choices or ()),
        aliases=tuple(rest.get("aliases", ())),
        off_flags=tuple(rest.get("off_flags", ())),
        reads=rest.get("reads"),
        newer=rest.get("newer", False),
        ignored=rest.get("ignored", False),
        accelerator=rest.get("accelerator"),
        since=rest.get("since"),
    )


@cache
def registry() -> Registry:
    """Return the registry of ``data/flags.json``, read once."""
    return Registry(table("flags")["options"])


def option_source(flag: str) -> tuple[str, str]:
    """Return where the option is registered and what it does, empty where that is not known."""
    option = registry().get(flag)
    sources = table("flag_sources")
    row = sources.get(option.flag) if option else None
    if row is None and option is not None:
        original = option.flag.replace(TEACHER, SGLANG).replace(SGLANG_ROUTER, ROUTER)
        row = sources.get(original)
    return (row[0], row[1] if len(row) > 1 else "") if row else ("", "")
