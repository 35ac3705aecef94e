"""Words: quotes, expansions, arrays. Each row is a script, the words of its launch, perhaps notes."""

# ruff: noqa: E501 - tables
from __future__ import annotations

import pytest
from reading import launches, read

WORDS: dict[str, tuple[str, list[str]]] = {
    "plain": ("ray a --b=c x#y", ["a", "--b=c", "x#y"]),
    "single quotes": ("ray 'a $b \"c\"'", ['a $b "c"']),
    "JSON with escapes": ('N=8; ray "{\\"a\\": [1, ${N}]}"', ['{"a": [1, 8]}']),
    "quotes in quotes": ("D=/d; ray \"'${D}/a@[0:9]'\"", ["'/d/a@[0:9]'"]),
    "quotes over lines": ('ray "{\n\\"k\\": 1}"', ['{\n"k": 1}']),
    "concatenation": ("A=x; ray a'b c'\"$A\"d", ["ab cxd"]),
    "ANSI quotes": (r"ray $'a\tb\x41\'q'", ["a\tbA'q"]),
    "unset vanishes": ("ray a $U b", ["a", "b"]),
    "unset in quotes stays": ('ray a "$U" b', ["a", "", "b"]),
    "empty string": ("ray --hf-checkpoint ''", ["--hf-checkpoint", ""]),
    "a blank splits": ("A='b c'; ray $A", ["b", "c"]),
    "globs stay": ("ray [0]*3+[1]*75 [1,1,0]", ["[0]*3+[1]*75", "[1,1,0]"]),
    "a host and a port": ("H=h; P=1; ray http://$H:$P/path $H:$P", ["http://h:1/path", "h:1"]),
    "escaped blank": ("A=a; ray $A\\ b \\ c", ["a b", " c"]),
    "escaped newline": ("ray a\\\nb \\\n  c", ["ab", "c"]),
    "quote glued to the continuation": ("ray '{\"a\":1}'\\\n   --b", ['{"a":1}', "--b"]),
    "braces": ("ray {a,b}{1,2} {1..3} {01..03} {a}", ["a1", "a2", "b1", "b2", "1", "2", "3", "01", "02", "03", "{a}"]),
    "braces and variables": ("A=x; B='y z'; ray {${A},\"$B\"}q {$A,b}q", ["xq", "y zq", "bq"]),
    "non-ASCII": ("# 中文注释\nray 你好 'é ü'  # 说明\n", ["你好", "é ü"]),
    "redirections": ("ray a 2>&1 > /tmp/log b", ["a", "b"]),
    "a pipe": ("ray a 2>&1 | tee log", ["a"]),
    "comment at the end": ("ray a # --b", ["a"]),
    "tilde in a word": ("ray a~b", ["a~b"]),
    "split number": ("ray $(seq 8 8 24)", ["8", "16", "24"]),
    "quoted substitution": ('ray "$(echo a; echo b)"', ["a\nb"]),
    "arithmetic": ("ray $((2 * 512)) $(( 1<<4 )) $((7/2)) $((-7%3))", ["1024", "16", "3", "-1"]),
    "overflow": ("ray $((9223372036854775807 + 1))", ["-9223372036854775808"]),
    "ternary": ("N=4; ray $((N > 3 ? N : 0))", ["4"]),
    "assignment in arithmetic": ("ray $((A = 3)) $A $((A++)) $A", ["3", "3", "3", "4"]),
}  # fmt: skip

