"""What training reaches: every number that is measured and not derived, with source and range.

Decoding has its own (``decode_efficiencies``), as has what else a step does (``rl_efficiencies``).
One row per kernel class and family of cards. ``expected`` reproduces the bundled runs as well as
one number can; ``low`` and ``high`` say where it may lie. ``docs/accuracy.md`` shows how far off
the whole is, in sample and with each source left out of the choice in turn.
"""

from __future__ import annotations

from typing import Literal

from perf_doctor.estimate.constants import Constant, Table
from perf_doctor.estimate.interval import Interval, exactly

# Cards that behave alike: H20 has Hopper's memory and a seventh of its compute.
Family = Literal["ampere", "hopper", "h20", "blackwell", "other"]

_TABLE = Table()
_constant = _TABLE.constant


# ---------------------------------------------------------------- training: kernels

GEMM: dict[Family, Interval] = {
    "ampere": _constant(
        "matrix products ÷ peak, Ampere", 0.60, 0.75, 0.85, "",
        "large GEMMs on A100, operands apart; whole steps reach 0.43–0.57 (Narayanan, Korthikanti)",
    ),
    "hopper": _constant(
        "matrix products ÷ peak, Hopper", 0.65, 0.82, 0.90, "",
        "large GEMMs on H100, operands apart; whole steps reach 0.42–0.48 (Megatron-LM's table)",
    ),
    "h20": _constant(
        "matrix products ÷ peak, H20", 0.80, 0.90, 0.97, "",
        "its compute is so small that GEMMs saturate it; decode and prefill reports: 0.8–0.9",
    ),
    "blackwell": _constant(
        "matrix products ÷ peak, Blackwell", 0.38, 0.45, 0.60, "",
        "SimuMax on B200, 37 layouts of dense and expert layers; shown, not judged",
    ),
    "other": _constant(
        "matrix products ÷ peak, other cards", 0.35, 0.55, 0.75, "", "engineering range"
    ),
}  # fmt: skip
ATTENTION: dict[Family, Interval] = {
    "ampere": _constant(
        "attention core ÷ peak, Ampere", 0.40, 0.50, 0.65, "", "FlashAttention-2 paper, A100"
    ),
    "hopper": _constant(
        "attention core ÷ peak, Hopper", 0.35, 0.45, 0.60, "",
        "FlashAttention-2 to -3 and cuDNN on H100, causal, forward and backward together",
    ),
    "h20": _constant("attention core ÷ peak, H20", 0.60, 0.80, 0.90, "", "as its GEMMs"),
    "blackwell": _constant("attention core ÷ peak, Blackwell", 0.30, 0.40, 0.60, "", "as Hopper"),
    "other": _constant("attention core ÷ peak, other cards", 0.25, 0.40, 0.60, "", "wide"),
}  # fmt: skip
OPERANDS = _constant(
    "operand traffic of matrix products that multiplying does not hide", 0.1, 0.3, 1.0, "",
    "first and last tiles, waves that do not fill the card; fit on the bundled runs",
)  # fmt: skip
GROUPED_HALF = _constant(
    "tokens per expert at which grouped GEMMs lose half of their rate", 64, 128, 400, "tokens",
    "one tile of rows; cost-formulas 9: efficiency falls below some 512 tokens per expert",
)  # fmt: skip
TRAFFIC_FORWARD = _constant(
    "bytes moved forward ÷ bytes kept for backward", 1.2, 1.7, 2.5, "",
    "norms, rotary, SwiGLU, permutes read and write what they keep: 1.5–2 × (cost-formulas 9)",
)  # fmt: skip
TRAFFIC_BACKWARD = _constant(
    "bytes moved backward ÷ bytes kept", 1.6, 2.4, 4.0, "", "each kept tensor and its gradient"
)
HBM = _constant("memory-bound kernels ÷ bandwidth", 0.6, 0.75, 0.9, "", "streaming kernels")
LOSS_TRAFFIC = _constant(
    "bytes moved by the loss each way ÷ bytes it keeps", 2.0, 3.5, 5.0, "",
    "passes over fp32 logits: megatron/core/tensor_parallel/cross_entropy.py some 50 bytes per"
    " logit for 6 kept, Relax's clones and entropy 130 for 20, Transformer Engine's 8 for 2",
)  # fmt: skip
_NARROW = _constant(
    "8-bit matrix products ÷ 16-bit ones", 1.2, 1.5, 1.8, "",
    "twice the peak, less casts and scales: 13 fp8 steps of Llama-70B on H100; shown, not judged",
)  # fmt: skip
QUANTIZED: dict[Family, Interval] = {
    "ampere": exactly(1.0),
    "hopper": _NARROW,
    "h20": _NARROW,
    "blackwell": _constant(
        "8-bit matrix products ÷ 16-bit ones, Blackwell", 1.3, 2.0, 2.6, "",
        "Llama 8B–405B in fp8 and mxfp8 on B200 and GB200; shown, not judged",
    ),
    "other": _NARROW,
}  # fmt: skip
SCAN_BYTES = _constant(
    "extra traffic of a Gated DeltaNet layer ÷ bytes kept", 0.5, 1.5, 4.0, "",
    "chunked scan, decays and states; eager gates move the most",
)  # fmt: skip
LAUNCH_DENSE_S = _constant(
    "host time of a dense layer, forward and backward", 1.5e-3, 3.0e-3, 7e-3, "s",
    "Megatron-LM's small CI models, whose GPU work is negligible (A100, H100); verl's RL updates"
    " with one short sample per micro-batch 2.6–4",
)  # fmt: skip
LAUNCH_EXPERT_S = _constant(
    "host time of an expert layer, forward and backward", 7e-3, 14e-3, 18e-3, "s",
    "steps with few tokens: Moonlight 15, Qwen3-30B 13, CI 12–17 ms, tuned recipes below 8",
)  # fmt: skip
AGAIN_HOST = _constant(
    "host time of one module computed again ÷ host time of its layer", 0.02, 0.04, 0.07, "",
    "Moonlight on 8 H100, host-bound: 0.02–0.09 per module; a whole pass is a third",
)  # fmt: skip
SYNC_EXPERT_S = _constant(
    "GPU idle in an expert layer until the host knows where its tokens go", 1e-3, 5e-3, 1e-2, "s",
    "forward and its recompute; runs that neither capture graphs nor use HybridEP, H100 and H20",
)  # fmt: skip
UNMODELLED = _constant(
    "measured ÷ computed passes, beside the rates", 0.85, 1.0, 1.25, "",
    "what layouts do not say: dispatcher, fusions, versions; so that ranges hold four in five of"
    " the runs whose source is left out; verl's dense RL updates on H100 take 1.1–1.3",
)  # fmt: skip
STEP_FIXED_S = _constant(
    "optimizer, logging and data of one step", 0.01, 0.045, 0.1, "s",
    "Megatron-LM's small CI models",
)  # fmt: skip

