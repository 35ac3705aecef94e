"""Seconds of a rollout: the bulk of the tokens, and the tail of the longest answers."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.decode import Decoder
from perf_doctor.estimate.efficiencies import PREFIX_HIT, ROLLOUT_OVERHEAD
from perf_doctor.estimate.lengths import Distribution, Lengths, distribution


class Demand(NamedTuple):
    """What a rollout asks for.

    ``prompts`` groups of ``group`` responses must be whole; ``started`` groups are in flight.
    ``partial``: what is not whole is kept for the next rollout. ``shared_prefix``: a group's prompt
    is found in the cache.
    """

    prompts: float
    group: int
    started: float
    partial: bool
    shared_prefix: bool


class Rollout(NamedTuple):
    """Seconds: ``prefill``, ``bulk`` and ``tail`` (few requests left), overhead included.

    ``running``: requests that one engine works on at once; ``waves``: how often it fills up.
    ``longest``: tokens of the answer that ends the rollout.
    """

    prefill: float
    bulk: float
    tail: float
    running: float
    waves: float
    longest: float

    @property
    def seconds(self) -> float:
        """The whole rollout."""
        return self.prefill + self.bulk + self.tail


def rollout(
    demand: Demand, lengths: Lengths, decode: Decoder, engines: int, most_running: float
) -> Rollout:
    """Return the seconds until all groups are whole, on engines that work alike.

    Requests beyond ``most_running`` wait: full steps first, then one wave that decays as answers
    end, and at last the longest one. A group ends with its longest answer; with more groups
    started than needed the rest is cut off (and kept or dropped).
    """
    answers, sequences = _answers(demand, distribution(lengths))
    longest = answers.longest(sequences)
    each = max(1.0, sequences / engines)
    running = max(1.0, min(each, most_running))
    mean = answers.mean
    context = lengths.prompt + mean / 2
    waiting = max(0.0, each - running)
    bulk = waiting / running * mean * decode.per_token(running, context) if waiting else 0.0
    wave, tail = _last_wave(answers, longest, running, lengths.prompt, decode)
    repeated = PREFIX_HIT.expected if demand.shared_prefix and demand.group > 1 else 0.0
    fresh = each * lengths.prompt * (1 - repeated)
    if demand.partial:
        fresh += each * max(0.0, 1 - demand.prompts / demand.started) * (lengths.prompt + mean / 2)
    kappa = ROLLOUT_OVERHEAD.expected
    return Rollout(
        prefill=kappa * fresh * decode.prefill,
        bulk=kappa * (bulk + wave),
        tail=kappa * tail,
        running=running,
        waves=each / running,
        longest=longest,
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


def _last_wave(
    answers: Distribution, longest: float, running: float, prompt: float, decode: Decoder
) -> tuple[float, float]:
    """Return the seconds of a wave while many run, and while the longest sixteenth does."""
    parts = answers.sixteenths
    share = running / len(parts)
    before, left = 0.0, running
    seconds = 0.0
    for index, end in enumerate(parts):
        if end > before:
            length = end - before
            many = max(1.0, left - share / 2 if index else left)
            seconds += length * decode.per_token(many, prompt + before + length / 2)
            before = end
        left -= share
    tail = 0.0
    if longest > before:
        few = max(1.0, share / 4)
        tail = (longest - before) * decode.per_token(few, prompt + (longest + before) / 2)
    return seconds, tail
