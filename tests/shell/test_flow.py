"""Branches, loops, functions, sourcing: which launches are reached, and under what condition."""

# ruff: noqa: E501 - tables
from __future__ import annotations

import time
from pathlib import Path

import pytest
from reading import launches, read, starts_with_ray

from perf_doctor.shell.files import Library
from perf_doctor.shell.model import Script
from perf_doctor.shell.reader import Surroundings, read_script

FLOW: dict[str, tuple[str, list[list[str]]]] = {
    "if": ("M=x; if [ $M = x ]; then ray a; else ray b; fi", [["a"]]),
    "elif": ("M=b; if [ $M = a ]; then ray a; elif [ $M == b ]; then ray b; fi", [["b"]]),
    "unset and unquoted is an error": ("set -e; if [ ${M} = a ]; then ray a; else ray b; fi", [["b"]]),
    "an error stays one behind !": ("if [ ! ${M} = a ]; then ray a; else ray b; fi", [["b"]]),
    "numbers": ("N=8; if [ $N -gt 07 ] && (( N < 9 )); then ray a; fi", [["a"]]),
    "[[ with a pattern": ("M=qwen3-4B; if [[ $M == qwen3* && $M != *A3B ]]; then ray a; fi", [["a"]]),
    "[[ with an expression": ("F=run-8xgpu.sh; [[ $F =~ ([0-9]+)xgpu ]] && ray ${BASH_REMATCH[1]}", [["8"]]),
    "grep": ("M=a-A3B; if echo $M | grep -q A3B; then ray a; else ray b; fi", [["a"]]),
    "case": ("P=b; case $P in a) ray a;; b|c) ray b;; *) exit 1;; esac", [["b"]]),
    "case with a quoted star": ("P='*'; case $P in '*') ray star;; *) ray any;; esac", [["star"]]),
    "and, or": ("[ -z $X ] && ray a || ray b", [["a"]]),
    "not": ("if ! [ a = b ]; then ray a; fi", [["a"]]),
    "append in an arm": ("A=(x); if [ -n \"${K:-}\" ]; then A+=(y); fi; ray ${A[@]}", [["x"]]),
    "for": ("for i in a 'b c'; do ray \"$i\"; done", [["a"], ["b c"]]),
    "for over nothing": ("set -- p; for i in; do ray $i; done; ray z", [["z"]]),
    "for over the arguments": ("set -- a b; for i; do ray $i; done", [["a"], ["b"]]),
    "break 2": ("for i in 1 2; do for j in 1 2; do break 2; done; ray no; done; ray $i$j", [["11"]]),
    "continue 2": ("for i in 1 2; do for j in 1 2; do continue 2; done; ray no; done; ray $i$j", [["21"]]),
    "while": ("N=0; while [ $N -lt 3 ]; do N=$((N+1)); done; ray $N", [["3"]]),
    "until": ("N=0; until (( N >= 3 )); do ((N++)); done; ray $N", [["3"]]),
    "while read": ("while read -r a b; do ray $b $a; done <<< $'1 2\\n3 4 5'", [["2", "1"], ["4", "5", "3"]]),
    "waiting loop": ("while ! curl -s x; do sleep 1; done; ray a", [["a"]]),
    "waiting for a process": ("until ray_is_up; do sleep 5; done; ray a", [["a"]]),
    "function": ("f() { local A=$1; ray $A; }; A=0; f x; ray $A", [["x"], ["0"]]),
    "local in a function in a function": (
        "f() { local A=1; g; ray $A; }; g() { local A; A=2; }; f", [["1"]]),
    "a function changes what is not local": ("f() { A=2; }; A=1; f; ray $A", [["2"]]),
    "return": ("f() { return 3; ray no; }; f; ray $?; f || ray or", [["3"], ["or"]]),
    "break in a function": ("f() { break; }; for i in 1 2; do f; done; ray $i", [["2"]]),
    "function keyword": ("function f { ray $#; }; f a b", [["2"]]),
    "recursion that ends": ("f() { [ $1 -gt 2 ] && return; ray $1; f $(($1+1)); }; f 0", [["0"], ["1"], ["2"]]),
    "die": ("die() { echo \"$1\"; exit 1; }; [ a = a ] || die no; ray a", [["a"]]),
    "background": ("ray a & ray b", [["a"], ["b"]]),
    "exit": ("ray a; exit 0; ray b", [["a"]]),
    "exit in a subshell": ("(exit 1); ray a", [["a"]]),
    "return at the top": ("return 1 || ray a; ray b", [["a"], ["b"]]),
    "failing commands go on": ("set -e; false; nvidia-smi; ray a", [["a"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOW)
def test_launches_that_bash_reaches(name: str) -> None:
    """The default way holds the launches bash would reach, in order."""
    text, expected = FLOW[name]
    assert launches(read(text)) == expected


OPTIONS = """
MODE=sync EXTRA=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --mode) MODE=$2; shift 2 ;;
    --size=*) SIZE=${1#*=}; shift ;;
    --) shift; EXTRA+=("$@"); break ;;
    -*) echo "unknown $1" >&2; exit 1 ;;
    *) EXTRA+=("$1"); shift ;;
  esac
done
ray "$MODE" "${SIZE:-none}" "${EXTRA[@]}"
"""
GETOPTS = """
while getopts ":m:v" o; do
  case $o in m) M=$OPTARG ;; v) V=1 ;; *) B=$OPTARG ;; esac
done
shift $((OPTIND - 1))
ray "$M" "$V" "$B" "$@"
"""


def test_option_loops_see_the_arguments() -> None:
    """``shift`` loops and ``getopts`` take apart the words of ``--arg``."""
    args = ["--mode", "async", "--size=4", "x", "--", "-y"]
    assert launches(read(OPTIONS, args=args)) == [["async", "4", "x", "-y"]]
    assert launches(read(OPTIONS)) == [["sync", "none"]]
    args = ["-m", "a", "-v", "-q", "x", "y"]
    assert launches(read(GETOPTS, args=args)) == [["a", "1", "q", "x", "y"]]


REQUIRED: dict[str, tuple[str, str]] = {
    "insisted on": ('D="${D:?set D}"; ray $D', "D"),
    "set -u": ("set -u; ray $D", "D"),
    "set -euo": ("set -euo pipefail; ray $D", "D"),
    "set -o nounset": ("set -o nounset; ray $D", "D"),
    "a test that leads to exit": ('if [ -z "$D" ]; then echo no; exit 1; fi; ray $D', "D"),
    "a test with a default": ('if [ -z "${D:-}" ]; then exit 1; fi; ray $D', "D"),
    "or exit": ('[ -n "$D" ] || exit 1; ray $D', "D"),
    "or die": ('die() { exit 1; }; [[ -n $D ]] || die no; ray $D', "D"),
    "exit in the other arm": ('if [ -n "$D" ]; then ray $D; else exit 1; fi', "D"),
    "and exit in a group": ('[ -z "$D" ] && { echo no; exit 1; }; ray $D', "D"),
    "case that ends in exit": ("case $D in a) ;; *) exit 1 ;; esac; ray x", "D"),
}  # fmt: skip


@pytest.mark.parametrize("name", REQUIRED)
def test_required_names(name: str) -> None:
    """A name without which the script ends early is required; the way that goes on is read."""
    text, required = REQUIRED[name]
    run = read(text).runs[0]
    assert run.required == (required,)
    assert run.launches
    assert any("insists on D" in note.text for note in run.notes)
    if "ray $D" in text:
        assert run.launches[0].words[1].text == "${D}"


def test_required_names_that_are_given() -> None:
    """A name the user gives is not required, and its value is read."""
    for text, _ in REQUIRED.values():
        run = read(text, env={"D": "a"}).runs[0]
        assert run.required == ()
        assert run.launches


def test_missing_files_never_end_the_reading() -> None:
    """A file test that leads to exit is taken the way that goes on."""
    assert launches(read("if [ ! -f /nowhere/x ]; then exit 1; fi; ray a")) == [["a"]]
    assert launches(read("[ -d /nowhere ] || exit 1; ray a")) == [["a"]]
    assert launches(read("source /nowhere/x.sh; ray a")) == [["a"]]
    assert launches(read('test -e "$D/x" || { echo no; exit 1; }; ray a')) == [["a"]]


WAYS: dict[str, tuple[str, dict[str | None, list[list[str]]]]] = {
    "environment": ('if [ "${MODE:-sync}" = async ]; then ray a; else ray b; fi',
                    {None: [["b"]], "MODE=async": [["a"]]}),
    "argument": ('MODE=${1:-sync}\nif [ "$MODE" = "async" ]; then ray a; else ray b; fi',
                 {None: [["b"]], "$1=async": [["a"]]}),
    "case": ('case "${P:-bf16}" in bf16) ;; fp8) A=(--fp8) ;; *) exit 1 ;; esac; ray x ${A[@]}',
             {None: [["x"]], "P=fp8": [["x", "--fp8"]]}),
    "nothing else to offer": ('if [ -n "${WANDB:-}" ]; then export K=1; fi; ray a', {None: [["a"]]}),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_ways_not_taken_are_offered(name: str) -> None:
    """Every other way with other launches is a run of its own, with its condition."""
    text, expected = WAYS[name]
    script = read(text)
    found = {run.condition: launches(script, at) for at, run in enumerate(script.runs)}
    assert found == expected


def test_undecided_branch() -> None:
    """Where a branch hangs on the machine, both sides are offered if the launch depends on it."""
    script = read("A=(x)\nif nvidia-smi | grep -q H100; then A=(y); fi\nray ${A[@]}")
    assert sorted(launches(script, at)[0][0] for at in range(len(script.runs))) == ["x", "y"]
    assert script.runs[1].condition is not None
    assert "line 2" in script.runs[1].condition
    same = read("if nvidia-smi | grep -q H100; then export NCCL=1; fi\nray x")
    assert len(same.runs) == 1


def test_fallback_of_a_detected_value() -> None:
    """A fallback for what the script asks the machine is what a default is, with a note."""
    text = 'N=$(nvidia-smi -L | wc -l)\nif [ "$N" -le 0 ]; then N=8; fi\nray $N'
    script = read(text)
    assert launches(script) == [["8"]]
    assert any("depends on the machine" in note.text for note in script.runs[0].notes)


CUT: dict[str, tuple[str, list[str], list[str]]] = {
    "comment between continued lines": ("ray a \\\n# --b \\\n  --c 1 \\\n  --d", ["a"], ["--c", "1", "--d"]),
    "missing backslash": ("ray a \\\n  --b 1\n  --c 2", ["a", "--b", "1"], ["--c", "2"]),
    "missing backslash before an array": ("A=(--x 1)\nray a\n  ${A[@]} \\\n  --c", ["a"], ["--x", "1", "--c"]),
    "blank behind the backslash": ("ray a \\ \n  --b", ["a", " "], ["--b"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_words_that_are_cut_off(name: str) -> None:
    """Words that seem to belong to a launch, and that bash does not pass, are told apart."""
    text, passed, cut = CUT[name]
    launch = read(text).runs[0].launches[0]
    assert [word.text for word in launch.words[1:]] == passed
    assert [word.text for word in launch.cut] == cut


NOTES: dict[str, tuple[str, str]] = {
    "eval": ("eval \"X=1\"; ray a", "eval is not followed"),
    "another script": ("bash other.sh x; ray a", "starts other.sh, which is not followed"),
    "exec of another script": ("exec bash ./run-other.sh \"$@\"", "starts ./run-other.sh"),
    "outside": ("source /etc/passwd; ray a", "lies outside"),
    "unknown path": ("source $(hostname).sh; ray a", "is not known; not read"),
    "endless": ("while true; do X=1; done; ray a", "loop left after"),
    "recursion": ("f() { f; }; f; ray a", "calls itself too deeply"),
    "beyond the end": ("A[3]=x; ray ${A[@]}", "beyond its end"),
    "unknown index": ("A=(x); A[$(nproc)]=y; ray ${A[@]}", "index that is not known"),
    "not shell": ("ray a\nif then (", "not understood as shell"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTES)
def test_notes(name: str) -> None:
    """What was not followed is said, with its place."""
    text, note = NOTES[name]
    assert any(note in found.text for found in read(text).runs[0].notes)


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark(ending: str, mark: str) -> None:
    """Windows line ends and a byte order mark change no word."""
    text = f'{mark}#!/bin/bash\nA=(--a 1\n# c\n)\nray "${{A[@]}}" \\\n  --b\n'
    script = read(text.replace("\n", ending))
    assert launches(script) == [["--a", "1", "--b"]]


class Tree:
    """A launch tree in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "scripts/models").mkdir(parents=True)
        (root / "scripts/training").mkdir()

    def write(self, name: str, text: str) -> Path:
        """Write a file of the tree."""
        path = self.root / name
        path.write_text(text)
        return path

    def read(self, text: str, **surroundings: object) -> Script:
        """Read a launch script of the tree."""
        path = self.write("scripts/training/run.sh", text)
        given = Surroundings(**surroundings)  # type: ignore[arg-type]
        return read_script(str(path), given, starts_with_ray, library=Library())


HERE = 'D="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"\n'


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def test_sourcing_by_the_script_directory(tree: Tree) -> None:
    """The idioms for the script's own folder lead to the file, also in a file that is sourced."""
    tree.write("scripts/models/base.sh", "A=(--layers ${N:-4})\n")
    tree.write(
        "scripts/models/model.sh", 'N=20 source "$(dirname -- "${BASH_SOURCE[0]}")/base.sh"\n'
    )
    script = tree.read(f'{HERE}source "$D/../models/model.sh"\nray ${{A[@]}} "$N"')
    assert launches(script) == [["--layers", "20", ""]]
    assert [Path(file).name for file in script.files] == ["run.sh", "model.sh", "base.sh"]
    assert Path(script.runs[0].launches[0].words[1].place.file).name == "base.sh"


def test_sourcing_by_a_default_of_the_environment(tree: Tree) -> None:
    """``MODEL_CONFIG_DIR`` and the like come as defaults, which the script may replace."""
    tree.write("scripts/models/m.sh", "A=(--m)\n")
    defaults = {"MODEL_CONFIG_DIR": str(tree.root / "scripts/models")}
    text = 'source "${MODEL_CONFIG_DIR}/m.sh"; ray ${A[@]}'
    assert launches(tree.read(text, defaults=defaults)) == [["--m"]]


def test_sourcing_with_arguments_and_return(tree: Tree) -> None:
    """A sourced file sees the arguments it is given, and ``return`` ends it alone."""
    tree.write("scripts/models/m.sh", "A=$1; return 0; A=no\n")
    script = tree.read(f"{HERE}set -- q; . $D/../models/m.sh x && ray $A $1")
    assert launches(script) == [["x", "q"]]


def test_optional_source(tree: Tree) -> None:
    """``[ -f x ] && source x`` follows a file that exists, and only that."""
    tree.write("scripts/models/m.sh", "A=1\n")
    text = HERE + "F=$D/../models/m.sh; [ -f $F ] && source $F; ray a$A"
    assert launches(tree.read(text)) == [["a1"]]
    assert launches(tree.read(text.replace("m.sh", "none.sh"))) == [["a"]]


def test_sourcing_stays_inside(tree: Tree, tmp_path: Path) -> None:
    """Neither ``..`` nor a link leads out of the tree; the model folder given by the user may."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "m.sh").write_text("A=leak\n")
    (tree.root / "scripts/models/link.sh").symlink_to(outside / "m.sh")
    for path in (f"{outside}/m.sh", "$D/../../../outside/m.sh", "$D/../models/link.sh"):
        script = tree.read(f"{HERE}source {path}; ray a$A")
        assert launches(script) == [["a"]]
        assert any("lies outside" in note.text for note in script.runs[0].notes)
    script = tree.read(f"source {outside}/m.sh; ray a$A", folders=(str(outside),))
    assert launches(script) == [["aleak"]]


def test_sources_are_bounded(tree: Tree) -> None:
    """A file that sources itself and a fan-out of sources end, with a note."""
    script = tree.read('source "${BASH_SOURCE[0]}"; ray a')
    assert script.runs[0].launches
    assert any("sourced too deep" in note.text for note in script.runs[0].notes)
    for number in range(80):
        tree.write(f"scripts/models/m{number}.sh", f"A+=({number})\n")
    tree.write("scripts/models/slow.sh", "A=(" * 4_000 + "x" + ")" * 4_000)
    for number in range(20):
        (tree.root / f"scripts/models/slow{number}.sh").hardlink_to(
            tree.root / "scripts/models/slow.sh"
        )
    started = time.process_time()
    tree.read(HERE + "for i in {0..19}; do source $D/../models/slow$i.sh; done; ray a")
    assert time.process_time() - started < 5
    script = tree.read(HERE + "for i in {0..79}; do source $D/../models/m$i.sh; done; ray ${#A[@]}")
    assert any("one file too many" in note.text for note in script.runs[0].notes)


def test_words_keep_their_place_through_a_function() -> None:
    """A function that shadows the launcher changes neither line nor array of its words."""
    script = read(
        'A=(\n  --x 1\n)\nray() { for w in "$@"; do B+=("$w"); done; command ray "${B[@]}"; }\n'
        'ray job submit -- \\\n  python3 train.py --y "${A[@]}"\n'
    )
    [launch] = script.runs[0].launches
    places = {word.text: (word.place.line, word.group) for word in launch.words}
    assert places["--x"] == (2, "A")
    assert places["--y"] == (6, None)
