"""The name a person would say for the model of a launch, its family and its table row."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perf_doctor.data import table
from perf_doctor.frozen import frozen
from perf_doctor.launch.filename import read_file_name

# Beginnings of a name in lower case without separators, the longer first, and the family.
_FAMILIES = {
    "deepseekr1distillqwen": "qwen2.5 (r1-distill)",
    "deepseekr1distillllama": "llama3 (r1-distill)",
    "deepseek": "deepseek-v3",
    "qwen3omni": "qwen3-omni",
    "qwen3vl": "qwen3-vl",
    "qwen3next": "qwen3-next",
    "qwen3.5": "qwen3.5",
    "qwen3.6": "qwen3.6",
    "qwen3": "qwen3",
    "qwen2.5": "qwen2.5",
    "kimik2": "kimi-k2",
    "glm5": "glm5",
    "glm4": "glm4",
    "llama": "llama3",
    "minimaxm2": "minimax-m2",
    "mimo": "mimo",
    "moonlight": "moonlight",
    "dots": "dots.ocr",
}
# What a checkpoint's name says beyond the architecture: how it was tuned or stored.
_SUFFIX = re.compile(
    r"[-_.](instruct|thinking|base|chat|it|hf|bf16|fp16|fp8|int8|int4|nvfp4|mxfp4|awq|gptq|mcore"
    r"|torch[-_]dist|megatron|dist|ckpt|checkpoint|amd|vl|\d{4})$",
    re.IGNORECASE,
)
_DISTILLED = re.compile(r"deepseek[-_]r1[-_]distill[-_](?:qwen|llama)[-_]\d+(?:\.\d+)?b")
# Folders inside a checkpoint: `Qwen3-4B/iter_0000100`, `…/snapshots/<hash>`.
_INNER = re.compile(r"iter_\d+|release|snapshots|checkpoints?|global_step_?\d+|[0-9a-f]{40}")
_WORDS = {"qwen": "Qwen", "glm": "GLM-", "kimi": "Kimi", "deepseek": "DeepSeek",
          "llama": "Llama-", "mimo": "MiMo", "minimax": "MiniMax", "moonlight": "Moonlight",
          "vl": "VL", "omni": "Omni", "next": "Next", "coder": "Coder"}  # fmt: skip
_SQUEEZED = re.compile(r"(qwen)([23])([1-9])$")  # qwen35 is Qwen3.5
_JOINED_SIZE = re.compile(r"(\d+(?:\.\d+)?b)(a\d+b)$")  # 35ba3b is 35B-A3B


@frozen
class ModelName:
    """A model's name as a person says it.

    ``said_by`` is ``checkpoint``, ``model file`` or ``script name``; the last is a promise
    only, nothing of the launch depends on it.
    """

    name: str
    said_by: str

    @property
    def family(self) -> str | None:
        """The family, such as ``qwen3.5``; None for one the table of families lacks."""
        return family(self.name)


def find_model_name(
    checkpoints: Iterable[str | None], model_file: str | None = None, script: str = ""
) -> ModelName | None:
    """Return the model's name, None when nothing says it.

    ``checkpoints`` are paths in the order they are believed (--hf-checkpoint, --ref-load,
    --load); the last part of the first one that has a name counts, suffixes kept.
    ``model_file`` is the sourced ``scripts/models/….sh``.
    """
    for path in checkpoints:
        if path and (name := _checkpoint_name(path)):
            return ModelName(name, "checkpoint")
    if model_file:
        stem = model_file.rsplit("/", 1)[-1].removesuffix(".sh")
        return ModelName(spoken(stem), "model file")
    distilled = _DISTILLED.search(script.lower())
    said = distilled[0] if distilled else read_file_name(script).model
    return ModelName(spoken(said), "script name") if said else None


def model_config(files: Iterable[str]) -> str | None:
    """Return the model file's stem (``qwen3-4B``): the last sourced file in a ``models`` folder."""
    parts = [path.split("/") for path in files]
    stems = [p[-1].removesuffix(".sh") for p in parts if len(p) > 1 and p[-2] == "models"]
    return stems[-1] if stems else None


def _checkpoint_name(path: str) -> str | None:
    """Return the last part of a checkpoint path that is a name and fully known."""
    for part in reversed(path.rstrip("/").split("/")):
        if part in ("", ".", ".."):
            return None
        if _INNER.fullmatch(part):
            continue
        if "${" in part:
            return None
        # The cache of Hugging Face has models--Qwen--Qwen3-4B.
        name = part.rsplit("--", 1)[-1] if part.startswith("models--") else part
        return re.sub(r"_(mcore|torch_dist)$", "", name)
    return None


def spoken(stem: str) -> str:
    """Return ``Qwen3.5-35B-A3B`` for ``qwen35-35B-A3B``; a known model in its maker's spelling."""
    words: list[str] = []
    for word in stem.lower().replace("_", "-").split("-"):
        parts = _JOINED_SIZE.sub(r"\1-\2", _SQUEEZED.sub(r"\1\2.\3", word))
        words += parts.split("-")
    name = "-".join(_spell(word) for word in words)
    return known_model(name) or name


def _spell(word: str) -> str:
    if word in _WORDS:
        return _WORDS[word].rstrip("-")
    for start, spelled in _WORDS.items():
        if word.startswith(start) and word[len(start) :][:1].isdigit():
            return spelled + word[len(start) :]
    return word.upper() if word[:1].isdigit() or word[1:2].isdigit() else word.capitalize()


def family(name: str) -> str | None:
    """Return the family a model of this name belongs to, None for an unknown one."""
    plain = re.sub(r"[-_]", "", name.lower())
    return next((f for start, f in _FAMILIES.items() if plain.startswith(start)), None)


def known_model(name: str) -> str | None:
    """Return the row of ``data/architectures.json`` that describes this model, if one does.

    Tuning and storage (``-Instruct``, ``-FP8``, ``_mcore``) change no dimension, so they do
    not count; neither does the case.
    """
    names = _names()
    plain = name.strip("/").rsplit("/", 1)[-1].lower()
    while plain not in names:
        shorter = _SUFFIX.sub("", plain)
        if shorter == plain:
            return None
        plain = shorter
    return names[plain]


def _names() -> dict[str, str]:
    """Return every spelling in lower case and the row it belongs to."""
    rows = table("architectures")
    return {n.lower(): name for name, row in rows.items() for n in (name, *row["aliases"])}
