"""The SGLang engines of the job: rollout, reward model, managed teacher.

Layout: relax/distributed/ray/rollout.py:3796-3799 and 424-432; what Relax fixes on an engine:
relax/backends/sglang/sglang_engine.py:996-1081; the reward model inherits every ``--sglang-*``
value (same file, 963-986) and so does the teacher (relax/utils/opd/opd_utils.py:139-153).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.cluster import Cluster
from perf_doctor.plan.reading import MOST, exactly, is_whole, mapping, product, text, whole
from perf_doctor.plan.roles import Roles, genrm_num_gpus

Kind = Literal["rollout", "genrm", "teacher"]

_FIELDS = {
    "dp_size": "--sglang-data-parallel-size",
    "pp_size": "--sglang-pipeline-parallel-size",
    "ep_size": "--sglang-expert-parallel-size",
    "enable_dp_attention": "--sglang-enable-dp-attention",
    "load_format": "--sglang-load-format",
    "mem_fraction_static": "--sglang-mem-fraction-static",
    "context_length": "--sglang-context-length",
    "max_running_requests": "--sglang-max-running-requests",
    "max_total_tokens": "--sglang-max-total-tokens",
    "chunked_prefill_size": "--sglang-chunked-prefill-size",
    "disable_cuda_graph": "--sglang-disable-cuda-graph",
    "cuda_graph_bs": "--sglang-cuda-graph-bs",
    "cuda_graph_max_bs": "--sglang-cuda-graph-max-bs",
    "disable_radix_cache": "--sglang-disable-radix-cache",
    "attention_backend": "--sglang-attention-backend",
    "kv_cache_dtype": "--sglang-kv-cache-dtype",
    "quantization": "--sglang-quantization",
    "speculative_algorithm": "--sglang-speculative-algorithm",
    "speculative_num_steps": "--sglang-speculative-num-steps",
    "speculative_eagle_topk": "--sglang-speculative-eagle-topk",
    "speculative_num_draft_tokens": "--sglang-speculative-num-draft-tokens",
}
# Settled by the reward model's own configuration alone, 1 without it.
_GENRM_OWN = ("dp_size", "pp_size", "ep_size")

Field = Callable[[str], Any]


@frozen
class Speculative:
    """Speculative decoding; numbers are None when SGLang chooses or they are not known."""

    algorithm: str
    num_steps: int | None
    eagle_topk: int | None
    num_draft_tokens: int | None


@frozen
class Engines:
    """The engines of one kind; None is not known or, from ``load_format`` on, left to SGLang.

    ``engines``: how many whole engines fit on ``gpus``; ``idle_gpus``: what is left over.
    ``nodes_per_engine`` is above 1 for an engine larger than a node. ``tp`` × ``pp`` are the
    GPUs of an engine; ``dp`` and ``ep`` divide these once more. ``copies``: engines hold this
    many different models (teachers by route). ``in_flight``: generations running at once over
    all engines. ``cuda_graph``: on by default.
    """

    kind: Kind
    checkpoint: str | None
    gpus: int | None
    gpus_per_engine: int | None
    engines: int | None
    idle_gpus: int | None
    nodes_per_engine: int | None
    tp: int | None
    pp: int | None
    dp: int | None
    ep: int | None
    copies: int
    server_concurrency: int | None
    in_flight: int | None
    dp_attention: bool | None
    cuda_graph: bool | None
    radix_cache: bool | None
    load_format: str | None
    mem_fraction_static: float | None
    context_length: int | None
    max_running_requests: int | None
    max_total_tokens: int | None
    chunked_prefill_size: int | None
    cuda_graph_batch_sizes: tuple[int, ...] | None
    cuda_graph_max_batch_size: int | None
    attention_backend: str | None
    kv_cache_dtype: str | None
    quantization: str | None
    speculative: Speculative | None


def read_engines(settings: Settings, roles: Roles, cluster: Cluster) -> Engines | None:
    """Return the rollout engines, None when the job starts none."""
    if roles.active is None or "rollout" not in roles.active:
        return None

    def field(name: str) -> Any:
        return _sglang(settings, name)

    checkpoint = text(settings, "--sglang-hf-checkpoint") or text(settings, "--hf-checkpoint")
    return _engines(
        "rollout",
        field,
        _Layout(
            checkpoint=checkpoint,
            gpus=roles.rollout_num_gpus,
            gpus_per_engine=whole(settings, "--rollout-num-gpus-per-engine"),
            num_gpus_per_node=cluster.num_gpus_per_node,
            concurrency=whole(settings, "--sglang-server-concurrency"),
        ),
    )


def read_genrm(settings: Settings, roles: Roles, cluster: Cluster) -> Engines | None:
    """Return the engines of the reward model, None when the job starts none."""
    if roles.active is None or "genrm" not in roles.active:
        return None
    config = mapping(settings, "--genrm-engine-config")
    unclear = config is None and settings.given("--genrm-engine-config") is not None

    def field(name: str) -> Any:
        if unclear:
            return None
        if config is not None and name in config:
            return config[name]
        return 1 if name in _GENRM_OWN else _sglang(settings, name)

    return _engines(
        "genrm",
        field,
        _Layout(
            checkpoint=text(settings, "--genrm-model-path"),
            gpus=genrm_num_gpus(settings, roles.reserved),
            gpus_per_engine=whole(settings, "--genrm-num-gpus-per-engine"),
            num_gpus_per_node=cluster.num_gpus_per_node,
            concurrency=_whole((config or {}).get("server_concurrency")),
        ),
    )


def read_teacher(settings: Settings, roles: Roles, cluster: Cluster) -> Engines | None:
    """Return the engines of a managed teacher, None when the job starts none.

    Several teachers by route share its GPUs evenly. One engine takes all GPUs of a teacher
    unless ``--teacher-num-gpus-per-engine`` says less.
    """
    if not roles.managed_teacher:
        return None
    routes = mapping(settings, "--opd-teacher-routes") or _json_object(settings)
    copies = max(1, len(routes))
    per_engine = whole(settings, "--teacher-num-gpus-per-engine")
    if settings.given("--teacher-num-gpus-per-engine") is None:
        per_engine = exactly(roles.teacher_gpus, copies)

    def field(name: str) -> Any:
        own = "--teacher-sglang-" + _FIELDS[name].removeprefix("--sglang-")
        if settings.given(own):
            return settings.value(own)
        return "auto" if name == "load_format" else _sglang(settings, name)

    return _engines(
        "teacher",
        field,
        _Layout(
            checkpoint=text(settings, "--teacher-hf-checkpoint"),
            gpus=roles.teacher_gpus,
            gpus_per_engine=per_engine,
            num_gpus_per_node=cluster.num_gpus_per_node,
            concurrency=None,
            copies=copies,
        ),
    )


def _json_object(settings: Settings) -> Mapping[str, Any]:
    """The routes, which the parser leaves as text."""
    import json  # noqa: PLC0415  only for jobs with several teachers

    written = text(settings, "--opd-teacher-routes")
    try:
        routes = json.loads(written) if written else None
    except (ValueError, RecursionError):
        return {}
    return routes if isinstance(routes, dict) else {}


def _sglang(settings: Settings, name: str) -> Any:
    return settings.value(_FIELDS[name])


@frozen
class _Layout:
    """What decides how many engines there are."""

    checkpoint: str | None
    gpus: int | None
    gpus_per_engine: int | None
    num_gpus_per_node: int | None
    concurrency: int | None
    copies: int = 1


def _engines(kind: Kind, field: Field, layout: _Layout) -> Engines:
    gpus, gpus_per_engine = layout.gpus, layout.gpus_per_engine
    pp = _whole(field("pp_size"))
    nodes = None
    if gpus_per_engine is not None and layout.num_gpus_per_node is not None:
        nodes = max(1, gpus_per_engine // layout.num_gpus_per_node)
    count = None if gpus is None or gpus_per_engine is None else gpus // gpus_per_engine
    sizes = field("cuda_graph_bs")
    in_flight = product(layout.concurrency, gpus)
    if in_flight is not None:
        in_flight = in_flight // gpus_per_engine if gpus_per_engine else None
    return Engines(
        kind=kind,
        checkpoint=layout.checkpoint,
        gpus=gpus,
        gpus_per_engine=gpus_per_engine,
        engines=count,
        idle_gpus=gpus % gpus_per_engine if gpus is not None and gpus_per_engine else None,
        nodes_per_engine=nodes,
        tp=exactly(gpus_per_engine, pp),
        pp=pp,
        dp=_whole(field("dp_size")),
        ep=_whole(field("ep_size")),
        copies=layout.copies,
        server_concurrency=layout.concurrency,
        in_flight=in_flight,
        dp_attention=_truth(field("enable_dp_attention")),
        cuda_graph=_not(_truth(field("disable_cuda_graph"))),
        radix_cache=_not(_truth(field("disable_radix_cache"))),
        load_format=_text(field("load_format")),
        mem_fraction_static=_number(field("mem_fraction_static")),
        context_length=_whole(field("context_length")),
        max_running_requests=_whole(field("max_running_requests")),
        max_total_tokens=_whole(field("max_total_tokens")),
        chunked_prefill_size=_whole(field("chunked_prefill_size")),
        cuda_graph_batch_sizes=_sizes(sizes),
        cuda_graph_max_batch_size=_whole(field("cuda_graph_max_bs")),
        attention_backend=_text(field("attention_backend")),
        kv_cache_dtype=_text(field("kv_cache_dtype")),
        quantization=_text(field("quantization")),
        speculative=_speculative(field),
    )


def _speculative(field: Field) -> Speculative | None:
    algorithm = _text(field("speculative_algorithm"))
    if algorithm is None:
        return None
    return Speculative(
        algorithm=algorithm,
        num_steps=_whole(field("speculative_num_steps")),
        eagle_topk=_whole(field("speculative_eagle_topk")),
        num_draft_tokens=_whole(field("speculative_num_draft_tokens")),
    )


def _whole(value: object) -> int | None:
    return value if is_whole(value) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= MOST else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _sizes(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, (list, tuple)) or not value:
        return None
    return tuple(value) if all(is_whole(item) for item in value) else None
