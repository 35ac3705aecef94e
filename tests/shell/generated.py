"""Pieces of shell that hypothesis makes up; each ends in ``ray`` commands to be compared.

Nothing here has an effect: assignments, expansions, and the pure programs of the bash oracle.
"""

# ruff: noqa: E501 - tables
from __future__ import annotations

import re

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

NAMES = """A=a; E=; B='b c'; G='x*y'; P=path/to/file.tar.gz; N=7; L='1,2,,3'; S='  lead  trail '
M='aXbXc'; Q="it's \\"q\\""; W='*'; T=$'tab\\there'; R=(one 'two words' '' four); V=(x); Z=()
set -- p1 'p 2' ''
"""
"""What every generated piece begins with; ``U`` stays unset."""

_one = st.sampled_from
Text = SearchStrategy[str]

# -- words --------------------------------------------------------------------------------

_plain = _one(["a", "b1", "-x", "--flag", "x=y", "/", ".", ":", ",", "%", "@", "+", "#", "x#y", "*",
               "?", "[ab]", "é", "你好", "^", "!", "=", "a.b", "]", "0"])  # fmt: skip
_escaped = _one(["\\ ", "\\$", "\\\\", "\\'", '\\"', "\\*", "\\n", "\\#", "\\`", "\\;"])
_single = st.text('ab $`"\\*{},~#\n', max_size=6).map(lambda text: f"'{text}'")
_ansi = _one(["$'a\\nb'", "$'\\x41\\101'", "$'\\''", "$'\\u00e9'", "$'q\\q'", "$'a b'", "$''"])
_scalar = _one(["A", "E", "B", "G", "P", "N", "L", "S", "M", "Q", "W", "T", "U", "R", "1", "2", "3",
                "4"])  # fmt: skip
_array = _one(["R", "V", "Z", "U", "A", "B"])
_simple = _one(["$A", "$E", "$B", "$G", "$N", "$L", "$S", "$U", "$1", "$2", "$3", "$4", "$#", "$R",
                "$W", "$Q", "$T"])  # fmt: skip
_all = st.builds("${{{}[{}]}}".format, _array, _one("@*")) | _one(["$@", "$*", "${@}", "${*}"])
_index = st.builds("${{{}[{}]}}".format, _array, _one(["0", "1", "-1", "3", "9", "N-6", "$N-5"]))
_length = st.builds("${{#{}}}".format, _scalar) | st.builds(
    "${{#{}[{}]}}".format, _array, _one(["@", "*", "0", "1", "2"])
)
_bounds = _one([":0", ":1", ":2", ": -2", ":1:2", ":0:1", ":1:-1", ":N-6", ":9", ":(-1)",
                ":0:0", ":3:2"])  # fmt: skip
_slice = st.builds("${{{}{}}}".format, _scalar, _bounds) | st.builds(
    "${{{}[@]{}}}".format, _array, _one([":0", ":1", ":1:2", ": -1", ":0:1", ":2", ":9"])
)
_slice_of_positions = st.builds("${{@{}}}".format, _one([":1", ":2", ":1:2", ":3:1", ":2:9"]))
_changed_case = st.builds("${{{}{}}}".format, _scalar, _one(["^", "^^", ",", ",,"]))
_pattern = _one(["*", "a", "*a", "a*", "?", "*.*", ".*", "*/", "/*", "[a-c]", "[!a]*", "X", "X*",
                 "*X", "b c", "'*'", '"X"', "\\*", "$A", '"$W"', "$W", "[[:alpha:]]", "[[:space:]]*",
                 "[^a]", " *", "t*", "??", "path/*/", "1,", "*,"])  # fmt: skip
_replacement = _one(["", "y", "-", "'a b'", "$A", "$B", '"$B"', "\\-", "${U:-d}", "*"])
_stripped = st.builds("${{{}{}{}}}".format, _scalar, _one(["#", "##", "%", "%%"]), _pattern)
_replaced = st.builds("${{{}{}{}/{}}}".format, _scalar, _one(["/", "//", "/#", "/%"]),
                      _pattern.filter(lambda text: "/" not in text), _replacement)  # fmt: skip
_deleted = st.builds("${{{}{}{}}}".format, _scalar, _one(["/", "//"]),
                     _pattern.filter(lambda text: "/" not in text))  # fmt: skip
_each = st.builds("${{R[@]{}{}}}".format, _one(["#", "%", "/", "//", "^"]), _one(["t*", "o", ""]))
_sum = _one(["$((N))", "$((N*2+1))", "$(( $N - 3 ))", "$((E))", "$((U))", "$((N>3?N:0))",
             "$((1<<N))", "$((-N/2))", "$((-N%3))", "$((R[0]))"])  # fmt: skip
