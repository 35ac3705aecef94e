"""A plan as the memory estimate sees it: the only place that knows both.

Everything the estimate needs must be known; where a script leaves something open that a usual
value can stand for, the interval is widened, else there is no estimate and the reason is said.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from perf_doctor.estimate.constants import IMBALANCE
from perf_doctor.estimate.from_engines import engines_of
from perf_doctor.estimate.from_model import shape_of
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.job import Job, Role, Sleep, Uncapped
from perf_doctor.estimate.shape import (
    Batch,
    Loss,
    Mesh,
    Recompute,
    Shape,
    States,
    Training,
)
from perf_doctor.language import said
from perf_doctor.plan.parallel import Mesh as PlanMesh
from perf_doctor.plan.pipeline import even_stages
from perf_doctor.plan.plan import Plan
from perf_doctor.plan.reading import number, switch, text, whole
from perf_doctor.plan.training import Optimizer

# Prompts that nothing limits and nobody describes are taken to be this long, in tokens.
_PROMPT = 2048
_DTYPE_BYTES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0}


def job_of(plan: Plan) -> Job | str:
    """Return the job of a plan, or why its memory cannot be told."""
    actor: Training | None = None
    roles = plan.roles.active
    if roles is None:
        return said("which roles the job starts is not known")
    if "actor" in roles:
        found = _actor(plan)
        if isinstance(found, str):
            return found
        actor = found
    uncapped, cap = _uncapped(plan)
    return Job(
        capacity_gib=plan.gpu.usable_gib,
        actor=actor,
        forward_roles=_forward_roles(plan, actor),
        engines=engines_of(plan, longest_sample(plan)),
        reference_pass=_reference_pass(plan),
        log_probs_pass=_log_probs_pass(plan),
        sleep=_sleep(plan),
        engines_sleep=bool(plan.training.offload.rollout),
        engines_alternate=bool(switch(plan.settings, "--defer-reward-to-post-process")),
        weight_copies=_weight_copies(plan),
        sync_bytes=float(whole(plan.settings, "--update-weight-buffer-size") or 512 * 2**20),
        gpus_per_node=min(plan.cluster.gpus_per_node or 8, plan.cluster.world_size or 8),
        uncapped=uncapped,
        cap=cap,
    )


# ---------------------------------------------------------------- the trainer


def _actor(plan: Plan) -> Training | str:
    model, vocab = plan.model.architecture, plan.padded_vocab_size
    if model is None or vocab is None:
        return said("the model's shape is not known")
    shape = shape_of(model, vocab)
    if shape is None:
        return said("a size of the model is not known")
    mesh = _mesh(plan, plan.parallel.mesh, shape)
    if isinstance(mesh, str):
        return mesh
    states = _states(plan)
    if states is None:
        return said("how the optimizer keeps its state is not known")
    tokens = _tokens(plan, plan.batch.token_budget, mesh.cp)
    if tokens is None:
        return said("how many tokens a micro-batch holds is not known")
    batch = Batch(
        tokens=tokens,
        micro_batches=_micro_batches(plan, tokens, mesh),
        loss=_loss(plan),
        forward_tokens=_tokens(plan, plan.batch.log_probs_token_budget, mesh.cp),
        images=plan.modality not in (None, "text", "audio"),
        fused_gradients=not switch(plan.settings, "--no-gradient-accumulation-fusion"),
        scaled_logits=(number(plan.settings, "--rollout-temperature") or 1.0) != 1.0,
    )
    adapters = _adapters(plan, shape)
    return Training(
        shape=shape,
        mesh=mesh,
        states=states,
        recompute=_recompute(plan),
        batch=batch,
        imbalance=_imbalance(plan),
        frozen="base" if adapters else ("tower" if _tower_frozen(plan) else "nothing"),
        adapter_parameters=adapters,
        deepep=plan.training.experts.flex_backend == "deepep",
    )


def _mesh(plan: Plan, mesh: PlanMesh, shape: Shape) -> Mesh | str:
    sizes = (mesh.tp, mesh.cp, mesh.pp, mesh.ep, mesh.etp)
    if None in sizes:
        return said("a parallel size is not known")
    if not mesh.dp:
        return said("the processes cannot be divided over the parallel sizes")
    tp, cp, pp, ep, etp = (size or 1 for size in sizes)
    own = mesh is plan.parallel.mesh
    stages = plan.pipeline.layers_per_stage if own else even_stages(shape.layers, pp)
    if stages is None or sum(stages) != shape.layers:
        return said("how the layers lie on the pipeline stages is not known")
    if shape.routed is not None and mesh.edp is None:
        return said("the processes cannot be divided over the expert parallel sizes")
    return Mesh(
        tp=tp,
        cp=cp,
        pp=pp,
        ep=ep,
        etp=etp,
        dense_shards=mesh.dp * cp,
        expert_shards=mesh.edp or 1,
        sequence_parallel=bool(plan.parallel.sequence_parallel) and tp > 1,
        stages=stages,
        vpp=(plan.pipeline.vpp or 1) if own else 1,
        group=whole(plan.settings, "--microbatch-group-size-per-virtual-pipeline-stage") or pp,
    )


def _states(plan: Plan) -> States | None:
    """Return bytes per parameter, as facts of Megatron's optimizers have them.

    fp32 gradients unless told otherwise; precision-aware states keep the master as a 16-bit
    remainder, not with fp16 (relax/backends/megatron/model.py:283-291) and not on the CPU.
    """
    optimizer, fp16 = plan.training.optimizer, plan.training.precision == "fp16"
    if optimizer.cpu_offload is None or optimizer.precision_aware is None:
        return None
    return optimizer_states(optimizer, fp16=fp16)


@lru_cache(maxsize=64)
def optimizer_states(optimizer: Optimizer, *, fp16: bool) -> States:
    """Return bytes per parameter of an optimizer."""
    offload = (optimizer.offload_fraction or 0.0) if optimizer.cpu_offload else 0.0
    aware = bool(optimizer.precision_aware)
    gradient = 4.0 if optimizer.fp32_gradients is not False else 2.0
    first = _DTYPE_BYTES.get(optimizer.exp_avg_dtype or "fp32", 4.0)
    second = _DTYPE_BYTES.get(optimizer.exp_avg_sq_dtype or "fp32", 4.0)
    remainder = aware and not fp16 and not optimizer.cpu_offload
    return States(
        gradient=gradient,
        master=2.0 if remainder else 4.0,
        first_moment=first if aware else 4.0,
        second_moment=second if aware else 4.0,
        main_gradient=4.0 if gradient < 4 and not aware else 0.0,
        offload=offload,
        device_master=0.0 if aware else 4.0,
    )


def _recompute(plan: Plan) -> Recompute:
    """In bridge mode the list of modules does not reach the model: core attention alone."""
    recompute = plan.training.recompute
    if recompute.granularity == "full":
        method: Literal["uniform", "block"] = "block" if recompute.method == "block" else "uniform"
        return Recompute("full", method, recompute.num_layers or 1)
    if recompute.granularity == "selective":
        named = frozenset(recompute.modules or ())
        modules = frozenset({"core_attn"}) if plan.training.bridge is not False else named
        return Recompute("selective", modules=modules or frozenset({"core_attn"}))
    return Recompute()


def _loss(plan: Plan) -> Loss:
    if plan.task != "sft":
        return "rl"
    return "sft-chunked" if switch(plan.settings, "--sft-chunked-logits") else "sft"


def _imbalance(plan: Plan) -> Interval:
    """Uneven routing; forced balance is even, and one rank with all experts always is."""
    ep = plan.parallel.mesh.ep or 1
    if ep == 1 or switch(plan.settings, "--moe-router-force-load-balancing"):
        return exactly(1.0)
    return IMBALANCE


def _tower_frozen(plan: Plan) -> bool:
    """Freezing by flag, or by a list of names that says vision or visual."""
    if switch(plan.settings, "--freeze-vision-model"):
        return True
    value = plan.settings.value("--freeze-params-name-list")
    names = value if isinstance(value, (list, tuple)) else (value,)
    return any("vis" in str(name) for name in names if name)


def _adapters(plan: Plan, shape: Shape) -> float:
    """Parameters of LoRA: rank · (in + out) of every linear layer but the experts', 0 without."""
    rank = whole(plan.settings, "--lora-rank")
    if not rank or plan.settings.given("--lora-rank") is None:
        return 0.0
    queries = shape.heads * shape.head_dim
    sides = 2 * (shape.hidden + queries) + 2 * shape.groups * shape.head_dim
    if shape.ffn:
        sides += 2 * (shape.hidden + shape.ffn) + shape.ffn
    return float(rank * sides * shape.layers)


