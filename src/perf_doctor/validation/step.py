"""Measured training steps as the time estimate sees them, or why it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.constants import IMBALANCE
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.optimizer_time import optimizer_seconds
from perf_doctor.estimate.parameters import count_stages, on_one_rank
from perf_doctor.estimate.spent import Spent, interval_of
from perf_doctor.estimate.train_time import Work, batch_time
from perf_doctor.validation.judged import Judged, judge_each, row_of
from perf_doctor.validation.run import Point, Run, Unmodelled, card_named, run_of, source_of

# Elements of an attention head where a run states its hidden size alone.
_HEAD_DIM = 128
# The families of cards on which the step is judged.
FAMILIES: tuple[Family, ...] = ("ampere", "hopper")
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


def is_about_steps(point: Point) -> bool:
    """Tell whether a run says how long a training step took."""
    measured = point.get("measured") or {}
    stated = measured.get("step_time_s") or measured.get("tflops_per_gpu")
    return point.get("kind") in STEP_KINDS and bool(stated)


def is_judged(point: Point) -> bool:
    """Tell whether a run is a step on which the estimate is judged.

    Ampere and Hopper in 16 bits, tiers A and B; layout, batch and seconds (or TFLOPS) are stated.
    """
    card = card_named(str(point.get("gpu")))
    return (
        is_about_steps(point)
        and card is not None
        and _apart(point, card) is None
        and all(point.get(name) for name in ("dims", "tp", "pp", "n_gpus", "seq", "gbs"))
    )


def _apart(point: Point, card: Card) -> str | None:
    """Return why a step is shown and not judged."""
    bits = "" if (point.get("dtype") or "bf16") in ("bf16", "fp16") else " in 8 or 4 bits"
    if bits or card.family not in FAMILIES:
        return f"{card.family}{bits}"
    return None if point.get("tier") in ("A", "B") else "not tier A or B"


def judge_steps(points: Iterable[Point]) -> tuple[Judged, ...]:
    """Return every training step, judged."""
    return judge_each(points, _judge, "train step", "s")


def _judge(point: Point) -> Iterable[Judged]:
    if is_about_steps(point):
        yield judge_step(point, step_of(point))


def judge_step(point: Point, step: Step | str) -> Judged:
    """Return the row of a step."""
    row = row_of(point, "train step", "s", skipped_because=step if isinstance(step, str) else None)
    stated = point["measured"].get("step_time_s")
    row = replace(row, metric="step", eligible=is_judged(point), measured=stated)
    if isinstance(step, str):
        return row
    return replace(
        row,
        measured=step.measured,
        predicted=predict_step(step),
        assumptions=step.assumptions,
        apart=_apart(point, step.card),
        family=step.card.family,
        experts=step.run.training.shape.routed is not None,
    )


def step_of(point: Point) -> Step | str:
    """Return the training step of a point, or why it is skipped."""
    card = card_named(str(point.get("gpu")))
    if card is None:
        return "its GPU is not a known card"
    if (point.get("extra") or {}).get("fsdp"):
        return Unmodelled("runs fully sharded, which is not modelled")
    point, assumed = _completed(point)
    run = run_of(point)
    if isinstance(run, str):
        return run
    if not point.get("gbs"):
        return "does not state its batch"
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
        return "states no step time"
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
    source = source_of(point)
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
