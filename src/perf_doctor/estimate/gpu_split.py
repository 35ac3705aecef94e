"""How many GPUs each side of an asynchronous job would need so that neither waits."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_phases import generate


class Split(NamedTuple):
    """GPUs of actor and rollout, and the seconds of the slower side with them."""

    actor_gpus: int
    rollout_gpus: int
    step_s: float


def even_split(estimate: TimeEstimate) -> Split | None:
    """Return the division of today's GPUs with the shortest step, None where sides take turns.

    Engines keep their size, the trainer its TP × PP × CP, and samples still divide over its ranks.
    The trainer's seconds go with its ranks; GPUs of other roles stay as they are.
    """
    job, sides, made = estimate.job, estimate.sides, estimate.made
    if job is None or sides is None or made is None:
        return None
    engines, demand = job.engines, job.demand
    if engines is None or demand is None:
        return None
    size = max(1, engines.gpus // engines.engines)
    group = max(1, job.trainers // job.dp)
    whole = job.trainers + engines.gpus
    trainer = sum(
        one.expected
        for name, one in made.seconds.items()
        if name in ("reference_log_probs", "teacher_log_probs", "log_probs", "train", "optimizer")
        and name not in made.apart
    )
    beside = max((made.seconds[name].expected for name in made.apart), default=0.0)
    best = None
    for dp in range(1, whole // group + 1):
        count = (whole - dp * group) // size
        per_rank = job.samples / job.optimizer_steps / demand.group / dp
        if count < 1 or per_rank != int(per_rank):
            continue
        side = max(beside, trainer * job.dp / dp)
        other = generate(
            job, engines._replace(engines=count), demand, job.lengths[1], job.dropped.expected
        )
        found = Split(dp * group, count * size, max(side, other.seconds))
        if best is None or found.step_s < best.step_s:
            best = found
    return best
