"""Batches: what a rollout produces, what an optimizer step eats, how many tokens fit at once.

Defaults as relax/utils/arguments.py:2669-2672 and 2881-2925 fill them in; the plan of the
optimizer steps: relax/backends/megatron/data.py:55-118.
"""

from __future__ import annotations

from typing import Literal

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.parallel import Mesh, Parallel
from perf_doctor.plan.reading import absent, exactly, is_whole, product, switch, text, whole
from perf_doctor.plan.roles import Roles

Sampler = Literal["streaming-token-budget", "seqlen-balanced", "grpo-group"]


@frozen
class Batch:
    """The batches of the job; None is not known (or, where said, not given).

    ``rollout_batch_size``: prompts of one rollout. ``global_batch_size``: samples of one
    optimizer step. ``optimizer_steps_per_rollout``: None also when the samples of a rollout do
    not divide into global batches. ``samples_per_dp_rank``: of one optimizer step; None also
    when the prompts of a step do not divide over the DP ranks. ``micro_batch_size``: samples of
    a static micro-batch, None with dynamic batching, which ignores it. ``max_tokens_per_gpu``: None
    when not given; in force only with dynamic batching. ``token_budget``: tokens of one dynamic
    micro-batch over all CP ranks, None with static batches. ``log_probs_*``: the same for passes
    without gradients; ``forward_max_tokens_per_gpu``: for a reference or actor_fwd role of its
    own, after ``--ref-actor-config``. ``over_sampling_batch_size``: prompts in flight, the
    rollout batch when not given. ``handover_groups``: prompt groups that generation hands over
    at once. ``queue_samples``: what the TransferQueue holds at most.
    """

    rollout_batch_size: int | None
    n_samples_per_prompt: int | None
    global_batch_size: int | None
    samples_per_rollout: int | None
    optimizer_steps_per_rollout: int | None
    samples_per_dp_rank: int | None
    num_rollout: int | None
    num_epoch: int | None
    dynamic_batch: bool | None
    micro_batch_size: int | None
    micro_batches_per_step: int | None
    max_tokens_per_gpu: int | None
    log_probs_max_tokens_per_gpu: int | None
    forward_max_tokens_per_gpu: int | None
    token_budget: int | None
    log_probs_token_budget: int | None
    pad_tokens: int | None
    qkv_format: str | None
    over_sampling_batch_size: int | None
    partial_rollout: bool | None
    sampler: Sampler | None
    balanced: bool | None
    max_staleness: int | None
    num_iters_per_train_update: int | None
    num_data_storage_units: int | None
    handover_groups: int | None
    queue_samples: int | None


def read_batch(settings: Settings, roles: Roles, parallel: Parallel) -> Batch:
    """Return the batches of the job."""
    mesh = parallel.mesh
    n_samples = whole(settings, "--n-samples-per-prompt")
    prompts = _rollout_batch_size(settings, n_samples)
    samples = product(prompts, n_samples)
    global_batch = _global_batch_size(settings, samples)
    steps = _steps(settings, samples, global_batch)
    dynamic = switch(settings, "--use-dynamic-batch-size")
    per_rank = product(exactly(exactly(prompts, steps), mesh.dp), n_samples)
    micro = whole(settings, "--micro-batch-size") if dynamic is False else None
    tokens = whole(settings, "--max-tokens-per-gpu")
    log_probs = _log_probs_tokens(settings, tokens, dynamic=dynamic)
    sampler = _sampler(settings, roles, dynamic=dynamic)
    staleness = _max_staleness(settings, roles)
    iters = whole(settings, "--num-iters-per-train-update")
    return Batch(
        rollout_batch_size=prompts,
        n_samples_per_prompt=n_samples,
        global_batch_size=global_batch,
        samples_per_rollout=samples,
        optimizer_steps_per_rollout=steps,
        samples_per_dp_rank=per_rank,
        num_rollout=whole(settings, "--num-rollout"),
        num_epoch=whole(settings, "--num-epoch"),
        dynamic_batch=dynamic,
        micro_batch_size=micro,
        micro_batches_per_step=exactly(per_rank, micro),
        max_tokens_per_gpu=tokens,
        log_probs_max_tokens_per_gpu=log_probs,
        forward_max_tokens_per_gpu=_forward_tokens(parallel, log_probs),
        token_budget=product(tokens, mesh.cp) if dynamic else None,
        log_probs_token_budget=product(log_probs, mesh.cp) if dynamic else None,
        pad_tokens=_pad_tokens(settings, mesh),
        qkv_format=text(settings, "--qkv-format"),
        over_sampling_batch_size=_or(settings, "--over-sampling-batch-size", prompts),
        partial_rollout=switch(settings, "--partial-rollout"),
        sampler=sampler,
        balanced=None if sampler is None else sampler != "grpo-group",
        max_staleness=staleness,
        num_iters_per_train_update=iters,
        num_data_storage_units=whole(settings, "--num-data-storage-units"),
        handover_groups=_handover_groups(roles, prompts, global_batch, iters, n_samples),
        queue_samples=None if staleness is None else product(samples, staleness + 1),
    )


