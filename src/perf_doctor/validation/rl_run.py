"""Measured RL steps as the time estimate sees them: engines, lengths, trainer, or why not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.constants import IMBALANCE
from perf_doctor.estimate.decode import Decoder, decoder_of
from perf_doctor.estimate.decode_efficiencies import DECODE_SEQUENCE_S
from perf_doctor.estimate.decode_rates import decode_rates
from perf_doctor.estimate.decode_sizes import Serving
from perf_doctor.estimate.engine import Engine, engine_memory
from perf_doctor.estimate.flops import model_flops
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.lengths import Lengths, samples_of
from perf_doctor.estimate.rl_efficiencies import MEAN_SHARE, PROMPT_TOKENS, SIGMA
from perf_doctor.estimate.rollout_time import Demand, most_running
from perf_doctor.estimate.shape import Recompute, Shape, Training
from perf_doctor.plan.gpu import Gpu, find_gpu
from perf_doctor.validation.constants import VERL_PHASE_S, VLLM_SEQUENCE_S
from perf_doctor.validation.run import Point, Unmodelled, card_named, run_of

Spread = tuple[Lengths, Lengths, Lengths]
FSDP = Unmodelled("trains with FSDP, which is not modelled")
_WORD = re.compile(r"([a-z]+)(\d+)")
# vLLM's default share of memory in verl, requests at once, and graphs up to that many.
_MEM_FRACTION = 0.6
_RUNNING = 1024.0
_GRAPHS = 512.0
# What an MFU over measured seconds leaves open: the seconds around the passes are not the same.
_MFU_SPREAD = (0.92, 1.0, 1.06)


class Generation(NamedTuple):
    """The engines of a measured rollout; ``running``: requests that one has at once.

    ``sequence_s``: of a decode step per running request; vLLM's and SGLang's differ.
    """

    demand: Demand
    decode: Decoder
    engines: int
    running: float
    sequence_s: Interval


class Update(NamedTuple):
    """The trainer of a measured step.

    ``samples``: of one optimizer step on one data-parallel rank, of which there are ``steps``.
    ``budget`` and ``log_prob_budget``: tokens of a packed micro-batch over all CP ranks, None with
    ``micro_batch`` and ``log_prob_micro_batch`` samples. ``verl``: a phase is stated with what its
    trainer does around it; ``copied``: the weights come from host memory and go back there.
    ``unfused``: rotary embeddings sample by sample.
    """

    training: Training
    samples: float
    steps: int
    budget: float | None
    log_prob_budget: float | None
    micro_batch: float
    log_prob_micro_batch: float
    verl: bool
    copied: bool
    unfused: bool


class RlRun(NamedTuple):
    """A measured step; each part is there or says why it is not judged.

    ``assumptions``: about lengths; ``trainer_assumptions``: about the trainer's layout and states.
    """

    card: Card | None
    shape: Shape | None
    lengths: Spread | str
    generation: Generation | str
    update: Update | str
    assumptions: tuple[str, ...]
    trainer_assumptions: tuple[str, ...]


def sizes_in(text: object) -> dict[str, int]:
    """Return the sizes in the words of a layout: ``Tp4pp1cp2`` is tp 4, pp 1, cp 2."""
    return {name: int(size) for name, size in _WORD.findall(str(text).lower())}


def rl_run(point: Point) -> RlRun:
    """Return a measured step as the estimate sees it."""
    extra = point.get("extra") or {}
    card, shape = card_named(str(point.get("gpu"))), _shape(point)
    said: list[str] = []
    of_trainer = [str(one) for one in extra.get("assumed", ())]
    lengths = _lengths(point, extra, shape, card, said)
    unknown = "the rates of its card are not published"
    generation: Generation | str = unknown
    update: Update | str = unknown
    if card is not None and shape is not None:
        generation = _generation(point, extra, shape, card, lengths)
        update = _update(point, extra, of_trainer)
    return RlRun(card, shape, lengths, generation, update, tuple(said), tuple(of_trainer))


def _shape(point: Point) -> Shape | None:
    whole = {**point, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "vpp": 1, "n_gpus": 8}
    run = run_of(whole, tokens_needed=False)
    return None if isinstance(run, str) else run.training.shape


def _samples(extra: Mapping[str, Any]) -> float:
    return float(extra.get("prompts") or 0) * float(extra.get("samples_per_prompt") or 1)


def cap_of(extra: Mapping[str, Any]) -> float | None:
    """Return the longest response in tokens: ``8k`` is 8,192."""
    stated = str(extra.get("max_response_len") or "").lower().rstrip("k")
    return float(stated) * 1024 if stated else None


def _lengths(
    point: Point, extra: Mapping[str, Any], shape: Shape | None, card: Card | None, said: list[str]
) -> Spread | str:
    """Return what is known of the lengths: stated, else from throughput, from MFU, or assumed."""
    measured, cap, samples = point.get("measured") or {}, cap_of(extra), _samples(extra)
    gpus = float(point.get("n_gpus") or 0)
    if cap is None or not samples or not gpus:
        return "does not state its GPUs, its batch or its longest response"
    prompt = PROMPT_TOKENS.expected
    stated = measured.get("mean_response_len")
    rate, step = measured.get("tokens_per_s_per_gpu"), measured.get("step_time_s")
    tokens = float(rate) * float(step) * gpus / samples if rate and step else None
    if stated:
        # Some tables count filtered groups' tokens in the rate: then it says nothing of prompts.
        if tokens is not None and 0 < tokens - stated < PROMPT_TOKENS.high:
            prompt = tokens - stated
        return _spread(prompt, (stated,) * 3, cap)
    if tokens is not None:
        said.append("lengths from tokens per second, prompts usual")
        return _spread(prompt, (max(1.0, tokens - prompt),) * 3, cap)
    if extra.get("longest_by_mean"):
        said.append("mean response from the longest ÷ mean")
        return _spread(prompt, (cap / float(extra["longest_by_mean"]),) * 3, cap)
    mfu, update = measured.get("mfu"), measured.get("update_actor_s")
    if mfu and update and shape is not None and card is not None:
        said.append("lengths from MFU × seconds of the update without what is around it")
        around = VERL_PHASE_S.expected if "megatron" in str(extra.get("backend")) else 0.0
        seconds = max(0.5 * float(update), float(update) - around)
        whole = _tokens_of(float(mfu) * seconds * card.flops * gpus / samples, shape)
        means = tuple(max(1.0, whole * factor - prompt) for factor in _MFU_SPREAD)
        return _spread(prompt, means, cap)
    said.append("lengths assumed")
    return _spread(prompt, [share * cap for share in _shares()], cap)


def _shares() -> tuple[float, float, float]:
    return MEAN_SHARE.low, MEAN_SHARE.expected, MEAN_SHARE.high


def _spread(prompt: float, means: Any, cap: float) -> Spread:
    """Return lengths low, expected and high: short answers are alike, long ones differ."""
    sigmas = (SIGMA.low, SIGMA.expected, SIGMA.high)
    low, middle, high = (
        Lengths(prompt, min(mean, cap), sigma, cap)
        for mean, sigma in zip(means, sigmas, strict=True)
    )
    return low, middle, high


def _tokens_of(flops: float, shape: Shape) -> float:
    """Return tokens of a sample that trains with so many FLOPs as verl counted them in 2025.

    Embedding and head, attention over all pairs (verl/utils/flops_counter.py).
    """
    per_token, pair = model_flops(shape)
    per_token += 2.0 * shape.hidden * shape.vocab
    tokens = 1000.0
    for _ in range(30):
        behind = samples_of(Lengths(0.0, tokens, SIGMA.expected, 20 * tokens)).attended
        tokens = flops / (3.0 * (per_token + 2.0 * pair * behind))
    return tokens


def _generation(
    point: Point, extra: Mapping[str, Any], shape: Shape, card: Card, lengths: Spread | str
) -> Generation | str:
    tp = sizes_in(extra.get("infer_parallel")).get("tp")
    if "allocation" in extra and "colocated" not in str(extra["allocation"]):
        return "its sides work at once, so the seconds are what is waited for"
    if tp is None or not point.get("n_gpus"):
        return "does not state the size of its engines"
    if isinstance(lengths, str):
        return lengths
    engines = int(point["n_gpus"]) // tp
    fraction = float(extra.get("gpu_memory_util") or _MEM_FRACTION)
    graphs = not extra.get("enforce_eager")
    engine = Engine("rollout", shape, tp, 1, tp, fraction, graphs=graphs, shares=True)
    room = engine_memory(engine, shape, exactly(_usable(find_gpu(str(point["gpu"])))))
    each = DECODE_SEQUENCE_S if extra.get("engine") == "sglang" else VLLM_SEQUENCE_S
    rates = decode_rates(card.family)._replace(sequence_s=each.expected)
    decode = decoder_of(Serving(engine, shape, card, _GRAPHS), rates)
    limit = float(extra.get("max_running") or _RUNNING)
    prompts = float(extra.get("generated_prompts") or extra["prompts"])
    group = int(extra.get("samples_per_prompt") or 1)
    return Generation(
        Demand(prompts, group, prompts, partial=False, shared_prefix=True),
        decode,
        engines,
        most_running(room.kv_tokens.expected, limit, lengths[1]),
        each,
    )


def _usable(gpu: Gpu) -> float:
    return (gpu.usable_gib or gpu.memory_gb) * 2.0**30


def _update(point: Point, extra: Mapping[str, Any], said: list[str]) -> Update | str:
    """Return the trainer, with what the layout's words add to the point."""
    if "fsdp" in str(extra.get("backend")):
        return FSDP
    if "allocation" in extra and "colocated" not in str(extra["allocation"]):
        return "its sides work at once, and which trains is not stated"
    sizes = sizes_in(extra.get("train_parallel"))
    stated = {name: point.get(name) for name in ("tp", "pp", "cp", "ep") if point.get(name)}
    if not sizes and not stated:
        return "does not state the trainer's layout"
    # A size that the layout does not name is 1.
    layout = {"tp": 1, "pp": 1, "cp": 1, "ep": 1, "vpp": 1, **stated, **sizes}
    run = run_of({**point, **layout}, tokens_needed=False)
    if isinstance(run, str):
        return run
    if not extra.get("prompts") or not extra.get("mini_bs"):
        return "does not state its batch"
    # Its micro-batches are read below.
    said += [one for one in run.assumptions if "per micro-batch" not in one]
    training, mesh = run.training, run.training.mesh
    modules = extra.get("recompute_modules")
    if modules:
        recompute = Recompute("selective", modules=frozenset(str(modules).split()))
        training = training._replace(recompute=recompute)
    training = training._replace(
        deepep="deepep" in str(extra.get("other")),
        imbalance=IMBALANCE if training.shape.routed is not None else exactly(1.0),
    )
    dp = max(1, int(point["n_gpus"]) // (mesh.tp * mesh.pp * mesh.cp))
    steps = max(1, round(float(extra["prompts"]) / float(extra["mini_bs"])))
    packed = str(extra.get("dynamic_batch") or "TRUE").upper() != "FALSE"
    budget = float(extra.get("max_token_len_actor_k") or 8) * 1024 * mesh.cp
    own = float(extra.get("log_prob_tokens_k") or 0) * 1024 * mesh.cp or budget
    micro = float(extra.get("micro_batch") or 1)
    return Update(
        training=training,
        samples=_samples(extra) / steps / dp,
        steps=steps,
        budget=budget if packed else None,
        log_prob_budget=own if packed else None,
        micro_batch=micro,
        log_prob_micro_batch=float(extra.get("log_prob_micro_batch") or micro),
        verl="megatron" in str(extra.get("backend")),
        copied=str(extra.get("offload") or "").upper() == "TRUE",
        unfused=bool(extra.get("separate_rotary")),
    )


def measured_seconds(value: object) -> float | None:
    """Return seconds of a measurement, the middle of several."""
    if isinstance(value, (list, tuple)) and value:
        return sum(float(one) for one in value) / len(value)
    return float(value) if isinstance(value, (int, float)) else None


def widened(own: Interval, low: float, high: float) -> Interval:
    """Return an interval that also spans what other lengths would make of it."""
    below = ((own.expected - own.low) ** 2 + max(0.0, own.expected - low) ** 2) ** 0.5
    above = ((own.high - own.expected) ** 2 + max(0.0, high - own.expected) ** 2) ** 0.5
    return Interval(max(0.0, own.expected - below), own.expected, own.expected + above)