PARAMETERS: dict[str, tuple[str, list[str]]] = {
    "default": ("ray ${X:-8} ${E-d}", ["8", "d"]),
    "default of a set name": ("X=1; E=; ray ${X:-8} ${E:-d} ${E-d}", ["1", "d"]),
    "default that assigns": ('Y="${X:=8}"; ray $X$Y', ["88"]),
    "nested default": ("ray ${A:-${B:-/r}/m}", ["/r/m"]),
    "quotes in a default": ("ray ${A:-\"a b\"} \"${A:-'c'}\" \"${A:-\"d\"}\"", ["a b", "'c'", "d"]),
    "default of several words": ("ray ${A:-a b}", ["a", "b"]),
    "alternative": ('W=x; ray ${W:+--dir "$W y"} ${U:+--no}', ["--dir", "x y"]),
    "prefix and suffix": ("P=a/b/c.tar.gz; ray ${P##*/} ${P%/*} ${P#*/} ${P%%.*}",
                          ["c.tar.gz", "a/b", "b/c.tar.gz", "a/b/c"]),
    "replace": ("N=a/b/c; ray ${N//\\//-} ${N/a/x} ${N/#a/y} ${N/%c/z} ${N//b}",
                ["a-b-c", "x/b/c", "y/b/c", "a/b/z", "a//c"]),
    "substring": ("N=abcdef; ray ${N:1:2} ${N: -2} ${N:2} ${N:0:-1}", ["bc", "ef", "cdef", "abcde"]),
    "case": ("N=aBc; ray ${N^^} ${N,,} ${N^}", ["ABC", "abc", "ABc"]),
    "length": ("N=abc; A=(1 22 333); ray ${#N} ${#A[@]} ${#A[1]} ${#U}", ["3", "3", "2", "0"]),
    "indirect": ("v=N; N=5; ray ${!v}", ["5"]),
    "positions": ("set -- a 'b c'; ray $# \"$@\" $2 ${@:2}", ["2", "a", "b c", "b", "c", "b", "c"]),
    "joined by IFS": ("v=(1 2 3); IFS=,; ray \"${v[*]}\"", ["1,2,3"]),
    "joined in a subshell": ("v=(1 2); ray \"$(IFS=', '; echo \"${v[*]}\")\" \"${v[*]}\"",
                             ["1,2", "1 2"]),
    "last status": ("false; ray $?; true", ["1"]),
}  # fmt: skip

ARRAYS: dict[str, tuple[str, list[str]]] = {
    "quoted": ("A=(--a 'b c'); ray \"${A[@]}\"", ["--a", "b c"]),
    "unquoted is split again": ("A=(--a '{\"x\": 1}'); ray ${A[@]}", ["--a", '{"x":', "1}"]),
    "comment lines": ("A=(\n# why\n--a 1 # small\n\n  # --b\n--c \"#z\" x#y\n)\nray ${A[@]}",
                      ["--a", "1", "--c", "#z", "x#y"]),
    "only comments": ("A=(\n# --a\n)\nray x \"${A[@]}\"", ["x"]),
    "empty": ("A=(); ray x \"${A[@]}\"", ["x"]),
    "continuation inside": ("A=( --a \\\n1 )\nray ${A[@]}", ["--a", "1"]),
    "append": ("A=(--a); A+=(--b 1); ray ${A[@]}", ["--a", "--b", "1"]),
    "append to a text": ("A=x; A+=(y); ray ${A[@]}", ["x", "y"]),
    "append a text": ("A=(x y); A+=z; ray ${A[@]}", ["xz", "y"]),
    "name without index": ("V=(p q); ray $V", ["p"]),
    "by index": ("V=(p q r); V[1]=new; ray ${V[1]} ${V[-1]} ${V[@]:1}", ["new", "r", "new", "r"]),
    "index by arithmetic": ("V=(p q r); i=1; ray ${V[i+1]} ${V[$i]}", ["r", "q"]),
    "indices": ("V=(p q r); ray ${!V[@]}", ["0", "1", "2"]),
    "substitution inside": ("A=(--bs 1 $(seq 8 8 24)); ray ${A[@]}", ["--bs", "1", "8", "16", "24"]),
    "alternative inside": ("W=x; A=(${W:+--dir \"$W\"} ${U:+--no}); ray ${A[@]}", ["--dir", "x"]),
    "host and port inside": ("A=(--u http://$H:$P/x b); H=h; ray ${#A[@]}", ["3"]),
    "every element changed": ("A=(a.sh b.sh); ray ${A[@]%.sh}", ["a", "b"]),
    "read": ("IFS=, read -ra A <<< '1,2,3'; ray ${A[@]} ${#A[@]}", ["1", "2", "3", "3"]),
    "mapfile": ("mapfile -t A <<< $'x\\ny z'; ray \"${A[@]}\"", ["x", "y z"]),
    "unset": ("A=(a); unset A; ray x ${A[@]}", ["x"]),
}  # fmt: skip

