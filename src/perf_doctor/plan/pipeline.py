"""How the layers lie on the pipeline stages.

megatron/core/transformer/transformer_block.py:85-185 and megatron/training/arguments.py:776-830.
"""

from __future__ import annotations

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.reading import absent, exactly, given_whole, known, switch

# A pipeline deeper than this is a slip; it also bounds the tuple below.
MOST_STAGES = 1024


@frozen
class Pipeline:
    """The stages of the actor's pipeline.

    ``layers_per_stage``: transformer layers of each stage in order, None when the sizes are not
    known, a layout string decides, or Megatron could not divide the layers so. ``vpp``: model
    chunks per stage, None without interleaving or when not known. ``layers_per_virtual_stage``:
    of one chunk. ``first_stage_layers`` and ``last_stage_layers``: what the script sets.
    """

    layers_per_stage: tuple[int, ...] | None
    vpp: int | None
    layers_per_virtual_stage: int | None
    first_stage_layers: int | None
    last_stage_layers: int | None


def read_pipeline(settings: Settings, layers: int | None, pp: int | None) -> Pipeline:
    """Return the stages for a model of ``layers`` layers over ``pp`` stages."""
    first = given_whole(settings, "--decoder-first-pipeline-num-layers")
    last = given_whole(settings, "--decoder-last-pipeline-num-layers")
    embedding = switch(settings, "--account-for-embedding-in-pipeline-split")
    loss = switch(settings, "--account-for-loss-in-pipeline-split")
    plain = absent(settings, "--pipeline-model-parallel-layout") and all(
        known(settings, flag)
        for flag in ("--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers")
    )
    stages = None
    if plain and layers is not None and pp is not None and pp <= MOST_STAGES:
        uneven = first is not None or last is not None
        if uneven:
            stages = uneven_stages(layers, pp, first, last)
        elif embedding is not None and loss is not None:
            stages = even_stages(layers, pp, embedding=embedding, loss=loss)
    vpp, chunk = _virtual(settings, stages, layers, pp)
    return Pipeline(
        layers_per_stage=stages,
        vpp=vpp,
        layers_per_virtual_stage=chunk,
        first_stage_layers=first,
        last_stage_layers=last,
    )


def even_stages(
    layers: int, pp: int, *, embedding: bool = False, loss: bool = False
) -> tuple[int, ...] | None:
    """Return equal stages; embedding and loss may count as a layer of the first and the last."""
    each = exactly(layers + embedding + loss, pp)
    if each is None or each < 1:
        return None
    stages = [each] * pp
    stages[0] -= embedding
    stages[-1] -= loss
    return tuple(stages)


def uneven_stages(
    layers: int, pp: int, first: int | None, last: int | None
) -> tuple[int, ...] | None:
    """Return stages whose first or last holds a given number of layers, the others the rest."""
    ends = (first is not None) + (last is not None)
    middle = pp - ends
    rest = layers - (first or 0) - (last or 0)
    if middle < 0 or rest < 0:
        return None
    if middle == 0:
        # Megatron does not check that two given ends hold every layer; a rest would be lost.
        return (first or 0, last or 0) if rest == 0 else None
    each = exactly(rest, middle)
    if not each:
        return None
    head = () if first is None else (first,)
    tail = () if last is None else (last,)
    return (*head, *([each] * middle), *tail)


def _virtual(
    settings: Settings, stages: tuple[int, ...] | None, layers: int | None, pp: int | None
) -> tuple[int | None, int | None]:
    """Chunks per stage and layers per chunk; one chunk is no interleaving."""
    chunks = given_whole(settings, "--num-virtual-stages-per-pipeline-rank")
    chunk = given_whole(settings, "--num-layers-per-virtual-pipeline-stage")
    if chunks is None and chunk is not None:
        chunks = exactly(exactly(layers, pp), chunk)
    elif chunks is not None:
        uniform = stages is not None and len(set(stages)) == 1
        chunk = exactly(stages[0], chunks) if uniform and stages else None
    return (None, None) if chunks is None or chunks == 1 else (chunks, chunk)
