"""Which roles a launch starts and on how many GPUs.

The roles of a mode: relax/core/registry.py:95-118 and relax/core/optional_roles.py. A role of
the mode that ``--resource`` does not list is skipped, an entry that no role of the mode asks
for is never started (relax/core/controller.py:341-369).
"""

from __future__ import annotations

from typing import Literal

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.placement import (
    GenRM,
    Reserved,
    genrm_num_gpus,
    genrm_placement,
    is_managed_teacher,
    read_reserved,
    rollout_gpus,
)
from perf_doctor.plan.reading import product, switch, text, whole

__all__ = ["SFT_LOSSES", "SHARED", "Debug", "Mode", "Roles", "genrm_num_gpus", "read_roles"]

Mode = Literal["colocate", "fully-async", "hybrid", "sync", "sft"]
Debug = Literal["rollout-only", "train-only"]

SFT_LOSSES = ("sft", "sft_loss", "sft-loss")  # the last two: relax/utils/arguments.py:2716

# Roles by way of running, in the order in which the controller starts them.
_TRAIN_ONLY = ("actor",)
_ROLLOUT_ONLY = ("rollout",)
_SFT = ("sft", "actor")
_COLOCATE = ("actor", "rollout")
_ON_POLICY = ("actor", "rollout", "advantages", "reference")
_ASYNC = ("actor", "rollout", "advantages", "reference", "actor_fwd")
# No algorithm registers a class for the critic (relax/core/registry.py:59-92): it is in none.

# Roles that share the actor's placement group in colocate (relax/core/controller.py:56).
SHARED = ("actor", "rollout", "genrm")


@frozen
class Roles:
    """The roles of the job and their GPUs.

    ``mode``: None when a switch that decides it is not known. ``reserved``: GPUs by role as the
    launch sets them aside, in its order; None when that is not known, a None inside for an entry
    that cannot be read. ``active``: the roles that are started, in the framework's order; a
    teacher that Relax starts itself is no role: ``managed_teacher``, with ``teacher_gpus``.
    ``skipped``: roles of the mode that nothing is reserved for. ``unused``: reserved, never
    started. ``shares_gpus``: actor, rollout and genRM use one placement group. ``fully_async``
    and ``colocate`` are the switches after the framework's own changes (hybrid sets both).
    ``from_resource``: False when no ``--resource`` was given and the old flags count instead.
    ``genrm``: how the reward model is placed, None when there is none or that is not known.
    ``rollout_num_gpus``: of the engines, after the framework's changes; None when nothing is
    reserved for them.
    """

    mode: Mode | None
    debug: Debug | None
    colocate: bool | None
    fully_async: bool | None
    true_on_policy: bool | None
    true_on_policy_auto: bool | None
    reserved: Reserved | None
    active: Reserved | None
    skipped: tuple[str, ...]
    unused: tuple[str, ...]
    shares_gpus: bool | None
    managed_teacher: bool | None
    teacher_gpus: int | None
    rollout_num_gpus: int | None
    genrm: GenRM | None
    from_resource: bool

    @property
    def gpus(self) -> Reserved | None:
        """GPUs by role as a person would list them: the started roles and a managed teacher."""
        if self.active is None or not self.managed_teacher:
            return self.active
        return {**self.active, "teacher": self.teacher_gpus}

    def reserved_gpus(self, role: str) -> int | None:
        """GPUs set aside for ``role``, None when there is no such entry or it is not known."""
        return self.reserved.get(role) if self.reserved is not None else None


def read_roles(settings: Settings) -> Roles:
    """Return the roles that the settings ask for."""
    sft, debug = _is_sft(settings), _debug(settings)
    mode = _mode(settings, sft=sft)
    reserved = read_reserved(settings)
    auto = _true_on_policy_auto(settings)
    on_policy = _either(switch(settings, "--true-on-policy-mode"), auto)
    wanted = _wanted(settings, mode, debug, on_policy=on_policy)
    teacher = False if debug == "train-only" else is_managed_teacher(settings, reserved)
    active = None
    if wanted is not None and reserved is not None:
        active = {role: reserved[role] for role in wanted if role in reserved}
    colocate = _colocate(settings, debug)
    shares = None if mode is None or colocate is None else colocate and mode != "hybrid"
    alone = teacher is False and not settings.given("--genrm-model-path")
    overruled = None if teacher is None or shares is None else shares and alone
    return Roles(
        mode=mode,
        debug=debug,
        colocate=colocate,
        fully_async=_either(switch(settings, "--fully-async"), switch(settings, "--hybrid")),
        true_on_policy=on_policy,
        true_on_policy_auto=auto,
        reserved=reserved,
        active=active,
        skipped=tuple(r for r in wanted or () if reserved is not None and r not in reserved),
        unused=_unused(reserved, active, teacher=teacher),
        shares_gpus=_shares_gpus(active, shares=shares),
        managed_teacher=teacher,
        teacher_gpus=reserved.get("teacher") if teacher and reserved is not None else None,
        rollout_num_gpus=rollout_gpus(settings, reserved, overruled=overruled),
        genrm=genrm_placement(settings, reserved, shares=shares),
        from_resource=settings.given("--resource") is not None,
    )


