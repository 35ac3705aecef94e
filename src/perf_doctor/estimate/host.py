"""GiB of host memory on one node that trains."""

from __future__ import annotations

from perf_doctor.estimate.constants import GIB, HOST_BASE_GIB, HOST_PINNED
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.job import Job
from perf_doctor.estimate.training import Stage

# Ray kills workers above this share of the node's memory (RAY_memory_usage_threshold).
USABLE = 0.95


def pinned_bytes(job: Job, stage: Stage) -> float:
    """Return the host copies of one trainer rank.

    CPU Adam 16 bytes per offloaded element; weight copies 2 bytes per parameter and tag; a memory
    saver that pauses the whole pool W + G + O, a manual offload W and the moments on the GPU
    (relax/backends/megatron/weight_update/train_offload.py:70-173).
    """
    states = stage.states
    copies = job.weight_copies * states.weights
    asleep = 0.0
    if job.sleep == "memory-saver":
        asleep = states.resident
    elif job.sleep == "manual":
        asleep = states.weights + states.optimizer
    return states.host + copies + asleep


def host_gib(job: Job, stages: tuple[Stage, ...]) -> Interval:
    """Return one node's host memory: its ranks' pinned copies, and processes beside them.

    All ranks of a node are taken to hold what the heaviest stage holds. Left out: samples in the
    queue, dataset caches, checkpoint buffers.
    """
    heaviest = max(pinned_bytes(job, stage) for stage in stages) / GIB
    return independent_sum(
        HOST_PINNED * (heaviest * job.gpus_per_node), HOST_BASE_GIB * job.gpus_per_node
    )


def usable_gib(installed_gib: float) -> Interval:
    """Return what the job may use of a node's memory."""
    return exactly(installed_gib * USABLE)
