"""Tokens per second of an engine under load: decode steps, and the prefill between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from perf_doctor.estimate.constants import GIB
from perf_doctor.estimate.decode import Decoder, decoder_of
from perf_doctor.estimate.decode_efficiencies import DECODE_SEQUENCE_S
from perf_doctor.estimate.decode_rates import DecodeRates, decode_rates
from perf_doctor.estimate.decode_spread import decode_uncertainty, prefill_uncertainty
from perf_doctor.estimate.engine import engine_memory
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.validation.constants import VLLM_SEQUENCE_S
from perf_doctor.validation.decode import (
    Served,
    apart,
    decode_point,
    is_about_decode,
    is_judged,
    plain_point,
)
from perf_doctor.validation.judged import Judged, judge_each, row_of
from perf_doctor.validation.run import Point

# A burst's requests in flight and the time it takes depend on each other: rounds until they agree.
_ROUNDS = 8


class _Cycle(NamedTuple):
    """Seconds in which so many ``tokens`` are generated, ``running`` at a time; ``idle``: waits."""

    tokens: float
    running: float
    prefill: float
    decode: float
    idle: float = 0.0

    @property
    def seconds(self) -> float:
        return self.prefill + self.decode + self.idle


def expected_tokens_s(served: Served, rates: DecodeRates | None = None) -> float:
    """Return tokens per second of a measured run, at other efficiencies than the table's."""
    decode = _decoder(served, rates)
    cycle = _cycle(served, decode, _most_running(served).expected)
    return cycle.tokens / cycle.seconds


def predict_tokens_s(served: Served, rates: DecodeRates | None = None) -> Interval:
    """Return tokens per second of a measured run, at other efficiencies than the table's or not.

    The range holds those of decode and prefill, and of the requests for which the KV pool has
    room where they are fewer than there are.
    """
    decode, most = _decoder(served, rates), _most_running(served)
    cycle = _cycle(served, decode, most.expected)
    each = VLLM_SEQUENCE_S if served.vllm else DECODE_SEQUENCE_S
    seconds = independent_sum(
        decode_uncertainty(decode, cycle.running, served.behind, each) * cycle.decode,
        prefill_uncertainty(decode) * cycle.prefill,
        exactly(cycle.idle),
    )
    few, many = (_cycle(served, decode, limit) for limit in (most.low, most.high))
    rate = cycle.tokens / cycle.seconds
    low = few.tokens / few.seconds / rate
    high = many.tokens / many.seconds / rate
    return Interval(
        min(low, 1.0) * cycle.tokens / seconds.high,
        rate,
        max(high, 1.0) * cycle.tokens / seconds.low,
    )


def judge_speeds(points: Iterable[Point]) -> tuple[Judged, ...]:
    """Return every decode speed, judged."""
    return judge_each(points, _judge, "decode", "tokens/s")


def _judge(point: Point) -> Iterable[Judged]:
    if is_about_decode(point):
        yield judge_speed(point, decode_point(point))


def judge_speed(point: Point, served: Served | str) -> Judged:
    """Return the row of a speed."""
    skipped = served if isinstance(served, str) else None
    row = row_of(plain_point(point), "decode", "tokens/s", skipped_because=skipped)
    row = replace(row, metric="output tokens", eligible=is_judged(point))
    if isinstance(served, str):
        return row
    serving = served.serving
    return replace(
        row,
        measured=served.tokens_s,
        predicted=predict_tokens_s(served),
        assumptions=(*served.assumptions, *_room(served)),
        apart=apart(point, serving.card),
        family=serving.card.family,
        experts=serving.shape.routed is not None,
    )


def _room(served: Served) -> tuple[str, ...]:
    """Return what is taken for granted about the KV pool where it may hold fewer than there are."""
    most = _most_running(served)
    if served.load == "step" or most.low >= served.requests:
        return ()
    room = f"{most.expected:.0f} ({most.low:.0f}–{most.high:.0f})"
    return (f"room for {room} of {served.requests:.0f} requests",)


def _decoder(served: Served, rates: DecodeRates | None) -> Decoder:
    rates = rates or decode_rates(served.serving.card.family)
    if served.vllm:
        rates = rates._replace(sequence_s=VLLM_SEQUENCE_S.expected)
    return decoder_of(served.serving, rates)


def _most_running(served: Served) -> Interval:
    """Requests for which the pools have room."""
    serving = served.serving
    engine = serving.engine
    groups = engine.tp // engine.attention_tp
    held = engine_memory(engine, serving.shape, exactly(served.usable_gib * GIB))
    tokens = served.prompt + served.answer / 2
    room = held.kv_tokens * (groups / tokens)
    if held.state_slots is not None:
        slots = held.state_slots * groups
        room = Interval(
            min(room.low, slots.low),
            min(room.expected, slots.expected),
            min(room.high, slots.high),
        )
    return Interval(max(1.0, room.low), max(1.0, room.expected), max(1.0, room.high))


def _cycle(served: Served, decode: Decoder, most: float) -> _Cycle:
    if served.load == "step":
        seconds = decode.per_token(served.requests, served.behind)
        return _Cycle(served.requests, served.requests, 0.0, seconds)
    running = min(served.requests, most)
    prefill = decode.prefill_s(served.prompt)
    if served.load == "loop":
        # Prompts go before answers: all of a round are in the cache before its first step.
        seconds = served.answer * decode.per_token(running, served.behind)
        return _Cycle(running * served.answer, running, running * prefill, seconds)
    return _burst(served, decode, most, served.requests * prefill)


def _burst(served: Served, decode: Decoder, most: float, prefill: float) -> _Cycle:
    """Requests arrive for a while; the last one still has its whole answer before it."""
    arriving = served.requests / served.per_s
    running = min(most, served.requests)
    seconds = served.answer * decode.per_token(running, served.behind)
    for _ in range(_ROUNDS):
        together = served.requests * seconds / (max(arriving, prefill) + seconds)
        running = max(1.0, min(most, together))
        # What finds no room waits for another round.
        rounds = max(1.0, together / running)
        seconds = rounds * served.answer * decode.per_token(running, served.behind)
    idle = max(0.0, arriving - prefill)
    return _Cycle(served.requests * served.answer, running, prefill, seconds, idle)
