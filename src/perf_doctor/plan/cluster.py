"""How many GPUs and nodes the job takes, and how many processes train.

Placement: relax/core/controller.py:290-325 and 370-414. World size:
relax/backends/megatron/arguments.py:217-243 and 288-291.
"""

from __future__ import annotations

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.placement import Reserved, actor_layout
from perf_doctor.plan.reading import product, total, whole
from perf_doctor.plan.roles import SHARED, Roles


@frozen
class Cluster:
    """The GPUs of the job; every number is None when it is not known.

    ``gpus``: what the launch sets aside, also for roles that are never started. ``gpus_created``:
    what the placement groups take. ``idle_gpus``: the difference. ``gpus_checked``: what Relax
    compares with the cluster at start-up; too few in hybrid. ``gpus_per_node``: GPUs that the job
    uses of each node, never more than it has; ``num_gpus_per_node``: Relax's flag of that name,
    by which engines are laid out. ``world_size``: processes that train, None also when no actor is
    started; GPUs of the actor beyond whole nodes train nothing.
    """

    gpus: int | None
    gpus_created: int | None
    idle_gpus: int | None
    gpus_checked: int | None
    nodes: int | None
    gpus_per_node: int | None
    num_gpus_per_node: int | None
    actor_num_nodes: int | None
    actor_num_gpus_per_node: int | None
    world_size: int | None


def read_cluster(settings: Settings, roles: Roles, gpus_per_node: int | None) -> Cluster:
    """Return the cluster; ``gpus_per_node`` is that of the machines, None to follow the flag."""
    flag = whole(settings, "--num-gpus-per-node")
    per_node = gpus_per_node or flag
    gpus, created = _reserved(roles), _created(roles)
    nodes_of_actor, per_node_of_actor = actor_layout(settings, roles.reserved)
    used = None if gpus is None or per_node is None else max(1, min(per_node, gpus))
    trains = roles.active is not None and "actor" in roles.active
    return Cluster(
        gpus=gpus,
        gpus_created=created,
        idle_gpus=None if gpus is None or created is None else max(0, gpus - created),
        gpus_checked=_checked(roles),
        nodes=None if gpus is None or used is None else max(1, -(-gpus // used)),
        gpus_per_node=used,
        num_gpus_per_node=flag,
        actor_num_nodes=nodes_of_actor,
        actor_num_gpus_per_node=per_node_of_actor,
        world_size=product(nodes_of_actor, per_node_of_actor) if trains else None,
    )


def _shared_and_rest(gpus: Reserved) -> int | None:
    """The largest of the roles that share GPUs, plus the sum of the others."""
    shared = [count for role, count in gpus.items() if role in SHARED]
    if None in shared:
        return None
    largest = max((count for count in shared if count is not None), default=0)
    rest = total([count for role, count in gpus.items() if role not in SHARED])
    return None if rest is None else largest + rest


def _reserved(roles: Roles) -> int | None:
    if roles.reserved is None or roles.mode is None or roles.colocate is None:
        return None
    if not roles.colocate or roles.mode == "hybrid":
        return total(list(roles.reserved.values()))
    return _shared_and_rest(_without_shared_teacher(roles))


def _without_shared_teacher(roles: Roles) -> Reserved:
    """A managed teacher of a colocate job lies inside the actor's placement group."""
    inside = roles.managed_teacher is not False
    reserved = roles.reserved or {}
    return {r: count for r, count in reserved.items() if not (inside and r == "teacher")}


def _created(roles: Roles) -> int | None:
    if roles.active is None or roles.shares_gpus is None or roles.managed_teacher is None:
        return None
    if roles.shares_gpus:
        rest = [count for role, count in roles.active.items() if role not in SHARED]
        return total([roles.active["actor"], *rest])  # a teacher lies inside
    own_teacher = [roles.teacher_gpus] if roles.managed_teacher else []
    return total([*roles.active.values(), *own_teacher])


def _checked(roles: Roles) -> int | None:
    if roles.active is None or roles.colocate is None:
        return None
    if roles.colocate and "actor" in roles.active and "rollout" in roles.active:
        return _shared_and_rest(roles.active)
    return total(list(roles.active.values()))
