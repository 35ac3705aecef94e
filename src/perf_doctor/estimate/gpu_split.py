"""How many GPUs each side of an asynchronous job would need so that neither waits."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_phases import generate

# More data-parallel ranks than any job has; a script that asks for a million costs no more.
MOST_RANKS = 2048
_TRAINER = (
    "reference_log_probs", "teacher_log_probs", "log_probs", "train", "optimizer",
)  # fmt: skip


class Split(NamedTuple):
    """GPUs of actor and rollout, and the seconds of the slower side with them."""

    actor_gpus: int
    rollout_gpus: int
    step_s: float


def even_split(estimate: TimeEstimate) -> Split | None:
    """Return the division of today's GPUs with the shortest step, None where sides take turns.

    Shortest with answers of the expected and of the highest length together, so that a guess that
    is too short costs little. Engines keep their size, the trainer its TP × PP × CP, and samples
    still divide over its ranks. GPUs of other roles stay as they are.
    """
    job, sides, made, phases = estimate.job, estimate.sides, estimate.made, estimate.phases
    if job is None or sides is None or made is None or phases is None:
        return None
    engines, demand = job.engines, job.demand
    if engines is None or demand is None:
        return None
    size = max(1, engines.gpus // engines.engines)
    group = max(1, job.trainers // job.dp)
    whole = job.trainers + engines.gpus
    own = [phases[name] for name in phases if name in _TRAINER and name not in made.apart]
    beside = [phases[name] for name in made.apart]
    best: tuple[float, Split] | None = None
    for dp in range(1, min(whole // group, MOST_RANKS) + 1):
        count = (whole - dp * group) // size
        per_rank = job.samples / job.optimizer_steps / demand.group / dp
        if count < 1 or per_rank != int(per_rank):
            continue
        steps = []
        for end, dropped in ((1, job.dropped.expected), (2, job.dropped.high)):
            trainer = sum([(one.expected, one.high)[end - 1] for one in own]) * job.dp / dp
            other = max([(one.expected, one.high)[end - 1] for one in beside], default=0.0)
            fewer = engines._replace(engines=count)
            generated = generate(job, fewer, demand, job.lengths[end], dropped).seconds
            steps.append(max(trainer, other, generated))
        found = Split(dp * group, count * size, steps[0])
        if best is None or sum(steps) < best[0]:
            best = (sum(steps), found)
    return None if best is None else best[1]
