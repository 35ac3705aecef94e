"""Measured steps and decode speeds as the time estimate sees them, or why it cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from perf_doctor.estimate.card import Card, card_of
from perf_doctor.estimate.constants import IMBALANCE
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.optimizer_time import optimizer_seconds
from perf_doctor.estimate.parameters import count_stages, on_one_rank
from perf_doctor.estimate.points import Point, Run, run_of
from perf_doctor.estimate.spent import Spent, interval_of
from perf_doctor.estimate.train_time import Work, batch_time
from perf_doctor.plan.gpu import UnknownGpuError, find_gpu

# Elements of an attention head where a run states its hidden size alone.
_HEAD_DIM = 128
STEP_KINDS = ("train_time", "train_memory+time", "optimizer_offload")


class Step(NamedTuple):
    """A measured training step: how the model sees it and how long it took, seconds."""

    run: Run
    card: Card
    work: Work
    overlap: bool
    overlap_copies: bool
    measured: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run that the estimate does not cover, and why."""

    because: str


def card_named(name: str) -> Card | None:
    """Return the card of a measured run, None when its name says none or several."""
    try:
        return card_of(find_gpu(name))
    except UnknownGpuError:
        return None


def step_of(point: Point) -> Step | Skipped:
    """Return the training step of a point."""
    card = card_named(str(point.get("gpu")))
    if card is None:
        return Skipped("its GPU is not a known card")
    if (point.get("extra") or {}).get("fsdp"):
        return Skipped("runs fully sharded, which is not modelled")
    point, assumed = _completed(point)
    run = run_of(point)
    if isinstance(run, str):
        return Skipped(run)
    if not point.get("gbs"):
        return Skipped("does not state its batch")
    run = _as_run(point, run, assumed)
    mesh = run.training.mesh
    data = max(1, int(point["n_gpus"]) // (mesh.tp * mesh.cp * mesh.pp))
    samples = int(point["gbs"]) / data
    seq = float(point["seq"])
    work = Work(
        tokens=seq * float(point["mbs"]) / mesh.cp,
        micro_batches=max(1.0, samples / float(point["mbs"])),
        attended=seq / 2,
        graphed=_is_tuned(point),
    )
    measured = _measured_step(point, run, work, data * mesh.cp)
    if measured is None:
        return Skipped("states no step time")
    said = f"{point.get('optimizer') or ''} {point.get('id') or ''}"
    return Step(
        run=run,
        card=card,
        work=work,
        overlap=work.micro_batches >= 4,
        overlap_copies="overlap" in said,
        measured=measured,
        assumptions=(*run.assumptions, *assumed),
    )


def _completed(point: Point) -> tuple[Point, list[str]]:
    """Return a point with what it leaves open and the estimate needs, and what was assumed."""
    assumed = []
    if not point.get("mbs"):
        point = {**point, "mbs": 1}
        assumed.append("one sample per micro-batch")
    dims = point.get("dims") or {}
    if dims.get("hidden") and not dims.get("heads"):
        # The sizes of the heads multiply to the hidden size; how many there are changes little.
        heads = max(1, int(dims["hidden"]) // _HEAD_DIM)
        head_dim = int(dims["hidden"]) // heads
        point = {**point, "dims": {**dims, "heads": heads, "head_dim": head_dim}}
        assumed.append(f"heads of {head_dim}")
    return point, assumed


def _is_tuned(point: Point) -> bool:
    """Tell whether a run is a tuned recipe: it forces balanced routing, or runs HybridEP.

    These launch layers as CUDA graphs and send a token once per node.
    """
    said = str(point.get("notes") or "")
    return any(name in said for name in ("forced balance", "force-balanced", "HybridEP"))


def _as_run(point: Point, run: Run, assumed: list[str]) -> Run:
    """Return the run with what matters to time alone: dispatcher, routing, an uneven split.

    Models of the GPT-3 family have no gate in their feed-forward block. Experts are routed as a
    trained router does it unless the run forces balance or measures random tokens' routing.
    """
    training, said = run.training, str(point.get("notes") or "")
    shape, mesh, imbalance = training.shape, training.mesh, training.imbalance
    if str(point.get("model")).startswith("GPT-"):
        shape = shape._replace(gated_mlp=False)
    if "natural routing" in said:
        imbalance = IMBALANCE
    if not shape.mtp_layers:
        shape = shape._replace(mtp_layers=int(point["dims"].get("mtp_layers") or 0))
    batch = training.batch
    if "no flash attention" in said or "narayanan" in str(point.get("id")):
        batch = batch._replace(flash=False)
    if any(narrow in str(point.get("dtype")) for narrow in ("fp8", "fp4")):
        batch = batch._replace(quantized=True)
    split = said.partition(" layer split")[0].rsplit(" ", 1)[-1].split("/")
    if len(split) == mesh.pp and mesh.pp > 1 and all(part.isdecimal() for part in split):
        mesh = mesh._replace(stages=tuple(int(part) for part in split))
    source = str((point.get("source") or {}).get("repo"))
    once_per_node = _is_tuned(point) or any(
        name in said or name in source for name in ("HybridEP", "DeepEP", "ModelZoo")
    )
    if shape.routed is not None and mesh.ep * mesh.etp > 8 and not once_per_node:
        assumed.append("experts reached by all-to-all, not DeepEP")
    changed = training._replace(
        shape=shape,
        mesh=mesh,
        batch=batch,
        imbalance=imbalance,
        deepep=training.deepep or once_per_node,
        tp_overlap="weak-scaling table" in said,
    )
    return replace(run, training=changed)


def _measured_step(point: Point, run: Run, work: Work, ranks: int) -> float | None:
    """Seconds of the step, from TFLOPS per GPU where only these are published."""
    measured = point.get("measured") or {}
    step = measured.get("step_time_s")
    if isinstance(step, (int, float)):
        return float(step)
    rate = measured.get("tflops_per_gpu")
    if not isinstance(rate, (int, float)):
        return None
    per_token, pair = model_flops(run.training.shape)
    forward = per_token + pair * work.attended
    # Narayanan 2021 counts attention over all pairs, and the forward pass of recompute.
    counted = 3.0
    if "narayanan" in str(point.get("id")):
        forward, counted = per_token + 2 * pair * work.attended, 4.0
    tokens = work.tokens * work.micro_batches * ranks
    return counted * forward * tokens / (float(rate) * 1e12 * int(point["n_gpus"]))


def predict_step(step: Step) -> Interval:
    """Return the seconds of a training step."""
    spent, optimizer = _parts(step)
    experts = step.run.training.shape.routed is not None
    return independent_sum(
        exactly(0.0), interval_of(spent, step.card.family, experts=experts), optimizer
    )


def expected_step(step: Step) -> float:
    """Return the expected seconds of a training step alone."""
    spent, optimizer = _parts(step)
    return spent.total + optimizer.expected


def _parts(step: Step) -> tuple[Spent, Interval]:
    """Return the passes over the batch and the optimizer step of the heaviest stage."""
    training = step.run.training
    spent = batch_time(training, step.card, step.work, train=True)
    counts = count_stages(training.shape, training.mesh.stages)
    heaviest = max((on_one_rank(count, training.mesh) for count in counts), key=sum)
    optimizer = optimizer_seconds(
        training, step.card, heaviest, overlap=step.overlap, overlap_copies=step.overlap_copies
    )
    return spent, optimizer
