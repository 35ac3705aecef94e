"""A project's configuration, from the file to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from perf_doctor.cli import main

LAUNCH = (
    "ray job submit -- python3 -m relax.entrypoints.train --colocate --no-such-option 1"
    " --actor-num-nodes 1 --actor-num-gpus-per-node 8\n"
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with two scripts, each of which passes an option that nobody knows."""
    (tmp_path / "scripts" / "old").mkdir(parents=True)
    for name in ("scripts/run.sh", "scripts/old/run.sh"):
        (tmp_path / name).write_text(LAUNCH)
    return tmp_path


def configure(tree: Path, text: str) -> None:
    (tree / "perf-doctor.toml").write_text(text)


def told(capsys: Capture, *words: object) -> tuple[int, str, str]:
    """Return the exit code, the report and what stands on standard error."""
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_report_goes_by_the_file_above_its_script(tree: Path, capsys: Capture) -> None:
    configure(tree, 'gpu = "H800"\nnetwork = 50\nfail-on = "never"\n')
    code, out, err = told(capsys, tree / "scripts" / "run.sh")
    assert code == 0
    assert "GPU=H800 80GB ·" in f"{out.splitlines()[2]} ·"
    assert "perf-doctor.toml decides what is told (fail-on)" in err


def test_the_command_line_comes_first(tree: Path, capsys: Capture) -> None:
    configure(tree, 'gpu = "H800"\nfail-on = "never"\n')
    code, out, _ = told(capsys, tree / "scripts/run.sh", "--gpu", "H100", "--fail-on", "critical")
    assert code == 1
    assert "GPU=H100" in out


def test_rules_are_ignored_in_the_files_that_are_named(tree: Path, capsys: Capture) -> None:
    configure(tree, '[per-file-ignores]\n"scripts/old/**" = ["R-C01"]\n')
    assert "R-C01" in told(capsys, tree / "scripts/run.sh")[1]
    assert "R-C01" not in told(capsys, tree / "scripts/old/run.sh")[1]


def test_a_rule_is_as_severe_as_is_asked_for_unless_the_job_cannot_start(
    tree: Path, capsys: Capture
) -> None:
    configure(tree, '[severity]\nR-C46 = "info"\nR-P11 = "warn"\n')
    report = told(capsys, tree / "scripts/run.sh")[1]
    assert "### [CRITICAL] R-C46" in report
    assert "### [WARN] R-P11" in report


def test_an_untrusted_tree_decides_nothing(tree: Path, capsys: Capture) -> None:
    configure(tree, 'gpu = "H800"\nignore = ["R"]\nfail-on = "never"\n')
    script = tree / "scripts/run.sh"
    script.write_text(f"# perf-doctor: ignore[R-C01] we want it so\n{LAUNCH}")
    code, out, err = told(capsys, script, "--untrusted")
    assert code == 1
    assert "R-C01" in out
    assert "H20" in out
    assert "perf-doctor.toml" not in err
    assert "suppresse" not in f"{out}{err}"


def test_a_wrong_key_is_one_line_and_other_trees_are_still_diagnosed(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Capture
) -> None:
    configure(tree, 'gpuu = "H800"\n')
    other = tmp_path_factory.mktemp("other") / "run.sh"
    other.write_text(LAUNCH)
    code, out, err = told(capsys, tree / "scripts/run.sh", tree / "scripts/old/run.sh", other)
    assert code == 2
    assert err.count("did you mean gpu?") == 1
    assert out.count("# perf-doctor: ") == 1


def test_a_rule_that_nobody_has_is_told_with_the_nearest(tree: Path, capsys: Capture) -> None:
    configure(tree, 'ignore = ["R-C01", "R-C999"]\n')
    code, out, err = told(capsys, tree / "scripts/run.sh")
    assert (code, out) == (2, "")
    assert "ignore: no rule is called 'R-C999'; did you mean R-C" in err


def test_settings_are_shown_with_their_origin_and_nothing_is_diagnosed(
    tree: Path, capsys: Capture
) -> None:
    configure(tree, "host-ram = 2048\n")
    code, out, err = told(capsys, tree / "scripts", "--show-settings", "--gpu", "H800")
    assert (code, err) == (0, "")
    assert out.count("  gpu = H800  ← command line\n") == 2
    assert out.count(f"  host-ram = 2048  ← {tree}/perf-doctor.toml\n") == 2
    assert out.count("  fail-on = critical  ← default\n") == 2


def test_a_file_can_be_named_instead_of_found(tree: Path, tmp_path: Path, capsys: Capture) -> None:
    configure(tree, 'gpu = "H800"\n')
    named = tmp_path / "else.toml"
    named.write_text('gpu = "H100"\n')
    assert "GPU=H100" in told(capsys, tree / "scripts/run.sh", "--config", named)[1]
    code, _, err = told(capsys, tree / "scripts/run.sh", "--config", tree / "none.toml")
    assert code == 2
    assert "none.toml: does not exist" in err


def test_known_good_configurations_of_the_project_are_read(tree: Path, capsys: Capture) -> None:
    configure(tree, 'baselines = ["ours.md"]\n')
    (tree / "ours.md").write_text("### Ours\n\nno field\n")
    code, out, err = told(capsys, tree / "scripts/run.sh")
    assert (code, out) == (2, "")
    assert "ours.md:3" in err


@pytest.mark.parametrize("command", ["estimate", "show"])
def test_every_command_goes_by_it(command: str, tree: Path, capsys: Capture) -> None:
    configure(tree, 'gpuu = "H800"\n')
    assert told(capsys, command, tree / "scripts/run.sh")[0] == 2