# ---------------------------------------------------------------- tokens


def longest_sample(plan: Plan, unlimited_prompt: int = 0) -> float | None:
    """Return the most tokens that one sample may have, None when nothing limits it.

    The context limit, else prompt and response; a prompt without a limit counts
    ``unlimited_prompt``.
    """
    lengths = plan.lengths
    if lengths.context is not None:
        return float(lengths.context)
    if plan.task == "sft" or lengths.response is None:
        return None
    return float(lengths.response + (lengths.prompt or unlimited_prompt))


def _tokens(plan: Plan, budget: int | None, cp: int) -> Interval | None:
    """Return tokens of a micro-batch on one CP rank.

    Dynamic: bins nearly reach the budget and may pass it a little (Karmarkar-Karp has no hard
    limit); one sample longer than the budget forms a bin of its own. Static: the samples of a
    micro-batch have up to the longest length each.
    """
    batch, longest = plan.batch, longest_sample(plan)
    if batch.dynamic_batch:
        if budget is None:
            return None
        most = max(float(budget), longest or 0.0)
        highest = max(1.02 * budget, longest_sample(plan, _PROMPT) or 0.0)
        return Interval(0.95 * budget, most, highest) * (1 / cp)
    if batch.dynamic_batch is None or batch.micro_batch_size is None:
        return None
    length = longest or (float(plan.lengths.seq_length) if plan.lengths.seq_length else None)
    if length is None:
        return None
    samples = batch.micro_batch_size
    share = 1.0 if samples == 1 else 0.85
    return Interval(0.6 * samples * length, share * samples * length, samples * length) * (1 / cp)


