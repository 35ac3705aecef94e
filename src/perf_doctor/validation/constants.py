"""What only measured runs do: other engines and trainers than Relax's; and every constant."""

from __future__ import annotations

from perf_doctor.estimate.constants import CONSTANTS, Constant, Table
from perf_doctor.estimate.decode_efficiencies import DECODING
from perf_doctor.estimate.efficiencies import TRAINING
from perf_doctor.estimate.rl_efficiencies import RL

_TABLE = Table()
_constant = _TABLE.constant


VLLM_SEQUENCE_S = _constant(
    "decode, per running sequence, vLLM", 25e-6, 40e-6, 100e-6, "s",
    "37 points up to 1,019 requests, prefill of short prompts included; verl's 14B on H20, TP 2"
    " against TP 4, some 90",
)  # fmt: skip
VERL_PHASE_S = _constant(
    "around a phase of verl's Megatron trainer", 3, 9, 18, "s",
    "padded batches handed over: seconds less FLOPs ÷ (MFU · peak · GPUs) of updates of 8,192"
    " samples, 16 on one node without offload, 8 on four; of measured runs only",
)  # fmt: skip
PAGEABLE_COPY_GB_S = _constant(
    "offload through pageable memory per GPU", 1, 2, 5, "GB/s",
    "verl's weights, to the GPU and back around each phase: 5–9 s more of an update with TP 2",
)  # fmt: skip
UNFUSED_ROTARY_S = _constant(
    "rotary embedding of one packed sample, q or k, without fusion", 40e-6, 75e-6, 120e-6, "s",
    "Megatron splits packed samples and embeds each by itself: verl's 7B log-probs with and without"
    " apply_rope_fusion, 17 s apart of 4,096 samples a rank; of measured runs only",
)  # fmt: skip

# All that is measured and not derived, of memory, of time and of measured runs.
EVERY_CONSTANT: tuple[Constant, ...] = (*CONSTANTS, *TRAINING, *DECODING, *RL, *_TABLE)
