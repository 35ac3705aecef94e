"""What one training step keeps and computes: recompute, optimizer, offload, precision, experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.reading import number, switch, text, whole
from perf_doctor.plan.roles import Roles

Precision = Literal["bf16", "fp16", "fp8"]

# Environment switches that turn on a quantized forward pass in training.
_QUANTIZED_TRAINING = ("OPEN_TRAINING_INT4_FAKE_QAT_FLAG", "OPEN_TRAINING_INT4_GROUP_SIZE")


@frozen
class Recompute:
    """Which activations are computed again; None where the script sets nothing.

    ``modules``: for the selective kind; bridge mode does not forward them.
    """

    granularity: str | None
    method: str | None
    num_layers: int | None
    modules: tuple[str, ...] | None
    loss_function: bool | None


@frozen
class Optimizer:
    """The optimizer and where its state lives.

    State is always sharded over DP × CP (relax/backends/megatron/arguments.py:190).
    ``precision_aware`` and ``fp32_gradients`` are as in force: fp16 forces the former, fp32
    gradients are the default. ``offload_fraction``: share of the state on the CPU, 1.0 unless
    the script says otherwise; None when not known. ``*_dtype``: ``fp32``, ``bf16`` …
    """

    name: str | None
    cpu_offload: bool | None
    offload_fraction: float | None
    overlap_transfers: bool | None
    precision_aware: bool | None
    fp32_gradients: bool | None
    main_grads_dtype: str | None
    main_params_dtype: str | None
    exp_avg_dtype: str | None
    exp_avg_sq_dtype: str | None
    overlap_grad_reduce: bool | None
    overlap_param_gather: bool | None


@frozen
class Offload:
    """Whether trainer and engines leave the GPUs to each other, as in force; None: not known."""

    train: bool | None
    rollout: bool | None


@frozen
class Experts:
    """How tokens reach their experts.

    ``dispatcher``: as in force (``allgather`` becomes ``alltoall``). ``flex_backend``: only for
    the flex dispatcher.
    """

    dispatcher: str | None
    flex_backend: str | None
    enable_deepep: bool | None
    grouped_gemm: bool | None
    permute_fusion: bool | None
    load_balancing: str | None


@frozen
class Training:
    """What one training step keeps and computes.

    ``precision``: what the script asks for; fp8 flags do not reach the model in bridge mode.
    ``quantization``: names of the environment switches for quantized training, empty for none
    and None when the environment is not known in full. ``reference_pass``: log-probs of a reference
    model are computed, whatever their coefficient. ``attention_backend``: None when Megatron
    chooses.
    """

    precision: Precision | None
    quantization: tuple[str, ...] | None
    recompute: Recompute
    optimizer: Optimizer
    offload: Offload
    experts: Experts
    attention_backend: str | None
    rope_fusion: bool | None
    per_token_loss: bool | None
    reference_pass: bool | None
    bridge: bool | None


def read_training(
    settings: Settings,
    roles: Roles,
    environment: Mapping[str, str] | None,
    *,
    environment_complete: bool = True,
) -> Training:
    """Return how the job trains."""
    mode = text(settings, "--megatron-to-hf-mode")
    backend = text(settings, "--attention-backend")
    return Training(
        precision=_precision(settings),
        quantization=_quantization(environment, complete=environment_complete),
        recompute=_recompute(settings),
        optimizer=_optimizer(settings),
        offload=_offload(settings, roles),
        experts=_experts(settings),
        attention_backend=backend if settings.given("--attention-backend") else None,
        rope_fusion=_not(switch(settings, "--no-rope-fusion")),
        per_token_loss=switch(settings, "--calculate-per-token-loss"),
        reference_pass=_reference_pass(settings, roles),
        bridge=None if mode is None else mode == "bridge",
    )


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _precision(settings: Settings) -> Precision | None:
    """What the script asks for; Relax trains in bf16 otherwise."""
    fp16 = switch(settings, "--fp16")
    if fp16 is None:
        return None
    if settings.given("--fp8-format"):
        return "fp8"
    return "fp16" if fp16 else "bf16"


def _quantization(
    environment: Mapping[str, str] | None, *, complete: bool
) -> tuple[str, ...] | None:
    found = tuple(name for name in _QUANTIZED_TRAINING if name in (environment or ()))
    return found if found or (environment is not None and complete) else None


def _recompute(settings: Settings) -> Recompute:
    modules = settings.value("--recompute-modules")
    return Recompute(
        granularity=text(settings, "--recompute-granularity"),
        method=text(settings, "--recompute-method"),
        num_layers=whole(settings, "--recompute-num-layers"),
        modules=tuple(str(m) for m in modules) if isinstance(modules, (list, tuple)) else None,
        loss_function=switch(settings, "--recompute-loss-function"),
    )


def _optimizer(settings: Settings) -> Optimizer:
    fp16 = switch(settings, "--fp16")
    aware = switch(settings, "--use-precision-aware-optimizer")
    main_grads = text(settings, "--main-grads-dtype")
    return Optimizer(
        name=text(settings, "--optimizer"),
        cpu_offload=switch(settings, "--optimizer-cpu-offload"),
        offload_fraction=number(settings, "--optimizer-offload-fraction"),
        overlap_transfers=switch(settings, "--overlap-cpu-optimizer-d2h-h2d"),
        precision_aware=True if fp16 else aware,  # relax/backends/megatron/model.py:283-291
        fp32_gradients=_fp32_gradients(settings, main_grads, fp16=fp16),
        main_grads_dtype=main_grads,
        main_params_dtype=text(settings, "--main-params-dtype"),
        exp_avg_dtype=text(settings, "--exp-avg-dtype"),
        exp_avg_sq_dtype=text(settings, "--exp-avg-sq-dtype"),
        overlap_grad_reduce=switch(settings, "--overlap-grad-reduce"),
        overlap_param_gather=switch(settings, "--overlap-param-gather"),
    )


def _fp32_gradients(
    settings: Settings, main_grads: str | None, *, fp16: bool | None
) -> bool | None:
    """Megatron accumulates in fp32 for bf16 unless told not to (training/arguments.py:1001)."""
    asked = switch(settings, "--accumulate-allreduce-grads-in-fp32")
    if asked:
        return True
    reduced = switch(settings, "--grad-reduce-in-bf16")
    if asked is None or reduced is None or fp16 is None or main_grads is None:
        return None
    return not fp16 and not reduced and main_grads == "fp32"


def _offload(settings: Settings, roles: Roles) -> Offload:
    """Relax's own defaults: on in colocate, off elsewhere, off when only generation runs.

    relax/utils/arguments.py:2760-2775 and 2803-2872.
    """
    if roles.debug == "rollout-only":
        return Offload(train=False, rollout=False)
    default = None
    if roles.colocate is not None and roles.mode is not None:
        default = roles.colocate and switch(settings, "--hybrid") is False
    both = switch(settings, "--offload")

    def in_force(flag: str) -> bool | None:
        if both:
            return True
        if settings.given(flag):
            return switch(settings, flag)
        return default if both is False else None

    return Offload(train=in_force("--offload-train"), rollout=in_force("--offload-rollout"))


def _experts(settings: Settings) -> Experts:
    dispatcher = text(settings, "--moe-token-dispatcher-type")
    return Experts(
        # Variable lengths rule out allgather (relax/backends/megatron/arguments.py:79-86).
        dispatcher="alltoall" if dispatcher == "allgather" else dispatcher,
        flex_backend=text(settings, "--moe-flex-dispatcher-backend")
        if dispatcher == "flex"
        else None,
        enable_deepep=switch(settings, "--moe-enable-deepep"),
        grouped_gemm=switch(settings, "--moe-grouped-gemm"),
        permute_fusion=switch(settings, "--moe-permute-fusion"),
        load_balancing=_load_balancing(settings),
    )


def _load_balancing(settings: Settings) -> str | None:
    value = settings.value("--moe-router-load-balancing-type")
    if isinstance(value, (list, tuple)):
        value = value[0] if len(value) == 1 else None
    return value if isinstance(value, str) else None


def _reference_pass(settings: Settings, roles: Roles) -> bool | None:
    """KL in the loss or in the reward, RL only (relax/components/actor.py:66)."""
    if roles.mode == "sft":
        return False
    loss, reward = switch(settings, "--use-kl-loss"), number(settings, "--kl-coef")
    if loss or reward:
        return True
    return None if loss is None or reward is None or roles.mode is None else False
