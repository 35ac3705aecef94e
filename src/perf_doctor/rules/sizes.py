"""How lengths, bytes and engines of the plan become facts: products of a few sizes, no estimate.

Bytes are averages over the GPUs of the trainer: parameters ÷ what divides them. The estimates,
which look at single stages, are another room.
"""

from __future__ import annotations

from perf_doctor.estimate.constants import GIB
from perf_doctor.plan.engines import Engines
from perf_doctor.plan.reading import product
from perf_doctor.rules.derived import known
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Getter, Job
from perf_doctor.shell.model import Unknown

WEIGHT_BYTES = 2  # bf16
GRADIENT_BYTES = 4  # fp32 by default: megatron/training/arguments.py:1001-1005


def parameters(job: Job) -> Value:
    """Return the parameters of the model, in 1e9."""
    found = job.plan.model.parameters
    return known(None if found is None else round(found.total / 1e9, 2), "parameters")


def sample_limit(job: Job) -> Value:
    """Return the tokens a sample can have: the context limit, else prompt + response limit."""
    settings, lengths = job.settings, job.plan.lengths
    if settings.given("--rollout-max-context-len"):
        return known(lengths.context, "sample_limit")
    given = [
        (flag, size)
        for flag, size in (
            ("--rollout-max-prompt-len", lengths.prompt),
            ("--rollout-max-response-len", lengths.response),
        )
        if settings.given(flag)
    ]
    if not given or given[-1][0] != "--rollout-max-response-len":
        return None
    if any(size is None for _, size in given):
        return known(None, "sample_limit")
    return sum(size for _, size in given if size is not None)


