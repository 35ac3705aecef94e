"""Whose word counts, and how that is shown."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from perf_doctor.cli.arguments import diagnose_parser
from perf_doctor.configuration.find import Configuration
from perf_doctor.configuration.keys import KEYS, Key
from perf_doctor.configuration.merge import Chosen, merged, settings_lines


def configuration(**values: object) -> Configuration:
    """Return a configuration that says this, with _ for -."""
    named = {name.replace("_", "-"): value for name, value in values.items()}
    return Configuration("/tree/perf-doctor.toml", MappingProxyType(named), "perf-doctor.toml")


def given(*words: str) -> dict[str, object]:
    """Return the options as the command line's parser keeps them."""
    return vars(diagnose_parser().parse_args(["run.sh", *words]))


def test_the_command_line_comes_before_the_file_and_the_file_before_the_default() -> None:
    settings = merged(given("--gpu", "H20"), configuration(gpu="H800", host_ram=1024, all=True))
    assert settings["gpu"] == Chosen("H20", "command line")
    assert settings["host-ram"] == Chosen(1024, "perf-doctor.toml")
    assert settings["all"] == Chosen(True, "perf-doctor.toml")
    assert settings["lang"] == Chosen("en", "default")
    assert settings["gpus-per-node"] == Chosen(None, "default")


def test_every_key_is_there_with_and_without_a_file() -> None:
    for file in (None, configuration()):
        settings = merged({}, file)
        assert list(settings) == [key.name for key in KEYS]
        assert {chosen.origin for chosen in settings.values()} == {"default"}


def test_lists_of_the_command_line_replace_those_of_the_file() -> None:
    file = configuration(select=("R-M",), ignore=("R-C01",), rules=("/tree/own.md",))
    settings = merged(given("--select", "r-p01,r-p02", "--select", "r-x"), file)
    assert settings["select"] == Chosen(("R-P01", "R-P02", "R-X"), "command line")
    assert settings["ignore"] == Chosen(("R-C01",), "perf-doctor.toml")
    settings = merged(given("--rules", "a.md", "--rules", "b.md"), file)
    assert settings["rules"] == Chosen(("a.md", "b.md"), "command line")


def test_an_empty_list_on_the_command_line_takes_back_what_the_file_ignores() -> None:
    settings = merged(given("--ignore", ""), configuration(ignore=("R-C01",)))
    assert settings["ignore"] == Chosen((), "command line")


def test_a_setting_is_shown_with_its_origin_and_is_inert() -> None:
    file = configuration(
        gpu="H800",
        model_config_dir="/tree/\x1b[2J\n",
        severity={"R-M01": "info"},
        per_file_ignores={"a/*.sh": ("R-C01", "R-M")},
        all=True,
    )
    lines = list(settings_lines(merged(given("--host-ram", "512"), file)))
    assert len(lines) == len(KEYS)
    assert all(line.isprintable() for line in lines)
    assert "gpu = H800  ← perf-doctor.toml" in lines
    assert "host-ram = 512.0  ← command line" in lines
    assert "model-config-dir = /tree/\\x1b[2J\\n  ← perf-doctor.toml" in lines
    assert "severity = R-M01: info  ← perf-doctor.toml" in lines
    assert "per-file-ignores = a/*.sh: R-C01 R-M  ← perf-doctor.toml" in lines
    assert "all = true  ← perf-doctor.toml" in lines
    assert "prompt-len = (not given)  ← default" in lines
    assert "ignore = (none)  ← default" in lines


@pytest.mark.parametrize("key", [key for key in KEYS if key.most], ids=lambda key: key.name)
def test_the_file_and_the_command_line_have_the_same_bounds(key: Key) -> None:
    name, least, most = key.name, key.least, key.most
    parser = diagnose_parser()
    for bound in (least, most):
        kept = vars(parser.parse_args(["run.sh", f"--{name}", f"{bound}"]))
        assert kept[key.destination] == bound
    for beyond in (least - 0.001 if least < 1 else 0, most + 1):
        with pytest.raises(SystemExit):
            parser.parse_args(["run.sh", f"--{name}", f"{beyond}"])