_printed = _one(["$(echo a b)", '$(echo "a  b")', "$(printf '%s,' x y)", "$(seq 3)", "$(seq 2 2 6)",
                 '$(echo "$B")', "$(echo $S)", "`echo q`", "$(echo)", "$(printf 'x\\n\\n')",
                 '$(IFS=,; echo "${R[*]}")', "$(basename $P)", "$(dirname $P)",
                 "$(basename $P .gz)", '$(cd / && pwd)', "$(echo $(echo in))", "`echo \\`echo b\\``",
                 '$(echo ")")', "$(true)"])  # fmt: skip


def _with_default(word: Text) -> Text:
    operator = _one([":-", "-", ":+", "+", ":=", "="])
    name = _scalar.filter(lambda name: not name.isdigit() and name != "R")
    plain = st.builds("${{{}{}{}}}".format, name, operator, word)
    positional = st.builds("${{{}{}{}}}".format, _one("1234"), _one([":-", "-", ":+", "+"]), word)
    whole = st.builds("${{{}[@]{}{}}}".format, _array, _one([":-", "-", ":+", "+"]), word)
    return plain | positional | whole


_expansion = (_simple | _all | _index | _length | _slice | _slice_of_positions | _changed_case
              | _stripped | _replaced | _deleted | _each | _sum | _printed)  # fmt: skip


def _quoted(inner: Text) -> Text:
    piece = inner | _one(["a", " ", "'", "*", '\\"', "\\$", "\\n", "\\\\", "{a,b}", "~", "#", "\n"])
    return st.lists(piece, max_size=4).map(lambda pieces: f'"{"".join(pieces)}"')


_operand_quoted = _one(["", "d", "d e", "$A", "$B", "'q'", '"q r"', "${E:-deep}", "*", "\\$"])
_operand = st.lists(_plain | _escaped | _single | _simple | _sum | _printed
                    | _quoted(_simple) | _one([" ", "  "]), max_size=3).map("".join)  # fmt: skip
_unquoted_piece = (_plain | _escaped | _single | _ansi | _expansion
                   | _with_default(_operand.filter(lambda text: "}" not in text))
                   | _quoted(_expansion | _with_default(_operand_quoted)))  # fmt: skip
_braced = _one(["{a,b}", "{1..4}", "{4..1}", "{01..03}", "{a..e..2}", "{1..9..3}", "{a,b{c,d}}",
                "{a}", "{}", "{a,}", "{,a}x", "{a,b}{1,2}", "{'a b',c}", "{$A,$N}", "{1..a}",
                "{a,$B}", "x{-1..1}y", "{a..c}", "{A,b", "a,b}", "{\"$B\",z}", "${A}{1,2}"])  # fmt: skip
WORD = st.lists(_unquoted_piece | _braced, min_size=1, max_size=4).map("".join)
WORDS: Text = st.lists(WORD, min_size=1, max_size=3).map(
    lambda words: f"{NAMES}ray {' '.join(words)}"
)

# -- assignments, arrays, IFS -------------------------------------------------------------

_ASSIGNED = st.builds("X={}".format, WORD) | st.builds("X+={}".format, WORD)
_ELEMENTS = st.lists(WORD | _one(["\n", "# note\n", "\\\n"]), max_size=4).map(" ".join)
_ARRAY = (
    st.builds("Y=({}\n)".format, _ELEMENTS)
    | st.builds("Y+=({}\n)".format, _ELEMENTS)
    | st.builds("Y[{}]={}".format, _one(["0", "N-7"]), WORD)
    | st.builds("Y[0]=; Y[{}]={}".format, _one(["1", "N-6"]), WORD)
    | st.builds("Y[0]+={}".format, WORD)
    | st.builds("Y+={}".format, WORD)
)
_IFS = _one(
    ["IFS=,", "IFS=", "IFS=' '", "IFS=,:", "IFS=$'\\n'", "unset IFS", "IFS='a '", "IFS=', '"]
)
_UNSET = _one(["unset X", "unset Y", "unset A", "X=", "Y=()"])
_PREFIXED = st.builds("X={} true".format, WORD)
_COPIED = _one(['Y=("${R[@]}" "${Y[@]}")', "Y=(${Y[@]})", 'X="${Y[*]}"', "X=${Y[@]}", "X=$Y",
                'X="${X:-$A}"', ': "${X:=set}"', "X=$X$X", 'X="$X,$B"'])  # fmt: skip