def most_micro_batches(job: Job) -> Value:
    """Return the most micro-batches that a step can have on a rank, all samples at their limit.

    First fit needs at most twice as many bins as the tokens fill, and no bin is empty.
    """
    batch, limit = job.plan.batch, sample_limit(job)
    samples, budget = batch.samples_per_dp_rank, batch.token_budget
    if job.plan.roles.mode == "sft":
        samples, limit = _sft_samples(job), None
    if samples is None:
        return known(None, "most_micro_batches")
    if not batch.dynamic_batch:
        return known(batch.micro_batches_per_step, "most_micro_batches")
    if not isinstance(limit, int) or budget is None:
        return samples if limit is None else known(None, "most_micro_batches")
    return min(samples, 2 * -(-samples * limit // budget))


def _sft_samples(job: Job) -> int | None:
    samples, dp = job.plan.batch.global_batch_size, job.plan.parallel.mesh.dp
    return None if samples is None or dp is None else samples // dp


def _expert_share(job: Job) -> tuple[float, float] | None:
    """Return the parameters outside and inside the routed experts."""
    model, found = job.plan.model.architecture, job.plan.model.parameters
    if model is None or found is None:
        return None
    experts = model.experts
    if experts is None:
        return found.total, 0.0
    layers = experts.moe_layers if experts.layers is not None else model.layers
    if layers is None or model.hidden_size is None or experts.ffn_hidden_size is None:
        return None
    inside = 3.0 * layers * experts.num_experts * model.hidden_size * experts.ffn_hidden_size
    return max(0.0, found.total - inside), inside


def _local(job: Job) -> tuple[float, float] | None:
    """Return the same two numbers for the average GPU of the trainer."""
    share, mesh = _expert_share(job), job.plan.parallel.mesh
    dense = product(mesh.tp, mesh.pp)
    expert = product(mesh.ep, mesh.etp, mesh.pp)
    if share is None or dense is None or expert is None:
        return None
    return share[0] / dense, share[1] / expert


def weights_gib(job: Job) -> Value:
    """Return the bf16 weights on a GPU of the trainer, in GiB."""
    local = _local(job)
    return known(_gib(None if local is None else sum(local) * WEIGHT_BYTES), "weights_gib")


def expert_gib(job: Job) -> Value:
    """Return weights and fp32 gradients of the experts on a GPU, in GiB."""
    local = _local(job)
    size = None if local is None else local[1] * (WEIGHT_BYTES + GRADIENT_BYTES)
    return known(_gib(size), "expert_gib")


def static_gib(job: Job) -> Value:
    """Return weights, gradients and optimizer state on a GPU of the trainer, in GiB."""
    local, share, optimizer = _local(job), _expert_share(job), job.plan.training.optimizer
    world, fraction = job.plan.parallel.mesh.world_size, optimizer.offload_fraction
    if local is None or share is None or world is None or optimizer.cpu_offload is None:
        return known(None, "static_gib")
    kept = 1.0
    if optimizer.cpu_offload:
        if fraction is None:
            return known(None, "static_gib")
        kept = 1.0 - fraction
    state = 10 if optimizer.precision_aware else 12  # always sharded over all data ranks
    moving = sum(local) * (WEIGHT_BYTES + GRADIENT_BYTES)
    return known(_gib(moving + sum(share) * state * kept / world), "static_gib")


def _gib(size: float | None) -> float | None:
    return None if size is None else round(size / GIB, 1)


def logits_gib(bytes_each: int) -> Getter:
    """Return a getter of logits: bytes × ``--max-tokens-per-gpu`` × vocabulary ÷ TP."""

    def get(job: Job) -> Value:
        tokens, vocab = job.settings.value("--max-tokens-per-gpu"), job.plan.padded_vocab_size
        tp = job.plan.parallel.mesh.tp
        if tokens is None:
            return None
        if isinstance(tokens, Unknown) or vocab is None or tp is None:
            return known(None, "logits")
        return _gib(bytes_each * tokens * vocab / tp)

    return get


def ep_within_node(job: Job) -> Value:
    """Return the largest EP that divides experts and ranks and stays in a node; None if 1."""
    model, mesh, node = job.plan.model.architecture, job.plan.parallel.mesh, gpus_per_node(job)
    if model is None or model.experts is None:
        return None
    stages = product(mesh.pp, mesh.etp)
    if mesh.world_size is None or mesh.etp is None or stages is None or not isinstance(node, int):
        return known(None, "ep_within_node")
    ranks, experts = mesh.world_size // stages, model.experts.num_experts
    sizes = range(1, max(1, node // mesh.etp) + 1)
    best = max(ep for ep in sizes if experts % ep == 0 == ranks % ep)
    return best if best > 1 else None


def gpus_per_node(job: Job) -> Value:
    """Return the GPUs of a machine as far as the job uses them."""
    return known(job.plan.cluster.gpus_per_node, "gpus_per_node")


def engine(field: str) -> Getter:
    """Return a getter over the rollout engines: None without engines or where SGLang decides."""
    return lambda job: _field(job.plan.engines, field)


def genrm(field: str) -> Getter:
    """Return a getter over the engines of the reward model; None without one."""
    return lambda job: _field(job.plan.genrm, field)


def _field(engines: Engines | None, field: str) -> Value:
    found: int | float | str | None = None if engines is None else getattr(engines, field)
    return found


def graph_limit(job: Job) -> Value:
    """Return the largest batch a CUDA graph is captured for; None where SGLang chooses."""
    engines = job.plan.engines
    if engines is None:
        return None
    sizes = engines.cuda_graph_batch_sizes
    return max(sizes) if sizes else engines.cuda_graph_max_batch_size


def requests_per_rank(job: Job) -> Value:
    """Return the samples of a rollout for one engine, or one rank of its attention's data split."""
    engines, samples = job.plan.engines, job.plan.batch.samples_per_rollout
    if engines is None:
        return None
    ranks = (engines.dp or 1) if engines.dp_attention else 1
    if not engines.engines or samples is None:
        return known(None, "requests_per_rank")
    return -(-samples // (engines.engines * ranks))
