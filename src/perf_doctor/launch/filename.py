"""What the name of a launch script says about its job.

The convention is ``run-<model>-<size>-<N>xgpu(-async|-hybrid-async|-image|…)?.sh``; in
practice words stand in any order, so every word is read on its own. Names are promises, not
facts: where flags disagree, the flags win.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perf_doctor.frozen import frozen

_ACCELERATORS = {"gpu": "gpu", "gpus": "gpu", "npu": "npu", "klx": "klx", "p800": "klx",
                 "xpu": "klx"}  # fmt: skip
_MODES = {"sft": "sft", "hybrid": "hybrid", "async": "fully-async", "colocate": "colocate",
          "colocated": "colocate"}  # fmt: skip
# A named kind of data says more than the kind of model.
_MODALITIES = ("video", "image", "audio", "omni", "text")
_PRECISIONS = ("bf16", "fp16", "fp8", "int8", "int4", "nvfp4", "mxfp8")
# Words for a way of training, and the name they are known by.
_FEATURES = {"pr": "partial-rollout", "opd": "opd", "mopd": "mopd", "genrm": "genrm",
             "mtp": "mtp", "vpp": "vpp", "r3": "r3", "cispo": "cispo", "eagle": "eagle",
             "lora": "lora", "ppo": "ppo"}  # fmt: skip
_COUNT = re.compile(r"(\d+)x(gpus?|npu|klx|p800|xpu)")
_FAMILY = re.compile(r"(qwen|glm|kimi|deepseek|llama|dots|mimo|minimax|moonlight|gpt)[a-z0-9.]*")
_NODES = re.compile(r"(\d+)nodes?")
# Headers are read in lower case.
_HEADER_GPUS = re.compile(
    r"\b(\d+)\s*[x×*-]?\s*(?:[a-z]+\d+\s*)?(?:gpu|npu|xpu|klx|p800|cards?\b)|(\d+)\s*卡"
)
# Where a count of cards opens a list, the next ones need no unit: "8 cards train, 6 generate".
# One with a unit of its own is counted above, or counts something else.
_HEADER_PART = re.compile(
    r"[a-z\s-]*(?:[,，、;+]\s*(?:and\s+)?|\band\s+)(\d+)\s+(?!(?:[gnx]pus?|klx|p800|cards?|nodes?"
    r"|machines?|hosts?|steps?|epochs?|tokens?|samples?|prompts?|layers?|[gt]i?b)\b)(?=[a-z])"
)
# What stands before a count in a sum: "4 + 4 cards".
_HEADER_SUM = r"(?:\b\d{1,6}\s*\+\s*)+$"
_HEADER_NODES = re.compile(r"\b(\d+)[ -]*nodes?\b|(\d+)\s*机")
_HEADER_MODE = re.compile(r"\b(fully[ _-]async|colocated?|hybrid)\b")
_HEADER_MODES = {"fully": "fully-async", "coloc": "colocate", "hybri": "hybrid"}
_VARIANTS = ("vl", "omni", "next", "coder", "oss")
_VERSION = re.compile(r"[kmrv]\d+(\.\d+)?")
_SIZE = re.compile(r"\d+(\.\d+)?b(a\d+b)?|a\d+b")


@frozen
class FileName:
    """What the path of a script says; None where it says nothing.

    ``model`` is in lower case with ``-`` between its parts (``qwen35-35b-a3b``). ``gpus``
    counts accelerators of kind ``accelerator`` (gpu, npu, klx). ``mode`` is colocate,
    fully-async, hybrid or sft.
    """

    model: str | None = None
    gpus: int | None = None
    accelerator: str | None = None
    mode: str | None = None
    modality: str | None = None
    precision: str | None = None
    features: tuple[str, ...] = ()
    nodes: int | None = None


@frozen
class Header:
    """What the comment at the top of a script says; often copied from another script.

    ``gpus`` are all the counts it names, in order: of the job, or of its parts.
    """

    gpus: tuple[int, ...] = ()
    nodes: int | None = None
    mode: str | None = None


def read_header(text: str) -> Header:
    """Return the GPU and node counts of a header and the mode its title names."""
    text = text.lower()
    gpus = tuple(count for found in _HEADER_GPUS.finditer(text) for count in _counts(text, found))
    nodes = _HEADER_NODES.search(text)
    modes = {_HEADER_MODES[match[:5]] for match in _HEADER_MODE.findall(text)}
    return Header(
        gpus=gpus,
        nodes=int(next(filter(None, nodes.groups()))) if nodes else None,
        mode=modes.pop() if len(modes) == 1 else None,
    )


def _counts(text: str, first: re.Match[str]) -> Iterator[int]:
    """Yield a count of cards, those before it in a sum and those that follow it in a list."""
    summed = re.search(_HEADER_SUM, text[max(0, first.start() - 40) : first.start()])
    if summed:
        yield from map(int, re.findall(r"\d+", summed[0]))
    yield int(first[1] or first[2])
    at = first.end()
    while part := _HEADER_PART.match(text, at):
        yield int(part[1])
        at = part.end()


def read_file_name(path: str) -> FileName:
    """Return what the file's name, and the folder of a training tree, say.

    A folder named ``sft`` or ``text`` counts where the name itself is silent.
    """
    *folders, name = path.replace("\\", "/").split("/")
    stem = name.lower().removesuffix(".sh").replace("fully_async", "async")
    words = [word for word in re.split(r"[-_]+", stem) if word not in ("run", "relax", "")]
    counts = [match for word in words if (match := _COUNT.fullmatch(word))]
    folder = folders[-1].lower() if folders else ""
    nodes = next((match for word in words if (match := _NODES.fullmatch(word))), None)
    kinds = [_ACCELERATORS[match[2]] for match in counts]
    kinds += [_ACCELERATORS[word] for word in words if word in ("npu", "klx", "p800")]
    return FileName(
        model=_model(words),
        gpus=int(counts[0][1]) if counts else None,
        accelerator=kinds[-1] if kinds else None,
        mode=_mode(words, folder),
        modality=_first(words, _MODALITIES) or ("text" if folder == "text" else None),
        precision=_first(words, _PRECISIONS),
        features=tuple(dict.fromkeys(_FEATURES[word] for word in words if word in _FEATURES)),
        nodes=int(nodes[1]) if nodes else None,
    )


def _first(words: list[str], known: tuple[str, ...]) -> str | None:
    return next((word for word in known if word in words), None)


def _mode(words: list[str], folder: str) -> str | None:
    """Return the mode; ``hybrid-async`` is hybrid, and SFT is SFT whatever else is said."""
    for word, mode in _MODES.items():
        if word in words:
            return mode
    return "sft" if folder == "sft" else None


def _model(words: list[str]) -> str | None:
    """Return family, variant, version and size of the first model named."""
    start = next((i for i, word in enumerate(words) if _FAMILY.fullmatch(word)), None)
    if start is None:
        return None
    end = start + 1
    sized = False
    while end < len(words):
        word = words[end]
        size = bool(_SIZE.fullmatch(word))
        version = not sized and (word in _VARIANTS or _VERSION.fullmatch(word))
        if not (version or (size and (not sized or word.startswith("a")))):
            break
        sized, end = sized or size, end + 1
    return "-".join(words[start:end])
