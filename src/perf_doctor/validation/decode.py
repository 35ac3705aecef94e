"""Measured decode speeds as the estimate sees them, or why it cannot.

Tables of training runs (kind ``serve_time``) and of rollouts (category ``decode``) state the same
under other names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from perf_doctor.estimate.card import Card
from perf_doctor.estimate.decode_sizes import Serving
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.engine import Engine
from perf_doctor.estimate.from_model import shape_of
from perf_doctor.estimate.shape import Shape
from perf_doctor.frozen import frozen
from perf_doctor.launch.model_name import known_model
from perf_doctor.plan.gpu import find_gpu
from perf_doctor.plan.known_models import from_row, known_row
from perf_doctor.validation.run import Point, card_named, run_of

# How requests come. step: so many run, whatever came before. loop: a new one for each that ends.
# burst: so many per second, and no more after the last.
Load = Literal["step", "loop", "burst"]
# Bytes per weight by what a data type's name holds, scales included.
_BYTES = (("bf16", 2.0), ("fp16", 2.0), ("fp8", 1.01), ("w8a8", 1.01), ("int8", 1.01),
          ("fp4", 0.55), ("int4", 0.55), ("awq", 0.55), ("gptq", 0.55))  # fmt: skip
# The families of cards on which decode is judged.
FAMILIES: tuple[Family, ...] = ("ampere", "hopper", "h20")
# Tokens before the answer where a run does not state its prompts, by what it asks.
_PROMPTS = {"gpqa": 300.0, "lm-arena-chat": 150.0}
_USUAL_PROMPT = 200.0
# Deviation ÷ mean of answers of natural length: a running request has Σl² ÷ 2Σl of them behind it.
_SPREAD = 0.5
# Active parameters of mixtures, billions.
_ACTIVE = (3, 10, 17, 22, 32, 35)
_GRAPHS = 1 << 20


@frozen
class Served:
    """A measured decode speed.

    ``tokens_s``: generated per second by one engine. ``requests``: that run or are in flight at
    once, in a burst altogether; ``per_s`` of a burst. ``prompt``, ``answer``: tokens; ``behind``:
    tokens in the cache of a running request. ``vllm``: the engine is not SGLang.
    """

    serving: Serving
    load: Load
    requests: float
    prompt: float
    answer: float
    behind: float
    tokens_s: float
    usable_gib: float
    per_s: float = 0.0
    vllm: bool = False
    assumptions: tuple[str, ...] = ()


def is_about_decode(point: Point) -> bool:
    """Tell whether a run says how fast an engine generates."""
    return point.get("kind") == "serve_time" or point.get("category") == "decode"


def is_judged(point: Point) -> bool:
    """Tell whether the estimate is judged on a run: Ampere and Hopper in 16 or 8 bits."""
    card = card_named(str(plain_point(point).get("gpu")))
    return is_about_decode(point) and card is not None and apart(point, card) is None


def apart(point: Point, card: Card) -> str | None:
    """Return why a speed is shown and not judged.

    With speculation the accepted tokens are not known, and random prompts are not natural ones.
    """
    point = plain_point(point)
    drafts = " with speculation" if _drafts(point) > 1 else ""
    if drafts or card.family not in FAMILIES:
        return f"{card.family}{drafts}"
    if (point.get("dtype") or "bf16") not in ("bf16", "fp16", "fp8"):
        return "4 bits"
    return None if point.get("tier") in ("A", "B") else "not tier A or B"


def plain_point(point: Point) -> dict[str, Any]:
    """Return a point under the names of a table of training runs."""
    if "config" not in point:
        return dict(point)
    config, metrics = point["config"], dict(point.get("metrics") or {})
    count, _, gpu = str(config.get("gpus")).partition("x")
    source = str(point.get("source"))
    name, _, rest = source.partition(" ")
    isl = 1 if "input 1," in source else None
    extra = {
        "engine": point.get("framework"),
        "running": config.get("avg_batch") or config.get("batch"),
        "isl": isl,
        "osl": config.get("avg_output") or (2048 if isl else None),
        "natural": bool(config.get("avg_output")),
    }
    return {
        "id": point.get("id"),
        "kind": "serve_time",
        "source": {"repo": name, "path": rest},
        "model": config.get("model"),
        "gpu": gpu,
        "n_gpus": int(count) if count.isdecimal() else None,
        "ep": config.get("ep"),
        "dtype": str(config.get("precision") or "bf16").lower(),
        "extra": {key: value for key, value in extra.items() if value},
        "measured": metrics,
        "tier": point.get("grade"),
    }


def decode_point(point: Point) -> Served | str:
    """Return the decode speed of a point, or why it is skipped."""
    point = plain_point(point)
    card = card_named(str(point.get("gpu")))
    if card is None:
        return "its GPU is not a known card"
    shape = _shape(point)
    if shape is None:
        return "its model is not known and states no sizes"
    if not point.get("n_gpus") or (point.get("pp") or 1) != 1:
        return "does not state its GPUs, or runs a pipeline"
    said = str(point.get("dtype") or "bf16").lower()
    width = next((size for name, size in _BYTES if name in said), None)
    if width is None:
        return f"weights of {said} are not known"
    extra = point.get("extra") or {}
    groups, ep = int(extra.get("attention_dp") or 1), int(point.get("ep") or 1)
    gpus = int(point["n_gpus"])
    # Experts that are spread further than the attention make one engine of it all.
    ranks = min(gpus, max(int(point.get("tp") or gpus) * groups, ep))
    engine = Engine(
        kind="rollout",
        shape=shape,
        tp=ranks,
        pp=1,
        attention_tp=max(1, ranks // groups),
        mem_fraction=extra.get("mem_fraction_static"),
        graphs=extra.get("cuda_graph") is not False,
        shares=False,
        weight_bytes=width,
        kv_bytes=1.0 if "fp8" in str(extra.get("kv_cache_dtype")) else 2.0,
    )
    serving = Serving(engine, shape, card, _GRAPHS, _drafts(point), ep)
    return _served(point, serving, gpus // ranks)


def known_name(name: str) -> str | None:
    """Return the known model that a run means.

    ``Qwen 3 8B`` is Qwen3-8B, and Qwen3.5-122B the one with some active parameters behind it.
    """
    joined = re.sub(r"^([A-Za-z]+) (?=\d)", r"\1", name.strip())
    spelled = [one.replace(" ", "-") for one in (name.strip(), joined)]
    active = [f"{spelled[-1]}-A{size}B" for size in _ACTIVE]
    found = (known_model(one) for one in (*spelled, *active))
    return next((one for one in found if one), None)


def _shape(point: Point) -> Shape | None:
    """The model by its name, else by the sizes that the point states."""
    name = known_name(str(point.get("model")))
    if name is not None:
        row = known_row(name)
        model = None if row is None else from_row(row, "table")
        if model is not None and model.vocab_size is not None:
            return shape_of(model, model.vocab_size)
    whole = {"seq": 1, "mbs": 1, "pp": 1, "tp": 1, "n_gpus": 1}
    run = run_of({**point, **whole, "ep": 1, "gbs": None})
    return None if isinstance(run, str) else run.training.shape


def _drafts(point: Point) -> float:
    """Tokens verified per step: the last number of ``EAGLE 3-1-4``."""
    said = str((point.get("extra") or {}).get("speculative") or "off")
    if said == "off":
        return 1.0
    last = said.rpartition("-")[2]
    return float(last) if last.isdecimal() else 4.0


def _served(point: Point, serving: Serving, engines: int) -> Served | str:
    extra, notes = point.get("extra") or {}, str(point.get("notes"))
    answer, running = extra.get("osl"), extra.get("running")
    burst = re.search(r"(\d+) prompts, request rate (\d+)", notes)
    requests = _requests(point) if burst is None else float(burst[1])
    if not answer or not requests:
        return "does not state its requests and their lengths"
    assumed = [] if point.get("dtype") else ["weights in bf16"]
    prompt = extra.get("isl")
    if not prompt:
        prompt = _usual_prompt(point)
        assumed.append(f"prompts of {prompt:.0f} tokens")
    tokens_s = _tokens_s(point, requests, float(prompt), float(answer))
    if tokens_s is None:
        return "states no speed"
    natural = 1 + _SPREAD**2 if extra.get("natural") else 1.0
    load: Load = "burst" if burst else "step" if running else "loop"
    return Served(
        serving=serving,
        load=load,
        requests=requests / engines,
        prompt=float(prompt),
        answer=float(answer),
        behind=float(prompt) + float(answer) / 2 * natural,
        tokens_s=tokens_s / engines,
        usable_gib=find_gpu(str(point["gpu"])).usable_gib or 0.0,
        per_s=float(burst[2]) / engines if burst else 0.0,
        vllm=str(extra.get("engine")).startswith("vLLM"),
        assumptions=tuple(assumed),
    )


def _requests(point: Point) -> float | None:
    """Requests in flight; a batch is that of one data-parallel group of the attention."""
    extra = point.get("extra") or {}
    stated = extra.get("running") or extra.get("max_concurrency")
    if not stated and point.get("mbs"):
        stated = float(point["mbs"]) * int(extra.get("attention_dp") or 1)
    return float(stated) if stated else None


def _usual_prompt(point: Point) -> float:
    source = point.get("source") or {}
    path = str(source.get("path") if isinstance(source, Mapping) else source)
    return next((size for task, size in _PROMPTS.items() if task in path), _USUAL_PROMPT)


def _tokens_s(point: Point, requests: float, prompt: float, answer: float) -> float | None:
    """Tokens generated per second by all GPUs of a point, from whatever states it."""
    measured = point.get("measured") or {}
    generated = answer / (prompt + answer)
    per_gpu = measured.get("total_tokens_per_s_per_gpu")
    rates: tuple[tuple[Any, float], ...] = (
        (measured.get("output_tokens_per_s"), 1.0),
        (measured.get("tok_s") or measured.get("total_tokens_per_s"), generated),
        (per_gpu, int(point["n_gpus"]) * generated),
    )
    step_ms = measured.get("median_itl_ms") or measured.get("ms_per_token")
    if step_ms:
        return requests * 1e3 / float(step_ms)
    stated = next((float(value) * scale for value, scale in rates if value), None)
    if stated is not None:
        return stated
    first, each = _time(measured, "ttft_ms"), _time(measured, "tpot_ms")
    if first is None or each is None:
        return None
    return requests * answer * 1e3 / (first + (answer - 1) * each)


def _time(measured: Mapping[str, Any], name: str) -> float | None:
    """Milliseconds, mean or median: ``ttft_ms``, ``ttft_ms_p50``, ``tpot_ms_mean``."""
    for suffix in ("", "_mean", "_p50", "_median"):
        value = measured.get(name + suffix)
        if isinstance(value, (int, float)):
            return float(value)
    return None
