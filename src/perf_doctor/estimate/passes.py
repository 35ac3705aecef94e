"""Seconds of passing a step's samples through a trainer, forward only or with backward."""

from __future__ import annotations

from math import ceil, sqrt
from typing import NamedTuple

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.lengths import Lengths, samples_of
from perf_doctor.estimate.shape import Training
from perf_doctor.estimate.spent import Spent, interval_of
from perf_doctor.estimate.time_job import TimeJob
from perf_doctor.estimate.train_time import StageTime, Work, stage_times, through_pipeline

# Expected maximum of so many standard normals: the fullest of the data-parallel ranks.
_FULLEST = ((1, 0.0), (2, 0.56), (4, 1.03), (8, 1.42), (16, 1.77), (64, 2.35))
# Of a micro-batch's budget that packed samples fill.
_FILLED = 0.92
# What the fullest rank has more than the others when samples are dealt by length.
_BALANCED = 1.02
# Of the tokens of a multimodal sample that are images.
_IMAGE_SHARE = 0.3


class Passage(NamedTuple):
    """One optimizer step's samples on one data-parallel rank, and each stage's seconds."""

    training: Training
    work: Work
    stages: tuple[StageTime, ...]

    def spent(self, *, train: bool) -> Spent:
        """Return seconds by what limits them: forward and backward, or forward only."""
        return through_pipeline(self.stages, self.training, self.work, train=train)


def passage(
    job: TimeJob, training: Training, dp: int, token_budget: int | None, lengths: Lengths
) -> Passage:
    """Return the passage of the samples of one optimizer step over ``dp`` ranks."""
    samples = job.samples / job.optimizer_steps / dp
    work = micro_batches(
        lengths,
        samples,
        uneven=_BALANCED if job.balanced else _as_they_come(lengths, samples, dp),
        cp=training.mesh.cp,
        budget=token_budget,
        each=job.micro_batch_size,
    )
    if job.images:
        work = work._replace(image_share=_IMAGE_SHARE)
    return Passage(training, work, stage_times(training, job.card, work))


def seconds_of(job: TimeJob, spent: Spent) -> Interval:
    """Return the seconds of all optimizer steps of a rollout."""
    experts = job.training.shape.routed is not None
    return interval_of(spent, job.card.family, experts=experts) * job.optimizer_steps


def micro_batches(
    lengths: Lengths,
    samples: float,
    *,
    cp: int,
    budget: float | None,
    each: float,
    uneven: float = _BALANCED,
) -> Work:
    """Return what the fullest data-parallel rank passes, of so many samples per rank.

    ``budget``: tokens of a packed micro-batch over all CP ranks, which none is shorter than a
    sample to fill; without one a micro-batch has ``each`` samples. ``uneven``: tokens of the
    fullest rank ÷ mean.
    """
    whole = samples_of(lengths)
    tokens = samples * whole.tokens * uneven
    if budget:
        count = float(max(1, ceil(tokens / (_FILLED * max(budget, whole.tokens)))))
    else:
        count = max(1.0, samples / each)
    return Work(tokens / count / cp, count, whole.attended)


def _as_they_come(lengths: Lengths, samples: float, dp: int) -> float:
    """Return tokens of the fullest rank ÷ mean where samples are not dealt by length.

    1 + z(dp) · σ ÷ √samples (rollout-formulas 6).
    """
    spread = next((z for ranks, z in reversed(_FULLEST) if ranks <= dp), 0.0)
    return 1 + samples_of(lengths).variation * spread / sqrt(max(1.0, samples))
