"""The meshes of a job: how its processes divide the model and the data.

Dense parameters live on TP × CP × DP × PP, expert parameters on ETP × EP × EDP × PP, both over
the same processes (megatron/core/parallel_state.py:790-820).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.cluster import Cluster
from perf_doctor.plan.reading import (
    absent,
    exactly,
    given_whole,
    is_whole,
    mapping,
    product,
    switch,
    whole,
)
from perf_doctor.plan.roles import Roles


@frozen
class Mesh:
    """The two meshes of one group of processes.

    ``dp`` and ``edp`` are None when a size is not known or the processes cannot be divided so.
    ``etp`` is the size in force: it follows ``tp`` when the launch does not set it.
    """

    world_size: int | None
    tp: int | None
    cp: int | None
    pp: int | None
    ep: int | None
    etp: int | None
    dp: int | None
    edp: int | None


@frozen
class Parallel:
    """How the actor is divided, and the roles that only run forward passes.

    ``etp_given``: the ETP the script writes, None when it writes none or it is not known.
    ``sequence_parallel``: after Megatron cleared it at TP 1. ``dynamic_cp``: CP is chosen per
    batch and ``mesh.cp`` is the largest. ``reference`` and ``actor_fwd``: None when the job
    starts no such role of its own; ``reference_config`` what ``--ref-actor-config`` replaces
    for both.
    """

    mesh: Mesh
    etp_given: int | None
    sequence_parallel: bool | None
    dynamic_cp: bool | None
    reference_config: Mapping[str, Any] | None
    reference: Mesh | None
    actor_fwd: Mesh | None


def make_mesh(
    world_size: int | None,
    *,
    tp: int | None,
    cp: int | None,
    pp: int | None,
    ep: int | None,
    etp: int | None,
) -> Mesh:
    """Return the mesh with the data parallel sizes that are left over.

    DP = world ÷ (TP × CP × PP), expert DP = world ÷ (ETP × EP × PP).
    """
    return Mesh(
        world_size=world_size,
        tp=tp,
        cp=cp,
        pp=pp,
        ep=ep,
        etp=etp,
        dp=exactly(world_size, product(tp, cp, pp)),
        edp=exactly(world_size, product(etp, ep, pp)),
    )


def read_parallel(settings: Settings, roles: Roles, cluster: Cluster) -> Parallel:
    """Return the meshes of the job."""
    tp = whole(settings, "--tensor-model-parallel-size")
    # Megatron: relax's image, megatron/training/arguments.py:478.
    unset = absent(settings, "--expert-tensor-parallel-size")
    etp = tp if unset else whole(settings, "--expert-tensor-parallel-size")
    mesh = make_mesh(
        cluster.world_size,
        tp=tp,
        cp=_context_parallel(settings),
        pp=whole(settings, "--pipeline-model-parallel-size"),
        ep=whole(settings, "--expert-model-parallel-size"),
        etp=etp,
    )
    config = mapping(settings, "--ref-actor-config")
    no_config = absent(settings, "--ref-actor-config")
    return Parallel(
        mesh=mesh,
        etp_given=given_whole(settings, "--expert-tensor-parallel-size"),
        sequence_parallel=_sequence_parallel(settings, tp),
        dynamic_cp=switch(settings, "--dynamic-context-parallel"),
        reference_config=config,
        reference=_forward_mesh(mesh, roles, "reference", {} if no_config else config),
        actor_fwd=_forward_mesh(mesh, roles, "actor_fwd", {} if no_config else config),
    )


def _context_parallel(settings: Settings) -> int | None:
    """CP, which the dynamic kind derives from the context length.

    The next power of two of context ÷ tokens per GPU (relax/backends/megatron/arguments.py:39).
    """
    dynamic = switch(settings, "--dynamic-context-parallel")
    if dynamic is None:
        return None
    if not dynamic:
        return whole(settings, "--context-parallel-size")
    context = whole(settings, "--rollout-max-context-len")
    tokens = whole(settings, "--max-tokens-per-gpu")
    if context is None or tokens is None:
        return None
    return 1 << (-(-context // tokens) - 1).bit_length()


def _sequence_parallel(settings: Settings, tp: int | None) -> bool | None:
    """Cleared at TP 1 (megatron/training/arguments.py:1198)."""
    asked = switch(settings, "--sequence-parallel")
    if asked is False or tp == 1:
        return False
    return None if tp is None else asked


_KEYS = {
    "tp": "tensor_model_parallel_size",
    "cp": "context_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "ep": "expert_model_parallel_size",
    "etp": "expert_tensor_parallel_size",
}


def _forward_mesh(
    actor: Mesh, roles: Roles, role: str, config: Mapping[str, Any] | None
) -> Mesh | None:
    """The mesh of a role with processes of its own.

    It takes the actor's sizes, ETP as already filled in, and replaces what
    ``--ref-actor-config`` names (relax/utils/utils.py:511-516).
    """
    if roles.active is None or role not in roles.active:
        return None
    sizes: dict[str, int | None] = {}
    for name, key in _KEYS.items():
        inherited = getattr(actor, name)
        replaced = None if config is None else config.get(key, inherited)
        sizes[name] = replaced if is_whole(replaced) else None
    return make_mesh(roles.active[role], **sizes)