COMMANDS: dict[str, tuple[str, list[str]]] = {
    "printf -v": ("printf -v L '[%s]' 1,2; ray $L", ["[1,2]"]),
    "printf": ("ray $(printf '%s,' a b) $(printf '%03d' 7) $(printf '%5.1s|' xy)", ["a,b,", "007", "x|"]),
    "C-style loop": ("for ((i=0;i<6;i++)); do v+=($((i%4==3?0:1))); done; IFS=,; ray \"[${v[*]}]\"",
                     ["[1,1,1,0,1,1]"]),
    "here-document": ("N=1; X=$(cat <<E\n{\"k\": $N, \\$x}\nE\n); ray \"$X\"", ['{"k": 1, $x}']),
    "quoted here-document": ("X=$(cat <<'E'\n$N\nE\n); ray \"$X\"", ["$N"]),
    "here-document with tabs": ("X=$(cat <<-E\n\ta\n\tb\n\tE\n); ray \"$X\"", ["a\nb"]),
    "here-document in a pipe": ("X=$(cat <<E | tr a b\naa\nE\n); ray $X", ["bb"]),
    "lower case": ("X=ABC; ray $(echo \"$X\" | tr '[:upper:]' '[:lower:]')", ["abc"]),
    "delete": ("X='1, 2'; ray $(echo $X | tr -d ' ')", ["1,2"]),
    "cut": ("X=a,b,c; ray $(echo $X | cut -d, -f2) $(cut -d',' -f1 <<< $X)", ["b", "a"]),
    "head and tail": ("X=$'a\\nb\\nc'; ray $(echo \"$X\" | head -n1) $(echo \"$X\" | tail -1)", ["a", "c"]),
    "count": ("ray $(printf '%s\\n' a b c | wc -l)", ["3"]),
    "sed": ("ray $(echo a-b-c | sed 's/-/_/') $(echo a-b-c | sed 's/-/_/g')", ["a_b-c", "a_b_c"]),
    "sort": ("ray $(printf '%s\\n' 10 9 8 | sort -n | head -1)", ["8"]),
    "trimmed": ("ray \"$(echo '  a b ' | xargs)\"", ["a b"]),
    "dirname and basename": ("P=/a/b/c.sh; ray $(dirname $P) $(basename $P .sh)", ["/a/b", "c"]),
    "cd and pwd": ("ray $(cd /a/b/.. && pwd)", ["/a"]),
    "backticks": ("ray `echo a`", ["a"]),
    "nested substitution": ("ray $(echo $(echo a) b)", ["a", "b"]),
    "substitution with a parenthesis": ("ray $(echo ')')", [")"]),
    "integer": ("declare -i N=2*3; N+=1; ray $N", ["7"]),
    "let": ("let 'N = 3' M=N+1; ray $N $M", ["3", "4"]),
    "exec": ("exec ray a; ray b", ["a"]),
    "command": ("ray() { :; }; command ray a", ["a"]),
    "time": ("time ray a", ["a"]),
    "function of the same name": ("ray() { command ray --extra \"$@\"; }; ray a", ["--extra", "a"]),
    "subshell": ("(X=1; ray $X)", ["1"]),
    "subshell keeps its variables": ("X=0; (X=1); ray $X", ["0"]),
    "group": ("{ X=1; }; ray $X", ["1"]),
    "prefix assignment": ("X=1 true; ray a$X", ["a"]),
    "quiet builtins": ("trap 'rm x' EXIT; shopt -s nullglob; ulimit -n 65535; wait; ray a", ["a"]),
    "export -n": ("export A=1; export -n A; ray $A", ["1"]),
}  # fmt: skip

CASES = {**WORDS, **PARAMETERS, **ARRAYS, **COMMANDS}


