"""Shapes and jobs of our own, small enough to compute by hand."""

from __future__ import annotations

import json
import shlex
from typing import Any

from hypothesis import strategies as st

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
from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.plan import Plan, build_plan
from perf_doctor.shell.model import Place, Word

PLAN = (
    "--num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 32"
    " --group-query-attention --num-query-groups 8 --kv-channels 128 --vocab-size 151936 --swiglu"
    " --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights"
    " --qk-layernorm --advantage-estimator grpo --megatron-to-hf-mode bridge"
    " --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 256 --num-rollout 10"
    " --rollout-max-response-len 8192 --use-dynamic-batch-size --max-tokens-per-gpu 9216"
    " --sglang-mem-fraction-static 0.7 --rollout-num-gpus-per-engine 1"
)


def plan_of(words: str = "", *, gpu: str = "H20", **resource: int) -> Plan:
    """An 8B on eight GPUs in colocate, changed by what ``words`` add."""
    roles = {role: [1, gpus] for role, gpus in (resource or {"actor": 8, "rollout": 8}).items()}
    line = f"{PLAN} --resource {shlex.quote(json.dumps(roles))} {words}"
    texts = enumerate(shlex.split(line))
    return build_plan(
        read_settings([Word(text, Place("run.sh", 1, number)) for number, text in texts]), gpu=gpu
    )


DENSE = Shape(
    layers=8, hidden=1024, vocab=32000, heads=16, groups=4, head_dim=64, ffn=3072, qk_norm=True
)
EXPERTS = Shape(
    layers=8, hidden=1024, vocab=32000, heads=16, groups=4, head_dim=64, ffn=0,
    routed=Routed(16, 4, 512, 512, True), moe_layers=(True,) * 8,
)  # fmt: skip
LATENT = Shape(
    layers=8, hidden=1024, vocab=32000, heads=16, groups=16, head_dim=96, ffn=3072,
    latent=Latent(256, 128, 64, 32, 64),
)  # fmt: skip
HYBRID = Shape(
    layers=8, hidden=1024, vocab=32000, heads=8, groups=4, head_dim=128, ffn=3072, output_gate=True,
    linear=Linear(8, 16, 64, 64, 4), linear_layers=(True, True, True, False) * 2,
)  # fmt: skip
SHAPES = {"dense": DENSE, "experts": EXPERTS, "latent": LATENT, "hybrid": HYBRID}


def mesh_of(shape: Shape, *, world: int = 8, **sizes: Any) -> Mesh:
    """A mesh with what is left over for data; sizes not given are 1."""
    tp, cp, pp = (sizes.get(name, 1) for name in ("tp", "cp", "pp"))
    ep, etp = sizes.get("ep", 1), sizes.get("etp", 1)
    return Mesh(
        tp=tp, cp=cp, pp=pp, ep=ep, etp=etp,
        dense_shards=max(1, world // (tp * pp)),
        expert_shards=max(1, world // (ep * etp * pp)),
        sequence_parallel=tp > 1,
        stages=(shape.layers // pp,) * pp,
        vpp=sizes.get("vpp", 1),
        group=pp,
    )  # fmt: skip


def training_of(
    shape: Shape = DENSE,
    mesh: Mesh | None = None,
    *,
    tokens: float = 4096,
    recompute: Recompute | None = None,
    states: States | None = None,
    imbalance: Interval | None = None,
    **batch: Any,
) -> Training:
    """A training job with exact tokens and even routing unless told otherwise."""
    return Training(
        shape=shape,
        mesh=mesh or mesh_of(shape),
        states=states or States(),
        recompute=recompute or Recompute(),
        batch=Batch(
            tokens=exactly(tokens),
            micro_batches=batch.pop("micro_batches", 16),
            loss=batch.pop("loss", "rl"),
            **batch,
        ),
        imbalance=imbalance or exactly(1.0),
    )


shapes = st.sampled_from(sorted(SHAPES)).map(SHAPES.__getitem__)
sizes = st.sampled_from([1, 2, 4])
token_counts = st.integers(min_value=128, max_value=65536)
