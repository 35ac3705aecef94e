"""Compare the memory formulas with real megatron-core models on a CPU.

Usage: make oracle, or: python tools/oracle.py [--json]

Parameter counts must be equal, at TP 1 and on each rank of TP 2; bytes saved for the backward pass
of a decoder layer must agree within 2 %. Takes half a minute. Needs torch 2.13 and megatron-core
0.17 (for Python 3.11: pip install --ignore-requires-python), which nothing else here needs.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import torch.multiprocessing

import megatron_on_cpu as megatron
from perf_doctor.estimate.activations import layer_bytes
from perf_doctor.estimate.interval import exactly
from perf_doctor.estimate.parameters import Kind, count_stages, on_one_rank
from perf_doctor.estimate.shape import Batch, Latent, Mesh, Recompute, Routed, Shape

TOLERANCE = 0.02
# Several sequences share one rotary table, which the formulas leave out.
TOKENS, SEQUENCES = 128, 8
NOTHING = Recompute()

GROUPED = Shape(layers=2, hidden=256, vocab=512, heads=8, groups=2, head_dim=32, ffn=768)
EXPERTS = GROUPED._replace(
    layers=3, routed=Routed(8, 2, 128, 0, False), moe_layers=(False, True, True)
)
LATENT = GROUPED._replace(groups=8, latent=Latent(96, 64, 32, 16, 32))


def selective(*modules: str) -> Recompute:
    """Recompute these modules."""
    return Recompute("selective", modules=frozenset(modules))


# Name, shape, recompute, and whether the bytes of a layer are compared too.
CASES: tuple[tuple[str, Shape, Recompute, bool], ...] = (
    ("dense", GROUPED, NOTHING, True),
    ("dense, query-key norm, biases, tied",
     GROUPED._replace(qk_norm=True, qkv_bias=True, tied=True), NOTHING, True),
    ("dense, LayerNorm, GELU, learned positions",
     GROUPED._replace(groups=8, gated_mlp=False, linear_bias=True, qkv_bias=True, rms_norm=False,
             rotary=False, learned_positions=512), NOTHING, True),
    ("dense, core_attn", GROUPED, selective("core_attn"), True),
    ("dense, mlp", GROUPED, selective("mlp"), True),
    ("gated attention", GROUPED._replace(output_gate=True, qk_norm=True), NOTHING, True),
    ("experts", EXPERTS, NOTHING, True),
    ("experts, shared with gate",
     EXPERTS._replace(routed=Routed(8, 2, 128, 256, True)), NOTHING, True),
    ("experts, moe", EXPERTS, selective("moe"), True),
    ("latent", LATENT, NOTHING, True),
    ("latent without query rank",
     LATENT._replace(latent=Latent(0, 64, 32, 16, 32)), NOTHING, True),
    ("latent, experts",
     EXPERTS._replace(groups=8, latent=Latent(96, 64, 32, 16, 32)), NOTHING, True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure: ours and megatron-core's."""

    case: str
    tp: int
    figure: str
    ours: float
    theirs: float

    @property
    def agrees(self) -> bool:
        """Counts are equal, bytes within the tolerance."""
        if self.figure == "parameters":
            return self.ours == self.theirs
        return abs(self.ours / self.theirs - 1) <= TOLERANCE


def mesh_of(tp: int, layers: int) -> Mesh:
    """Return one stage over ``tp`` ranks, sequence parallel, experts whole on each."""
    return Mesh(
        tp=tp, cp=1, pp=1, ep=1, etp=1, dense_shards=1, expert_shards=1,
        sequence_parallel=tp > 1, stages=(layers,),
    )  # fmt: skip


def compare(tp: int) -> list[Comparison]:
    """Return every comparison at one TP, on this rank."""
    found = []
    for name, shape, recompute, bytes_too in CASES:
        mesh = mesh_of(tp, shape.layers)
        local = on_one_rank(count_stages(shape, mesh.stages)[0], mesh)
        model = megatron.build(shape, tp, recompute)
        counted = sum(parameter.numel() for parameter in model.parameters())
        found.append(Comparison(name, tp, "parameters", local.dense + local.expert, counted))
        if bytes_too:
            model.train()
            theirs = megatron.saved_bytes(model, TOKENS, SEQUENCES, tp)
            batch = Batch(tokens=exactly(1.0), micro_batches=1, loss="megatron")
            kind = Kind(linear=False, moe=shape.routed is not None)
            ours = sum(layer_bytes(shape, mesh, recompute, batch, kind)) * TOKENS * SEQUENCES
            found.append(Comparison(name, tp, "saved bytes of a layer", ours, theirs))
    return found


def _run(rank: int, tp: int, target: str) -> None:
    warnings.filterwarnings("ignore")
    megatron.without_cuda()
    megatron.join(rank, tp, 29500 + tp)
    found = compare(tp)
    if rank == 0:
        Path(target).write_text(json.dumps([asdict(one) for one in found]), encoding="utf-8")


def main() -> int:
    """Print the comparison; 1 if anything disagrees."""
    found: list[Comparison] = []
    with tempfile.TemporaryDirectory() as folder:
        for tp in (1, 2):
            target = os.path.join(folder, f"{tp}.json")
            torch.multiprocessing.spawn(_run, args=(tp, target), nprocs=tp)
            found += [Comparison(**one) for one in json.loads(Path(target).read_text())]
    if "--json" in sys.argv:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        for one in found:
            mark = "ok " if one.agrees else "NOT"
            off = one.ours / one.theirs - 1
            print(f"{mark} TP{one.tp} {one.case:42} {one.figure:24} {one.ours:14,.0f} {off:+7.2%}")
    return 0 if all(one.agrees for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
