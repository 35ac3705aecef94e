"""Activations of a vision tower that is trained."""

from __future__ import annotations

from perf_doctor.estimate.constants import IMAGE_SHARE
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.shape import Tower, Training


def tower_bytes(training: Training, tower: Tower) -> Interval:
    """Return what the tower keeps per micro-batch: tokens that are images · merge² patches each.

    A patch costs 20H + 4I per block (norm pairs, qkv, rotated copies, output, an ungated MLP), 2H
    with full recompute; on the first stage of jobs whose samples hold images.
    """
    if not training.batch.images or training.frozen == "tower":
        return exactly(0.0)
    block = 20 * tower.hidden + 4 * tower.ffn
    per_patch = tower.depth * block
    if training.recompute.granularity == "full":
        per_patch = tower.depth * 2 * tower.hidden + block
    patches = tower.merge_size**2
    return IMAGE_SHARE * training.batch.tokens * (per_patch * patches / training.mesh.tp)