_STEP = _ASSIGNED | _ARRAY | _IFS | _UNSET | _PREFIXED | _COPIED
_SHOWN = 'ray "$X" $X "${Y[@]}" ${Y[@]} "${#Y[@]}" "${Y[*]}" $Y "${Y[0]}" "${Y[1]-none}"'
ASSIGNMENTS: Text = (
    st.lists(_STEP, min_size=1, max_size=5)
    .map(lambda steps: "\n".join([NAMES, *steps, _SHOWN]))
    # with another IFS, bash joins "${R[@]//o}" or "${Z[@]-d}" by it, and "${R[@]}" by a blank
    .filter(lambda text: "IFS=" not in text or not re.search(r"\[@\][^}]|\{@:", text))
    # the syntax tree loses what stands behind an escaped blank in an assignment
    .filter(lambda text: "\\ " not in text)
)

# -- arithmetic ---------------------------------------------------------------------------

_NUMBER = _one(["0", "1", "2", "3", "7", "10", "63", "64", "255", "010", "0x1F", "2#101", "16#ff",
                "36#Zz", "64#_@", "9223372036854775807", "4611686018427387904", "99999999999"])  # fmt: skip
_OPERAND = _NUMBER | _one(["a", "b", "c", "$a", "${b}", "x", "v[0]", "v[1]", "v[a]", "e", "$(echo 4)",
                           "${#v[@]}", "a++", "--b", "c--", "++a", "v[1]++"])  # fmt: skip
_BINARY = _one(["+", "-", "*", "/", "%", "**", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&",
                "|", "^", "&&", "||", ","])  # fmt: skip