def _micro_batches(plan: Plan, tokens: Interval, mesh: Mesh) -> int:
    """Micro-batches of an optimizer step on one DP rank; only few of them shorten a pipeline."""
    if plan.batch.micro_batches_per_step is not None:
        return plan.batch.micro_batches_per_step
    samples, longest = plan.batch.samples_per_dp_rank, longest_sample(plan)
    if samples is None or longest is None:
        return 4 * mesh.pp * mesh.vpp
    return max(1, min(samples, round(samples * longest / max(1.0, tokens.expected * mesh.cp))))


def _uncapped(plan: Plan) -> tuple[Uncapped | None, str | None]:
    """Return a length that nothing limits, and the setting that would."""
    if plan.task == "sft":
        strategy = text(plan.settings, "--sft-oversize-strategy")
        if strategy == "keep" and "actor" in (plan.roles.active or {}):
            return "sample", said("--sft-oversize-strategy truncate_right (or skip)")
        return None, None
    if plan.lengths.context is not None:
        return None, None
    agentic = any(setting.flag.startswith("--agentic") for setting in plan.settings)
    return ("context", "--rollout-max-context-len") if agentic else (None, None)


# ---------------------------------------------------------------- passes and sleep


def _reference_pass(plan: Plan) -> bool:
    """The actor's processes compute the reference's log-probs themselves."""
    return bool(plan.training.reference_pass) and plan.parallel.reference is None


def _log_probs_pass(plan: Plan) -> bool:
    """The actor computes its old log-probs itself (relax/backends/megatron/actor.py:731-750)."""
    if plan.task == "sft" or plan.parallel.actor_fwd is not None or plan.mode == "fully-async":
        return False
    given = bool(switch(plan.settings, "--use-rollout-logprobs"))
    return not given or bool(switch(plan.settings, "--get-mismatch-metrics"))


def _sleep(plan: Plan) -> Sleep:
    if not plan.training.offload.train or not plan.roles.shares_gpus:
        return "never"
    return "manual" if switch(plan.settings, "--manual-offload") else "memory-saver"


def _weight_copies(plan: Plan) -> int:
    """Tags of the weights in host memory: colocate and hybrid (relax/…/actor.py:203-229)."""
    if not plan.roles.colocate or plan.task == "sft":
        return 0
    if switch(plan.settings, "--disable-weights-backuper"):
        return 0
    old = 2 if switch(plan.settings, "--keep-old-actor") else 0
    return 1 + int(bool(plan.training.reference_pass)) + old


def _forward_roles(plan: Plan, actor: Training | None) -> tuple[tuple[Role, Training], ...]:
    """Roles with processes of their own that only compute log-probs."""
    if actor is None:
        return ()
    found: list[tuple[Role, Training]] = []
    meshes: tuple[tuple[Role, PlanMesh | None], ...] = (
        ("reference", plan.parallel.reference),
        ("actor_fwd", plan.parallel.actor_fwd),
    )
    for role, plan_mesh in meshes:
        mesh = None if plan_mesh is None else _mesh(plan, plan_mesh, actor.shape)
        if mesh is None or isinstance(mesh, str):
            continue
        limit = plan.batch.forward_max_tokens_per_gpu
        budget = None if limit is None else limit * mesh.cp
        tokens = _tokens(plan, budget, mesh.cp) or actor.batch.tokens
        batch = actor.batch._replace(tokens=tokens, forward_tokens=tokens)
        found.append((role, actor._replace(mesh=mesh, batch=batch)))
    return tuple(found)