def _is_sft(settings: Settings) -> bool | None:
    loss = text(settings, "--loss-type")
    return None if loss is None else loss in SFT_LOSSES


def _debug(settings: Settings) -> Debug | None:
    if switch(settings, "--debug-rollout-only"):
        return "rollout-only"
    # relax/utils/arguments.py:2709: loaded rollouts make it a training-only run.
    if switch(settings, "--debug-train-only") or settings.given("--load-debug-rollout-data"):
        return "train-only"
    return None


def _mode(settings: Settings, *, sft: bool | None) -> Mode | None:
    """The first that holds; one that is not known leaves the mode unknown."""
    order: tuple[tuple[Mode, bool | None], ...] = (
        ("sft", sft),
        ("hybrid", switch(settings, "--hybrid")),
        ("fully-async", switch(settings, "--fully-async")),
        ("colocate", switch(settings, "--colocate")),
        ("sync", True),
    )
    for mode, holds in order:
        if holds is None:
            return None
        if holds:
            return mode
    return None


def _colocate(settings: Settings, debug: Debug | None) -> bool | None:
    hybrid = switch(settings, "--hybrid")
    if debug == "rollout-only":  # relax/utils/arguments.py:2770 clears it, hybrid sets it again
        return hybrid
    return _either(switch(settings, "--colocate"), hybrid)


def _either(first: bool | None, second: bool | None) -> bool | None:
    """Three-valued or: an unknown side does not matter when the other one holds."""
    if first or second:
        return True
    return None if first is None or second is None else False


def _true_on_policy_auto(settings: Settings) -> bool | None:
    """Relax switches the mode on by itself when one rollout fills one global batch.

    Only for an explicit ``--fully-async``: hybrid sets that switch later
    (relax/utils/arguments.py:2629-2635).
    """
    explicit = switch(settings, "--fully-async")
    if explicit is not True:
        return explicit
    samples = product(
        whole(settings, "--rollout-batch-size"), whole(settings, "--n-samples-per-prompt")
    )
    if samples is None:
        return None
    if settings.value("--global-batch-size") is None:
        return False
    global_batch = whole(settings, "--global-batch-size")
    return None if global_batch is None else samples == global_batch


def _wanted(
    settings: Settings, mode: Mode | None, debug: Debug | None, *, on_policy: bool | None
) -> tuple[str, ...] | None:
    """The roles that would be started if all had an entry, optional ones last."""
    if mode is None:
        return None
    extra = ["genrm"] if settings.given("--genrm-model-path") else []
    if mode == "sft":
        if settings.given("--sft-predict-interval"):
            extra.append("rollout")
        # The SFT algorithm registers no class for rollout, which predict alone adds.
        roles = {"rollout-only": (), "train-only": _TRAIN_ONLY, None: _SFT}[debug]
    elif debug is not None:
        roles = _ROLLOUT_ONLY if debug == "rollout-only" else _TRAIN_ONLY
    elif mode != "fully-async":
        roles = _COLOCATE
    elif on_policy is None:
        return None
    else:
        roles = _ON_POLICY if on_policy else _ASYNC
    return (*roles, *extra)


def _unused(
    reserved: Reserved | None, active: Reserved | None, *, teacher: bool | None
) -> tuple[str, ...]:
    """Roles with an entry that nothing starts; one that might be started is not among them."""
    if reserved is None or active is None:
        return ()
    started = set(active) if teacher is False else {*active, "teacher"}
    return tuple(role for role in reserved if role not in started)


def _shares_gpus(active: Reserved | None, *, shares: bool | None) -> bool | None:
    if shares is None or active is None:
        return None
    return shares and "actor" in active and "rollout" in active
