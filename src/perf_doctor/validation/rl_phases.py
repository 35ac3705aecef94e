"""Phases of measured RL steps against what the time estimate says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.interval import Interval, exactly, independent_sum
from perf_doctor.estimate.lengths import Lengths, samples_of
from perf_doctor.estimate.optimizer_time import optimizer_seconds
from perf_doctor.estimate.parameters import Local, count_model, count_stages, on_one_rank
from perf_doctor.estimate.passes import micro_batches
from perf_doctor.estimate.rl_efficiencies import GROUP_DELAY_S, GROUP_REBUILD_S
from perf_doctor.estimate.rollout_time import Rollout, rollout
from perf_doctor.estimate.spent import interval_of
from perf_doctor.estimate.states import StateBytes, state_bytes
from perf_doctor.estimate.switch import switch_seconds, sync_seconds
from perf_doctor.estimate.train_time import Work, stage_times, through_pipeline
from perf_doctor.validation.constants import PAGEABLE_COPY_GB_S, UNFUSED_ROTARY_S, VERL_PHASE_S
from perf_doctor.validation.judged import Judged, judge_each, row_of
from perf_doctor.validation.rl_run import (
    FSDP,
    Generation,
    RlRun,
    Spread,
    Update,
    measured_seconds,
    rl_run,
    widened,
)
from perf_doctor.validation.run import Point, Unmodelled

PhaseName = Literal[
    "generation", "rollout", "log_probs", "reference_log_probs", "update", "weight_sync",
    "switch", "step",
]  # fmt: skip
RL_KINDS = ("rl_phase_time", "weight_sync_time")
_PCIE_4 = 32e9


def judge_phases(points: Iterable[Point]) -> tuple[Judged, ...]:
    """Return every measured phase, judged or with the reason why not.

    One counts where its source states what it takes; that trainers with FSDP are not modelled is
    the estimate's lack, and none of the source's.
    """
    return judge_each(points, _judge, "rl phase", "s")


def _judge(point: Point) -> Iterable[Judged]:
    if point.get("kind") not in RL_KINDS:
        return
    run = rl_run(point)
    for phase, measured in measured_phases(point).items():
        found = _predict(phase, point, run)
        yield replace(
            row_of(point, "rl phase", "s", skipped_because=None),
            metric=phase,
            measured=measured,
            predicted=found if isinstance(found, Interval) else None,
            skipped_because=found if isinstance(found, str) else None,
            eligible=isinstance(found, (Interval, Unmodelled)),
            assumptions=_assumptions(phase, run),
            family=run.card.family if run.card else None,
            experts=run.shape is not None and run.shape.routed is not None,
        )


def _assumptions(phase: PhaseName, run: RlRun) -> tuple[str, ...]:
    """Return what is assumed of a run that matters to a phase of it."""
    if phase == "weight_sync":
        return ()
    lengths = () if phase == "switch" else run.assumptions
    return lengths if phase in ("generation", "rollout") else lengths + run.trainer_assumptions


def measured_phases(point: Point) -> dict[PhaseName, float]:
    """Return the seconds that a source states, by phase.

    verl's ``generation`` is the mean over the engines, its ``rollout`` the time until the last of
    them is done, with the weight update that comes first. A step is judged where nothing else is.
    """
    stated = {key: measured_seconds(value) for key, value in (point.get("measured") or {}).items()}
    found: dict[PhaseName, float | None] = {
        "generation": stated.get("generation_s"),
        "rollout": stated.get("rollout_s"),
        "log_probs": stated.get("old_log_prob_s"),
        "reference_log_probs": stated.get("ref_log_prob_s"),
        "update": stated.get("update_actor_s"),
        "weight_sync": next(
            (stated[k] for k in ("reshard_s", "weight_sync_s", "update_weights_s") if k in stated),
            None,
        ),
        "switch": stated.get("switch_and_sync_s"),
    }
    reshard = stated.get("reshard_s")
    if found["rollout"] is not None and reshard is not None:
        found["rollout"] -= reshard
    known = {name: seconds for name, seconds in found.items() if seconds}
    step = stated.get("step_time_s")
    return {"step": step} if step and not known else known


def _predict(phase: PhaseName, point: Point, run: RlRun) -> Interval | str:
    extra = point.get("extra") or {}
    if phase in ("generation", "rollout"):
        if phase == "rollout" and extra.get("filtered"):
            return "generates until enough groups pass a filter, and does not say how many drop"
        return _generated(run, phase)
    if phase == "weight_sync":
        return _synced(point, extra, run)
    if phase == "switch":
        return _switched(point, extra, run)
    if phase == "step":
        return _step(point, run)
    if isinstance(run.update, str):
        return run.update
    if isinstance(run.lengths, str):
        return run.lengths
    if run.card is None:
        return "its card's rates are not published"
    return _trained(phase, run.update, run.lengths, run.card)


def _generated(run: RlRun, phase: PhaseName) -> Interval | str:
    if isinstance(run.generation, str):
        return run.generation
    if isinstance(run.lengths, str):
        return run.lengths
    alone = phase == "generation"
    low, middle, high = (_rollout(run.generation, one, alone=alone) for one in run.lengths)
    own = middle.generation if alone else middle.interval
    scale = own.expected / middle.seconds
    return widened(own, low.seconds * scale, high.seconds * scale)


def _rollout(made: Generation, lengths: Lengths, *, alone: bool) -> Rollout:
    """Return the rollout of all engines, or of one that is like the others."""
    demand, engines = made.demand, made.engines
    if alone:
        part = demand.prompts / engines
        demand, engines = demand._replace(prompts=part, started=part), 1
    return rollout(demand, lengths, made.decode, engines, made.running, made.sequence_s)


def _trained(phase: PhaseName, update: Update, lengths: Spread, card: Card) -> Interval:
    """Return an update of all mini-batches, or one forward pass over all samples."""
    training, train = update.training, phase == "update"
    work = _work(update, lengths[1], train=train)
    stages = stage_times(training, card, work)
    spent = through_pipeline(stages, training, work, train=train)
    experts = training.shape.routed is not None
    passes = interval_of(spent, card.family, experts=experts) * (update.steps if train else 1)
    parts = [passes]
    if train:
        counts = count_stages(training.shape, training.mesh.stages)
        heaviest = max((on_one_rank(count, training.mesh) for count in counts), key=sum)
        parts.append(
            update.steps
            * optimizer_seconds(training, card, heaviest, overlap=False, overlap_copies=False)
        )
    own = independent_sum(*parts, _around(update), _rotary(update, train=train))
    low, high = (passes.expected * _ratio(training.shape, lengths[1], one) for one in lengths[::2])
    return widened(own, own.expected - passes.expected + low, own.expected - passes.expected + high)


def _work(update: Update, lengths: Lengths, *, train: bool) -> Work:
    """Return what one data-parallel rank passes: one optimizer step, or all samples at once."""
    return micro_batches(
        lengths,
        update.samples * (1 if train else update.steps),
        cp=update.training.mesh.cp,
        budget=update.budget if train else update.log_prob_budget,
        each=update.micro_batch if train else update.log_prob_micro_batch,
    )


def _ratio(shape: Any, usual: Lengths, other: Lengths) -> float:
    """Return FLOPs of samples of other lengths ÷ those of the usual ones."""
    per_token, pair = model_flops(shape)
    one, two = samples_of(usual), samples_of(other)
    flops = two.tokens * (per_token + pair * two.attended)
    return flops / (one.tokens * (per_token + pair * one.attended))


def _around(update: Update) -> Interval:
    """Return what verl does around a phase: batches in and out, weights to the GPU and back."""
    if not update.verl:
        return exactly(0.0)
    if not update.copied:
        return VERL_PHASE_S
    size, rate = 2e-9 * _parked(update).weights, PAGEABLE_COPY_GB_S
    copied = Interval(size / rate.high, size / rate.expected, size / rate.low)
    return independent_sum(VERL_PHASE_S, copied)


def _rotary(update: Update, *, train: bool) -> Interval:
    """Return rotary embeddings of packed samples one by one, forward or both ways."""
    if not update.unfused:
        return exactly(0.0)
    shape, mesh = update.training.shape, update.training.mesh
    times = update.samples * update.steps * 2 * shape.layers / mesh.pp
    return UNFUSED_ROTARY_S * (times * (2 if train else 1))


def _parked(update: Update) -> StateBytes:
    """Return the states of the heaviest stage on one GPU."""
    training, nothing = update.training, Local(0.0, 0.0)
    held = [
        state_bytes(on_one_rank(count, training.mesh), nothing, training.mesh, training.states)
        for count in count_stages(training.shape, training.mesh.stages)
    ]
    return max(held, key=_resident)


def _resident(states: StateBytes) -> float:
    return states.resident


def _synced(point: Point, extra: Mapping[str, Any], run: RlRun) -> Interval | str:
    if "fsdp" in str(extra.get("backend")):
        return FSDP
    if extra.get("framework") == "checkpoint-engine":
        return "another mechanism than Relax's"
    if run.shape is None:
        return "its model is not known"
    apart = "trainer_ranks" in extra or point.get("kind") == "weight_sync_time"
    synced = sync_seconds(2.0 * count_model(run.shape).total, same_gpus=not apart)
    if "update_weights_s" not in (point.get("measured") or {}):
        return synced
    # Relax counts one destruction and one rebuilding of process groups as part of it.
    return independent_sum(synced, GROUP_DELAY_S, GROUP_REBUILD_S)


def _switched(point: Point, extra: Mapping[str, Any], run: RlRun) -> Interval | str:
    """Return the trainer's sleep, weight update and wake-up of one step in colocate.

    Relax's own timers: they leave out the engines' sleep and the polls.
    """
    update = _layout(point, run)
    if isinstance(update, str) or run.shape is None:
        return update if isinstance(update, str) else "its model is not known"
    pcie = float(extra.get("pcie_gb_s") or 0) * 1e9
    if not pcie:
        pcie = run.card.pcie if run.card is not None else _PCIE_4
    switch = switch_seconds(_parked(update).resident, pcie, engines_sleep=False)
    sync = sync_seconds(2.0 * count_model(run.shape).total, same_gpus=True)
    return independent_sum(switch, sync)


def _layout(point: Point, run: RlRun) -> Update | str:
    """Return the trainer of a point that states no batch: its states are what counts."""
    if not isinstance(run.update, str):
        return run.update
    extra = {"prompts": 1, "mini_bs": 1, "max_response_len": "1k", **(point.get("extra") or {})}
    card = run.card.family if run.card else None
    return rl_run({**point, "gpu": point["gpu"] if card else "H100", "extra": extra}).update


def _step(point: Point, run: RlRun) -> Interval | str:
    """Return a step in colocate: rollout, two forward passes, update, weight update."""
    made = _generated(run, "rollout")
    if isinstance(made, str):
        return made
    if isinstance(run.update, str) or isinstance(run.lengths, str) or run.card is None:
        return run.update if isinstance(run.update, str) else "states too little"
    synced = _synced(point, point.get("extra") or {}, run)
    if isinstance(synced, str):
        return synced
    forward = _trained("log_probs", run.update, run.lengths, run.card)
    train = _trained("update", run.update, run.lengths, run.card)
    return independent_sum(exactly(0.0), made, 2.0 * forward, train, synced)
