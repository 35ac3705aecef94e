"""The settings of a launch are what argparse makes of its words."""

from __future__ import annotations

import argparse
import json
import time

import pytest
from hypothesis import given as samples
from hypothesis import strategies as st

from perf_doctor.launch.registry import Option, registry
from perf_doctor.launch.settings import Settings, read_settings
from perf_doctor.launch.values import RefusedError, typed
from perf_doctor.shell.model import Place, Unknown, Word

HERE = Place("run.sh", 7)


def words(*texts: str) -> list[Word]:
    return [Word(text, HERE, "ARGS") for text in texts]


def settings(*texts: str) -> Settings:
    return read_settings(words(*texts))


# A few dozen rows: every kind, every nargs, negations, choices, aliases, three parsers.
TRAINER = """
--resource --max-tokens-per-gpu --lr --colocate --no-rope-fusion --use-tensorboard
--offload-train --normalize-bbox --eval-prompt-data --profile-target --attention-backend
--polling-mode --save-interval --train-env-vars --disable-msc --tensor-model-parallel-size
--window-size --moe-layer-freq --router-balance-abs-threshold --recompute-modules
--no-tp-comm-bulk-wgrad --advantage-estimator --agent-env --multimodal-keys --adam-beta1
--rollout-max-response-len --seq-length --hf-checkpoint --iterations-to-skip --micro-batch-size
--no-save-optim --yarn-original-max-position-embeddings --lr-decay-style
"""
SGLANG = """
--sglang-mem-fraction-static --sglang-cuda-graph-bs --sglang-disable-cuda-graph
--sglang-context-length --sglang-ep --sglang-load-format --sglang-record-nolora-graph
--sglang-json-model-override-args --sglang-attention-backend --sglang-dtype
--sglang-server-concurrency
"""


def known(flags: str) -> list[Option]:
    return list({o.flag: o for flag in flags.split() if (o := registry().get(flag))}.values())


class RaisingParser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise RefusedError(message)


def converter(option: Option) -> object:
    kinds = {"int": int, "float": float, "json": json.loads, "bool": bool, "str": str}
    if option.reads == "human_readable_int":
        return lambda text: typed(option, text)
    return kinds[option.kind]


def oracle(options: list[Option], *, allow_abbrev: bool) -> argparse.ArgumentParser:
    parser = RaisingParser(add_help=False, allow_abbrev=allow_abbrev)
    for option in options:
        flags = (option.flag, *option.aliases)
        more = {"dest": option.dest, "default": argparse.SUPPRESS}
        if option.kind != "switch":
            more |= {"type": converter(option), "nargs": option.nargs}
            if option.choices:
                more["choices"] = option.choices
            parser.add_argument(*flags, **more)
            continue
        for flag in flags:
            action = "store_true" if option.stores(flag) else "store_false"
            parser.add_argument(flag, action=action, **more)
    return parser


PARSERS = (
    oracle(known(TRAINER), allow_abbrev=False),
    oracle(known(SGLANG), allow_abbrev=True),
)
FLAGS = [f for o in known(TRAINER + SGLANG) for f in (o.flag, *o.aliases)]
VALUES = [
    *("1", "8", "-1", "-0.5", "-.5", "1e-6", "1_000", " 5 ", "nan", "flash", "auto", "grpo", ""),
    *("False", "a b", "-x y", "-", "x", "{}", '{"a": [1]}', "[1", "10k", "2Ki", "1.5Ki", "cosine"),
    *("train_actor", "-1e5", "-5.", "--", "--unheard-of", "--unheard=1", "-q", "bfloat16"),
    *("--sglang-dtype=a b", "--hf-checkpoint=a b", "--no-such a", "７"),
]
argvs = st.lists(
    st.one_of(
        st.sampled_from(FLAGS),
        st.sampled_from(VALUES),
        st.tuples(st.sampled_from(FLAGS), st.sampled_from(VALUES).filter("--".__ne__)).map(
            "=".join
        ),
    ),
    max_size=12,
)


