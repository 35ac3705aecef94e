"""Decode of rollout engines: measured orderings, and what holds of every engine."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_doctor.estimate.card import card_of
from perf_doctor.estimate.decode import Decoder, accepted_tokens, decoder
from perf_doctor.estimate.decode_spread import decode_uncertainty, prefill_uncertainty
from perf_doctor.estimate.engine import Engine
from perf_doctor.estimate.from_model import shape_of
from perf_doctor.estimate.shape import Shape
from perf_doctor.plan.gpu import find_gpu
from perf_doctor.plan.known_models import from_row, known_row


def shape_named(name: str) -> Shape:
    row = known_row(name)
    assert row is not None
    model = from_row(row, "table")
    assert model is not None
    assert model.vocab_size is not None
    shape = shape_of(model, model.vocab_size)
    assert shape is not None
    return shape


def decode(
    model: str,
    gpu: str,
    *,
    tp: int = 1,
    dp: int = 1,
    draft: float = 1.0,
    ep: int = 1,
    **engine: Any,
) -> Decoder:
    shape = shape_named(model)
    settings = {"graphs": True, "shares": False, **engine}
    served = Engine("rollout", shape, tp, 1, tp // dp, None, **settings)
    card = card_of(find_gpu(gpu))
    assert card is not None
    return decoder(served, shape, card, 256.0, draft, ep)


def speed(model: str, gpu: str, running: float, context: float = 1024, **engine: Any) -> float:
    """Tokens per second of an engine."""
    return running / decode(model, gpu, **engine).per_token(running, context)


# ---------------------------------------------------------------- measured orderings


def test_graphs_matter_most_with_one_request() -> None:
    """SGLang #1401: 7.06 → 9.28 and 7.35 → 8.23 ms at batch 1 (Llama-8B).

    xLLM #713: 2.72 → 4.20 ms at batch 1, 9.11 → 9.85 at 30.
    """
    graphs, eager = (decode("Llama-3.1-8B", "H100", graphs=on) for on in (True, False))
    one = eager.step(1, 512) / graphs.step(1, 512)
    many = eager.step(30, 512) / graphs.step(30, 512)
    assert 1.1 < one < 1.4
    assert 1.02 < many <= one
    assert graphs.step(1, 512) == pytest.approx(7.2e-3, rel=0.1)


def test_a_small_model_without_graphs_waits_for_the_host() -> None:
    """xLLM #713: 28 layers, 0.15 ms each."""
    graphs, eager = (decode("Qwen3-1.7B", "H100", graphs=on) for on in (True, False))
    assert 1.4 < eager.step(1, 512) / graphs.step(1, 512) < 2.5


def test_steps_beyond_the_captured_sizes_run_without_graphs() -> None:
    """More requests than the largest graph."""
    found = decode("Qwen3-8B", "H100")
    assert found.step(257, 512) - found.step(256, 512) > 0.9 * found.gap


@pytest.mark.parametrize(
    ("model", "measured"),
    [
        ("Qwen3-4B", 200.61 / 133.13),
        ("Qwen3-8B", 150.25 / 81.7),
        ("Qwen3-30B-A3B", 155.55 / 137.18),
    ],
)
def test_eight_bit_weights_are_faster(model: str, measured: float) -> None:
    """Qwen's table on H20 at batch 1, FP8 ÷ BF16: 4B, 8B, 30B-A3B."""
    ratio = speed(model, "H20", 1, weight_bytes=1.01) / speed(model, "H20", 1)
    assert ratio == pytest.approx(measured, rel=0.15)


def test_eight_bits_help_a_rollout_on_hopper() -> None:
    """NeMo RL: +12–18 % rollout with 8B on 8 H100, +35 % with 30B-A3B on 16."""
    for model in ("Llama-3.1-8B", "Qwen3-30B-A3B"):
        ratio = speed(model, "H100", 64, 2000, weight_bytes=1.01) / speed(model, "H100", 64, 2000)
        assert 1.08 < ratio < 1.7


@pytest.mark.parametrize("running", [16, 64, 128])
def test_wider_tp_answers_sooner_and_generates_less_per_gpu(running: int) -> None:
    """Aiconfigurator, Qwen3-32B on H100, 1024 in: 15.8, 10.4, 8.0 ms with TP 2, 4, 8 at 16."""
    steps = [decode("Qwen3-32B", "H100", tp=tp).step(running, 1280) for tp in (2, 4, 8)]
    assert steps == sorted(steps, reverse=True)
    per_gpu = [running / step / tp for step, tp in zip(steps, (2, 4, 8), strict=True)]
    assert per_gpu == sorted(per_gpu, reverse=True)
    if running == 16:
        for step, measured in zip(steps, (15.8e-3, 10.4e-3, 8.0e-3), strict=True):
            assert step == pytest.approx(measured, rel=0.15)


def test_speculation_helps_few_requests_on_hopper() -> None:
    """gpustack, 8B on H100: 2.7 × at batch 1, 1.6 × at 8."""
    for running in (1, 8):
        plain = speed("Qwen3-8B", "H100", running)
        assert speed("Qwen3-8B", "H100", running, draft=4.0) > 1.3 * plain


def speculative_gain(gpu: str, running: float, context: float = 1024) -> float:
    """Tokens per second with four verified tokens ÷ without."""
    return speed("MiMo-7B", gpu, running, context, draft=4.0) / speed(
        "MiMo-7B", gpu, running, context
    )


