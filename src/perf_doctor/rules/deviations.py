"""How far a job lies from the closest known-good configuration.

A difference is no finding. It is quoted in the cost of a finding about the same flag, where it
tells a reader that somebody runs this model the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from perf_doctor.language import said
from perf_doctor.launch.model_name import known_model
from perf_doctor.launch.registry import registry
from perf_doctor.plan.plan import Plan
from perf_doctor.rules.baselines import Baseline
from perf_doctor.wording import sentences

# GPU counts further apart than this say nothing about each other.
GPUS_WITHIN: Final = 2.0
# Two doublings; less is ordinary tuning.
FAR: Final = 4.0


class Deviation(NamedTuple):
    """A setting of a job that lies far from a known-good one; ``sentence`` quotes the latter."""

    flag: str
    sentence: str


Size = Callable[[Plan], float | None]
Switch = Callable[[Plan], bool | None]

# Parallel sizes, batches and memory settings of a job as they are in force; None: not known, or
# nothing that this job has.
SIZES: Final[Mapping[str, Size]] = {
    "--tensor-model-parallel-size": lambda plan: plan.parallel.mesh.tp,
    "--pipeline-model-parallel-size": lambda plan: plan.parallel.mesh.pp,
    "--context-parallel-size": lambda plan: plan.parallel.mesh.cp,
    "--expert-model-parallel-size": lambda p: p.parallel.mesh.ep if p.model.kind == "moe" else None,
    "--expert-tensor-parallel-size": (
        lambda plan: plan.parallel.mesh.etp if plan.model.kind == "moe" else None
    ),
    "--rollout-num-gpus-per-engine": lambda p: p.engines.gpus_per_engine if p.engines else None,
    "--sglang-data-parallel-size": lambda plan: plan.engines.dp if plan.engines else None,
    "--sglang-expert-parallel-size": lambda plan: plan.engines.ep if plan.engines else None,
    "--sglang-mem-fraction-static": (
        lambda plan: plan.engines.mem_fraction_static if plan.engines else None
    ),
    "--rollout-batch-size": lambda plan: plan.batch.rollout_batch_size,
    "--n-samples-per-prompt": lambda plan: plan.batch.n_samples_per_prompt,
    "--global-batch-size": lambda plan: plan.batch.global_batch_size,
    "--max-tokens-per-gpu": (
        lambda plan: plan.batch.max_tokens_per_gpu if plan.batch.dynamic_batch else None
    ),
    "--log-probs-max-tokens-per-gpu": (
        lambda plan: plan.batch.log_probs_max_tokens_per_gpu if plan.batch.dynamic_batch else None
    ),
}
SWITCHES: Final[Mapping[str, Switch]] = {
    "--optimizer-cpu-offload": lambda plan: plan.training.optimizer.cpu_offload,
    "--use-precision-aware-optimizer": lambda plan: plan.training.optimizer.precision_aware,
    "--recompute-granularity": (
        lambda plan: plan.settings.given("--recompute-granularity") is not None
    ),
    "--use-dynamic-batch-size": lambda plan: plan.batch.dynamic_batch,
    "--balance-data": lambda plan: plan.batch.balanced,
    "--sglang-enable-dp-attention": lambda p: p.engines.dp_attention if p.engines else None,
}


def closest(baselines: Iterable[Baseline], plan: Plan) -> Baseline | None:
    """Return the configuration a job is best compared with, None when there is none.

    It is of the same model, task and kind of card, with GPUs within a factor of two. The same
    mode counts most, then the same data, the nearest number of GPUs, and that it was measured.
    """
    model = known_model(plan.model.name) if plan.model.name else None
    gpus = plan.cluster.gpus
    if model is None or not gpus:
        return None
    near = [
        baseline
        for baseline in baselines
        if model in baseline.models
        and _ratio(baseline.gpus, gpus) <= GPUS_WITHIN
        and (baseline.task, baseline.accelerator) == (plan.task, plan.gpu.accelerator)
    ]
    return min(
        near,
        key=lambda b: (
            b.mode != plan.mode,
            b.modality != plan.modality,
            _ratio(b.gpus, gpus),
            b.measured is None,
        ),
        default=None,
    )


def deviations(baselines: Iterable[Baseline], plan: Plan) -> tuple[Deviation, ...]:
    """Return the settings of a job that lie far from the closest known-good configuration.

    Far is two doublings for a parallel size, a batch or a memory setting, and the opposite for a
    switch. What the configuration does not state, or the job leaves unknown, is not compared.
    """
    baseline = closest(baselines, plan)
    if baseline is None:
        return ()
    return tuple(
        Deviation(flag, _quoted(baseline, difference))
        for flag, difference in (*_sizes(baseline, plan), *_switches(baseline, plan))
    )


def quotes(found: Iterable[Deviation], flags: Iterable[str]) -> str:
    """Return the sentences about any of these options, to stand behind the cost of a finding.

    An option may be written in any of its spellings. Empty when there is nothing to quote.
    """
    options = {option.dest for flag in flags if (option := registry().get(flag))}
    about = (deviation for deviation in found if _dest(deviation.flag) in options)
    return sentences(deviation.sentence for deviation in about)


def _dest(flag: str) -> str:
    option = registry().get(flag)
    assert option is not None, flag
    return option.dest


def _sizes(baseline: Baseline, plan: Plan) -> Iterator[tuple[str, str]]:
    for flag, size in SIZES.items():
        theirs = baseline.settings.value(flag) if baseline.settings.given(flag) else None
        ours = size(plan)
        if not theirs or not ours or _ratio(theirs, ours) < FAR:
            continue
        yield (
            flag,
            said("has `{flag} {theirs}`, this job {ours}", flag=flag, theirs=theirs, ours=ours),
        )


def _switches(baseline: Baseline, plan: Plan) -> Iterator[tuple[str, str]]:
    for flag, switch in SWITCHES.items():
        ours = switch(plan)
        if ours is False and baseline.settings.given(flag):
            yield flag, said("runs with `{flag}`", flag=flag)
        elif ours and flag in baseline.leaves_out:
            yield flag, said("runs without `{flag}`", flag=flag)


def _quoted(baseline: Baseline, difference: str) -> str:
    if baseline.measured:
        return said("Baseline “{title}” {differs}.", title=baseline.title, differs=difference)
    return said(
        "Baseline “{title}” (in use, not measured here) {differs}.",
        title=baseline.title,
        differs=difference,
    )


def _ratio(one: float, other: float) -> float:
    """Return how many times the larger holds the smaller."""
    return max(one, other) / min(one, other)
