"""The hostile scripts: one table, each row with what it tries and what must be left of the answer.

A case is built on ``base.sh``, an ordinary launch (with one fault that stops it from starting) in
which marked places are replaced. ``{marker}`` in a text is a path that comes into being if anything
of it is executed; ``{outside}`` is a folder that the script has no business in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

BASE = (Path(__file__).parent / "base.sh").read_text()
LEAK = "leaked-from-outside"
EVIL = "evil.example"


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile script and the promise about it.

    ``launch`` says whether the launch must still be read (True), must not be there (False), or
    either may happen (None: a limit ends the reading). ``files`` are further files of the tree,
    ``links`` symbolic links in it; both by path from the tree's root. ``arguments`` go to the
    command. ``absent`` are words that no output may contain.
    """

    name: str
    script: str | bytes = field(repr=False)  # megabytes that no failure needs to show
    launch: bool | None = True
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    links: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def base(**places: str) -> str:
    """Return the ordinary launch with text put at the named places (``just_before="…"``)."""
    text = BASE
    for place, replacement in places.items():
        marked = f"#@{place.upper().replace('_', '-')}@"
        assert marked in text, place
        text = text.replace(marked, replacement)
    return text


def extra(*words: str) -> str:
    """Return the ordinary launch with further words on its command line."""
    return base(before="EXTRA_ARGS=(" + "\n".join(words) + ")")


# --- T1: what would run something ---------------------------------------------------------------

EXECUTIONS = (
    "A=$(touch {marker})",
    "A=`touch {marker}`",
    'A="${UNSET:-$(touch {marker})}"',
    ": ${UNSET:=$(touch {marker})}",
    "A=$(( $(touch {marker}) + 1 ))",
    "b=1; A=$(( b[$(touch {marker})] ))",
    "index='b[$(touch {marker})]'; A=$((index))",
    "index='b[$(touch {marker})]'; [[ $index -eq 1 ]]",
    "index='b[$(touch {marker})]'; printf -v \"$index\" x",
    "let 'c[$(touch {marker})]=1'",
    'eval "touch {marker}"',
    "eval 'A=$(touch {marker})'",
    "A='$(touch {marker})'; A=${A@P}",
    "cat <(touch {marker})",
    "source <(echo touch {marker})",
    ". /dev/stdin <<< 'touch {marker}'",
    "bash -c 'touch {marker}'",
    "cat <<END\n$(touch {marker})\nEND",
    "echo hello > {marker}",
    ": >> {marker}",
    "exec 3> {marker}",
    "tee {marker} <<< x",
    "trap 'touch {marker}' EXIT DEBUG ERR",
    "PROMPT_COMMAND='touch {marker}'",
    "BASH_ENV={marker}; touch $BASH_ENV",
    "coproc touch {marker}",
    "touch {marker} &",
    "( touch {marker} )",
    "{ touch {marker}; }",
    "f() { touch {marker}; }; f",
    'ray() { touch {marker}; command ray "$@"; }',
    'python3 -c \'open("{marker}", "w")\'',
    "python3 - <<'END'\nopen('{marker}', 'w')\nEND",
    "declare -n ref=A; ref=$(touch {marker})",
    "mapfile -t lines < <(touch {marker})",
    "for w in $(touch {marker}); do :; done",
    "case $(touch {marker}) in *) ;; esac",
    "if touch {marker}; then :; fi",
    "while touch {marker}; do break; done",
    '[ -n "$(touch {marker})" ]',
    "[[ x =~ $(touch {marker}) ]]",
    "A=([$(touch {marker})]=1)",
    "A[$(touch {marker})]=1",
    "seq 1 $(touch {marker})",
    "date -f {marker} || touch {marker}",
    "dirname $(touch {marker})",
    "find /tmp -maxdepth 0 -exec touch {marker} \\;",
    "xargs touch <<< {marker}",
    "PATH=.:$PATH; ./touch {marker}",
    "command touch {marker}; builtin echo x > {marker}; exec -a ray touch {marker}",
)


