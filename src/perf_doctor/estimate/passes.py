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
    work = _work(job, training, dp, token_budget, lengths)
    return Passage(training, work, stage_times(training, job.card, work))


def seconds_of(job: TimeJob, spent: Spent) -> Interval:
    """Return the seconds of all optimizer steps of a rollout."""
    experts = job.training.shape.routed is not None
    return interval_of(spent, job.card.family, experts=experts) * job.optimizer_steps


def _work(
    job: TimeJob, training: Training, dp: int, token_budget: int | None, lengths: Lengths
) -> Work:
    """Return one optimizer step on the fullest data-parallel rank.

    Its tokens: the mean, and z(dp)·σ ÷ √samples more where ranks get samples as they come
    (rollout-formulas 6). Dynamic micro-batches are filled up to the budget, none is shorter
    than a sample.
    """
    whole = samples_of(lengths)
    samples = job.samples / job.optimizer_steps / dp
    uneven = _BALANCED
    if not job.balanced:
        spread = next((z for ranks, z in reversed(_FULLEST) if ranks <= dp), 0.0)
        uneven = 1 + whole.variation * spread / sqrt(max(1.0, samples))
    tokens = samples * whole.tokens * uneven
    if token_budget:
        count = float(max(1, ceil(tokens / (_FILLED * max(token_budget, whole.tokens)))))
    else:
        count = max(1.0, samples / job.micro_batch_size)
    images = _IMAGE_SHARE if job.images else 0.0
    return Work(tokens / count / training.mesh.cp, count, whole.attended, images)
