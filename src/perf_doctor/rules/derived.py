"""How values of the plan become facts: the getters that take more than a look-up."""

from __future__ import annotations

import json
from collections.abc import Mapping

from perf_doctor.language import said
from perf_doctor.plan.parallel import Mesh
from perf_doctor.plan.roles import SFT_LOSSES, genrm_num_gpus
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Getter, Job, LaunchFlags
from perf_doctor.rules.judgement import SettingRow
from perf_doctor.rules.written import setting_row
from perf_doctor.shell.model import Unknown


def known(value: Value, what: str) -> Value:
    """Return the value, Unknown in the place of None."""
    return Unknown(what, said("the script does not tell it")) if value is None else value


def option(flag: str) -> Getter:
    """Return a getter of an option's value; None where it is not given and has no default."""
    return lambda job: LaunchFlags(job.settings).value(flag)


def mesh(size: str) -> Getter:
    """Return a getter of a parallel size of the actor."""
    return lambda job: known(getattr(job.plan.parallel.mesh, size), size)


def left_over(size: str) -> Getter:
    """Return a getter of a data parallel size: None where the processes leave a rest."""
    others = ("tp", "pp", "cp") if size == "dp" else ("etp", "ep", "pp")

    def get(job: Job) -> Value:
        sizes = job.plan.parallel.mesh
        found: int | None = getattr(sizes, size)
        needed = [sizes.world_size, *(getattr(sizes, other) for other in others)]
        return known(None, size) if found is None and None in needed else found

    return get


def linear(heads: str) -> Getter:
    """Return a getter of the heads of linear-attention layers; None without such layers."""

    def get(job: Job) -> Value:
        model = job.plan.model.architecture
        attention = None if model is None else model.linear_attention
        return None if attention is None else getattr(attention, heads)

    return get


def batch(name: str, flag: str) -> Getter:
    """Return a getter of a batch size: absent when nothing determines it, else Unknown."""

    def get(job: Job) -> Value:
        size = getattr(job.plan.batch, name)
        return size if size is not None else _not_given(job, flag, name)

    return get


def _not_given(job: Job, flag: str, what: str) -> Value:
    """Return None for an option that is not given, Unknown for one whose value is not known."""
    return known(None, what) if job.settings.given(flag) else None


def architecture(size: str) -> Getter:
    """Return a getter of a size of the model; Unknown where its shape is not known."""

    def get(job: Job) -> Value:
        model = job.plan.model.architecture
        return known(None if model is None else getattr(model, size), size)

    return get


def num_experts(job: Job) -> Value:
    """Return the experts of the model, None in a dense one."""
    model = job.plan.model.architecture
    if model is None:
        return Unknown("num_experts", said("the shape of the model is not known"))
    return None if model.experts is None else model.experts.num_experts


def kv_heads(job: Job) -> Value:
    """Return the key-value heads, None with latent attention."""
    model = job.plan.model.architecture
    if model is not None and model.latent_attention is not None:
        return None
    return known(None if model is None else model.query_groups, "kv_heads")


def is_moe(job: Job) -> Value:
    """Tell whether the model has experts."""
    kind = job.plan.model.kind
    if kind is None:
        return Unknown("moe", said("the shape of the model is not known"))
    return kind == "moe"


def is_multimodal(job: Job) -> Value:
    """Tell whether the checkpoint is a multimodal one."""
    return known(job.plan.model.natively_multimodal, "multimodal_checkpoint")


def is_blackwell(job: Job) -> Value:
    """Tell whether the card is of the Blackwell generation, by its name."""
    name = job.plan.gpu.name.upper().removeprefix("G")
    return name.startswith("B") and name[1:2].isdigit()


def steps(job: Job) -> Value:
    """Return the optimizer steps of a rollout; None where it does not divide into batches."""
    sizes = job.plan.batch
    if sizes.optimizer_steps_per_rollout is not None:
        return sizes.optimizer_steps_per_rollout
    if sizes.samples_per_rollout is None or sizes.global_batch_size is None:
        return known(None, "steps_per_rollout")
    return None


def gpus_of(role: str) -> Getter:
    """Return a getter of the GPUs set aside for a role: None without such an entry."""

    def get(job: Job) -> Value:
        reserved = job.plan.roles.reserved
        if reserved is None:
            return Unknown(f"{role} GPUs", said("--resource is not known"))
        return known(reserved[role], f"{role} GPUs") if role in reserved else None

    return get


def roles(job: Job) -> Value:
    """Return the roles of ``--resource``."""
    reserved = job.plan.roles.reserved
    if reserved is None:
        return Unknown("roles", said("--resource is not known"))
    return tuple(reserved)


