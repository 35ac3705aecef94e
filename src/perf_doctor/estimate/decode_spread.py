"""How far a decode step may lie from what is expected, from the ranges of its efficiencies."""

from __future__ import annotations

from perf_doctor.estimate import decode_efficiencies as of
from perf_doctor.estimate.decode import Decoder, accepted_tokens
from perf_doctor.estimate.decode_rates import decode_ranges
from perf_doctor.estimate.interval import Interval, excess, independent_sum, larger


def decode_uncertainty(
    decode: Decoder, running: float, context: float, sequence_s: Interval = of.DECODE_SEQUENCE_S
) -> Interval:
    """Return seconds per token ÷ those expected, as a range about 1.

    Every term of the step errs on its own within the range of its efficiency, and the whole by
    what is not modelled; with speculation the accepted tokens err too. ``sequence_s``: range of
    what a running request costs the engine's host.
    """
    ranges, tokens = decode_ranges(decode.family), running * decode.draft
    layer = ranges["expert_layer_s" if decode.experts else "layer_s"]
    terms = [
        _slower(decode.launch, layer),
        _slower(decode.collective, ranges["all_reduce_s"]),
        _slower(running * decode.sequence, sequence_s),
        _cached(decode, running * context, ranges),
        _faster(tokens * decode.link, ranges["link"]),
        _dense(decode, tokens, ranges),
    ]
    if decode.experts:
        terms += [
            _faster(decode.experts * decode.covered(tokens), ranges["expert_read"]),
            _faster(tokens * decode.expert_product, ranges["compute"]),
        ]
    if running > decode.graph_limit:
        terms.append(_slower(decode.gap, ranges["eager_gap_s"]))
    whole = independent_sum(*terms)
    if running > decode.graph_limit:
        whole = larger(whole, _slower(decode.host, ranges["eager_host_s"]))
    step = independent_sum(whole * (1 / whole.expected), excess(of.DECODE_UNMODELLED, 1.0))
    if decode.draft <= 1:
        return step
    return independent_sum(step, _accepted(decode))


def prefill_uncertainty(decode: Decoder) -> Interval:
    """Return seconds of prefill ÷ those expected, as a range about 1."""
    ranges = decode_ranges(decode.family)
    rate = ranges["prefill_experts" if decode.experts else "prefill"]
    return _faster(1.0, rate)


def _slower(seconds: float, each: Interval) -> Interval:
    """Seconds that grow with a time."""
    return each * (seconds / each.expected)


def _faster(seconds: float, rate: Interval) -> Interval:
    """Seconds that shrink as a rate grows."""
    expected = rate.expected * seconds
    return Interval(expected / rate.high, seconds, expected / rate.low)


def _cached(decode: Decoder, tokens: float, ranges: dict[str, Interval]) -> Interval:
    """Reading the KV cache, or multiplying tiles of which queries fill a part."""
    seconds = tokens * decode.context
    if decode.tiled:
        return _slower(seconds, ranges["attention_rows"])
    return _faster(seconds, ranges["kv"])


def _dense(decode: Decoder, tokens: float, ranges: dict[str, Interval]) -> Interval:
    """Reading and multiplying what every token meets, or a product of the fewest rows."""
    read = _faster(decode.dense, ranges["weights"])
    whole = independent_sum(read, _faster(tokens * decode.product, ranges["compute"]))
    if decode.least <= whole.expected:
        return whole
    least = _faster(decode.least, ranges["rows"])
    return Interval(max(whole.low, least.low), least.expected, max(whole.high, least.high))


def _accepted(decode: Decoder) -> Interval:
    """What accepted tokens add to 1 and take from it."""
    few, many = (
        accepted_tokens(decode.draft, share) for share in (of.ACCEPTANCE.low, of.ACCEPTANCE.high)
    )
    return Interval(decode.accepted / many - 1, 0.0, decode.accepted / few - 1)
