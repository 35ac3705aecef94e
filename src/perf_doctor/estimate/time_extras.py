"""What comes every few steps: evaluation and checkpoints."""

from __future__ import annotations

from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.parameters import count_model, count_stages, on_one_rank
from perf_doctor.estimate.rl_efficiencies import EVAL_PROMPTS
from perf_doctor.estimate.shape import Training
from perf_doctor.estimate.time_job import Evaluation, Saving
from perf_doctor.language import said
from perf_doctor.plan.plan import Plan
from perf_doctor.plan.reading import absent, switch, whole

# Problems of published evaluation sets, by what their names hold.
_EVAL_SETS = (("aime", 30), ("math500", 500), ("gsm8k", 1319), ("gpqa", 198), ("amc23", 40))
_WEIGHT_BYTES = 2.0
# fp32 master weights and two moments (megatron/core/optimizer, distributed checkpoint).
_OPTIMIZER_BYTES = 12.0


def evaluation_of(plan: Plan) -> tuple[Evaluation | None, tuple[str, ...]]:
    """Return the evaluation that a job runs beside its steps, and what is assumed about it.

    How many prompts a data set has stands in no script.
    """
    interval = whole(plan.settings, "--eval-interval")
    cap = plan.lengths.eval_response or plan.lengths.response or plan.lengths.context
    sets = [_prompts_of(name) for name in _data_sets(plan)]
    if not interval or not cap or not sets:
        return None, ()
    prompts = exactly(0.0)
    for one in sets:
        prompts = prompts + one
    group = whole(plan.settings, "--n-samples-per-eval-prompt") or 1
    evaluation = Evaluation(prompts, group, float(cap), interval)
    if prompts.low == prompts.high:
        return evaluation, ()
    assumed = said(
        "Evaluation on {prompts} prompts ({low}–{high}) assumed.",
        prompts=f"{prompts.expected:,.0f}",
        low=f"{prompts.low:,.0f}",
        high=f"{prompts.high:,.0f}",
    )
    return evaluation, (assumed,)


def _data_sets(plan: Plan) -> tuple[str, ...]:
    """Paths of the data sets: ``--eval-prompt-data`` is a list of name and path by turns.

    A path that is not known is left to its name.
    """
    value = plan.settings.value("--eval-prompt-data")
    if isinstance(value, (list, tuple)):
        pairs = zip(value[::2], value[1::2], strict=False)
        return tuple(path if isinstance(path, str) else str(name) for name, path in pairs)
    given = not absent(plan.settings, "--eval-prompt-data")
    return ("",) if given or not absent(plan.settings, "--eval-config") else ()


def _prompts_of(name: str) -> Interval:
    """Return the prompts of a data set, by its name if that is a published one's."""
    plain = name.lower().replace("-", "").replace("_", "")
    known = next((size for part, size in _EVAL_SETS if part in plain), None)
    return EVAL_PROMPTS if known is None else exactly(float(known))


def saving_of(plan: Plan, training: Training) -> Saving | None:
    """Return the checkpoints of a job, None where it writes none.

    ``--async-save`` needs the persistent worker to take effect (megatron-core 0.17.1);
    ``--rotate-ckpt`` saves every step (relax/components/actor.py:258-268).
    """
    settings, world = plan.settings, plan.parallel.mesh.world_size or 1
    interval = 1 if switch(settings, "--rotate-ckpt") else whole(settings, "--save-interval")
    if absent(settings, "--save") or not interval:
        return None
    each = _WEIGHT_BYTES
    if not switch(settings, "--no-save-optim"):
        each += _OPTIMIZER_BYTES
    if training.frozen == "base":
        size = each * training.adapter_parameters
    else:
        size = each * count_model(training.shape).total
    nodes = max(1, -(-world // (plan.cluster.gpus_per_node or 8)))
    worker = switch(settings, "--use-persistent-ckpt-worker")
    return Saving(
        node_bytes=size / nodes,
        gpu_bytes=size / world,
        interval=interval,
        in_background=bool(switch(settings, "--async-save") and worker),
    )


def weight_bytes_per_gpu(training: Training) -> float:
    """Return bytes of the heaviest stage's bf16 weights on one GPU."""
    counts = count_stages(training.shape, training.mesh.stages)
    return _WEIGHT_BYTES * max(sum(on_one_rank(count, training.mesh)) for count in counts)
