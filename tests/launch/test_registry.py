"""The registry holds every option of the facts it is built from, and loads fast."""

from __future__ import annotations

import time

import pytest

from perf_doctor.launch.registry import option_source, registry


def test_every_row_reads_well() -> None:
    """Kinds, aliases and negations are consistent."""
    for flag in registry():
        option = registry().get(flag)
        assert option
        assert option.flag == flag
        assert set(option.off_flags) <= {flag, *option.aliases}
        for alias in option.aliases:
            assert registry().get(alias) == option
        assert option.kind in ("switch", "int", "float", "str", "json", "bool")
        assert option_source(flag)[0]


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [
        ("--max-tokens-per-gpus", "--max-tokens-per-gpu"),
        ("--no_rope_fusion", "--no-rope-fusion"),
        ("--teacher-sglang-mem-fraction-sttic", "--teacher-sglang-mem-fraction-static"),
        ("--colocated", "--colocate"),
        ("--vision-dp-when-cp", None),
        ("--use-gated-attention", None),
        ("--foo", None),
        ("--my-own-plugin-option", None),
    ],
)
def test_nearest(flag: str, nearest: str | None) -> None:
    """A misspelling has a nearest option, anything else none."""
    assert registry().nearest(flag) == nearest


def test_mirrors() -> None:
    """Teacher engines have no defaults; both router prefixes share a destination."""
    teacher = registry().get("--teacher-sglang-disable-cuda-graph")
    assert teacher
    assert (teacher.owner, teacher.default) == ("teacher", None)
    assert teacher.dest == "teacher_sglang_disable_cuda_graph"
    router = registry().get("--sglang-router-cache-threshold")
    assert router
    assert router.dest == "router_cache_threshold"
    assert registry().get("--teacher-sglang-router-ip") is None


def test_loads_in_milliseconds() -> None:
    """The plain command pays for it at every start."""
    from perf_doctor.data import table
    from perf_doctor.launch.registry import Registry

    best = 1.0
    for _ in range(5):
        table.cache_clear()
        start = time.perf_counter()
        Registry(table("flags")["options"])
        best = min(best, time.perf_counter() - start)
    assert best < 0.02
