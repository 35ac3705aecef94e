"""Which configuration file goes with a script, and what it may hold."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perf_doctor.configuration.find import ConfigurationError, find, read
from perf_doctor.shell.limits import MAX_FILE_BYTES

TABLE = "[tool.perf-doctor]\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with a script two folders deep, entered at its top."""
    root = tmp_path / "tree"
    (root / ".git").mkdir(parents=True)
    (root / "jobs" / "text").mkdir(parents=True)
    (root / "jobs" / "text" / "run.sh").write_text("")
    monkeypatch.chdir(root)
    return root


def found(tree: Path) -> str | None:
    """Return the file found for the tree's script, as seen from its top."""
    file = find("jobs/text/run.sh")
    return None if file is None else os.path.relpath(file, tree)


def refusal(text: str, name: str = "perf-doctor.toml") -> str:
    """Return why a file with this text is not followed."""
    Path(name).write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read(name)
    message = str(refused.value)
    assert message.isprintable(), "a complaint is one line of plain text"
    return message


def test_the_nearest_file_wins_and_the_own_one_before_the_shared_one(tree: Path) -> None:
    assert found(tree) is None
    (tree / "pyproject.toml").write_text(TABLE)
    assert found(tree) == "pyproject.toml"
    (tree / "perf-doctor.toml").write_text("")
    assert found(tree) == "perf-doctor.toml"
    (tree / "jobs" / "pyproject.toml").write_text(TABLE)
    assert found(tree) == "jobs/pyproject.toml"


def test_nothing_above_the_tree_is_read(tree: Path) -> None:
    (tree.parent / "perf-doctor.toml").write_text("")
    assert found(tree) is None


def test_a_pyproject_counts_only_with_a_table_for_perf_doctor(tree: Path) -> None:
    (tree / "perf-doctor.toml").write_text("")
    for text in ("", "this is { not TOML", "[tool.perf-doctor-more]\n", f"# {TABLE}"):
        (tree / "jobs" / "pyproject.toml").write_text(text)
        assert found(tree) == "perf-doctor.toml", text
    for text in (TABLE, "[tool.perf-doctor.severity]\n", "[ tool.perf-doctor ]\n"):
        (tree / "jobs" / "pyproject.toml").write_text(text)
        assert found(tree) == "jobs/pyproject.toml", text


def test_standard_input_has_the_configuration_of_the_working_folder(tree: Path) -> None:
    (tree / "perf-doctor.toml").write_text("")
    assert find("<stdin>") == str(tree / "perf-doctor.toml")