@samples(argvs)
def test_equals_argparse(argv: list[str]) -> None:
    """Values, order, refusals: the same as parse_known_args of both parsers."""
    ours = settings(*argv)
    expected: dict[str, object] = {}
    refused = False
    for parser in PARSERS:
        try:
            expected |= vars(parser.parse_known_args(argv)[0])
        except RefusedError:
            refused = True
    assert bool(ours.problems) == refused
    if not refused:
        assert repr({s.option.dest: s.stored for s in ours}) == repr(
            {s.option.dest: expected[s.option.dest] for s in ours}
        )
        assert {s.option.dest for s in ours} == set(expected)


@samples(argvs)
def test_every_word_is_accounted_for_and_parsing_words_again_changes_nothing(
    argv: list[str],
) -> None:
    """A word is a setting's, an unknown flag's, stray, or the end marker."""
    ours = settings(*argv)
    held = [w.text for s in ours for w in s.words] + [w.text for w in ours.stray]
    held += [w.text for u in ours.unknown_flags for w in (u.word, *u.words)]
    held += [p.words[0].text for p in ours.problems if p.words[0].text in ("-h", "--help")]
    assert set(argv) - {"--"} <= set(held)


def test_last_occurrence_wins_and_earlier_ones_are_kept() -> None:
    """As argparse stores them; any spelling of one destination counts."""
    ours = settings("--lr", "1", "--use-tensorboard", "--lr=2", "--no-use-tensorboard")
    assert ours.value("--lr") == 2.0
    won = ours.given("--lr")
    assert won
    assert [s.value for s in won.overrides] == [1.0]
    assert won.place == HERE
    assert won.group == "ARGS"
    assert ours.value("--use-tensorboard") is False
    assert ours.on("--no-use-tensorboard") is True


@pytest.mark.parametrize(
    ("argv", "flag", "value", "on"),
    [
        ([], "--no-rope-fusion", False, False),
        (["--no-rope-fusion"], "--no-rope-fusion", True, True),
        ([], "--use-tensorboard", True, True),
        ([], "--offload-train", None, False),
        ([], "--no-offload-train", None, False),
        (["--no-offload-train"], "--offload-train", False, False),
        (["--no-offload-train"], "--no-offload-train", True, True),
        (["--offload-train"], "--no-offload-train", False, False),
        ([], "--disable-msc", False, False),
        (["--polling-mode", "False"], "--polling-mode", True, True),
        (["--polling-mode", ""], "--polling-mode", False, False),
        ([], "--max-staleness", 0, False),
        (["--sglang-tp-size", "2"], "--sglang-tensor-parallel-size", 2, True),
        (["--teacher-sglang-tp-size", "2"], "--teacher-sglang-tensor-parallel-size", 2, True),
        ([], "--teacher-sglang-tensor-parallel-size", None, False),
        (["--sglang-mem-frac", "0.7"], "--sglang-mem-fraction-static", 0.7, True),
        (["--sglang-router-cache-threshold", "0.5"], "--router-cache-threshold", 0.5, True),
        (["--seed", "-1"], "--seed", -1, True),
        (["--resource", '{"actor": [1, 8]}'], "--resource", {"actor": [1, 8]}, True),
        (["--sglang-cuda-graph-bs", "1", "2"], "--sglang-cuda-graph-bs", [1, 2], True),
        (["--sglang-max-total-tokens", "10k"], "--sglang-max-total-tokens", 10000, True),
    ],
)
def test_value_and_on(argv: list[str], flag: str, value: object, on: bool) -> None:
    """Defaults, negations, aliases, mirrors and abbreviations."""
    ours = settings(*argv)
    assert ours.value(flag) == value
    assert ours.on(flag) is on
    assert not ours.problems


