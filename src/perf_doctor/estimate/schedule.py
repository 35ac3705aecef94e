"""How many micro-batches a pipeline stage holds at once."""

from __future__ import annotations


def chunks_in_flight(pp: int, stage: int, micro_batches: int, vpp: int, group: int) -> float:
    """Return the micro-batches whose activations a stage holds at its peak, in whole stages.

    1F1B: min(m, pp − stage). Interleaved: min(m·v, 2·(pp − stage − 1) + (v − 1)·group + 1) chunks
    of 1/v of the stage (megatron/core/pipeline_parallel/schedules.py, get_pp_rank_microbatches).
    """
    if pp == 1:
        return 1.0
    if vpp == 1:
        return float(min(micro_batches, pp - stage))
    chunks = min(micro_batches * vpp, 2 * (pp - stage - 1) + (vpp - 1) * group + 1)
    return chunks / vpp
