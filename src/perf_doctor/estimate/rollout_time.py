"""Seconds of a rollout: the bulk of the tokens, and the tail of the longest answers."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.decode import Decoder
from perf_doctor.estimate.decode_efficiencies import DECODE_SEQUENCE_S
from perf_doctor.estimate.decode_spread import decode_uncertainty
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.lengths import Distribution, Lengths, distribution
from perf_doctor.estimate.rl_efficiencies import OCCUPIED, PREFIX_HIT, ROLLOUT_OVERHEAD

# The sixteenth of the answers from which on a quarter of a wave's requests is left.
_FEW = 12
_OVERHEAD = ROLLOUT_OVERHEAD * (1 / ROLLOUT_OVERHEAD.expected)


class Demand(NamedTuple):
    """What a rollout asks for.

    ``prompts`` groups of ``group`` responses must be whole; ``started`` groups are in flight.
    ``partial``: what is not whole is kept for the next rollout. ``shared_prefix``: a group's prompt
    is found in the cache. ``interrupted``: weights arrive before the longest answers end, which go
    on beside those of the next rollout (asynchronous, with staleness).
    """

    prompts: float
    group: int
    started: float
    partial: bool
    shared_prefix: bool
    interrupted: bool = False


class Rollout(NamedTuple):
    """Seconds: ``prefill``, ``bulk`` and ``tail`` (few requests left), overhead included.

    ``running``: requests that one engine works on at once; ``waves``: how often it fills up.
    ``longest``: tokens of the answer that ends the rollout. ``decoding``: how far a decode step
    may lie from what is expected, about 1.
    """

    prefill: float
    bulk: float
    tail: float
    running: float
    waves: float
    longest: float
    decoding: Interval = exactly(1.0)

    @property
    def seconds(self) -> float:
        """The whole rollout."""
        return self.prefill + self.bulk + self.tail

    @property
    def generation(self) -> Interval:
        """Seconds of decode and prefill alone, on an engine like the others."""
        return self.decoding * (self.seconds / ROLLOUT_OVERHEAD.expected)

    @property
    def interval(self) -> Interval:
        """The whole rollout: decode steps and what comes on top err on their own.

        Lengths are taken as they are; who does not know them asks for several.
        """
        apart = independent_sum(self.decoding, _OVERHEAD, exactly(-1.0))
        return apart * self.seconds

    def towards(self, other: Rollout, share: float) -> Rollout:
        """Return what lies ``share`` of the way to another rollout; its range holds both."""
        own = 1 - share
        made = self._replace(
            prefill=own * self.prefill + share * other.prefill,
            bulk=own * self.bulk + share * other.bulk,
            tail=own * self.tail + share * other.tail,
            running=own * self.running + share * other.running,
        )
        ends = [(one.decoding, one.seconds / made.seconds) for one in (self, other)]
        low = min(decoding.low * ratio for decoding, ratio in ends)
        high = max(decoding.high * ratio for decoding, ratio in ends)
        return made._replace(decoding=Interval(low, 1.0, high))


def most_running(kv_tokens: float, limit: float, lengths: Lengths) -> float:
    """Return how many requests an engine works on at once: its limit, or what its cache holds.

    A request that runs has the prompt behind it and E[l²] ÷ 2E[l] of its answer: long ones run
    longer, so one meets them more often.
    """
    return max(1.0, min(limit, kv_tokens / (lengths.prompt + distribution(lengths).behind)))


def rollout(
    demand: Demand,
    lengths: Lengths,
    decode: Decoder,
    engines: int,
    most_running: float,
    sequence_s: Interval = DECODE_SEQUENCE_S,
) -> Rollout:
    """Return the seconds until all groups are whole, on engines that work alike.

    Requests beyond ``most_running`` wait: full steps first, then one wave that decays as answers
    end, and at last the longest one. A group ends with its longest answer; with more groups
    started than needed the rest is cut off (and kept or dropped). ``sequence_s``: what
    a running request costs the host, as a range.
    """
    answers, sequences = _answers(demand, distribution(lengths))
    longest = answers.longest(sequences)
    each = max(1.0, sequences / engines)
    running = max(1.0, min(each, most_running))
    mean = answers.mean
    context = lengths.prompt + answers.behind
    if demand.interrupted:
        return _interrupted(demand, lengths, decode, (each, running), sequence_s)
    waiting = max(0.0, each - running)
    bulk = waiting / running * mean * decode.per_token(running, context) if waiting else 0.0
    wave = _last_wave(answers, longest, running, lengths.prompt, decode)
    fresh = each * _fresh_prompt(demand, lengths)
    if demand.partial:
        fresh += each * max(0.0, 1 - demand.prompts / demand.started) * (lengths.prompt + mean / 2)
    kappa = ROLLOUT_OVERHEAD.expected
    return Rollout(
        prefill=kappa * fresh * decode.prefill,
        bulk=kappa * (bulk + wave.many + wave.few),
        tail=kappa * wave.tail,
        running=running,
        waves=each / running,
        longest=longest,
        decoding=_decoding(decode, bulk, wave, (running, context), sequence_s),
    )


def _fresh_prompt(demand: Demand, lengths: Lengths) -> float:
    """Return tokens of a prompt that no cache holds."""
    repeated = PREFIX_HIT.expected if demand.shared_prefix and demand.group > 1 else 0.0
    return lengths.prompt * (1 - repeated)


def _interrupted(
    demand: Demand,
    lengths: Lengths,
    decode: Decoder,
    load: tuple[float, float],
    sequence_s: Interval,
) -> Rollout:
    """Return one step's share of rollouts that flow into each other.

    All answers are generated with as many requests at work as there are between two weight
    updates; after each of them these are in the cache once more.
    """
    each, running = load
    whole = distribution(lengths)
    context = lengths.prompt + whole.behind

    def seconds(occupied: float) -> float:
        many = max(1.0, occupied * running)
        return each * whole.mean / many * decode.per_token(many, context)

    usual = seconds(OCCUPIED.expected)
    spread = Interval(seconds(OCCUPIED.high) / usual, 1.0, seconds(OCCUPIED.low) / usual)
    decoding = decode_uncertainty(decode, OCCUPIED.expected * running, context, sequence_s)
    again = OCCUPIED.expected * running * context
    kappa = ROLLOUT_OVERHEAD.expected
    return Rollout(
        prefill=kappa * (each * _fresh_prompt(demand, lengths) + again) * decode.prefill,
        bulk=kappa * usual,
        tail=0.0,
        running=OCCUPIED.expected * running,
        waves=each / running,
        longest=whole.longest(each),
        decoding=independent_sum(decoding, spread, exactly(-1.0)),
    )


def _answers(demand: Demand, whole: Distribution) -> tuple[Distribution, float]:
    """Return the answers as far as they are generated in this rollout, and how many.

    Kept parts are generated once: in the long run as many tokens as whole answers have.
    """
    needed = demand.prompts * demand.group
    if demand.started <= demand.prompts:
        return whole, needed
    stop = whole.stop_of_groups(demand.prompts / demand.started, demand.group)
    cut = whole.cut(stop)
    if demand.partial:
        return cut, needed * whole.mean / cut.mean
    return cut, demand.started * demand.group


class _Wave(NamedTuple):
    """Seconds while many requests run, while a quarter of them or fewer do, and but the longest."""

    many: float
    few: float
    tail: float


def _decoding(
    decode: Decoder, bulk: float, wave: _Wave, load: tuple[float, float], sequence_s: Interval
) -> Interval:
    """Return how far decode steps may lie from what is expected: few requests err otherwise."""
    running, context = load
    many = decode_uncertainty(decode, running, context, sequence_s)
    few = decode_uncertainty(decode, max(1.0, running / 16), 2 * context, sequence_s)
    seconds = bulk + sum(wave)
    share = (bulk + wave.many) / seconds if seconds else 1.0
    return many * share + few * (1 - share)


def _last_wave(
    answers: Distribution, longest: float, running: float, prompt: float, decode: Decoder
) -> _Wave:
    """Return the seconds of a wave that decays as answers end."""
    parts = answers.sixteenths
    share = running / len(parts)
    before, left = 0.0, running
    by_left = [0.0, 0.0]
    for index, end in enumerate(parts):
        if end > before:
            length = end - before
            many = max(1.0, left - share / 2 if index else left)
            by_left[index >= _FEW] += length * decode.per_token(many, prompt + before + length / 2)
            before = end
        left -= share
    tail = 0.0
    if longest > before:
        few = max(1.0, share / 4)
        tail = (longest - before) * decode.per_token(few, prompt + (longest + before) / 2)
    return _Wave(by_left[0], by_left[1], tail)
