"""The context of a diagnosis: one line for people, one object for programs."""

from __future__ import annotations

from collections.abc import Mapping

from perf_doctor.inert import plain_or_code, shortened
from perf_doctor.plan.plan import Plan

_KINDS = {"dense": "dense", "moe": "MoE"}
_MULTIMODAL = ("image", "audio", "omni")


def context_line(plan: Plan) -> str:
    """Return the context as the report's second line shows it; ``?`` is not known."""
    mesh, cluster = plan.parallel.mesh, plan.cluster
    sizes = "/".join(
        f"{name}{shown(size)}"
        for name, size in (
            ("TP", mesh.tp),
            ("PP", mesh.pp),
            ("CP", mesh.cp),
            ("EP", mesh.ep),
            ("ETP", mesh.etp),
        )
    )
    return " · ".join(
        (
            f"model={_model(plan)} ({_kind(plan)}, {_modality(plan)})",
            f"GPUs={shown(cluster.gpus)} ({shown(cluster.nodes)}×{shown(cluster.gpus_per_node)})",
            f"mode={plan.mode or '?'}",
            sizes,
            f"max-resp-len={_response_len(plan)}",
            f"GPU={plan.gpu.name} {plan.gpu.memory_gb}GB{' (assumed)' if plan.gpu.assumed else ''}",
        )
    )


def _model(plan: Plan) -> str:
    """Return the model's name, which may be any word of the script: a plain one or code."""
    return plain_or_code(shortened(plan.model.name)) if plan.model.name else "?"


def shown(number: int | None) -> str:
    """Return a number as text, ``?`` where it is not known."""
    return "?" if number is None else str(number)


def _kind(plan: Plan) -> str:
    return _KINDS[plan.model.kind] if plan.model.kind else "?"


def _modality(plan: Plan) -> str:
    return "mm" if plan.modality in _MULTIMODAL else plan.modality or "?"


def _response_len(plan: Plan) -> str:
    """Return the response limit; there is none in SFT."""
    if plan.lengths.response is None and plan.mode == "sft":
        return "n/a"
    if plan.lengths.response is None and not plan.settings.given("--rollout-max-response-len"):
        return "n/a"
    return shown(plan.lengths.response)


def context_object(plan: Plan) -> Mapping[str, object]:
    """Return the ``context`` of the JSON contract; None is not known."""
    mesh, cluster, parameters = plan.parallel.mesh, plan.cluster, plan.model.parameters
    return {
        "model": plan.model.name,
        "architecture": plan.model.kind,
        "parameters": {
            "total": parameters.total if parameters else None,
            "active": parameters.active if parameters else None,
        },
        "modality": plan.modality,
        "task": plan.task,
        "mode": plan.mode,
        "gpus": cluster.gpus,
        "nodes": cluster.nodes,
        "gpus_per_node": cluster.gpus_per_node,
        "roles": None if plan.roles.gpus is None else dict(plan.roles.gpus),
        "tp": mesh.tp,
        "pp": mesh.pp,
        "vpp": plan.pipeline.vpp,
        "cp": mesh.cp,
        "ep": mesh.ep,
        "etp": mesh.etp,
        "dp": mesh.dp,
        "edp": mesh.edp,
        "max_response_len": plan.lengths.response,
        "max_tokens_per_gpu": plan.batch.max_tokens_per_gpu,
        "framework": {
            "name": plan.framework.name,
            "version": plan.framework.version,
            "assumed": plan.framework.assumed,
        },
        "gpu": {
            "name": plan.gpu.name,
            "memory_gb": plan.gpu.memory_gb,
            "assumed": plan.gpu.assumed,
        },
        "assumptions": list(plan.assumptions),
    }
