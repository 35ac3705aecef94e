"""Scripts made to stall, to grow or to crash the reader: each ends soon, with words and a note."""

# ruff: noqa: E501 - tables
from __future__ import annotations

import random
import re
import time
import tracemalloc
from pathlib import Path

import pytest
from reading import read, starts_with_ray

from perf_doctor.shell.limits import MAX_FILE_BYTES, MAX_RUNS, ScriptError
from perf_doctor.shell.reader import Surroundings, read_script

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 5.0
MEGABYTES = 400
DEEP = 4_000


def nested(opening: str, closing: str, core: str = "x", depth: int = DEEP) -> str:
    return opening * depth + core + closing * depth


def filled(unit: str, size: int = MAX_FILE_BYTES - 4_096) -> str:
    return unit * (size // len(unit.encode()))


NESTED = {
    "substitutions": "A=" + nested("$(echo ", ")"),
    "quoted substitutions": "A=" + nested('"$(echo ', ')"'),
    "defaults": "A=" + nested("${U:-", "}"),
    "quoted defaults": "A=" + nested('"${U:-', '}"'),
    "parentheses": "A=$((" + nested("(", ")", "1") + "))",
    "signs": "A=$((" + "-" * DEEP + "1))",
    "additions": "A=$((" + "1+" * 50_000 + "1))",
    "powers": "A=$((" + "2**" * DEEP + "2))",
    "ternaries": "A=$((" + "1?" * DEEP + "1" + ":0" * DEEP + "))",
    "assignments": "A=$((" + "a=" * DEEP + "1))",
    "indices": "A=$((" + nested("a[", "]", "0") + "))",
    "index of a name": "A=${a" + nested("[b", "]", "0") + "}",
    "groups": nested("{ ", " ;}", ":"),
    "subshells": nested("( ", " )", ":"),
    "ifs": nested("if :; then ", " ; fi", ":"),
    "loops": nested("while :; do ", " ; done", "break"),
    "functions": nested("f() { ", " ;}", ":"),
    "brackets": "[[ " + nested("( ", " )", "-n x") + " ]]",
    "negations": "[[ " + "! " * DEEP + "x ]]",
    "single negations": "[ " + "! " * DEEP + "x ]",
    "negated commands": "! " * DEEP + "true",
    "braces": "A=(" + nested("{a,", "}", "b") + ")",
    "backticks": "A=" + "`echo " * DEEP,
    "arrays": nested("A=(", ")", "x"),
    "many arrays": nested("A=(", ")", "x", 12_000),
    "cases": nested("case x in x) ", " ;; esac", ":"),
    "here-documents": "".join(f"cat <<E{n}\n$(" for n in range(500)) + ")" * 500,
    "pipes": "echo x" + " | cat" * DEEP,
    "ands": "true" + " && true" * DEEP,
    "commands before": "command " * DEEP + "true",
}

WIDE = {
    "words of an array": "A=(" + "--flag 1 " * 30_000 + ')\nray "${A[@]}"',
    "words of a command": "ray " + "--flag 1 " * 30_000,
    "arrays": "".join(f"A{n}=(--a)\n" for n in range(30_000)),
    "pipes": filled("a|", 200_000) + "a",
    "comments": filled("#\n"),
    "blank lines": filled("\n"),
    "one long word": "ray " + filled("x"),
    "one long quote": 'ray "' + filled("x$a") + '"',
    "one long expression": "A=$((" + filled("1+") + "1))",
    "expansions": 'A="' + filled("${a:-b}") + '"',
    "substitutions": "A=(" + filled("$(echo x) ") + ")",
    "assignments": filled("A=$A\n"),
    "growing assignments": filled("A=x$A\n"),
    "commands": filled("echo x\n"),
    "tests": filled("[ -z $A ] || B=1\n"),
    "undecided tests": filled("if foo; then B=1; fi\n"),
    "cases": "case x in " + filled("a|") + "b) ;; esac",
    "case arms": "case $1 in " + filled("a) B=1;;\n") + "esac",
    "functions": "".join(f"f{n}() {{ :; }}\n" for n in range(30_000)),
    "sources": filled("source x.sh\n"),
    "opened quotes": filled("'\n"),
    "opened brackets": filled("$(("),
    "opened defaults": filled("${a:-"),
    "opened arrays": filled("a=("),
    "here-documents": "".join(f"cat <<E\n{n}\nE\n" for n in range(20_000)),
    "backslashes": filled("\\"),
    "continued lines": "ray a " + filled("\\\n") + " b",
    "semicolons": filled(";"),
    "ampersands": filled("a & "),
    "non-ASCII": "# " + filled("中"),
}

GROWING = {
    "doubling": "A=x\n" + "A=$A$A\n" * 60 + "ray $A",
    "doubling in a loop": "A=x; while true; do A=$A$A; done; ray $A",
    "doubling array": 'A=(x)\n' + 'A=("${A[@]}" "${A[@]}")\n' * 60 + 'ray "${A[@]}"',
    "appending": "for i in {1..4000}; do A+=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx$A; done; ray $A",
    "array that appends itself": "A=(x)\n" + 'A+=("${A[@]}")\n' * 40 + 'ray "${A[@]}" "${A[@]}"',
    "the same array again": "A=({1..20000})\nray " + '"${A[@]}" ' * 200,
    "appending array": "for i in {1..4000}; do A+=(a b c d e f g h); done; ray ${#A[@]}",
    "braces": "ray " + "{a,b}" * 40,
    "braces in braces": "ray {1..20000}{1..20000}",
    "range": "ray {1..1000000000}",
    "seq": "ray $(seq 1 1000000000)",
    "power": "ray $((2**100000000000000000)) $((9**9**9**9))",
    "long number": "ray $((" + "9" * 100_000 + ")) $((0x" + "f" * 100_000 + "))",
    "long base": "ray $((36#" + "z" * 100_000 + "))",
    "long index": "A=(1); ray ${A[" + "9" * 5_000 + "]} ${A:" + "9" * 5_000 + "}",
    "long test": "[ " + "9" * 5_000 + " -gt 1 ] && ray a",
    "long count": "break " + "9" * 5_000 + "; shift " + "9" * 5_000 + "; return " + "9" * 5_000,
    "long position": "ray ${" + "9" * 5_000 + "} $" + "9" * 5_000,
    "long printf": "printf '%" + "9" * 5_000 + "d' 1; printf %d " + "9" * 5_000,
    "long seq": "ray $(seq " + "9" * 5_000 + ")",
    "long brace": "ray {1.." + "9" * 5_000 + "}",
    "long filters": "ray $(echo a | head -n " + "9" * 5_000 + " | cut -c" + "9" * 5_000 + ")",
    "digits that are none": "ray $((²)) {²..³} ${²} $(seq ²) $(printf %d ²); [ ² -gt ³ ]; shift ²",
    "names of each other": "a=b; b=a; ray $((a))",
    "expressions of each other": "a='a+a'; ray $((a))",
    "doubling expressions": "a=1+1; b=a+a; c=b+b; d=c+c; e=d+d; f=e+e; g=f+f\n"
     "h=g+g; i=h+h; j=i+i; k=j+j; l=k+k; m=l+l; n=m+m; o=n+n; p=o+o; q=p+p; r=q+q\n"
     "s=r+r; t=s+s; u=t+t; v=u+u; w=v+v; x=w+w; y=x+x; z=y+y; ray $((z+z))",
    "endless loop": "while :; do :; done; ray a",
    "endless loops": "while :; do while :; do while :; do :; done; done; done; ray a",
    "endless for": "for ((;;)); do X=$((X+1)); done; ray $X",
    "recursion": "f() { f; f; }; f; ray a",
    "recursion through others": "f() { g; g; }; g() { h; h; }; h() { f; f; }; f; ray a",
    "recursion in substitutions": "f() { echo $(f)$(f); }; ray $(f)",
    "recursion of expansions": "f() { X=${X:-$(f)}; }; f; ray a",
    "pattern": "A=" + "a" * 4_000 + "; ray ${A//*a*a*a*a*b/x} ${A%%*a*a*a*b} ${A##*a*a*b}",
    "patterns": "A=" + "a" * 600 + "; while :; do B=${A//*a*a*a*b/x}; done; ray a",
    "long pattern": "A=" + "a" * 9_000 + "; ray ${A//" + "[a-z]" * 9_000 + "/x}",
    "case pattern": "A=" + "a" * 20_000 + "; case $A in " + "*a" * 5_000 + "*b) ray b;; *) ray c;; esac",
    "pattern of [[": "A=" + "a" * 20_000 + "; [[ $A == " + "*a" * 5_000 + "b ]] || ray a",
    "expression of [[": "A=" + "a" * 300 + "; [[ $A =~ a*a*a*a*a*a*b ]]; [[ $A =~ (a+)+$ ]]; ray a",
    "replacements": "A=" + "a" * 1_000 + "\n" + "A=${A//a/aa}\n" * 60 + "ray $A",
    "fan of arguments": "set -- a b\n" + 'set -- "$@" "$@"\n' * 60 + "ray $#",
    "growing filter": "A=x; for i in {1..60}; do A=$(echo $A$A | sed 's/x/xx/g'); done; ray $A",
    "wide printf": "printf -v A '%999d' 1; printf -v A \"$A%999d$A%999d\" 1 2; ray a",
    "printf of many": "ray $(printf '%s%s%s' {1..19999})",
    "ways": "".join(f'[ "$V{n}" = a{n} ] && A+=({n})\n' for n in range(2_000)) + "ray ${A[@]}",
    "undecided ways": "".join(f"foo{n} && A+=({n})\n" for n in range(2_000)) + "ray ${A[@]}",
    "odd names": "[ -v '' ] || [ -v ² ] || [[ -v $U ]]; v=; ray ${!v} ${!U}; v=²; ray ${!v}",
    "odd bytes": "source $'\\x00a' $'\\ud800'; [ -f $'\\xff\\0' ] && ray $'\\xff\\ud800' ${A[$'\\0']}",
}  # fmt: skip

CASES = {
    f"{kind}: {name}": text
    for kind, cases in (("nested", NESTED), ("wide", WIDE), ("growing", GROWING))
    for name, text in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_ends_soon_and_small(name: str) -> None:
    """Reading ends within the time that is promised, without a crash; it may be refused."""
    started = time.process_time()
    try:
        script = read(CASES[name] + "\n")
        assert len(script.runs) <= MAX_RUNS
    except ScriptError as refusal:
        assert re.search("too long|more than", str(refusal))  # noqa: PT017 - or none at all
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("name", ["growing: doubling", "growing: ways", "growing: doubling array"])
def test_memory(name: str) -> None:
    """What grows without end is given up before it takes the machine's memory."""
    tracemalloc.start()
    try:
        read(CASES[name] + "\n")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEGABYTES << 20


STOPPED = {
    "growing: doubling in a loop": "longer than",
    "growing: braces": "more than",
    "growing: endless loops": "stopped after",
    "growing: recursion": "calls itself too deeply",
    "growing: endless loop": "loop left after",
    "nested: groups": "nested deeper than",
}


@pytest.mark.parametrize("name", STOPPED)
def test_limits_are_told(name: str) -> None:
    """A limit that was hit is named, in a note or as the reason of the unknown word."""
    script = read(CASES[name] + "\n")
    notes = " ".join(note.text for note in script.runs[0].notes)
    reasons = " ".join(
        u.reason for x in script.runs[0].launches for w in x.words for u in w.unknown
    )
    assert STOPPED[name] in notes + reasons


def test_too_large_a_script_is_refused() -> None:
    """One line says why a script is not read."""
    with pytest.raises(ScriptError, match="larger than"):
        read("#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ScriptError, match="binary"):
        read("a\0b")


FRAGMENTS = [b"$((", b"))", b"${", b"}", b"$(", b")", b"'", b'"', b"`", b"\\", b"\n", b"(", b"[[ ",
             b" ]]", b"<<X\n", b"|", b"&", b";", b"#", b"{a,", b"*", b"~", b"\xff", b"\xe4\xbd",
             b"${A[@]", b":-", b"if ", b"then ", b"fi\n", b"done\n", b"case ", b"in ", b"esac\n",
             b"for ((", b"$'\\x", b"=(", b"+=", b"\r", b"9" * 30, b"<<<", b"%", b"//"]  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return the data with a few bytes changed, removed, doubled or put in."""
    text = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(text) + 1)
        way = chance.randrange(5)
        if way == 0:
            text[at:at] = chance.choice(FRAGMENTS)
        elif way == 1:
            del text[at : at + chance.randint(1, 40)]
        elif way == 2:
            text[at : at + 1] = bytes([chance.randrange(1, 256)])
        elif way == 3:
            other = chance.randrange(len(text) + 1)
            text[at:at] = text[other : other + chance.randint(1, 200)]
        else:
            text[at : at + chance.randint(1, 8)] = chance.choice(FRAGMENTS)
    return bytes(text)


@pytest.mark.parametrize("seed", range(3))
def test_mutated_examples(seed: int) -> None:
    """No change to a script makes the reader fail in any way but its own."""
    chance = random.Random(seed)
    scripts = sorted(EXAMPLES.glob("scripts/training/*/run-*.sh"))
    folders = (str(EXAMPLES / "scripts/models"), str(EXAMPLES))
    for _ in range(40):
        path = chance.choice(scripts)
        data = mutated(path.read_bytes(), chance)
        try:
            script = read_script(
                str(path), Surroundings(folders=folders), starts_with_ray, text=data
            )
        except ScriptError:
            continue
        assert all(isinstance(word.text, str) for x in script.runs[0].launches for word in x.words)
