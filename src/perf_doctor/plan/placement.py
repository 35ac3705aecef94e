"""How many GPUs each part of a job gets: ``--resource``, the older flags, and who overrules whom.

relax/backends/megatron/arguments.py:217-275 and relax/utils/arguments.py:2803-2872.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from perf_doctor.launch.settings import Settings
from perf_doctor.plan.reading import is_whole, mapping, product, switch, whole
from perf_doctor.shell.model import Unknown

Reserved = Mapping[str, int | None]
GenRM = Literal["split", "shared", "separate", "invalid"]

OLD_DEFAULT = (1, 8)  # nodes and GPUs per node of the actor by the older flags


def read_reserved(settings: Settings) -> Reserved | None:
    """Return the GPUs that are set aside for each role, None when ``--resource`` is not known."""
    if settings.given("--resource") is None:
        return _by_old_flags(settings)
    resource = mapping(settings, "--resource")
    if resource is None:
        return None
    return {role: _entry_gpus(entry) for role, entry in resource.items()}


def _entry_gpus(entry: Any) -> int | None:
    if not isinstance(entry, list) or len(entry) != 2:
        return None
    return entry[1] if is_whole(entry[1], 0) else None


def _by_old_flags(settings: Settings) -> Reserved:
    """GPUs by the flags that came before ``--resource``; slime knows only these."""
    actor = product(
        whole(settings, "--actor-num-nodes"), whole(settings, "--actor-num-gpus-per-node")
    )
    if switch(settings, "--colocate"):
        return {"actor": actor, "rollout": actor}
    return {"actor": actor, "rollout": whole(settings, "--rollout-num-gpus", 0)}


def actor_layout(settings: Settings, reserved: Reserved | None) -> tuple[int | None, int | None]:
    """Return the nodes of the actor and its GPUs on each.

    ``--resource`` decides unless one of the two older flags differs from its default. GPUs
    beyond whole nodes are left out.
    """
    nodes = whole(settings, "--actor-num-nodes")
    per_node = whole(settings, "--actor-num-gpus-per-node")
    if nodes is None or per_node is None:
        return None, None
    if settings.given("--resource") is None or (nodes, per_node) != OLD_DEFAULT:
        return nodes, per_node
    if reserved is None:
        return None, None
    if "actor" not in reserved:
        return nodes, per_node
    gpus, of_a_node = reserved["actor"], whole(settings, "--num-gpus-per-node")
    if not gpus or of_a_node is None:
        return None, None
    per_node = min(of_a_node, gpus)
    return max(1, gpus // per_node), per_node


def is_managed_teacher(settings: Settings, reserved: Reserved | None) -> bool | None:
    """Tell whether Relax starts a teacher itself (relax/utils/opd/opd_utils.py:64-74)."""
    if reserved is None:
        return None
    kind = settings.value("--opd-type")
    has_source = any(
        settings.given(flag) for flag in ("--teacher-hf-checkpoint", "--opd-teacher-routes")
    )
    if "teacher" not in reserved or not has_source or switch(settings, "--use-opd") is False:
        return False
    return None if isinstance(kind, Unknown) else kind == "sglang"


def rollout_gpus(
    settings: Settings, reserved: Reserved | None, *, overruled: bool | None
) -> int | None:
    """Return the GPUs of the engines, None when nothing is set aside for them.

    ``overruled``: a plain colocate job, in which the engines get the actor's GPUs whatever is
    written. Else the flag wins over ``--resource``.
    """
    if reserved is None or overruled is None or "rollout" not in reserved:
        return None
    if overruled and "actor" in reserved:
        return product(*actor_layout(settings, reserved))
    if settings.given("--rollout-num-gpus"):
        return whole(settings, "--rollout-num-gpus", 0)
    return reserved["rollout"]


def genrm_num_gpus(settings: Settings, reserved: Reserved | None) -> int | None:
    """Return the GPUs of the reward model: the flag, unless it is 1, which counts as not given."""
    flag = whole(settings, "--genrm-num-gpus", 0)
    if flag == 1 and reserved is not None and "genrm" in reserved:
        return reserved["genrm"]
    return flag


def genrm_placement(
    settings: Settings, reserved: Reserved | None, *, shares: bool | None
) -> GenRM | None:
    """Return where the reward model lives, None when there is none or that is not known.

    ``shares``: the job is a colocate one, in which it has a part of the actor's GPUs or all.
    """
    if not settings.given("--genrm-model-path") or shares is None:
        return None
    if not shares:
        return "separate"
    actor = product(*actor_layout(settings, reserved))
    rollout = rollout_gpus(settings, reserved, overruled=False)
    genrm = genrm_num_gpus(settings, reserved)
    if actor is None or rollout is None or genrm is None:
        return None
    if rollout + genrm == actor:
        return "split"
    return "shared" if rollout == genrm == actor else "invalid"