def _all_executions() -> str:
    # exec would end the script for good; it stands alone below.
    lines = [
        line.replace("{marker}", "{marker}." + str(number))
        for number, line in enumerate(EXECUTIONS)
        if "exec -a" not in line
    ]
    return base(before="\n".join(lines))


_EXECUTION = (
    Case("everything that would run a command", _all_executions()),
    Case("exec", base(just_before=EXECUTIONS[-1]), launch=None),
    Case("a command in the values of the launch", extra('--tb-project-name "$(touch {marker})"')),
    Case(
        "a command in the launch itself",
        base().replace("--colocate", "--colocate $(touch {marker}) > {marker}"),
    ),
    Case(
        "a command in the trainer's place",
        base().replace("python3 -m", "$(touch {marker}) -m"),
        None,
    ),
    Case(
        "the environment of the caller",
        extra('--tb-project-name "${PLANTED_ENVIRONMENT:-none}"'),
        absent=("planted-in-the-environment",),
    ),
)

# --- T2, T3: what would read something ----------------------------------------------------------

_STOLEN = f"EXTRA_ARGS=(--tb-project-name {LEAK})\n"
_READING = (
    Case("source /etc/passwd", base(before="source /etc/passwd"), absent=("root:",)),
    Case("source /dev/zero", base(before="source /dev/zero")),
    Case("source /dev/stdin", base(before="source /dev/stdin")),
    Case("source the caller's environment", base(before="source /proc/self/environ")),
    Case("source a folder", base(before="source /etc")),
    Case("source a home folder", base(before="source ~/.ssh/config; source ~root/.bashrc")),
    Case("source a pipe of the tree", base(before='source "${SCRIPT_DIR}/pipe"')),
    Case(
        "source upwards out of the tree",
        base(before='source "${SCRIPT_DIR}/../../../../outside/steal.sh"'),
        absent=(LEAK,),
    ),
    Case("source by a full path", base(before="source {outside}/steal.sh"), absent=(LEAK,)),
    Case(
        "source through a link out of the tree",
        base(before='source "${SCRIPT_DIR}/link.sh"'),
        links={"scripts/training/text/link.sh": "{outside}/steal.sh"},
        absent=(LEAK,),
    ),
    Case(
        "source through a linked folder",
        base(before='source "${SCRIPT_DIR}/door/steal.sh"'),
        links={"scripts/training/text/door": "{outside}"},
        absent=(LEAK,),
    ),
    Case(
        "a script that names its own model folder",
        base(before="MODEL_CONFIG_DIR={outside}\nsource ${MODEL_CONFIG_DIR}/steal.sh"),
        absent=(LEAK,),
    ),
    Case(
        "the words of another file",
        extra(
            "--tb-project-name $(cat {outside}/steal.sh)",
            "--tb-experiment-name $(< {outside}/steal.sh)",
        ),
        absent=(LEAK,),
    ),
    Case(
        "reading with read and mapfile",
        base(
            before="read line < {outside}/steal.sh\nmapfile lines < {outside}/steal.sh\n"
            'EXTRA_ARGS=(--tb-project-name "$line ${lines[*]}")'
        ),
        absent=(LEAK,),
    ),
    Case("names of other files", extra("--tb-project-name {outside}/*"), absent=("steal.sh",)),
    Case(
        "a link to itself",
        base(before='source "${SCRIPT_DIR}/loop.sh"'),
        links={"scripts/training/text/loop.sh": "loop.sh"},
    ),
    Case("a file that sources itself", base(before='source "${BASH_SOURCE[0]}"'), launch=None),
    Case(
        "two files that source each other",
        base(before='source "${SCRIPT_DIR}/a.sh"'),
        files={
            "scripts/training/text/a.sh": 'source "$(dirname "${BASH_SOURCE[0]}")/b.sh"\n',
            "scripts/training/text/b.sh": 'source "$(dirname "${BASH_SOURCE[0]}")/a.sh"\n',
        },
    ),
    Case(
        "a file sourced 10,000 times",
        base(before='source "${SCRIPT_DIR}/a.sh"\n' * 10_000),
        launch=None,
        files={"scripts/training/text/a.sh": "A=1\n"},
    ),
    Case(
        "two files that source each other twice",
        base(before='source "${SCRIPT_DIR}/f0.sh"'),
        launch=None,
        files={
            f"scripts/training/text/f{n}.sh": f'source "${{SCRIPT_DIR}}/f{n + 1}.sh"\n' * 2
            for n in range(40)
        },
    ),
)

