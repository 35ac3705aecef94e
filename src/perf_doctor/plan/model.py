"""The model that is trained: its name, its shape, its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from perf_doctor.frozen import frozen
from perf_doctor.launch.model_name import family, find_model_name, model_config
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.architecture import Architecture
from perf_doctor.plan.architecture_flags import from_flags
from perf_doctor.plan.known_models import (
    ReadFile,
    Row,
    completed,
    from_row,
    has_towers,
    known_row,
    read_config,
)
from perf_doctor.plan.parameters import Parameters, count_parameters
from perf_doctor.plan.reading import text
from perf_doctor.shell.model import Unknown

# In the order in which they are believed.
_CHECKPOINTS = ("--hf-checkpoint", "--ref-load", "--load")


@frozen
class Model:
    """The model of the job; None is not known.

    ``name``: what a person would say, ``family``: without size. ``parameters``: published ones
    for a model with a known name, else counted without towers. ``natively_multimodal``: the
    checkpoint has towers, whatever the data. ``mtp_layers``: that the checkpoint ships.
    """

    name: str | None
    family: str | None
    architecture: Architecture | None
    parameters: Parameters | None
    natively_multimodal: bool | None
    mtp_layers: int | None

    @property
    def kind(self) -> Literal["moe", "dense"] | None:
        """Mixture of experts or dense."""
        return None if self.architecture is None else self.architecture.kind


def read_model(
    settings: Settings,
    *,
    script: str = "",
    files: Sequence[str] = (),
    read_file: ReadFile | None = None,
) -> Model:
    """Return the model: its shape from the flags, else by name, else from ``config.json``.

    ``files`` are those that the script sources. Nothing is read but through ``read_file``.
    """
    paths = [text(settings, flag) for flag in _CHECKPOINTS]
    said = find_model_name(paths, model_config(files), script)
    name = said.name if said else None
    named = known_row(name)
    beside = None
    model = from_flags(settings)
    if model is not None:
        model = completed(model, named, "flags") if named else model
    elif named is not None:
        model = from_row(named, "table")
    if model is None or named is None:
        beside = _config_beside(settings, read_file)
        if model is None and beside is not None:
            model = from_row(beside, "config.json")
        elif model is not None and beside is not None:
            model = completed(model, beside, "flags")
    row = named or beside
    return Model(
        name=name,
        family=family(name) if name else None,
        architecture=model,
        parameters=_parameters(row, model),
        natively_multimodal=has_towers(name, row),
        mtp_layers=None if row is None else row.get("mtp_layers") or 0,
    )


def _config_beside(settings: Settings, read_file: ReadFile | None) -> Row | None:
    path = settings.value("--hf-checkpoint")
    if read_file is None or isinstance(path, Unknown) or not path:
        return None
    return read_config(path, read_file)


def _parameters(row: Row | None, model: Architecture | None) -> Parameters | None:
    published = None if row is None else row.get("parameters")
    if published:
        return Parameters(total=published["total"], active=published["active"])
    return None if model is None else count_parameters(model)