# ---------------------------------------------------------------- training: links, optimizer

LINK = _constant("collectives ÷ link rate", 0.6, 0.75, 0.85, "", "cost-formulas 9: 0.7–0.85")
ALL_TO_ALL = _constant(
    "all-to-all ÷ network rate between nodes", 0.25, 0.4, 0.6, "",
    "16 H100 on 2 nodes: NCCL 99.7 ms against 48.0 with DeepEP",
)  # fmt: skip
DEEPEP = _constant(
    "DeepEP and HybridEP ÷ network rate between nodes", 0.4, 0.6, 0.8, "",
    "same source: 2.08 × faster, of which 1.29 by sending a token once per node",
)  # fmt: skip
TP_EXPOSED = _constant(
    "TP traffic that nothing hides", 0.6, 0.85, 1.0, "", "overlaps little without user buffers"
)
TP_OVERLAPPED = _constant(
    "the same with user buffers", 0.3, 0.6, 0.8, "",
    "--tp-comm-overlap: Megatron-LM's weak scaling on H100, TP 8",
)  # fmt: skip
CP_EXPOSED = _constant("CP traffic that nothing hides", 0.1, 0.3, 0.8, "", "no clean public A/B")
DP_EXPOSED = _constant(
    "gradient traffic that overlap leaves", 0.1, 0.3, 0.6, "", "mostly hidden with m ≥ 4"
)
HOP_S = _constant("latency of a collective", 6e-6, 12e-6, 25e-6, "s", "NVLink 5–10, IB 15–25 µs")
CPU_ADAM_S = _constant(
    "CPU Adam of 1e9 elements per rank", 1.3, 1.65, 2.0, "s",
    "Qwen3-30B on 16 H100 at four fractions 1.53–1.83; Qwen3-0.6B on one GPU 1.46–1.55",
)  # fmt: skip
CPU_ADAM_OVERLAP = _constant(
    "of it that remains with overlapped copies", 0.85, 0.93, 1.0, "", "4.19 → 3.88 s, same source"
)
GPU_ADAM_BYTES = _constant(
    "bytes of HBM per element of a GPU optimizer step", 16, 28, 40, "bytes", "cost-formulas 9"
)

TRAINING: tuple[Constant, ...] = tuple(_TABLE)
