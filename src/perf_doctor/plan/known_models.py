"""What is known of a model by its name, or by a configuration file beside its weights.

Rows are those of ``data/architectures.json``; a Hugging Face ``config.json`` gives the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from perf_doctor.data import table
from perf_doctor.launch import hf_config
from perf_doctor.launch.model_name import family, known_model
from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.architecture import Architecture, LinearAttention, Source, VisionTower
from perf_doctor.plan.architecture_flags import from_flags
from perf_doctor.plan.layer_pattern import MOST_LAYERS
from perf_doctor.plan.reading import is_whole
from perf_doctor.shell.model import Place, Word

Row = Mapping[str, Any]
# Gives the bytes of a regular file that is not larger than CONFIG_BYTES, None for all else.
ReadFile = Callable[[str], bytes | None]
CONFIG_BYTES = 2**20

# What every model of the table has and its rows do not repeat.
_COMMON = ("--swiglu", "--disable-bias-linear", "--normalization", "RMSNorm")
_VISION = {
    "depth": "depth",
    "hidden_size": "hidden_size",
    "ffn_hidden_size": "intermediate_size",
    "heads": "num_heads",
    "patch_size": "patch_size",
    "spatial_merge_size": "spatial_merge_size",
    "temporal_patch_size": "temporal_patch_size",
    "positions": "num_position_embeddings",
    "out_hidden_size": "out_hidden_size",
}


def known_row(model_name: str | None) -> Row | None:
    """Return the row for a model's name, None for a model that no row describes."""
    name = known_model(model_name) if model_name else None
    return None if name is None else _row(name)


def _row(name: str) -> Row:
    row: Row = table("architectures")[name]
    return row


def has_towers(model_name: str | None, row: Row | None) -> bool | None:
    """Tell whether the checkpoint itself is multimodal, also when the job trains on text.

    Such a checkpoint has a ``text_config`` or a ``thinker_config``
    (relax/backends/megatron/arguments.py:140). Without a row the family answers, if all its
    known models agree.
    """
    if row is not None:
        return _towers(row)
    name = family(model_name) if model_name else None
    rows = table("architectures").values() if name else ()
    answers = {_towers(known) for known in rows if known["family"] == name}
    return answers.pop() if len(answers) == 1 else None


def _towers(row: Row) -> bool:
    return bool(row.get("vision")) or bool(row.get("audio"))


def read_config(path: str, read_file: ReadFile) -> Row | None:
    """Return the row that ``config.json`` in the folder ``path`` describes, None if none does."""
    content = read_file(path.rstrip("/") + "/config.json")
    if content is None or len(content) > CONFIG_BYTES:
        return None
    try:
        config = json.loads(content)
        return hf_config.architecture(config)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None  # somebody's file: whatever it holds, it describes no model


def from_row(row: Row, source: Source) -> Architecture | None:
    """Return the architecture that a row describes."""
    texts = list(_COMMON)
    flags: Mapping[str, Any] = row["flags"]
    for flag, value in flags.items():
        texts += [flag] if value is True else [flag, str(value)]
    if "--num-query-groups" in flags:
        texts.append("--group-query-attention")
    place = Place(source, 1)
    plain = from_flags(read_settings([Word(text, place) for text in texts]))
    return None if plain is None else completed(plain, row, source)


def completed(plain: Architecture, row: Row, source: Source) -> Architecture:
    """Return ``plain`` with what flags cannot say taken from the row, if both mean one model."""
    flags: Mapping[str, Any] = row["flags"]
    same = (plain.layers, plain.hidden_size) == (
        flags.get("--num-layers"),
        flags.get("--hidden-size"),
    )
    if not same or plain.layers is None or plain.layers > MOST_LAYERS:
        return replace(plain, source=source)
    return replace(
        plain,
        source=source,
        linear_attention=_linear_attention(row.get("gdn"), plain.layers),
        vision=_vision(row.get("vision")),
    )


def _linear_attention(gdn: Any, layers: int) -> LinearAttention | None:
    """Every ``full_attention_interval``-th layer is full attention, the others are linear."""
    if not isinstance(gdn, Mapping):
        return None
    interval = gdn.get("full_attention_interval", 4)
    sizes = [
        gdn.get(key)
        for key in ("key_heads", "value_heads", "key_head_dim", "value_head_dim", "conv_kernel")
    ]
    if not is_whole(interval) or not all(is_whole(size) for size in sizes):
        return None
    key_heads, value_heads, key_dim, value_dim, conv = (int(size or 0) for size in sizes)
    return LinearAttention(
        layers=tuple((index + 1) % interval != 0 for index in range(layers)),
        key_heads=key_heads,
        value_heads=value_heads,
        key_head_dim=key_dim,
        value_head_dim=value_dim,
        conv_kernel=conv,
    )


def _vision(vision: Any) -> VisionTower | None:
    if not vision:
        return None
    sizes = vision if isinstance(vision, Mapping) else {}
    return VisionTower(
        **{
            ours: sizes[theirs] if is_whole(sizes.get(theirs)) else None
            for ours, theirs in _VISION.items()
        }
    )