@pytest.mark.parametrize("name", CASES)
def test_words_of_the_launch(name: str) -> None:
    """The words are those that bash passes, and nothing is worth a note."""
    text, words = CASES[name]
    script = read(text)
    assert launches(script) == [words]
    assert script.runs[0].notes == ()


UNKNOWN: dict[str, tuple[str, list[str]]] = {
    "assigned from a command": ("X=$(nvidia-smi -L | wc -l); ray $X", ["${X}"]),
    "inline": ("ray run-$(hostname) `date`", ["run-${hostname}", "${date}"]),
    "in a text": ('now=$(date +%F); ray "a-${now}-b"', ["a-${now}-b"]),
    "changed": ("X=$(hostname); ray ${X%%.*}", ["${X}"]),
    "machine names": ("ray $HOME/x ~ $RANDOM", ["${HOME}/x", "${HOME}", "${RANDOM}"]),
    "arithmetic": ("X=$(nproc); ray $((X * 2))", ["${arithmetic}"]),
    "division by zero": ("ray $((1 / 0))", ["${arithmetic}"]),
    "a file": ("ray $(< /etc/hostname) $(cat x)", ["${file}", "${cat}"]),
    "python": ("X=$(python3 -c 'print(1)'); ray $X", ["${X}"]),
    "jq": ('E=1; E=$(echo "$E" | jq .); ray $E', ["${E}"]),
    "read": ("read X; ray $X", ["${X}"]),
    "associative": ("declare -A M=([a]=1); M[b]=2; ray ${M[a]}", ["${M}"]),
    "process substitution": ("ray <(echo)", ["${process}"]),
    "ampersand in a replacement": ("A=ab; ray ${A/a/&&}", ["${A}"]),
    "sed beyond plain text": ("ray $(echo ab | sed 's/a*/x/')", ["${sed}"]),
    "printf that is not evaluated": ("ray $(printf '%q' 'a b')", ["${printf}"]),
    "substitutions in backticks": ("ray `echo \\`echo a\\``", ["${command}"]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_words_say_so(name: str) -> None:
    """What a reader cannot know is written ``${name}`` and marked with a reason."""
    text, words = UNKNOWN[name]
    launch = read(text).runs[0].launches[0]
    assert [word.text for word in launch.words[1:]] == words
    assert all(word.unknown and all(u.reason for u in word.unknown) for word in launch.words[1:])


def test_default_is_marked_overridable() -> None:
    """A value from ``${VAR:-default}`` names the variable, through every assignment."""
    script = read(
        'TP=${TP:-4}; A=(--tp $TP --x "$(echo ${X:-1})" --y $((TP*2))); ray "${A[@]}" $1${1:-q}'
    )
    words = {word.text: word.overridable_by for word in script.runs[0].launches[0].words}
    assert words["4"] == ("TP",)
    assert words["1"] == ("X",)
    assert words["8"] == ("TP",)
    assert words["q"] == ("1",)
    assert words["--tp"] == ()


def test_given_environment_is_no_default() -> None:
    """A variable that the user gives replaces the default and is not overridable any more."""
    script = read("ray ${TP:-4}", env={"TP": "2"})
    word = script.runs[0].launches[0].words[1]
    assert (word.text, word.overridable_by) == ("2", ())


def test_words_know_where_they_come_from() -> None:
    """Every word carries line, column, array and the comments near it; expanded ones, too."""
    script = read(
        "# head\n\nA_ARGS=(\n  # why so small\n  --a 1  # beside\n\n  --b\n)\nray ${A_ARGS[@]} -c"
    )
    words = {word.text: word for word in script.runs[0].launches[0].words}
    assert (words["1"].place.line, words["1"].place.column, words["1"].group) == (5, 7, "A_ARGS")
    comments = [(c.text, c.own_line) for c in words["--a"].comments]
    assert comments == [("# why so small", True), ("# beside", False)]
    assert words["--b"].comments == ()
    assert (words["-c"].place.line, words["-c"].group) == (9, None)
    assert script.header == "head"
    assert script.runs[0].arrays["A_ARGS"].line == 3
