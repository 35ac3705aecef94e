"""What the plan rests on although the script does not say it, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf_doctor.plan.gpu import DEVICES_PER_CARD
from perf_doctor.plan.reading import absent
from perf_doctor.wording import counted

if TYPE_CHECKING:
    from perf_doctor.plan.plan import Plan

_SOURCES = {
    "table": "The script passes no model flags: the shape is that of {name} in the table of known"
    " models.",
    "config.json": "The script passes no model flags: the shape is that of the checkpoint's"
    " config.json.",
}
_KINDS = {"npu": "Ascend NPUs", "klx": "Kunlun cards"}


def make_assumptions(plan: Plan, *, gpus_per_node_given: bool) -> tuple[str, ...]:
    """Return the sentences, the more general first."""
    return (
        *_about_gpu(plan),
        *_about_framework(plan),
        *_about_machines(plan, given=gpus_per_node_given),
        *_about_words(plan),
        *_about_model(plan),
        *_about_meshes(plan),
        *_about_batches(plan),
        *_about_engines(plan),
    )


def _about_gpu(plan: Plan) -> Iterator[str]:
    gpu = plan.gpu
    kind = _KINDS.get(gpu.accelerator)
    if gpu.assumed and kind:
        said = ", ".join(plan.accelerator_evidence)
        yield (
            f"The launch is written for {kind} ({said}):"
            f" {gpu.name} with {gpu.memory_gb} GB assumed."
        )
    elif gpu.assumed:
        yield f"No GPU was named: {gpu.name} with {gpu.memory_gb} GB assumed."
    devices = DEVICES_PER_CARD.get(gpu.name)
    if devices:
        yield f"A card of {gpu.name} counts as {devices} devices of {gpu.memory_gb} GB each."


def _about_framework(plan: Plan) -> Iterator[str]:
    if plan.framework.version is not None:
        yield f"The version of Relax is not in the script: {plan.framework.version} assumed."
    else:
        yield (
            f"The trainer is not Relax ({plan.framework.name}): Relax's rules are applied where"
            " they can be."
        )


def _about_machines(plan: Plan, *, given: bool) -> Iterator[str]:
    if not given and plan.settings.given("--num-gpus-per-node") is None:
        per_node = plan.cluster.num_gpus_per_node if plan.gpu.assumed else plan.gpu.gpus_per_node
        yield f"GPUs per node are not in the script: {per_node} assumed."
    if not plan.roles.from_resource:
        yield (
            "No --resource is given: GPUs follow --actor-num-nodes, --actor-num-gpus-per-node"
            " and --rollout-num-gpus."
        )


def _about_words(plan: Plan) -> Iterator[str]:
    if plan.settings.unclear:
        words = ", ".join(word.text for word in plan.settings.unclear[:3])
        yield f"Words that are not known ({words[:80]}) are taken to hold no flag."


def _about_model(plan: Plan) -> Iterator[str]:
    model = plan.model
    if model.architecture is None:
        yield (
            f"The architecture of {model.name or 'the model'} is not known: neither model flags"
            " nor a known name nor a config.json say it."
        )
    elif model.architecture.source in _SOURCES:
        yield _SOURCES[model.architecture.source].format(name=model.name)


def _about_meshes(plan: Plan) -> Iterator[str]:
    mesh = plan.parallel.mesh
    experts = plan.model.kind == "moe" or (mesh.ep or 1) > 1
    unset = absent(plan.settings, "--expert-tensor-parallel-size")
    if experts and unset and mesh.etp is not None:
        yield f"ETP is not set: Megatron lets it follow TP, {mesh.etp}."
    if plan.roles.true_on_policy_auto:
        yield (
            "One rollout fills one global batch: Relax turns true-on-policy mode on and starts"
            " no actor_fwd role."
        )


def _about_batches(plan: Plan) -> Iterator[str]:
    settings, batch = plan.settings, plan.batch
    if absent(settings, "--rollout-batch-size") and batch.rollout_batch_size is not None:
        yield (
            "The rollout batch is not set: global batch ÷ samples per prompt ="
            f" {counted(batch.rollout_batch_size, 'prompt')}."
        )
    if absent(settings, "--global-batch-size") and batch.global_batch_size is not None:
        yield (
            "The global batch is not set: samples of a rollout ÷ steps per rollout ="
            f" {batch.global_batch_size}."
        )
    if batch.dynamic_batch is False and settings.given("--micro-batch-size") is None:
        yield f"The micro-batch size is not set: Relax takes {batch.micro_batch_size}."


def _about_engines(plan: Plan) -> Iterator[str]:
    engines, settings = plan.engines, plan.settings
    if engines is None:
        return
    if absent(settings, "--sglang-mem-fraction-static"):
        yield "The engines' memory fraction is not set: SGLang chooses it."
    if settings.given("--rollout-num-gpus-per-engine") is None:
        yield f"GPUs per engine are not set: Relax takes {engines.gpus_per_engine}."