# --- T4: what would stall or break the parser ---------------------------------------------------

_DEEP = 4000


def _nested(opening: str, closing: str, middle: str = "x") -> str:
    return opening * _DEEP + middle + closing * _DEEP


_PARSING = (
    Case("4,000 substitutions deep", base(before="A=" + _nested("$(echo ", ")")), None),
    Case("4,000 quoted substitutions deep", base(before="A=" + _nested('"$(echo ', ')"')), None),
    Case("4,000 defaults deep", extra("--tb-project-name " + _nested("${U:-", "}")), None),
    Case("4,000 parentheses deep", base(before="A=$((" + _nested("(", ")", "1") + "))"), None),
    Case("4,000 signs", base(before="A=$((" + "-" * 2 * _DEEP + "1))"), None),
    Case("4,000 powers", base(before="A=$((" + "2**" * _DEEP + "2))"), None),
    Case("4,000 conditions", base(before="A=$((" + "1?" * _DEEP + "1" + ":0" * _DEEP + "))"), None),
    Case("4,000 groups deep", base(before=_nested("{ ", " ;}", ":")), None),
    Case("4,000 subshells deep", base(before=_nested("( ", " )", ":")), None),
    Case("4,000 ifs deep", base(before=_nested("if :; then ", " ; fi", ":")), None),
    Case("4,000 functions deep", base(before=_nested("f() { ", " ;}", ":")), None),
    Case("4,000 brackets", base(before="[[ " + _nested("( ", " )", "-n x") + " ]]"), None),
    Case("4,000 pipes", base(before="echo x" + " | cat" * _DEEP), None),
    Case("4,000 ands", base(before="true" + " && true" * _DEEP), None),
    Case("4,000 brackets of an index", base(before="A=${a" + _nested("[b", "]", "0") + "}"), None),
    Case("4,000 backticks", base(before="A=" + "`echo " * _DEEP), None),
    Case(
        "60,000 flags in one array",
        base(before="EXTRA_ARGS=(" + " ".join(f"--flag-{n} {n}" for n in range(60_000)) + ")"),
        launch=None,
    ),
    Case("60,000 times the same flag", extra("--max-tokens-per-gpu 9216 " * 60_000), None),
    Case("60,000 arrays", base(before="".join(f"A{n}_ARGS=(--a)\n" for n in range(60_000))), None),
    Case("a word of 900 kB", extra("--tb-project-name " + "x" * 900_000), None),
    Case("2,500,000 comment lines", base(before="#\n" * 2_500_000), None),
    Case("200,000 comment lines beside a flag", base(beside="# why\n" * 200_000), None),
    Case("a line of 500,000 blanks", base(before=" " * 500_000), None),
    Case("unclosed single quote", base(just_before="A='never closed"), None),
    Case("unclosed double quote", base(just_before='A="never closed'), None),
    Case("unclosed substitution", base(just_before="A=$(echo"), None),
    Case("unclosed array", base(just_before="A_ARGS=(--x"), None),
    Case("unclosed here-document", base(just_before="cat <<END"), None),
    Case("unclosed if", base(just_before="if true; then"), None),
    Case("unopened fi", base(before="fi done } ) ;; esac"), None),
    Case("empty", "", False),
    Case("only a mark of the byte order", "\ufeff", False),
    Case("only comments", "# nothing here\n" * 100, False),
    Case("no launch", "PERF_ARGS=(--max-tokens-per-gpu 9216)\necho done\n", False),
    Case("binary", bytes(range(256)) * 64, None),
    Case("a program", b"\x7fELF\x02\x01\x01" + bytes(4096), None),
    Case("zero bytes in the text", base(before="A=a\0b").encode(), None),
    Case("bytes that are no UTF-8", base().encode() + b"# \xff\xfe \xc3\x28\n", True),
    Case("lone surrogates", base().encode() + b"# \xed\xa0\x80\n", True),
    Case("UTF-16", base().encode("utf-16"), None),
    Case("lines that end as on Windows", base().replace("\n", "\r\n"), None),
    Case("lines that end as on old Macs", base().replace("\n", "\r"), None),
)

