"""A job as the time estimate sees it: who passes which samples, who generates, who waits."""

from __future__ import annotations

from typing import NamedTuple

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.decode import Decoder
from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.lengths import Lengths
from perf_doctor.estimate.rollout_time import Demand
from perf_doctor.estimate.shape import Training
from perf_doctor.plan.roles import Mode


class Given(NamedTuple):
    """Lengths that somebody knows, in tokens; None: the usual one is assumed.

    ``sample_cap``: of fine-tuning, where no flag limits what the data hold.
    """

    mean_response: float | None = None
    response_sigma: float | None = None
    prompt: float | None = None
    sample_cap: int | None = None


class Engines(NamedTuple):
    """The rollout engines; ``limit``: requests that one has at once, whatever its cache holds."""

    decode: Decoder
    engines: int
    gpus: int
    kv_tokens: float
    limit: float


class Pass(NamedTuple):
    """Forward passes over all samples of a step, by processes that lie as ``training`` says.

    ``token_budget``: of a dynamic micro-batch over all CP ranks, None with static ones. ``own``:
    on GPUs of its own. ``restores``: how often a step brings its weights from host memory.
    """

    phase: str
    training: Training
    dp: int
    token_budget: int | None
    own: bool = False
    restores: int = 0


class Evaluation(NamedTuple):
    """Generation every ``interval`` steps: ``prompts`` with ``group`` answers, up to ``cap``."""

    prompts: Interval
    group: int
    cap: float
    interval: int


class Saving(NamedTuple):
    """A checkpoint every ``interval`` steps: bytes that one node writes, or hands over."""

    node_bytes: float
    gpu_bytes: float
    interval: int
    in_background: bool


class TimeJob(NamedTuple):
    """Everything that the time of a step depends on.

    ``lengths``: low, expected and high. ``dropped``: of the groups, by a filter. ``handovers``:
    parts in which a rollout reaches the trainer. ``staleness``: steps that a rollout may be ahead;
    0 without overlap. ``evaluation`` and ``saving`` are None where there is none.
    """

    mode: Mode
    card: Card
    training: Training
    dp: int
    gpus: int
    trainers: int
    samples: float
    optimizer_steps: int
    token_budget: int | None
    micro_batch_size: int
    balanced: bool
    images: bool
    passes: tuple[Pass, ...]
    demand: Demand | None
    engines: Engines | None
    lengths: tuple[Lengths, Lengths, Lengths]
    dropped: Interval
    handovers: int
    staleness: int
    evaluation: Evaluation | None
    saving: Saving | None
    assumptions: tuple[str, ...]
