"""What is written so that the framework cannot mean anything by it.

Everything here leaves a None in the plan; the start-up checks tell the reader why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.launch.settings import Setting, Settings
from perf_doctor.plan.reading import MOST, is_whole
from perf_doctor.shell.model import Unknown


@frozen
class Problem:
    """One sentence about one setting; ``setting`` is None when something is missing."""

    text: str
    setting: Setting | None = None


# Options that must be at least 1, and those that may be 0.
_FROM_ONE = (
    "--tensor-model-parallel-size",
    "--pipeline-model-parallel-size",
    "--context-parallel-size",
    "--expert-model-parallel-size",
    "--expert-tensor-parallel-size",
    "--num-layers-per-virtual-pipeline-stage",
    "--num-virtual-stages-per-pipeline-rank",
    "--decoder-first-pipeline-num-layers",
    "--decoder-last-pipeline-num-layers",
    "--num-layers",
    "--hidden-size",
    "--ffn-hidden-size",
    "--num-attention-heads",
    "--num-query-groups",
    "--kv-channels",
    "--vocab-size",
    "--num-experts",
    "--moe-router-topk",
    "--moe-ffn-hidden-size",
    "--global-batch-size",
    "--rollout-batch-size",
    "--n-samples-per-prompt",
    "--num-steps-per-rollout",
    "--micro-batch-size",
    "--max-tokens-per-gpu",
    "--log-probs-max-tokens-per-gpu",
    "--over-sampling-batch-size",
    "--rollout-max-response-len",
    "--rollout-max-prompt-len",
    "--rollout-max-context-len",
    "--num-iters-per-train-update",
    "--num-data-storage-units",
    "--num-gpus-per-node",
    "--actor-num-nodes",
    "--actor-num-gpus-per-node",
    "--rollout-num-gpus-per-engine",
    "--genrm-num-gpus-per-engine",
    "--teacher-num-gpus-per-engine",
    "--sglang-data-parallel-size",
    "--sglang-pipeline-parallel-size",
    "--sglang-expert-parallel-size",
    "--sglang-server-concurrency",
)
_FROM_ZERO = ("--rollout-num-gpus", "--genrm-num-gpus", "--max-staleness", "--mtp-num-layers")
_OBJECTS = ("--ref-actor-config", "--genrm-engine-config", "--multimodal-keys")


def find_problems(settings: Settings, framework: str) -> tuple[Problem, ...]:
    """Return what no plan can be made of, in no particular order."""
    return (
        *_sizes(settings, _FROM_ONE, 1),
        *_sizes(settings, _FROM_ZERO, 0),
        *_objects(settings),
        *_resource(settings, framework),
    )


def _sizes(settings: Settings, flags: tuple[str, ...], least: int) -> Iterator[Problem]:
    for flag in flags:
        setting = settings.given(flag)
        if setting is None or isinstance(setting.value, Unknown):
            continue
        if not is_whole(setting.value, least):
            yield Problem(_wanted(setting, least), setting)


def _wanted(setting: Setting, least: int) -> str:
    flag, value = setting.flag, _short(setting.value)
    if _is_large(setting.value):
        return said("{flag} {value}: must be at most a trillion", flag=flag, value=value)
    return said("{flag} {value}: must be at least {least}", flag=flag, value=value, least=least)


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and value > MOST


def _objects(settings: Settings) -> Iterator[Problem]:
    for flag in _OBJECTS:
        setting = settings.given(flag)
        if setting is None or isinstance(setting.value, Unknown):
            continue
        if not isinstance(setting.value, Mapping):
            value = _short(setting.value)
            text = said("{flag} {value}: must be a JSON object", flag=flag, value=value)
            yield Problem(text, setting)


def _resource(settings: Settings, framework: str) -> Iterator[Problem]:
    """Without it Relax starts nothing, with another shape it cannot unpack it.

    relax/core/controller.py:361-367.
    """
    setting = settings.given("--resource")
    if setting is None and framework == "relax":
        yield Problem(said("--resource is missing: Relax has no GPUs for any role"))
    if setting is None or isinstance(setting.value, Unknown):
        return
    if not isinstance(setting.value, Mapping):
        value = _short(setting.value)
        text = said("--resource {value}: must be an object of roles", value=value)
        yield Problem(text, setting)
        return
    for role, entry in setting.value.items():
        if not isinstance(entry, list) or len(entry) != 2:
            text = said(
                '--resource: "{role}" is {entry}, not [services, GPUs]',
                role=_short(role),
                entry=_short(entry),
            )
            yield Problem(text, setting)
        elif not is_whole(entry[1], 0):
            text = said(
                '--resource: "{role}" asks for {number} GPUs',
                role=_short(role),
                number=_short(entry[1]),
            )
            yield Problem(text, setting)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