# --- values and loops that never end ------------------------------------------------------------

_GROWTH = (
    Case(
        "a variable that doubles 40 times",
        base(before="X=x\n" + 'X="$X$X"\n' * 40 + 'EXTRA_ARGS=(--tb-project-name "$X")'),
        None,
    ),
    Case(
        "a variable that doubles in a loop",
        base(before='X=x; for i in $(seq 60); do X="$X$X"; done'),
        None,
    ),
    Case("an array that doubles", base(before="A=(a)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40), None),
    Case(
        "a flag that doubles",
        base(before="EXTRA_ARGS=(--x)\n" + 'EXTRA_ARGS+=("${EXTRA_ARGS[@]}")\n' * 40),
        None,
    ),
    Case(
        "replacements that multiply",
        base(before="X=aaaaaaaaaaaaaaaa\n" + "X=${X//a/$X}\n" * 12),
        None,
    ),
    Case("printf of a wide field", base(before="printf -v X '%1000000000d' 1"), None),
    Case("printf of a wide field by argument", base(before="printf -v X '%*s' 2000000000 x"), None),
    Case("printf of a high precision", base(before="printf -v X '%.1000000000f' 1"), None),
    Case("seq without end", extra("--sglang-cuda-graph-bs $(seq 1 10000000000)"), None),
    Case("seq that never arrives", extra("--sglang-cuda-graph-bs $(seq 1 0 10)"), None),
    Case("seq of tiny steps", extra("--sglang-cuda-graph-bs $(seq 0 0.0000001 1)"), None),
    Case("braces", extra("--sglang-cuda-graph-bs {1..1000000000}"), None),
    Case("braces in braces", extra("--x " + "{a,b}" * 40), None),
    Case("a power", extra("--max-tokens-per-gpu $((9 ** 9 ** 9))"), None),
    Case("a negative power", extra("--num-rollout $((2 ** -1))"), None),
    Case("a division by zero", extra("--num-rollout $((1 / 0))", "--num-rollout $((1 % 0))"), None),
    Case(
        "the division that overflows", extra("--num-rollout $(( -9223372036854775808 / -1 ))"), None
    ),
    Case("a shift", extra("--num-rollout $((1 << 99999999999))"), None),
    Case("a number of 100,000 digits", extra("--num-rollout $((" + "9" * 100_000 + "))"), None),
    Case("a flag with a number of 100,000 digits", extra("--num-rollout " + "9" * 100_000), None),
    Case(
        "numbers that are none",
        extra("--max-tokens-per-gpu NaN", "--lr inf", "--weight-decay 1e999999"),
        None,
    ),
    Case("names that mean each other", base(before="a=b; b=a; C=$((a))"), None),
    Case("a name that means itself", base(before="a=a; C=$((a + a))"), None),
    Case("references in a circle", base(before="declare -n p=q; declare -n q=p; p=1; A=$p"), None),
    Case("a far index", base(before="A[99999999999999]=1; B=(${A[@]:0:99999999})"), None),
    Case(
        "a far slice",
        base(before="X=abc; A=${X:99999999999:99999999999} B=${X: -99999999999}"),
        None,
    ),
    Case("while true", base(just_before="while true; do :; done"), None),
    Case("until false", base(just_before="until false; do :; done"), None),
    Case("for without end", base(just_before="for ((;;)); do :; done"), None),
    Case(
        "for without end, growing",
        base(just_before="for ((i = 0; ; i++)); do A+=($i); X+=xxxxxxxx; done"),
        None,
    ),
    Case(
        "while true, waiting", base(just_before="while ! curl -s {outside}; do sleep 1; done"), None
    ),
    Case(
        "loops in loops",
        base(
            just_before="for ((i=0;i<99999;i++)); do\n"
            "  for ((j=0;j<99999;j++)); do ((k++)); done\ndone"
        ),
        None,
    ),
    Case("a function that calls itself", base(just_before="f() { f; }; f"), None),
    Case("a function that calls itself twice", base(just_before="f() { f; f; }; f"), None),
    Case("two functions that call each other", base(just_before="f() { g; }; g() { f; }; f"), None),
    Case(
        "a substitution that calls itself",
        base(just_before="f() { X=$(f); echo $X; }; A=$(f)"),
        None,
    ),
    Case("a fork bomb", base(just_before=":() { : | : & }; :"), None),
    Case(
        "2^20 branches",
        base(before="".join(f'if [ "$V{n}" = x ]; then A+=(--a{n}); fi\n' for n in range(20))),
        None,
    ),
    Case(
        "2^20 undecided branches",
        base(
            before="".join(
                f"if some-program {n}; then A{n}=1; else A{n}=2; fi\n" for n in range(20)
            )
        ),
        None,
    ),
    Case(
        "a launch in every branch",
        base(
            before="".join(
                f'if [ "${{1}}" = m{n} ]; then\n'
                "  ray job submit -- python3 -m relax.entrypoints.train --colocate\nfi\n"
                for n in range(300)
            )
        ),
        None,
    ),
    Case(
        "500 launches",
        base(after="ray job submit -- python3 -m relax.entrypoints.train --colocate\n" * 500),
        None,
    ),
    Case(
        "waiting for input",
        base(just_before="read answer; select x in a b; do break; done; wait"),
        None,
    ),
)

# --- values that no launch holds ----------------------------------------------------------------

_RESOURCE = '{"actor": [1, 8], "rollout": [1, 8]}'
_VALUES = (
    Case("JSON 4,000 deep", base().replace(_RESOURCE, "[" * _DEEP), None),
    Case("a resource that is no mapping", base().replace(_RESOURCE, "[1, 8]"), None),
    Case(
        "a resource of odd numbers",
        base().replace(_RESOURCE, '{"actor": [1e400, -8], "rollout": null, "x": [[]]}'),
        None,
    ),
    Case(
        "sizes of zero",
        extra(
            "--tensor-model-parallel-size 0",
            "--rollout-batch-size 0",
            "--context-parallel-size 0",
            "--rollout-num-gpus-per-engine 0",
            "--global-batch-size 0",
        ),
        None,
    ),
    Case(
        "sizes below zero",
        extra("--tensor-model-parallel-size=-2", "--num-layers=-1", "--max-tokens-per-gpu=-5"),
        None,
    ),
    Case(
        "sizes beyond measure",
        extra(
            "--tensor-model-parallel-size 99999999999999999999",
            "--num-layers 999999999",
            "--num-experts 999999999",
        ),
        None,
    ),
    Case("a layer list beyond measure", extra("--moe-layer-freq '[1]*999999999'"), None),
    Case(
        "a layer list that is code",
        extra("""--moe-layer-freq '__import__("os").system("touch {marker}")'"""),
        None,
    ),
    Case(
        "a list of code",
        extra("""--linear-attention-freq '([0]*3+[open("{marker}","w")])*2'"""),
        None,
    ),
    Case(
        "a checkpoint elsewhere",
        extra("--hf-checkpoint /proc/self", "--load /dev/zero", "--custom-config-path /dev/zero"),
        None,
    ),
)

CASES: tuple[Case, ...] = _EXECUTION + _READING + _PARSING + _GROWTH + _VALUES