def wrong_entries(job: Job) -> Value:
    """Roles whose entry is not ``[1, GPUs]``."""
    resource = job.settings.value("--resource")
    if not isinstance(resource, Mapping):
        return None if resource is None else known(None, "--resource")
    return tuple(
        role
        for role, entry in resource.items()
        if not (isinstance(entry, list) and len(entry) == 2 and entry[0] == 1)
    )


def unused_roles(job: Job) -> Value:
    """Return the roles with GPUs of their own that nothing starts."""
    roles, idle = job.plan.roles, job.plan.cluster.idle_gpus
    if roles.active is None or roles.reserved is None or idle is None:
        return Unknown("unused_roles", said("the mode or --resource is not known"))
    return tuple(r for r in roles.unused if roles.reserved.get(r)) if idle else ()


def unused_gpus(job: Job) -> Value:
    """Return the GPUs that are set aside and never taken."""
    return known(job.plan.cluster.idle_gpus, "unused_gpus")


def resource_for_rollout(job: Job) -> Value:
    """``--resource`` with the unused GPUs given to the engines; None where they cannot use them."""
    unused = unused_roles(job)
    return _given_to_rollout(job, unused) if isinstance(unused, tuple) else None


def _given_to_rollout(job: Job, roles: tuple[object, ...]) -> Value:
    """``--resource`` with the GPUs of these roles given to the engines; None if that is no use."""
    resource = job.settings.value("--resource")
    engine = job.settings.value("--rollout-num-gpus-per-engine")
    rollout = job.plan.roles.reserved_gpus("rollout")
    if not isinstance(resource, Mapping) or rollout is None or "rollout" in roles:
        return None
    spare = sum(job.plan.roles.reserved_gpus(str(role)) or 0 for role in roles)
    if not isinstance(engine, int) or engine < 1 or (rollout + spare) % engine:
        return None
    if job.plan.roles.mode not in ("fully-async", "hybrid"):
        return None
    kept = {role: entry for role, entry in resource.items() if role not in roles}
    return json.dumps({**kept, "rollout": [1, rollout + spare]})


def resource_without_reference(job: Job) -> Value:
    """``--resource`` without the reference and without unused roles; None without a reference.

    Their GPUs go to the engines where these can use them, and leave the job where not.
    """
    resource, unused = job.settings.value("--resource"), unused_roles(job)
    if not isinstance(resource, Mapping) or not isinstance(unused, tuple):
        return None
    if "reference" not in resource:
        return None
    gone = ("reference", *unused)
    kept = {role: entry for role, entry in resource.items() if role not in gone}
    return _given_to_rollout(job, gone) or json.dumps(kept)


def resource_without_unused(job: Job) -> Value:
    """Return ``--resource`` without the roles that are never started."""
    resource, unused = job.settings.value("--resource"), unused_roles(job)
    if not isinstance(resource, Mapping) or not isinstance(unused, tuple):
        return None
    return json.dumps({role: entry for role, entry in resource.items() if role not in unused})


def legacy_actor_gpus(job: Job) -> Value:
    """GPUs the old flags ask for, None when they stand at their defaults, 1 node of 8."""
    nodes = job.settings.value("--actor-num-nodes")
    per_node = job.settings.value("--actor-num-gpus-per-node")
    if isinstance(nodes, Unknown) or isinstance(per_node, Unknown):
        return known(None, "--actor-num-nodes")
    return None if (nodes, per_node) == (1, 8) else nodes * per_node


def forward(role: str, what: str) -> Getter:
    """Return a getter over the mesh of a role that only runs forward passes; None without one."""

    def get(job: Job) -> Value:
        mesh: Mesh | None = getattr(job.plan.parallel, role)
        if mesh is None:
            return None
        sizes = {
            "gpus": (mesh.world_size,),
            "dense": (mesh.tp, mesh.pp, mesh.cp),
            "expert": (mesh.etp, mesh.ep, mesh.pp),
            "stages": (mesh.pp,),
        }[what]
        product = 1
        for size in sizes:
            if size is None:
                return known(None, f"{role} sizes")
            product *= size
        return product

    return get


def stages_between(job: Job) -> Value:
    """Return the stages other than a first and a last one with layers of their own."""
    pp = mesh("pp")(job)
    ends = _ends(job)
    if isinstance(ends, Unknown) or not isinstance(pp, int):
        return ends if isinstance(ends, Unknown) else pp
    return pp - sum(end is not None for end in ends)