_ASSIGNING = _one(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="])


def _larger(inner: Text) -> Text:
    return (
        st.builds("{}{}{}".format, inner, _BINARY, inner)
        | st.builds("{} {} {}".format, inner, _BINARY, inner)
        | st.builds("({})".format, inner)
        | st.builds("{}{}".format, _one(["-", "+", "!", "~", "- "]), inner)
        | st.builds("{} ? {} : {}".format, inner, inner, inner)
        | st.builds("({}{}{})".format, _one(["a", "b", "v[1]", "n"]), _ASSIGNING, inner)
    )


EXPRESSION = st.recursive(_OPERAND, _larger, max_leaves=7)
_BY = _one(["ray $(({}))", "(( {} )); ray $?", "let 'z = {}'; ray $z", "if (( {} )); then ray yes; else ray no; fi", "declare -i z; z='{}'; ray $z",
            "v[{}]=q; ray ${{v[@]}}"])  # fmt: skip
ARITHMETIC: Text = st.builds(
    lambda way, expression: (
        f"a=5; b=-3; c=0; x=a+1; e=; v=(2 30 4)\n{way.format(expression)}\nray $a $b $c $n ${{v[*]}}"
    ),
    st.just("ray $(({}))") | _BY,
    EXPRESSION,
).filter(lambda text: "let " not in text or "$" not in text.split("\n")[1].replace("ray $z", ""))

# -- conditions ---------------------------------------------------------------------------

_TESTED = _one(['"$A"', "$A", '"$E"', "$E", '"$U"', "$U", '"$B"', "$B", "a", "''", "7", '"$N"', "-z",
                '"${U:-a}"', "!", "010", "' 7 '", '"="', "${R[@]}", '"${R[1]}"', "b", "-n"])  # fmt: skip
_COMPARED = _one(["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
_CHECK = (
    st.builds("{} {}".format, _one(["-z", "-n"]), _TESTED)
    | st.builds("{} {} {}".format, _TESTED, _COMPARED, _TESTED)
    | _TESTED
    | st.builds("-v {}".format, _one(["A", "U", "E", "R"]))
)
_SINGLE = st.builds("[ {}{} ]".format, _one(["", "! "]), _CHECK) | st.builds(
    "[ {} {} {} ]".format, _CHECK, _one(["-a", "-o"]), _CHECK
)
_MATCHED = _one(['"$A"', "$A", "$E", "$U", "$B", '"$B"', "$P", "a", "7", "$N", "$M", "${R[1]}", "''",
                 "$G"])  # fmt: skip
_PATTERN_OF_CASE = _one(["a", "*", "a*", "*c", "'b c'", '"*"', "$A", '"$W"', "[a-c]", "?", "?*",
                         "path/*", "*.gz", "x\\*y", "''", "7", "*X*", "[!a]", "$U"])  # fmt: skip
_DOUBLE_CHECK = (
    st.builds("{} {}".format, _one(["-z", "-n"]), _MATCHED)
    | st.builds("{} {} {}".format, _MATCHED, _one(["=", "==", "!="]), _PATTERN_OF_CASE)
    | st.builds(
        "{} {} {}".format, _MATCHED, _one(["-eq", "-lt", "-ge"]), _one(["7", "N", "$N", "0"])
    )
    | st.builds("{} {} {}".format, _MATCHED, _one(["<", ">"]), _MATCHED)
    | st.builds("{} =~ {}".format, _MATCHED, _one(["^a", "c$", "b.c", "[0-9]+", "^$"]))
    | _MATCHED
)


def _larger_check(inner: Text) -> Text:
    return (
        st.builds("{} {} {}".format, inner, _one(["&&", "||"]), inner)
        | st.builds("( {} )".format, inner)
        | st.builds("! {}".format, inner)
    )


_DOUBLE = st.recursive(_DOUBLE_CHECK, _larger_check, max_leaves=4).map("[[ {} ]]".format)
_CASE = st.builds(
    "case {} in {}) false;; {} | {}) true;; *) false;; esac".format,
    _MATCHED, _PATTERN_OF_CASE, _PATTERN_OF_CASE, _PATTERN_OF_CASE,
)  # fmt: skip
_TEST = st.builds("test {}".format, _CHECK)
CONDITION = _SINGLE | _DOUBLE | _CASE | _TEST
_JOINED = st.builds("{} {} {}".format, CONDITION, _one(["&&", "||"]), CONDITION) | CONDITION
CONDITIONS: Text = st.builds(
    "{}if {}; then ray yes; else ray no; fi\n{} && ray and || ray or".format,
    st.just(NAMES), _JOINED, CONDITION,
)  # fmt: skip

# -- printing and filters -----------------------------------------------------------------

_PRINTED_WORD = _one(["a", "'b c'", "''", "12", "-7", "'x\\ny'", '"$L"', '"$B"', "$N", "010", "0x1f",
                      '"${R[@]}"', "'a\\tb'", '"$M"', "'%s'"])  # fmt: skip
_PRINTED_WORDS = st.lists(_PRINTED_WORD, max_size=4).map(" ".join)
_FORMAT = st.lists(
    _one(["%s", "%d", "%5s", "%-5s|", "%05d", "%x", "%%", ",", " ", "\\n", "\\t", "a", "%b", "%.2s",
          "%i", "[", "]", "%+d", "%X", "%o", "%3d", "%q"]),
    min_size=1, max_size=4,
).map("".join)  # fmt: skip
_PRINTING = (
    st.builds("printf '{}' {}".format, _FORMAT, _PRINTED_WORDS)
    | st.builds("echo {}{}".format, _one(["", "-n ", "-e ", "-ne ", "-E ", "-x ", "- "]), _PRINTED_WORDS)
    | st.builds("seq {}".format, _one(["3", "2 5", "5 2", "1 3 9", "9 -3 0", "-s, 4", "-s ' ' 2 3",
                                       "0", "-2 1", "-w 8 10", "-s , 2"]))
    | _one(['echo "$S"', 'printf "%s\\n" "${R[@]}"', "cat <<< \"$B\"", "cat <<X\na $N\n$B\nX",
            "cat <<'X'\na $N\nX", "cat <<-X\n\ta\n\tX", 'cat <<< $S'])
)  # fmt: skip
FILTER = _one(["tr a-z A-Z", "tr '[:upper:]' '[:lower:]'", "tr -d ' '", "tr , '\\n'", "tr ' ' _",
               "tr -d '[:space:]'", "tr -s ' '", "tr '\\n' ,", "cut -d, -f1", "cut -d, -f2",
               "cut -d ' ' -f2", "cut -d' ' -f1,2", "cut -c1-3", "cut -d, -f2-", "head -n1",
               "head -n 2", "head -1", "tail -n1", "tail -1", "tail -n 2", "wc -l", "wc -w",
               "wc -c", "sort", "sort -n", "sort -u", "sort -r", "uniq", "cat", "cat -",
               "sed 's/a/b/'", "sed 's/a/b/g'", "sed -e 's/,/ /g'", "sed 's|b|/|'", "sed 's/^/-/'",
               "tr '[:lower:]' '[:upper:]'", "grep a", "rev", "tr -cd 0-9", "tee", "sort -nr",
               "head -c 3", "tr 'ab' 'x'", "cut -f1"])  # fmt: skip
_PIPED = st.builds(
    lambda first, filters: " | ".join([first, *filters]),
    _PRINTING,
    st.lists(FILTER, max_size=3),
).map(lambda text: text if "<<" not in text or "|" not in text else text.split(" | ")[0])
_HERE = st.builds('{} <<< "{}"'.format, FILTER, _one(["$B", "$L", "aXb", "$U", "$S", "a,b"]))
PRINTING: Text = st.builds(
    '{}X=$({}\n)\nray "$X" $X'.format, st.just(NAMES), _PIPED | _PIPED | _HERE
)

# -- programs -----------------------------------------------------------------------------

_BODY_STEP = _one([
    "X=$X$i", 'Y+=("$i")', "N=$((N+1))", "(( N++ ))", "((N+=2))", "let N+=1", "shift", "continue",
    "break", "[ $N -gt 9 ] && break", "if [ $i = b ]; then continue; fi", "(( N > 12 )) && break 2",
    "f $i", "g $i", "local_like=$i", "E=${E}e", "return", "return 1", "f; X=$X$?", "h a b",
    "false || X=${X}o", "true && X=${X}t", "! true || X=${X}n", "{ X=${X}g; }", "(X=lost; N=0)",
    "case $i in a|1) X=${X}A;; b) ;; *) X=${X}D;; esac", "set -- x y; X=$X$1", "unset i", "X=$X$#",
    'printf -v X "%s-%d" "$X" $N', "X=$(echo \"$X\" | tr a-z A-Z)", "export X", "readonly_=1",
    "[[ $i == a ]] && { X=${X}q; continue; }", "while ((N < 9)); do ((N++)); X=${X}w; done",
    "until [ $N -ge 9 ]; do N=$((N+1)); done", "ray in $X $i",
    "for k in 1 2; do [ $k = 2 ] && continue 2; X=$X$k; done", "for ((m=0; m<2; m++)); do X=$X$m; done",
    "X=$X$?", "false; X=$X$?", "[ a = b ]; X=$X$?", "echo noise", "true & X=${X}b", "echo x > /dev/null",
    "X=$X$(f 1; echo $N)", ": $((N++))", 'X="$X$*"', "i=c",
])  # fmt: skip
_STEPS = st.lists(_BODY_STEP, min_size=1, max_size=3).map("\n  ".join)
_BODY = st.builds("(( ++guard > 12 )) && break\n  {}".format, _STEPS)
_LOOP = (
    st.builds("for i in {}; do\n  {}\ndone".format, _one(["a b c", "$B", '"${R[@]}"', "{1..3}", "", "$(seq 2)"]), _BODY)
    | st.builds("for i; do\n  {}\ndone".format, _BODY)
    | st.builds("for ((i=0; i<{}; i++)); do\n  {}\ndone".format, _one(["3", "N-5", "0"]), _BODY)
    | st.builds("j=0; while (( j++ < {} )); do\n  {}\ndone".format, _one(["2", "N-4"]), _BODY)
    | st.builds("j=3; until [ $j -le 0 ]; do j=$((j-1))\n  {}\ndone".format, _BODY)
    | st.builds("while [[ $# -gt 0 ]]; do case $1 in p1) X=$2; shift 2;; *) Y+=(\"$1\"); shift;; esac\n  {}\ndone".format,
                _BODY.filter(lambda text: "set --" not in text))
)  # fmt: skip
_BRANCH = st.builds("if {}; then\n  {}\nelif {}; then\n  {}\nelse\n  {}\nfi".format,
                    _one(["[ $N -gt 3 ]", "false", "[ -z $E ]", "f a"]), _STEPS,
                    _one(["true", "(( N ))", "[ a = b ]"]), _STEPS, _STEPS)  # fmt: skip
_CALL = _one(["f 1 2", "g 'a b'", "f", "h", 'f "$@"', "X=$(f 5)", "f a && X=${X}y || X=${X}n"])
_FUNCTIONS = st.builds(
    "f() {{\n  local X=in i=$1\n  {}\n}}\ng() {{ local N; N=3\n  {}\n  f $1; }}\nfunction h {{ X=h$1; {}; }}".format,
    _STEPS.filter(lambda text: not any(call in text for call in ("f $", "f; ", "f 1", "g $", "h a"))),
    _STEPS.filter(lambda text: "g $" not in text),
    _one(["X=${X}h", "return 3", "shift", "f $1"]),
)  # fmt: skip
PROGRAMS: Text = st.builds(
    lambda functions, steps: "\n".join(
        [NAMES, functions, "i=0; X=", *steps, 'ray "$X" "$N" "$E" "$i" "${Y[@]}" "$#" "$@"']
    ),
    _FUNCTIONS,
    st.lists(_LOOP | _BRANCH | _CALL, min_size=1, max_size=3),
)

ALL: dict[str, Text] = {
    "words": WORDS,
    "assignments": ASSIGNMENTS,
    "arithmetic": ARITHMETIC,
    "conditions": CONDITIONS,
    "printing": PRINTING,
    "programs": PROGRAMS,
}
