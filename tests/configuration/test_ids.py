"""What a configuration says about single rules."""

from __future__ import annotations

import time
from pathlib import Path
from types import MappingProxyType

import pytest

from perf_doctor.configuration.find import Configuration, ConfigurationError
from perf_doctor.configuration.ids import check_ids, ignored_in


def ignoring(folder: Path, **table: tuple[str, ...]) -> Configuration:
    """Return a configuration in a folder that ignores rules in files."""
    values = MappingProxyType({"per-file-ignores": table})
    return Configuration(f"{folder}/perf-doctor.toml", values, "perf-doctor.toml")


@pytest.mark.parametrize(
    ("glob", "script", "matches"),
    [
        ("run.sh", "run.sh", True),
        ("run.sh", "jobs/run.sh", False),
        ("*.sh", "run.sh", True),
        ("*.sh", "jobs/run.sh", False),
        ("jobs/*.sh", "jobs/run.sh", True),
        ("jobs/*", "jobs/text/run.sh", False),
        ("jobs/**", "jobs/text/run.sh", True),
        ("**/run.sh", "run.sh", True),
        ("**/run.sh", "jobs/text/run.sh", True),
        ("jobs/**/r?n-[0-9]b.sh", "jobs/a/b/run-4b.sh", True),
        ("**/text/**/x.sh", "jobs/a/run.sh", False),
        ("*", "../run.sh", False),
    ],
)
def test_a_glob_is_relative_to_the_configurations_folder(
    tmp_path: Path, glob: str, script: str, matches: bool
) -> None:
    folder = tmp_path.resolve() / "tree"
    configuration = ignoring(folder, **{glob: ("R-C01",)})
    assert ignored_in(configuration, str(folder / script)) == (("R-C01",) if matches else ())


def test_several_globs_add_up_without_doubles(tmp_path: Path) -> None:
    table = {"*.sh": ("R-C01", "R-M"), "run*": ("R-M", "R-P")}
    configuration = ignoring(tmp_path.resolve(), **table)
    assert ignored_in(configuration, str(tmp_path / "run.sh")) == ("R-C01", "R-M", "R-P")


def test_no_glob_takes_long(tmp_path: Path) -> None:
    deep = "/".join(["a" * 60] * 60)
    globs = ("/".join(["**", "*"] * 500) + "/x", "/".join(["*a*a*a*a*a*a*a*b"] * 200))
    configuration = ignoring(tmp_path.resolve(), **dict.fromkeys(globs, ("R-M",)))
    started_s = time.process_time()
    assert ignored_in(configuration, str(tmp_path / deep)) == ()
    assert time.process_time() - started_s < 1


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"severity": {"R-M1": "info"}}, "severity: no rule is called 'R-M1'; did you mean R-M01?"),
        ({"severity": {"R-M": "info"}}, "severity: no rule is called 'R-M'"),
        ({"ignore": ("R-Z",)}, "ignore: no rule is called 'R-Z'"),
        ({"per-file-ignores": {"*": ("R-Z\x1b",)}}, "per-file-ignores: no rule is called 'R-Z"),
    ],
)
def test_an_id_that_no_rule_has_is_told(values: dict[str, object], told: str) -> None:
    configuration = Configuration("/t/perf-doctor.toml", values, "perf-doctor.toml")
    with pytest.raises(ConfigurationError) as refused:
        check_ids(configuration, ["R-M01", "R-P05"])
    assert str(refused.value).startswith(f"perf-doctor.toml: {told}")
    assert str(refused.value).isprintable()


def test_ids_that_rules_have_and_their_beginnings_are_in_order() -> None:
    values = {"severity": {"R-M01": "info"}, "ignore": ("R-M",), "per-file-ignores": {"*": ("R",)}}
    check_ids(Configuration("/t/perf-doctor.toml", values, "p"), ["R-M01"])
