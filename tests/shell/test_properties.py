"""Properties of reading: what was meant is read, and what does not matter changes nothing.

The scripts are made from what is meant: arrays of flags with values, written in one of the many
ways that bash allows, and a launch that passes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from reading import launches, read

FLAGS = [
    "--tensor-model-parallel-size",
    "--resource",
    "--load",
    "--colocate",
    "--prompt-data",
    "-x",
]
VALUES = st.text("ab1/.:,=-_ é你\"'$\\`*?[]{}()#~!&|;<>\t", min_size=1, max_size=8)


@dataclass(frozen=True)
class Flag:
    """A flag with the words of its value, and how each is written."""

    name: str
    values: tuple[str, ...]
    styles: tuple[int, ...]

    def written(self) -> str:
        """Return the flag as shell text."""
        words = [quoted(v, s) for v, s in zip(self.values, self.styles, strict=True)]
        return " ".join([self.name, *words])

    def words(self) -> list[str]:
        """Return the words that the flag is."""
        return [self.name, *self.values]


def quoted(text: str, style: int) -> str:
    """Return a word of shell that stands for the text, in one of four styles."""
    if style == 0:
        return "'" + text.replace("'", "'\\''") + "'"
    if style == 1:
        return '"' + "".join("\\" + c if c in '"$`\\' else c for c in text) + '"'
    if style == 2:
        return "".join(c if c.isalnum() else f"\\{c}" for c in text)
    half = len(text) // 2
    return quoted(text[:half], 0) + quoted(text[half:], 1)


flags = st.lists(VALUES, max_size=2).flatmap(
    lambda values: st.builds(
        Flag,
        st.sampled_from(FLAGS),
        st.just(tuple(values)),
        st.tuples(*[st.integers(0, 3)] * len(values)),
    )
)
arrays = st.lists(st.lists(flags, max_size=4), min_size=1, max_size=4)
LAYOUTS = st.sampled_from([" ", "\n", "\n  ", " \\\n  ", "\n\n  # why --no\n  ", "  # beside\n  "])
relaxed = settings(max_examples=150, deadline=None, derandomize=True, database=None)


def script_of(groups: list[list[Flag]], layout: str = " ", prefix: str = "G") -> str:
    """Return a script that passes the groups as arrays."""
    lines = []
    for number, group in enumerate(groups):
        inside = "".join(f"{layout}{flag.written()}" for flag in group)
        lines.append(f"{prefix}{number}_ARGS=({inside}{layout})")
    names = " \\\n  ".join(f'"${{{prefix}{number}_ARGS[@]}}"' for number in range(len(groups)))
    return "\n".join([*lines, f"ray \\\n  {names}"])


def meant(groups: list[list[Flag]]) -> list[list[str]]:
    """Return the launch that the groups are."""
    return [[word for group in groups for flag in group for word in flag.words()]]


@relaxed
@given(arrays, LAYOUTS)
def test_what_is_meant_is_read(groups: list[list[Flag]], layout: str) -> None:
    """The words are those that the script was made from, however they are written."""
    script = read(script_of(groups, layout))
    assert launches(script) == meant(groups)
    places = {name: place.line for name, place in script.runs[0].arrays.items()}
    assert list(places.values()) == sorted(places.values())


@relaxed
@given(arrays, LAYOUTS, st.data())
def test_what_does_not_matter_changes_nothing(
    groups: list[list[Flag]], layout: str, data: st.DataObject
) -> None:
    """Comments, blank lines, layout and the names of arrays change no word."""
    lines = script_of(groups, layout, data.draw(st.sampled_from(["G", "PERF_", "x"]))).split("\n")
    head, launch = lines[: -1 - len(groups)], lines[-1 - len(groups) :]
    end = data.draw(st.sampled_from(["", "\n", "\n# the end", "\nexit 0"]))
    noise = data.draw(
        st.sampled_from(["# note --flag 1", "", "   ", "echo starting", "set -ex", ":"])
    )
    text = "\n".join([noise, *head, noise, *launch]) + end
    assert launches(read(text)) == meant(groups)


@relaxed
@given(st.permutations([0, 1, 2]), st.lists(st.lists(flags, max_size=3), min_size=3, max_size=3))
def test_order_of_definitions_changes_nothing(order: list[int], groups: list[list[Flag]]) -> None:
    """Arrays that do not depend on each other may be defined in any order."""
    lines = script_of(groups).split("\n")  # no value spans lines
    definitions, launch = lines[: len(groups)], lines[len(groups) :]
    text = "\n".join([*(definitions[at] for at in order), *launch])
    assert launches(read(text)) == meant(groups)


@relaxed
@given(flags.filter(lambda flag: bool(flag.values)), st.integers(0, 1))
def test_a_literal_may_become_a_default(flag: Flag, style: int) -> None:
    """A variable with the literal as its default gives the same words, marked; a given one wins."""
    value = quoted(flag.values[0], style)
    text = f'V=${{V:-{value}}}\nray {flag.name} "$V"'
    script = read(text)
    assert launches(script) == [[flag.name, flag.values[0]]]
    assert script.runs[0].launches[0].words[2].overridable_by == ("V",)
    given_script = read(text, env={"V": "given"})
    assert launches(given_script) == [[flag.name, "given"]]
    assert given_script.runs[0].launches[0].words[2].overridable_by == ()


@relaxed
@given(flags.filter(lambda flag: bool(flag.values)))
def test_without_its_default_it_is_unknown(flag: Flag) -> None:
    """A name the script insists on is unknown without a default, never another value."""
    script = read(f'ray {flag.name} "${{V:?}}" {quoted(flag.values[0], 0)}')
    assert launches(script) == [[flag.name, "${V}", flag.values[0]]]
    assert [part.name for part in script.runs[0].launches[0].words[2].unknown] == ["V"]
    assert script.runs[0].required == ("V",)
