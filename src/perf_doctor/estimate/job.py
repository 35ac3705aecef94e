"""A whole job as the memory estimate sees it: trainers, engines, and who leaves whom the GPU."""

from __future__ import annotations

from typing import Literal, NamedTuple

from perf_doctor.estimate.engine import Engine
from perf_doctor.estimate.shape import Training

Role = Literal["actor", "reference", "actor_fwd", "rollout", "genrm", "teacher"]
Uncapped = Literal["context", "sample"]
# memory-saver: the whole allocator pool is copied to the host; manual: parameters and moments.
Sleep = Literal["never", "memory-saver", "manual"]


class Job(NamedTuple):
    """The job; ``capacity_gib`` is what one GPU gives to its processes, None when not known.

    ``forward_roles``: those with GPUs of their own that run forward passes only. ``reference_pass``
    and ``log_probs_pass``: passes that the actor's own processes run. ``sleep``: how the trainer
    leaves its GPU to the engines, ``engines_sleep`` whether they leave it to the trainer, and
    ``engines_alternate`` whether those of one GPU leave it to each other.
    ``weight_copies``: of the actor's weights in host memory. ``sync_bytes``: one chunk of a weight
    update. ``gpus_per_node``: trainer ranks on one node. ``uncapped``: a length that nothing
    limits, and ``cap`` what would.
    """

    capacity_gib: float | None
    actor: Training | None
    forward_roles: tuple[tuple[Role, Training], ...]
    engines: tuple[Engine, ...]
    reference_pass: bool
    log_probs_pass: bool
    sleep: Sleep
    engines_sleep: bool
    engines_alternate: bool
    weight_copies: int
    sync_bytes: float
    gpus_per_node: int
    host_gib_per_node: float | None = None
    uncapped: Uncapped | None = None
    cap: str | None = None