def _or(settings: Settings, flag: str, default: int | None) -> int | None:
    """The given value, or ``default`` when nothing is given."""
    return default if absent(settings, flag) else whole(settings, flag)


def _rollout_batch_size(settings: Settings, n_samples: int | None) -> int | None:
    """Prompts of one rollout; when not given, global batch ÷ samples per prompt."""
    if not absent(settings, "--rollout-batch-size"):
        return whole(settings, "--rollout-batch-size")
    global_batch = whole(settings, "--global-batch-size")
    if global_batch is None or n_samples is None:
        return None
    return global_batch // n_samples or None


def _global_batch_size(settings: Settings, samples: int | None) -> int | None:
    """Samples of one optimizer step; when not given, a rollout's ÷ ``--num-steps-per-rollout``."""
    if not absent(settings, "--global-batch-size"):
        return whole(settings, "--global-batch-size")
    steps = whole(settings, "--num-steps-per-rollout")
    return None if samples is None or steps is None else samples // steps or None


def _steps(settings: Settings, samples: int | None, global_batch: int | None) -> int | None:
    if not absent(settings, "--num-steps-per-rollout"):
        return whole(settings, "--num-steps-per-rollout")
    return exactly(samples, global_batch)


def _log_probs_tokens(
    settings: Settings, tokens: int | None, *, dynamic: bool | None
) -> int | None:
    """The token limit of passes without gradients: the training's, with dynamic batching only."""
    if not absent(settings, "--log-probs-max-tokens-per-gpu"):
        return whole(settings, "--log-probs-max-tokens-per-gpu")
    return tokens if dynamic else None


def _forward_tokens(parallel: Parallel, log_probs: int | None) -> int | None:
    """Token limit of reference and actor_fwd.

    ``max_tokens_per_gpu`` of ``--ref-actor-config`` is overwritten right away; only its
    ``log_probs_max_tokens_per_gpu`` counts (relax/utils/utils.py:511-518).
    """
    if parallel.reference is None and parallel.actor_fwd is None:
        return None
    config = parallel.reference_config or {}
    replaced = config.get("log_probs_max_tokens_per_gpu", log_probs)
    return replaced if is_whole(replaced) else None


def _pad_tokens(settings: Settings, mesh: Mesh) -> int | None:
    """Tokens to a multiple of which a packed micro-batch is padded: TP × multiplier."""
    return product(mesh.tp, whole(settings, "--data-pad-size-multiplier"))


def _sampler(settings: Settings, roles: Roles, *, dynamic: bool | None) -> Sampler | None:
    """Which sampler feeds the trainer (relax/core/controller.py:132-152)."""
    if roles.fully_async is None or dynamic is None or roles.mode is None:
        return None
    if roles.fully_async and dynamic:
        return "streaming-token-budget"
    balance = switch(settings, "--balance-data")
    if roles.mode == "sft" or balance:
        return "seqlen-balanced"
    return None if balance is None else "grpo-group"


def _max_staleness(settings: Settings, roles: Roles) -> int | None:
    """SFT turns its steps in flight into staleness (relax/utils/arguments.py:2405-2414)."""
    if roles.mode == "sft" and not absent(settings, "--sft-max-in-flight-steps"):
        steps = whole(settings, "--sft-max-in-flight-steps")
        return None if steps is None else steps - 1
    return whole(settings, "--max-staleness", 0)


def _handover_groups(
    roles: Roles,
    prompts: int | None,
    global_batch: int | None,
    iters: int | None,
    n_samples: int | None,
) -> int | None:
    """Global batch ÷ iterations ÷ samples per prompt, rounded down; all at once unless async.

    relax/engine/rollout/sglang_rollout.py:832-836.
    """
    if roles.fully_async is False:
        return prompts
    if not roles.fully_async or global_batch is None or iters is None or n_samples is None:
        return None
    return global_batch // iters // n_samples