def test_a_run_without_a_configuration_imports_no_toml(tree: Path) -> None:
    (tree / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    lines = (
        "import sys",
        "from perf_doctor.configuration.find import find",
        "from perf_doctor.configuration.merge import merged",
        "merged({}, find('jobs/text/run.sh'))",
        "assert 'tomllib' not in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_every_kind_of_value_is_read_and_both_files_say_the_same(tree: Path) -> None:
    text = """
gpu = "H800"
gpus-per-node = 4
host-ram = 1024.5
model-config-dir = "models"
response-len-sigma = 0.8
select = ["r-m", "R-P01"]
ignore = []
fail-on = "warn"
rules = ["rules/own.md"]
lang = "zh"
all = true
PREFIX.severity
r-m01 = "info"
PREFIX.per-file-ignores
"jobs/*.sh" = ["r-c01"]
"""
    (tree / "perf-doctor.toml").write_text(
        text.replace("PREFIX.severity", "[severity]").replace(
            "PREFIX.per-file-ignores", "[per-file-ignores]"
        )
    )
    (tree / "pyproject.toml").write_text(
        TABLE
        + text.replace("PREFIX.severity", "[tool.perf-doctor.severity]").replace(
            "PREFIX.per-file-ignores", "[tool.perf-doctor.per-file-ignores]"
        )
    )
    own, shared = read("perf-doctor.toml"), read("pyproject.toml")
    assert own.values == shared.values
    assert own.values == {
        "gpu": "H800",
        "gpus-per-node": 4,
        "host-ram": 1024.5,
        "model-config-dir": str(tree / "models"),
        "response-len-sigma": 0.8,
        "select": ("R-M", "R-P01"),
        "ignore": (),
        "fail-on": "warn",
        "rules": (str(tree / "rules" / "own.md"),),
        "lang": "zh",
        "all": True,
        "severity": {"R-M01": "info"},
        "per-file-ignores": {"jobs/*.sh": ("R-C01",)},
    }
    assert (own.file, own.origin) == (str(tree / "perf-doctor.toml"), "perf-doctor.toml")


def test_an_unknown_key_is_told_with_the_nearest_one(tree: Path) -> None:
    assert refusal("gpus-per-nod = 8") == (
        "perf-doctor.toml: 'gpus-per-nod' is no key of perf-doctor; did you mean gpus-per-node?"
    )
    assert "did you mean" not in refusal("wholly-other = 8")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("gpus-per-node = 0", "gpus-per-node: must be a whole number from 1 to 1,000,000 GPUs"),
        ("gpus-per-node = 8.0", "gpus-per-node: must be a whole number"),
        ("gpus-per-node = true", "gpus-per-node: must be a whole number"),
        ("host-ram = nan", "host-ram: must be a number from 1 to 1,000,000 GB, not nan"),
        ("host-ram = '1TB'", "not '1TB'"),
        ("response-len-sigma = 4", "response-len-sigma: must be a number from 0.01 to 3, not 4"),
        ("mean-response-len = 1e8", "from 1 to 10,000,000 tokens"),
        ("prompt-len = inf", "from 1 to 10,000,000 tokens, not inf"),
        (f"gpus-per-node = 0x{'f' * 9000}", "not what is too large to quote"),
        ("gpu = 'H8000'", "gpu: 'H8000' is not a known card: did you mean"),
        ("gpu = ['H800']", "gpu: must be text"),
        ("select = 'R-M01'", "select: must be a list of rule ids"),
        ("ignore = [1]", "ignore: must be text, not 1"),
        ("all = 1", "all: must be true or false, not 1"),
        ("fail-on = 'warning'", "fail-on: must be one of critical, warn, info, never, not 'warni"),
        ("fail-on = 'warning'", "did you mean warn?"),
        ("severity.R-M01 = 'never'", "severity: 'R-M01': must be one of critical, warn, info,"),
        ("severity = 'warn'", "severity: must be a table of rule ids with their severity"),
        ("per-file-ignores.x = 'R-M01'", "per-file-ignores: 'x': must be a list of rule ids"),
        ("lang = 'fr'", "lang: must be one of en, zh, not 'fr'"),
        (r"model-config-dir = 'a' '", "is not TOML: "),
        (r'model-config-dir = "a\u0000b"', "or holds a NUL"),
        (f"model-config-dir = '{'a' * 5000}'", "is longer than 4096 characters"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(tree: Path, line: str, told: str) -> None:
    message = refusal(line)
    assert message.startswith("perf-doctor.toml: ")
    assert told in message
    assert len(message) < 250


def test_text_of_the_file_reaches_no_terminal_as_a_command(tree: Path) -> None:
    for line in (r'"\u001b[2Jx\ngpu" = 1', r'gpu = "\u001b]0;x\u0007"', r'ignore = ["\u202e", 1]'):
        assert "\x1b" not in refusal(line)


@pytest.mark.parametrize("path", ["../own.md", "/etc/passwd", "jobs/../../tree2/own.md", "out/x"])
def test_no_path_of_the_file_leads_out_of_the_tree(tree: Path, path: str) -> None:
    (tree / "out").symlink_to("/etc")
    (tree.parent / "tree2").mkdir()
    for line in (f"rules = ['{path}']", f"model-config-dir = '{path}'"):
        assert refusal(line).endswith("lies outside the tree of the script")


def test_paths_count_from_the_files_folder_and_may_climb_inside_the_tree(tree: Path) -> None:
    (tree / "jobs" / "perf-doctor.toml").write_text("rules = ['../own.md']")
    assert read("jobs/perf-doctor.toml").values == {"rules": (str(tree / "own.md"),)}


def test_a_pyproject_that_is_no_toml_is_told_when_it_has_the_table(tree: Path) -> None:
    assert refusal(f"{TABLE}gpu = \n", "pyproject.toml").startswith("pyproject.toml: is not TOML: ")
    assert "perf-doctor: must be a table" in refusal("[[tool.perf-doctor]]", "pyproject.toml")
    assert "tool: must be a table" in refusal("tool = 1", "pyproject.toml")


def test_a_huge_file_is_refused_and_not_passed_over(tree: Path) -> None:
    (tree / "pyproject.toml").write_text(TABLE + "#" * MAX_FILE_BYTES)
    with pytest.raises(ConfigurationError, match=r"^pyproject.toml: is larger than 1024 KiB$"):
        found(tree)
    assert "is larger than 1024 KiB" in refusal("#" * (MAX_FILE_BYTES + 1))
    assert "is longer than 131,072 characters" in refusal("#" * (1 << 17) + "\n")


def test_what_would_take_a_parser_long_is_refused_at_once(tree: Path) -> None:
    started_s = time.process_time()
    assert "line 2 holds more than 100 dots" in refusal("#\n" + "a." * 50_000 + "b = 1")
    assert "line 1 holds more than" in refusal('"\u2028"' + '."\u2028"' * 20_000 + " = 1")
    assert "is nested too deep" in refusal("a = " + "[" * 100_000)
    assert "is not TOML" in refusal("gpus-per-node = " + "9" * 100_000)
    assert time.process_time() - started_s < 1


def test_links_pipes_and_folders_are_not_followed(tree: Path) -> None:
    secret = tree.parent / "secret.toml"
    secret.write_text("gpu = 'the secret'")
    own = tree / "jobs" / "perf-doctor.toml"
    own.symlink_to(secret)
    with pytest.raises(ConfigurationError, match="is a link, which is not followed"):
        read(find("jobs/text/run.sh") or "")
    own.unlink()
    os.mkfifo(own)
    with pytest.raises(ConfigurationError, match="is not a regular file"):
        read(find("jobs/text/run.sh") or "")
    own.unlink()
    (tree / "jobs" / "pyproject.toml").symlink_to(secret)
    secret.write_text(TABLE)
    assert found(tree) is None