def layers_between(job: Job) -> Value:
    """Return the layers that are left for those stages."""
    layers = architecture("layers")(job)
    ends = _ends(job)
    if isinstance(ends, Unknown) or not isinstance(layers, int):
        return ends if isinstance(ends, Unknown) else layers
    return layers - sum(end for end in ends if isinstance(end, int))


def _ends(job: Job) -> tuple[Value, Value] | Unknown:
    first = job.settings.value("--decoder-first-pipeline-num-layers")
    last = job.settings.value("--decoder-last-pipeline-num-layers")
    return (
        first
        if isinstance(first, Unknown)
        else last
        if isinstance(last, Unknown)
        else (first, last)
    )


def is_sft(job: Job) -> Value:
    """Tell whether the job is supervised fine-tuning."""
    loss = job.settings.value("--loss-type")
    return loss if isinstance(loss, Unknown) else loss in SFT_LOSSES


def is_rl(job: Job) -> Value:
    """Tell whether the job is not supervised fine-tuning."""
    sft = is_sft(job)
    return sft if isinstance(sft, Unknown) else not sft


def is_bridge(job: Job) -> Value:
    """Tell whether the model is built from the Hugging Face checkpoint."""
    mode = job.settings.value("--megatron-to-hf-mode")
    return mode if isinstance(mode, Unknown) else mode == "bridge"


def kl(job: Job) -> Value:
    """Tell whether a reference model is needed; SFT switches all of it off."""
    sft, coefficient = is_sft(job), job.settings.value("--kl-coef")
    switch = job.settings.on("--use-kl-loss")
    if sft is True:
        return False
    if sft is False and (switch is True or (isinstance(coefficient, float | int) and coefficient)):
        return True
    return next((v for v in (sft, switch, coefficient) if isinstance(v, Unknown)), False)


def zero_kl(job: Job) -> Value:
    """Tell whether a reference is asked for whose term is multiplied by 0."""
    asked = kl(job)
    if asked is not True:
        return asked
    weights = [job.settings.value(flag) for flag in ("--kl-coef", "--kl-loss-coef")]
    unknown = next((w for w in weights if isinstance(w, Unknown)), None)
    if any(isinstance(w, int | float) and w for w in weights):
        return False
    return True if unknown is None else unknown


def kl_rows(job: Job) -> tuple[SettingRow, ...]:
    """Return the rows of the options that ask for a reference."""
    asked = [job.settings.given("--use-kl-loss"), job.settings.given("--kl-coef")]
    return tuple(
        setting_row(setting) for setting in asked if setting is not None and setting.stored
    )


def multimodal_data(job: Job) -> Value:
    """Tell whether samples hold more than text."""
    found = job.plan.modality
    return known(None if found is None else found != "text", "multimodal_data")


def expandable_segments(job: Job) -> Value:
    """Tell whether the script makes PyTorch's allocator use expandable segments on CUDA."""
    text = job.environment.get("PYTORCH_CUDA_ALLOC_CONF") or job.environment.get(
        "PYTORCH_ALLOC_CONF", ""
    )
    return "expandable_segments:true" in text.lower().replace(" ", "")


def vpp(job: Job) -> Value:
    """Return the chunks per stage, None without interleaving, Unknown where it is asked for."""
    asked = any(
        job.settings.given(flag)
        for flag in (
            "--num-layers-per-virtual-pipeline-stage",
            "--num-virtual-stages-per-pipeline-rank",
        )
    )
    chunks = job.plan.pipeline.vpp
    return known(None, "vpp") if asked and chunks is None else chunks


def true_on_policy(job: Job) -> Value:
    """Tell whether the step computes no old log-probabilities."""
    return known(job.plan.roles.true_on_policy, "true_on_policy")


def rollout_gpus(job: Job) -> Value:
    """Return the GPUs of the engines; None when nothing is set aside for them."""
    roles = job.plan.roles
    if roles.rollout_num_gpus is None and roles.reserved is not None:
        return known(None, "rollout_gpus") if "rollout" in roles.reserved else None
    return known(roles.rollout_num_gpus, "rollout_gpus")


def genrm_gpus(job: Job) -> Value:
    """Return the GPUs of the reward model."""
    return known(genrm_num_gpus(job.settings, job.plan.roles.reserved), "genrm_gpus")


def samples_per_rank(job: Job) -> Value:
    """Return the samples of one step on one rank; None where they do not divide."""
    batch_ = job.plan.batch
    if batch_.samples_per_dp_rank is not None:
        return batch_.samples_per_dp_rank
    sizes = (batch_.rollout_batch_size, steps(job), job.plan.parallel.mesh.dp)
    return known(None, "samples_per_rank") if any(s is None for s in sizes[::2]) else None
