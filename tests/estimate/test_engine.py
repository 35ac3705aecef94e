"""Engines: logged weights and caches, and shares that cannot hold what they must."""

import pytest
from estimate_jobs import DENSE, HYBRID
from test_parameters import shape_by_name

from perf_doctor.estimate.constants import GIB
from perf_doctor.estimate.engine import (
    Engine,
    engine_memory,
    kv_bytes_per_token,
    state_bytes_per_request,
    weight_bytes,
)
from perf_doctor.estimate.interval import exactly


def engine_of(shape, *, tp=1, fraction=0.8, **about):
    return Engine("rollout", shape, tp, 1, about.pop("attention_tp", tp), fraction,
                  graphs=True, shares=False, **about)  # fmt: skip


def test_weights_and_cache_are_those_of_a_logged_engine():
    """sglang#18263: Qwen3-30B-A3B at TP 1 logs 56.98 GiB and 1,669,816 tokens in 2 × 76.44 GiB."""
    shape = shape_by_name("Qwen3-30B-A3B")
    engine = engine_of(shape)
    assert weight_bytes(engine, shape) / GIB == pytest.approx(56.98, rel=0.005)
    pool = 1_669_816 * kv_bytes_per_token(engine, shape) / GIB
    assert pool == pytest.approx(2 * 76.44, rel=0.001)


def test_hybrids_pay_a_state_per_request_and_little_cache():
    """35B-A3B: 20,480 bytes per token, 64.4 MB of fp32 state per request at TP 1."""
    shape = shape_by_name("Qwen3.5-35B-A3B")
    engine = engine_of(shape)
    assert kv_bytes_per_token(engine, shape) == 20480
    assert state_bytes_per_request(engine, shape) / 1e6 == pytest.approx(64.4, abs=0.1)


def test_key_value_heads_are_copied_when_tp_exceeds_them():
    at_four, at_eight = engine_of(DENSE, tp=4), engine_of(DENSE, tp=8)
    assert kv_bytes_per_token(at_four, DENSE) == kv_bytes_per_token(at_eight, DENSE)


def test_pools_share_what_the_weights_leave():
    engine = engine_of(HYBRID)
    memory = engine_memory(engine, HYBRID, exactly(80 * GIB))
    rest = memory.static.expected - memory.weights
    assert memory.state.expected == pytest.approx(rest * 0.9 / 1.9)
    assert memory.kv.expected + memory.state.expected == pytest.approx(rest)
    assert memory.short is False


def test_a_share_below_the_weights_is_short_and_holds_no_token():
    shape = shape_by_name("Qwen3-30B-A3B")
    memory = engine_memory(engine_of(shape, fraction=0.5), shape, exactly(95 * GIB))
    assert memory.short is True
    assert memory.kv_tokens.high == 0


def test_attention_data_parallel_holds_more_weights():
    shape = shape_by_name("Qwen3-30B-A3B")
    plain = weight_bytes(engine_of(shape, tp=8), shape)
    assert weight_bytes(engine_of(shape, tp=8, attention_tp=1), shape) > plain


def test_a_limit_on_tokens_limits_the_cache():
    memory = engine_memory(engine_of(DENSE, max_total_tokens=1000), DENSE, exactly(80 * GIB))
    assert memory.kv_tokens.expected == 1000
