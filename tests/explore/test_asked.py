"""Changes as a person asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf_doctor.diagnosis import Doctor
from perf_doctor.explore.asked import Asked, ChangeError, read_changes
from perf_doctor.launch.settings import Settings

SCRIPT = (
    Path(__file__).parents[2] / "examples/scripts/training/text/run-qwen36-35B-A3B-16xgpu-async.sh"
)


@pytest.fixture(scope="module")
def launch() -> Settings:
    return Doctor().diagnose(str(SCRIPT)).job.settings


def asked(launch: Settings, *to_set: str, unset: tuple[str, ...] = ()) -> Asked:
    return read_changes(to_set, unset, launch)


@pytest.mark.parametrize(
    ("text", "flag", "value"),
    [
        ("--context-parallel-size 2", "--context-parallel-size", 2),
        ("--context-parallel-size=2", "--context-parallel-size", 2),
        ("--no-rope-fusion", "--no-rope-fusion", True),
        ("--sglang-cuda-graph-bs 1 2 4", "--sglang-cuda-graph-bs", [1, 2, 4]),
        ("--offload-modules 'a b' c", "--offload-modules", ["a b", "c"]),
        ("""--resource '{"actor": [1, 8]}'""", "--resource", {"actor": [1, 8]}),
        ("--hf-checkpoint '/a path/$HOME'", "--hf-checkpoint", "/a path/$HOME"),
        ("--min-lr -0.5", "--min-lr", -0.5),
    ],
)
def test_a_change_is_read_as_the_trainer_reads_it(
    launch: Settings, text: str, flag: str, value: object
) -> None:
    changed = asked(launch, text).to(launch)
    setting = changed.given(flag)
    assert setting is not None
    assert setting.value == value
    assert len([one for one in changed if one.option.dest == setting.option.dest]) == 1


def test_several_flags_may_stand_in_one_text_and_the_last_one_wins(launch: Settings) -> None:
    several = asked(launch, "--fp16 --lr 1e-5", "--lr 2e-5")
    assert several.changes.set == {"--fp16": True, "--lr": "2e-5"}
    assert several.to(launch).value("--lr") == 2e-5


def test_what_is_changed_stands_where_it_stood(launch: Settings) -> None:
    before = launch.given("--max-tokens-per-gpu")
    after = asked(launch, "--max-tokens-per-gpu 512").to(launch).given("--max-tokens-per-gpu")
    assert before is not None
    assert after is not None
    assert (after.place, after.group) == (before.place, before.group)


def test_a_flag_that_no_parser_knows_can_be_removed_but_not_set(launch: Settings) -> None:
    [misspelt] = launch.unknown_flags
    assert asked(launch, unset=(misspelt.flag,)).to(launch).unknown_flags == ()
    with pytest.raises(ChangeError, match="did you mean --overlap-cpu-optimizer-d2h-h2d"):
        asked(launch, misspelt.flag)


@pytest.mark.parametrize(
    ("to_set", "unset", "told"),
    [
        ([], [], "nothing to change"),
        (["x"], [], "begins with a flag"),
        ([""], [], "not nothing"),
        (["--a 'b"], [], "no closing quotation"),
        (["--context-paralel-size 1"], [], "did you mean --context-parallel-size?"),
        (["--context-parallel-size abc"], [], "invalid int value: 'abc'"),
        (["--context-parallel-size"], [], "expected one argument"),
        (["--context-parallel-size 1 2"], [], "no option takes '2'"),
        (["--colocate=1"], [], "ignored explicit argument"),
        (["--optimizer nonsense"], [], "invalid choice"),
        (["--resource {}x"], [], "quotes within quotes keep JSON whole"),
        (["--working-dir x"], [], "no parser of the trainer knows --working-dir"),
        (["--help"], [], "--help prints the help and ends"),
        ([], ["colocate"], "by its name alone"),
        ([], [""], "not by nothing"),
        ([], ["--lr 1"], "by its name alone, not '1'"),
        ([], ["--colocat"], "did you mean --colocate?"),
        (["--colocate"], ["--colocate"], "to be set and to be removed"),
        (["--rope-fusion"], ["--no-rope-fusion"], "knows --rope-fusion"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    launch: Settings, to_set: list[str], unset: list[str], told: str
) -> None:
    with pytest.raises(ChangeError) as caught:
        read_changes(to_set, unset, launch)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_shows_no_secret(launch: Settings) -> None:
    with pytest.raises(ChangeError) as caught:
        asked(launch, "--wandb-key s3cr3tv4lue s3cr3tv4lue")
    assert "s3cr3t" not in str(caught.value)