def test_speculation_pays_ever_less_and_on_h20_not_at_all() -> None:
    """verl docs/advance/mtp.md, MiMo-7B on H20: throughput "decreases slightly", elsewhere 50 %.

    H20 multiplies what it verifies no faster than what it accepts; Hopper has products to spare.
    """
    requests = (1, 16, 64, 128, 256, 512)
    h20, h100 = ([speculative_gain(gpu, one) for one in requests] for gpu in ("H20", "H100"))
    for gains in (h20, h100):
        assert gains == sorted(gains, reverse=True)
        assert gains[0] > 1.3
    assert h20[3] < 1.0
    assert h20[4] < 0.95
    assert min(h100) > 1.1


def test_a_half_less_by_speculation_is_beyond_what_is_modelled() -> None:
    """The 50 % of the same page: neither its requests nor its lengths are stated."""
    drafted = decode("MiMo-7B", "H20", draft=4.0)
    slow = decode_uncertainty(drafted, 256, 1024).high
    assert 0.5 < speculative_gain("H20", 256) / slow < 0.8


def test_speculation_reads_a_long_cache_once_for_all_it_verifies() -> None:
    """The longer the context, the more a step is reading, which all drafted tokens share."""
    gains = [speculative_gain("H20", 256, context) for context in (512, 1024, 2048, 4096)]
    assert gains == sorted(gains)


def test_h20_keeps_up_until_products_bound_it() -> None:
    """Bandwidth beyond Hopper's and a seventh of its compute."""
    few, many = (
        speed("Qwen3-32B", "H20", running, tp=4) / speed("Qwen3-32B", "H100", running, tp=4)
        for running in (8, 256)
    )
    assert many < 0.8 * few
    assert few > 0.5


def test_experts_shared_whole_are_unevenly_full() -> None:
    """vLLM, Qwen3-235B with EP 8 on H100: 20.2 ms at 8 requests, 34.7 at 32."""
    whole = decode("Qwen3-235B-A22B", "H100", tp=8, ep=8)
    sliced = decode("Qwen3-235B-A22B", "H100", tp=8)
    assert whole.step(8, 500) > 1.05 * sliced.step(8, 500)
    assert whole.step(8, 500) == pytest.approx(20.2e-3, rel=0.15)
    assert whole.step(32, 500) == pytest.approx(34.7e-3, rel=0.15)
    assert whole.covered(1e6) == 1.0


def test_latent_caches_are_shared_out_by_dp_attention() -> None:
    """TP keeps a latent cache on every rank; many long contexts read it eight times."""
    whole = decode("DeepSeek-V3", "H200", tp=8, weight_bytes=1.01)
    apart = decode("DeepSeek-V3", "H200", tp=8, dp=8, weight_bytes=1.01)
    assert apart.step(256, 16000) < 0.8 * whole.step(256, 16000)
    assert apart.step(1, 1000) > whole.step(1, 1000)


def test_states_of_linear_attention_do_not_grow_with_context() -> None:
    """Qwen3.6-27B keeps KV in a quarter of its layers."""
    linear, full = decode("Qwen3.6-27B", "H200"), decode("Qwen3-32B", "H200")
    assert linear.step(32, 32000) - linear.step(32, 1000) < 0.5 * (
        full.step(32, 32000) - full.step(32, 1000)
    )
    assert linear.sequence > full.sequence


# ---------------------------------------------------------------- properties

MODELS = ("Qwen3-8B", "Qwen3-30B-A3B", "DeepSeek-V3", "Qwen3.6-35B-A3B")
CARDS = ("A100-80GB", "H100", "H20", "B200")


@given(
    model=st.sampled_from(MODELS),
    gpu=st.sampled_from(CARDS),
    few=st.floats(1, 256),
    more=st.floats(1.05, 8),
    context=st.floats(64, 32000),
)
def test_more_requests_take_longer_and_generate_more(
    model: str, gpu: str, few: float, more: float, context: float
) -> None:
    found = decode(model, gpu, tp=4)
    found = found._replace(graph_limit=1e9)
    first, second = found.step(few, context), found.step(few * more, context)
    assert first <= second < more * first


@given(
    model=st.sampled_from(MODELS),
    gpu=st.sampled_from(CARDS),
    running=st.floats(1, 512),
    draft=st.sampled_from([1.0, 4.0]),
)
def test_what_a_step_may_be_spans_what_is_expected(
    model: str, gpu: str, running: float, draft: float
) -> None:
    found = decode(model, gpu, tp=4, draft=draft)
    for ratio in (decode_uncertainty(found, running, 2000), prefill_uncertainty(found)):
        assert 0.2 < ratio.low < 0.98
        assert ratio.expected == pytest.approx(1.0)
        assert 1.02 < ratio.high < 6


def test_speculation_and_h20_are_less_certain() -> None:
    def width(found: Decoder) -> float:
        ratio = decode_uncertainty(found, 16, 2000)
        return ratio.high / ratio.low

    plain = width(decode("Qwen3-8B", "H100"))
    assert width(decode("Qwen3-8B", "H100", draft=4.0)) > 1.2 * plain
    assert width(decode("Qwen3-8B", "H20")) > 1.1 * plain


def test_accepted_tokens_grow_ever_more_slowly() -> None:
    """MTP with three steps: 2–3.3 (rollout-formulas 2)."""
    assert accepted_tokens(1) == 1
    assert accepted_tokens(2) < 2
    assert 2 < accepted_tokens(4) < 3.3
    assert accepted_tokens(8) - accepted_tokens(4) < accepted_tokens(4) - accepted_tokens(1)


def test_a_step_costs_next_to_nothing_to_estimate() -> None:
    """A plan asks for some twenty."""
    found = decode("Qwen3-235B-A22B", "H20", tp=8)
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for running in range(20):
            found.per_token(running + 1.0, 2000.0)
        best = min(best, time.perf_counter() - start)
    assert best < 200e-6
