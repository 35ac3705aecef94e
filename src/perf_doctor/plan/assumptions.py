"""What the plan rests on although the script does not say it, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf_doctor.language import said
from perf_doctor.plan.gpu import DEVICES_PER_CARD
from perf_doctor.plan.reading import absent
from perf_doctor.wording import counted

if TYPE_CHECKING:
    from perf_doctor.plan.plan import Plan

_SOURCES = {  # messages
    "table": "The script passes no model flags: the shape is that of {name} in the table of known"
    " models.",
    "config.json": "The script passes no model flags: the shape is that of the checkpoint's"
    " config.json.",
}
_KINDS = {"npu": "Ascend NPUs", "klx": "Kunlun cards"}  # messages


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
    if gpu.assumed and gpu.accelerator in _KINDS:
        yield said(
            "The launch is written for {kind} ({evidence}): {gpu} with {gb} GB assumed.",
            kind=said(_KINDS[gpu.accelerator]),
            evidence=", ".join(plan.accelerator_evidence),
            gpu=gpu.name,
            gb=gpu.memory_gb,
        )
    elif gpu.assumed:
        yield said("No GPU was named: {gpu} with {gb} GB assumed.", gpu=gpu.name, gb=gpu.memory_gb)
    devices = DEVICES_PER_CARD.get(gpu.name)
    if devices:
        yield said(
            "A card of {gpu} counts as {devices} devices of {gb} GB each.",
            gpu=gpu.name,
            devices=devices,
            gb=gpu.memory_gb,
        )


def _about_framework(plan: Plan) -> Iterator[str]:
    if plan.framework.version is not None:
        yield said(
            "The version of Relax is not in the script: {version} assumed.",
            version=plan.framework.version,
        )
    else:
        yield said(
            "The trainer is not Relax ({name}): Relax's rules are applied where they can be.",
            name=plan.framework.name,
        )


def _about_machines(plan: Plan, *, given: bool) -> Iterator[str]:
    if not given and plan.settings.given("--num-gpus-per-node") is None:
        per_node = plan.cluster.num_gpus_per_node if plan.gpu.assumed else plan.gpu.gpus_per_node
        yield said("GPUs per node are not in the script: {number} assumed.", number=per_node)
    if not plan.roles.from_resource:
        yield said(
            "No --resource is given: GPUs follow --actor-num-nodes, --actor-num-gpus-per-node"
            " and --rollout-num-gpus."
        )


def _about_words(plan: Plan) -> Iterator[str]:
    if plan.settings.unclear:
        words = ", ".join(word.text for word in plan.settings.unclear[:3])
        yield said(
            "Words that are not known ({words}) are taken to hold no flag.", words=words[:80]
        )


def _about_model(plan: Plan) -> Iterator[str]:
    model = plan.model
    if model.architecture is None and model.name:
        yield said(
            "The architecture of {model} is not known: neither model flags nor a known name nor a"
            " config.json say it.",
            model=model.name,
        )
    elif model.architecture is None:
        yield said(
            "The architecture of the model is not known: neither model flags nor a known name nor"
            " a config.json say it."
        )
    elif model.architecture.source in _SOURCES:
        yield said(_SOURCES[model.architecture.source], name=model.name)


def _about_meshes(plan: Plan) -> Iterator[str]:
    mesh = plan.parallel.mesh
    experts = plan.model.kind == "moe" or (mesh.ep or 1) > 1
    unset = absent(plan.settings, "--expert-tensor-parallel-size")
    if experts and unset and mesh.etp is not None:
        yield said("ETP is not set: Megatron lets it follow TP, {etp}.", etp=mesh.etp)
    if plan.roles.true_on_policy_auto:
        yield said(
            "One rollout fills one global batch: Relax turns true-on-policy mode on and starts"
            " no actor_fwd role."
        )


def _about_batches(plan: Plan) -> Iterator[str]:
    settings, batch = plan.settings, plan.batch
    if absent(settings, "--rollout-batch-size") and batch.rollout_batch_size is not None:
        yield said(
            "The rollout batch is not set: global batch ÷ samples per prompt = {prompts}.",
            prompts=counted(batch.rollout_batch_size, "prompt"),
        )
    if absent(settings, "--global-batch-size") and batch.global_batch_size is not None:
        yield said(
            "The global batch is not set: samples of a rollout ÷ steps per rollout = {samples}.",
            samples=batch.global_batch_size,
        )
    if batch.dynamic_batch is False and settings.given("--micro-batch-size") is None:
        yield said(
            "The micro-batch size is not set: Relax takes {size}.", size=batch.micro_batch_size
        )


def _about_engines(plan: Plan) -> Iterator[str]:
    engines, settings = plan.engines, plan.settings
    if engines is None:
        return
    if absent(settings, "--sglang-mem-fraction-static"):
        yield said("The engines' memory fraction is not set: SGLang chooses it.")
    if settings.given("--rollout-num-gpus-per-engine") is None:
        yield said(
            "GPUs per engine are not set: Relax takes {number}.", number=engines.gpus_per_engine
        )