def test_unknown_parts_make_unknown_values() -> None:
    """A value is not guessed; a wholly unknown word is neither stray nor a flag."""
    part = Unknown("N", "never set")
    argv = [*words("--lr"), Word("${N}", HERE, unknown=(part,))]
    argv += [*words("--colocate"), Word("${N}", HERE, unknown=(part,))]
    argv += [Word("--seed=${N}", HERE, unknown=(part,)), Word("--${N}", HERE, unknown=(part,))]
    ours = read_settings(argv)
    assert ours.value("--lr") == part
    assert ours.value("--seed") == part
    assert [w.text for w in ours.unclear] == ["${N}", "--${N}"]
    assert not ours.stray
    assert not ours.unknown_flags


def test_unknown_flags_have_the_nearest_known_one() -> None:
    """A misspelling has one, a flag dropped on purpose none; words after it go with it."""
    ours = settings("--vision-dp-when-cp", "--max-token-per-gpu", "9", "--qq", "--working-dir", ".")
    flags = [(u.flag, u.nearest, u.ignored) for u in ours.unknown_flags]
    assert flags == [
        ("--vision-dp-when-cp", None, True),
        ("--max-token-per-gpu", "--max-tokens-per-gpu", False),
        ("--qq", None, False),
        ("--working-dir", None, False),
    ]
    assert not ours.stray


def test_stray_words() -> None:
    """A switch takes nothing; neither does a value option after its one."""
    ours = settings("x", "--colocate", "true", "--lr", "1", "2")
    assert [w.text for w in ours.stray] == ["x", "true", "2"]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["--seed"], "argument --seed: expected one argument"),
        (["--seed", "--lr", "1"], "argument --seed: expected one argument"),
        (["--colocate=1"], "argument --colocate: ignored explicit argument"),
        (["--profile-target"], "argument --profile-target: expected at least one argument"),
        (["--attention-backend", "fa3"], "argument --attention-backend: invalid choice: 'fa3'"),
        (["--resource", "{"], "argument --resource: invalid loads value: '{'"),
        (["--sglang-cuda-graph"], "ambiguous option: --sglang-cuda-graph could match"),
        (["--help"], "--help prints the help and ends"),
    ],
)
def test_problems_are_what_argparse_refuses(argv: list[str], text: str) -> None:
    """Each ends the start; the value is then unknown, never a wrong type."""
    ours = settings(*argv)
    assert ours.problems[0].text.startswith(text)
    assert all(isinstance(s.value, Unknown | bool | float) for s in ours)


def test_replace_sets_and_unsets() -> None:
    """An experiment: other settings stay, the place stays, spellings do not matter."""
    ours = settings("--lr", "x", "--no-offload-train", "--nope", "--sglang-cuda-graph-bs", "1")
    other = ours.replace(
        {"--lr": "3", "--sglang-cuda-graph-bs": "4 5", "--colocate": None},
        unset=["--offload-train", "--nope"],
    )
    assert other.value("--lr") == 3.0
    assert other.value("--sglang-cuda-graph-bs") == [4, 5]
    assert other.on("--colocate") is True
    assert other.value("--offload-train") is None
    assert not other.problems
    assert not other.unknown_flags
    assert ours.problems
    assert other.given("--lr").place == HERE  # type: ignore[union-attr]


def test_a_flag_nobody_has_is_an_error_of_the_caller() -> None:
    """A misspelt flag in a rule or in our code does not pass as absent."""
    with pytest.raises(KeyError, match="--max-token"):
        settings().value("--max-token")


@pytest.mark.parametrize(
    "argv",
    [
        ["--lr", "1"] * 10_000,
        [f"--unheard-of-{i}" for i in range(20_000)],
        [f"--sglang-unheard-of-{i}" for i in range(20_000)],
        ["--eval-prompt-data", *["-1"] * 20_000],
        ["--no-such a", "--colocate"] * 10_000,
        ["--resource", "[" * 100_000, "--seed", "9" * 100_000],
    ],
)
def test_hostile_command_lines_take_seconds_at_most(argv: list[str]) -> None:
    """As many words as a launch may have; deep JSON and long numbers are refused, not fatal."""
    start = time.perf_counter()
    settings(*argv)
    assert time.perf_counter() - start < 4
