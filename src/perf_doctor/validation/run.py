"""A measured run as the estimate sees it, or why it cannot.

A run is an entry of a table of measurements: model sizes, layout, what was measured. What it
leaves open its framework's documented default stands in for (``frameworks``), as an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from perf_doctor.estimate.card import Card, card_of
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.shape import (
    Batch,
    Latent,
    Linear,
    Mesh,
    Recompute,
    Routed,
    Shape,
    States,
    Training,
)
from perf_doctor.frozen import frozen
from perf_doctor.plan.gpu import UnknownGpuError, find_gpu
from perf_doctor.validation.frameworks import BF16_STATES, FP32, Framework, framework_of

Point = Mapping[str, Any]


class Unmodelled(str):
    """Why a run is not predicted though it states enough: the estimate does not cover it."""

    __slots__ = ()


_NEEDED = ("tp", "pp", "n_gpus", "seq", "mbs")
_BEYOND = {
    "fine-grained-activation-offloading": Unmodelled("offloads activations, which is not modelled"),
    "use-megatron-fsdp": Unmodelled("runs fully sharded, which is not modelled"),
    "use-torch-fsdp2": Unmodelled("runs fully sharded, which is not modelled"),
}
# Beyond, a number is no count of layers, and a list of as many would fill the memory.
_MOST_LAYERS = 10_000
# Runs without a batch, of which only is known that they fit or not: one micro-batch.
_ASSUMED_TOKENS = 8192


@frozen
class Run:
    """A measured run that the estimate covers.

    ``last_rank_only``: whose memory, else the heaviest rank's. ``neighbour_share``: of the GPU
    that an engine keeps beside it. ``alternatives``: what an optimizer that is not stated may be.
    """

    training: Training
    assumptions: tuple[str, ...]
    last_rank_only: bool
    neighbour_share: float = 0.0
    alternatives: tuple[States, ...] = ()


def source_of(point: Point) -> str:
    """Return the repository that published a run."""
    source = point.get("source") or {}
    return str(source.get("repo") if isinstance(source, Mapping) else source)


def card_named(name: str) -> Card | None:
    """Return the card of a measured run, None when its name says none or several."""
    try:
        return card_of(find_gpu(name))
    except UnknownGpuError:
        return None


def is_eligible(point: Point) -> bool:
    """Tell whether a run states all that an estimate needs: layout, batch and model sizes."""
    point = _completed(point)
    return bool(point.get("dims")) and all(point.get(name) for name in _NEEDED)


def run_of(point: Point, *, tokens_needed: bool = True) -> Run | str:
    """Return the run of a point, or why it is skipped."""
    point = _completed(point)
    missing = [name for name in _NEEDED if not point.get(name)]
    if not tokens_needed:
        missing = [name for name in missing if name not in ("seq", "mbs")]
    dims = point.get("dims") or {}
    if not dims:
        return "states no model sizes"
    if missing:
        return f"does not state {', '.join(missing)}"
    flags = _flags(point)
    beyond = next((reason for flag, reason in _BEYOND.items() if flags.get(flag)), None)
    if beyond is not None:
        return beyond
    optimizer = str(point.get("optimizer") or "")
    if "lora" in optimizer.lower():
        return "trains adapters of a size that is not stated"
    try:
        return _run(point, flags)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        return f"cannot be read: {type(error).__name__} {error}"


def _completed(point: Point) -> Point:
    """A run on as many GPUs as TP has no pipeline."""
    if not point.get("pp") and point.get("tp") and point.get("n_gpus") == point.get("tp"):
        return {**point, "pp": 1}
    return point


def _flags(point: Point) -> Mapping[str, Any]:
    flags = (point.get("extra") or {}).get("flags")
    return flags if isinstance(flags, Mapping) else {}


def _run(point: Point, flags: Mapping[str, Any]) -> Run | str:
    dtype = str(point.get("dtype") or "bf16")
    framework = framework_of(source_of(point), str(point.get("model")), dtype)
    shape = _shape(point, flags, framework)
    mesh = _mesh(point, flags, framework, shape)
    if isinstance(mesh, str):
        return mesh
    states, assumptions = _states(point, flags, framework)
    recompute = _recompute(point, flags, framework)
    if not point.get("recompute") and "recompute-granularity" not in flags:
        assumptions.append(f"recompute {framework.recompute}: default of {framework.name}")
    if not point.get("seq"):
        assumptions.append(f"{_tokens(point, mesh):.0f} tokens per micro-batch and GPU")
    training = Training(
        shape=shape,
        mesh=mesh,
        states=states,
        recompute=recompute,
        batch=_batch(point, flags, framework, mesh),
        imbalance=Interval(1.0, 1.0, 1.5) if shape.routed else exactly(1.0),
    )
    extra = point.get("extra") or {}
    unstated = any(assumption.startswith("optimizer") for assumption in assumptions)
    share = extra.get("gpu_memory_util") if str(extra.get("offload")).upper() == "FALSE" else None
    return Run(
        training,
        tuple(assumptions),
        last_rank_only="last rank only" in str(point.get("notes") or "").lower(),
        neighbour_share=float(share or 0.0),
        alternatives=(BF16_STATES, FP32) if unstated else (),
    )


def _shape(point: Point, flags: Mapping[str, Any], framework: Framework) -> Shape:
    dims = point["dims"]
    layers, plain = int(dims["layers"]), not framework.modern
    if layers > _MOST_LAYERS:
        raise ValueError(f"{layers} layers")
    bias = plain and not flags.get("disable-bias-linear")
    latent = None
    if dims.get("mla"):
        latent = Latent(
            q_lora_rank=int(dims.get("q_lora") or 0),
            kv_lora_rank=int(dims.get("kv_lora") or 512),
            qk_head_dim=int(dims.get("qk_nope") or 128),
            qk_rope_head_dim=int(dims.get("qk_rope") or 64),
            v_head_dim=int(dims.get("v_head") or 128),
        )
    rotary = not plain or latent is not None or flags.get("position-embedding-type") == "rope"
    linear, linear_layers = _linear(dims, layers)
    routed, moe_layers = _routed(dims, layers)
    tp = int(point["tp"])
    unit = 128 * tp
    return Shape(
        layers=layers,
        hidden=int(dims["hidden"]),
        vocab=-(-int(dims["vocab"]) // unit) * unit,
        heads=int(dims["heads"]),
        groups=int(dims.get("kv_heads") or dims["heads"]),
        head_dim=int(dims["head_dim"]),
        ffn=int(dims.get("ffn") or 0),
        gated_mlp=not plain or bool(flags.get("swiglu")),
        linear_bias=bias,
        qkv_bias=bias or bool(dims.get("qkv_bias")),
        qk_norm=bool(dims.get("qk_norm")) or bool(flags.get("qk-layernorm")),
        output_gate=bool(dims.get("attention_output_gate")),
        rms_norm=not plain or flags.get("normalization") == "RMSNorm",
        rotary=rotary,
        learned_positions=0 if rotary else int(point.get("seq") or 0),
        tied=bool(dims.get("tied"))
        or (plain and not flags.get("untie-embeddings-and-output-weights")),
        mtp_layers=int(flags.get("mtp-num-layers") or 0),
        latent=latent,
        linear=linear,
        routed=routed,
        linear_layers=linear_layers,
        moe_layers=moe_layers,
    )


def _linear(dims: Mapping[str, Any], layers: int) -> tuple[Linear | None, tuple[bool, ...]]:
    every = dims.get("full_attention_every")
    if not every:
        return None, ()
    head = int(dims["gdn_head_dim"])
    linear = Linear(
        key_heads=int(dims["gdn_k_heads"]),
        value_heads=int(dims["gdn_v_heads"]),
        key_head_dim=head,
        value_head_dim=head,
        conv_kernel=int(dims.get("conv_kernel") or 4),
    )
    return linear, tuple((index + 1) % int(every) != 0 for index in range(layers))


def _routed(dims: Mapping[str, Any], layers: int) -> tuple[Routed | None, tuple[bool, ...]]:
    if not dims.get("experts"):
        return None, ()
    dense = int(dims.get("dense_layers") or 0)
    shared = int(dims.get("shared_ffn") or 0)
    routed = Routed(
        experts=int(dims["experts"]),
        top_k=int(dims["topk"]),
        ffn=int(dims["moe_ffn"]),
        shared_ffn=shared,
        shared_gate=bool(dims.get("attention_output_gate")) and shared > 0,
    )
    return routed, tuple(index >= dense for index in range(layers))


def _mesh(point: Point, flags: Mapping[str, Any], framework: Framework, shape: Shape) -> Mesh | str:
    tp, pp, world = int(point["tp"]), int(point["pp"]), int(point["n_gpus"])
    cp, ep = int(point.get("cp") or 1), int(point.get("ep") or 1)
    etp = int(point.get("etp") or (tp if framework.expert_tp_follows else 1))
    data, expert_data = world / (tp * cp * pp), world / (etp * ep * pp)
    if data < 1 or (shape.routed is not None and expert_data < 1):
        return "its GPUs do not divide over its parallel sizes"
    stages = _stages(point, shape.layers, pp)
    if stages is None:
        return "its layers do not divide over its stages"
    sharded = framework.modern or bool(flags.get("use-distributed-optimizer"))
    copies = int(flags.get("num-distributed-optimizer-instances") or 1)
    sequence_parallel = flags.get("sequence-parallel", framework.sequence_parallel)
    group = flags.get("microbatch-group-size-per-virtual-pipeline-stage")
    if group is None and flags.get("overlap-p2p-communication-warmup-flush"):
        group = pp + 1  # Megatron asks for more than PP with this schedule
    return Mesh(
        tp=tp,
        cp=cp,
        pp=pp,
        ep=ep,
        etp=etp,
        dense_shards=max(1, int(data * cp) // copies) if sharded else 1,
        expert_shards=max(1, int(expert_data) // copies) if sharded else 1,
        sequence_parallel=bool(sequence_parallel) and tp > 1,
        stages=stages,
        vpp=int(point.get("vpp") or 1),
        group=int(group or pp),
    )


def _stages(point: Point, layers: int, pp: int) -> tuple[int, ...] | None:
    """Even stages; the first ones take the layers that do not divide, or the last what it says."""
    last = (point.get("extra") or {}).get("last_stage_layers")
    tail = [int(last)] if last and pp > 1 else []
    rest, parts = layers - sum(tail), pp - len(tail)
    if rest < parts:
        return None
    return (*(rest // parts + (index < rest % parts) for index in range(parts)), *tail)


def _states(
    point: Point, flags: Mapping[str, Any], framework: Framework
) -> tuple[States, list[str]]:
    """Bytes per parameter from the run's own words, else the framework's."""
    said = f"{point.get('optimizer') or ''}".lower()
    dtype = str(point.get("dtype") or "bf16")
    if dtype == "fp32":
        return States(weight=4.0, gradient=4.0, master=0.0), []
    if dtype == "fp16" and not framework.modern:
        # Gradients in fp16, and an fp32 copy of them that stays between steps.
        return States(gradient=2.0, master=8.0), []
    states, assumptions = framework.states, []
    aware = "precision-aware" in said and "not precision-aware" not in said
    if not said and not flags:
        assumptions.append(f"optimizer of {framework.name}: {framework.source}")
    elif aware or ("fraction" in said and framework.name == "verl"):
        states = states._replace(master=2.0, device_master=0.0)
        aware = True
    if "bf16 states" in said or "bf16 moments" in said:
        states = states._replace(first_moment=2.0, second_moment=2.0)
    if "bf16 grad" in said or flags.get("grad-reduce-in-bf16"):
        states = states._replace(gradient=2.0, main_gradient=0.0 if aware else 4.0)
    share = _offload(said)
    if share is not None:
        kept = 0.0 if aware else 4.0
        master = 4.0 if share else states.master
        states = states._replace(offload=share, device_master=kept, master=master)
    return states, assumptions


def _offload(said: str) -> float | None:
    """The share of the optimizer on the CPU: the number after ``offload``, ``fraction`` or not."""
    if "offload" not in said:
        return None
    rest = said.split("offload", 1)[1].replace("fraction", " ").replace(",", " ").split()
    for word in rest[:2]:
        try:
            return min(1.0, float(word))
        except ValueError:
            continue
    return 1.0


def _recompute(point: Point, flags: Mapping[str, Any], framework: Framework) -> Recompute:
    said = str(point.get("recompute") or flags.get("recompute-granularity") or framework.recompute)
    if said == "none":
        return Recompute()
    if said.startswith("full"):
        method: Literal["uniform", "block"] = (
            "block" if flags.get("recompute-method") == "block" else "uniform"
        )
        return Recompute("full", method, int(flags.get("recompute-num-layers") or 1))
    named = str(flags.get("recompute-modules") or "core_attn") if said == "selective" else said
    return Recompute("selective", modules=frozenset(named.strip("[]").replace("+", " ").split()))


def _tokens(point: Point, mesh: Mesh) -> float:
    if point.get("seq"):
        return float(point["seq"]) * float(point.get("mbs") or 1) / mesh.cp
    limit = (point.get("extra") or {}).get("max_token_len_actor_k")
    return float(limit) * 1024 if limit else float(_ASSUMED_TOKENS)


def _batch(point: Point, flags: Mapping[str, Any], framework: Framework, mesh: Mesh) -> Batch:
    model = str(point.get("model"))
    # Tests without Transformer Engine in their name run Megatron's own, unfused attention.
    own = not framework.modern and "gpt3_mcore_tp" in model
    flash = flags.get("attention-backend") != "unfused" and not own
    data = max(1, int(point["n_gpus"]) // (mesh.tp * mesh.pp * mesh.cp))
    steps = int(point.get("gbs") or 0) // (data * int(point.get("mbs") or 1))
    loss = (point.get("extra") or {}).get("loss") or framework.loss
    default = 0.0 if framework.modern else 0.1
    return Batch(
        tokens=exactly(_tokens(point, mesh)),
        micro_batches=max(1, steps) if point.get("gbs") else 4 * mesh.pp * mesh.vpp,
        loss=loss,
        sequence=float(point.get("seq") or 0) / mesh.cp,
        flash=flash,
        hidden_dropout=bool(float(flags.get("hidden-dropout", default))),
        attention_dropout=bool(float(flags.get("attention-dropout", default))),
        fused_gradients=framework.fused_gradients,
        quantized=str(point.get("dtype") or "").startswith("fp8"),
    )
