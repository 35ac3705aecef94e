"""Every number of the time estimate that is measured and not derived, with its source and range.

One row per kernel class and family of cards. ``expected`` reproduces the bundled runs as well as
one number can; ``low`` and ``high`` say where it may lie. ``docs/accuracy.md`` shows how far off
the whole is, in sample and with each source left out of the choice in turn.
"""

from __future__ import annotations

from typing import Literal

from perf_doctor.estimate.constants import Constant, Table
from perf_doctor.estimate.interval import Interval

# Cards that behave alike: H20 has Hopper's memory and a seventh of its compute.
Family = Literal["ampere", "hopper", "h20", "blackwell", "other"]

_TABLE = Table()
_constant = _TABLE.constant


# ---------------------------------------------------------------- training: kernels

GEMM: dict[Family, Interval] = {
    "ampere": _constant(
        "matrix products ÷ peak, Ampere", 0.60, 0.70, 0.80, "",
        "large GEMMs on A100; Korthikanti 2022 reaches 0.53–0.57 of peak over whole steps",
    ),
    "hopper": _constant(
        "matrix products ÷ peak, Hopper", 0.60, 0.72, 0.80, "",
        "power-limited H100 GEMMs; Megatron-LM's weak scaling reaches 0.42–0.48 over whole steps",
    ),
    "h20": _constant(
        "matrix products ÷ peak, H20", 0.80, 0.90, 0.97, "",
        "its compute is so small that GEMMs saturate it; decode and prefill reports: 0.8–0.9",
    ),
    "blackwell": _constant(
        "matrix products ÷ peak, Blackwell", 0.38, 0.47, 0.60, "",
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
GROUPED_HALF = _constant(
    "tokens per expert at which grouped GEMMs lose half of their rate", 100, 200, 400, "tokens",
    "cost-formulas 9: efficiency falls below some 512 tokens per expert",
)  # fmt: skip
TRAFFIC_FORWARD = _constant(
    "bytes moved forward ÷ bytes kept for backward", 1.2, 1.7, 2.5, "",
    "norms, rotary, SwiGLU, permutes read and write what they keep: 1.5–2 × (cost-formulas 9)",
)  # fmt: skip
TRAFFIC_BACKWARD = _constant(
    "bytes moved backward ÷ bytes kept", 2.0, 3.0, 4.5, "", "each kept tensor and its gradient"
)
HBM = _constant("memory-bound kernels ÷ bandwidth", 0.6, 0.75, 0.9, "", "streaming kernels")
SCAN_BYTES = _constant(
    "extra traffic of a Gated DeltaNet layer ÷ bytes kept", 0.5, 1.5, 4.0, "",
    "chunked scan, decays and states; eager gates move the most",
)  # fmt: skip
LAUNCH_DENSE_S = _constant(
    "host time of a dense layer, forward and backward", 1.5e-3, 3.5e-3, 7e-3, "s",
    "Megatron-LM's small CI models, whose GPU work is negligible (A100, H100)",
)  # fmt: skip
LAUNCH_EXPERT_S = _constant(
    "host time of an expert layer, forward and backward", 7e-3, 13.5e-3, 18e-3, "s",
    "steps with few tokens: Moonlight 15, Qwen3-30B 13, CI 12–17 ms, tuned recipes below 8",
)  # fmt: skip
UNMODELLED = _constant(
    "measured ÷ computed passes, beside the rates", 0.90, 1.0, 1.15, "",
    "what layouts do not say: dispatcher, fusions, versions; spread of steps within one source",
)  # fmt: skip
STEP_FIXED_S = _constant(
    "optimizer, logging and data of one step", 0.01, 0.04, 0.1, "s",
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
    "TP traffic that nothing hides", 0.4, 0.7, 1.0, "", "overlaps little without user buffers"
)
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

# ---------------------------------------------------------------- decoding and rollout

DECODE_LAYER_S = _constant(
    "decode, per layer, dense", 45e-6, 61e-6, 90e-6, "s", "93 vLLM H100 points (rollout-formulas 2)"
)
DECODE_EXPERT_LAYER_S = _constant(
    "decode, per layer with experts", 45e-6, 75e-6, 130e-6, "s",
    "same points, and 60–90 µs (235B), 115 (DeepSeek) over SGLang's",
)  # fmt: skip
EAGER_LAYER_S = _constant(
    "decode, per layer more without CUDA graphs", 45e-6, 80e-6, 180e-6, "s",
    "SGLang #1401 +69, xLLM #713 +53 µs per layer",
)  # fmt: skip
DECODE_SEQUENCE_S = _constant(
    "decode, per running sequence", 25e-6, 62e-6, 100e-6, "s",
    "sampling, detokenizing, interleaved prefill; same 93 points",
)  # fmt: skip
DECODE_WEIGHTS: dict[Family, Interval] = {
    "ampere": _constant("weights read ÷ bandwidth, Ampere", 0.6, 0.80, 0.92, "", "as Hopper"),
    "hopper": _constant(
        "weights read ÷ bandwidth, Hopper", 0.7, 0.90, 0.92, "", "93 vLLM H100 points"
    ),
    "h20": _constant(
        "weights read ÷ bandwidth, H20", 0.33, 0.55, 0.85, "",
        "Qwen's table at batch 1: 0.37; 0.52 at 100 requests",
    ),
    "blackwell": _constant("weights read ÷ bandwidth, Blackwell", 0.5, 0.75, 0.9, "", "wide"),
    "other": _constant("weights read ÷ bandwidth, other cards", 0.4, 0.65, 0.9, "", "wide"),
}  # fmt: skip
H20_FEW = _constant(
    "weights read ÷ bandwidth, H20, fewer than eight requests", 0.33, 0.40, 0.55, "",
    "Qwen's table at batch 1: 0.37 for 8B–32B; not known between 2 and 16 requests",
)  # fmt: skip
EXPERT_READ = _constant(
    "of that with experts", 0.65, 0.87, 1.0, "", "0.78 against 0.90 over the 93 points"
)
DECODE_KV = _constant("KV read ÷ bandwidth", 0.6, 0.85, 0.92, "", "same points")
DECODE_COMPUTE: dict[Family, Interval] = {
    "ampere": _constant("decode GEMM ÷ peak, Ampere", 0.5, 0.65, 0.8, "", "as Hopper"),
    "hopper": _constant("decode GEMM ÷ peak, Hopper", 0.5, 0.70, 0.74, "", "same points"),
    "h20": _constant("decode GEMM ÷ peak, H20", 0.7, 0.85, 0.95, "", "prefill reports 0.8–0.9"),
    "blackwell": _constant("decode GEMM ÷ peak, Blackwell", 0.3, 0.5, 0.7, "", "wide"),
    "other": _constant("decode GEMM ÷ peak, other cards", 0.3, 0.5, 0.7, "", "wide"),
}
PREFILL: dict[Family, Interval] = {
    "ampere": _constant("prefill ÷ peak, Ampere", 0.4, 0.55, 0.7, "", "as Hopper"),
    "hopper": _constant("prefill ÷ peak, Hopper", 0.4, 0.5, 0.7, "", "cost-formulas 11"),
    "h20": _constant("prefill ÷ peak, H20", 0.7, 0.8, 0.9, "", "sglang#6681: 3,651 tokens/s"),
    "blackwell": _constant("prefill ÷ peak, Blackwell", 0.3, 0.4, 0.6, "", "wide"),
    "other": _constant("prefill ÷ peak, other cards", 0.25, 0.4, 0.6, "", "wide"),
}
ALL_REDUCE_S = _constant(
    "small all-reduce of a decode step", 8e-6, 11.5e-6, 20e-6, "s", "93 vLLM points (NVLink)"
)
PREFIX_HIT = _constant(
    "prompt tokens of a group that are found in the cache", 0.4, 0.64, 0.9, "",
    "Relax task 21: 0.638 at n = 8 (ideal 0.875)",
)  # fmt: skip
ROLLOUT_OVERHEAD = _constant(
    "rollout ÷ decode and prefill", 1.1, 1.4, 1.8, "",
    "log-probs, router, reward, uneven engines: Relax #152 1.39, task 21 1.45",
)  # fmt: skip
ACCEPTED = _constant(
    "tokens per verified step of speculative decoding", 1.6, 2.3, 3.2, "", "MTP with 3 steps: 2–3.3"
)

# ---------------------------------------------------------------- switching and weights

HOST_COPY_GB_S = _constant(
    "offload over PCIe per GPU", 10, 20, 45, "GB/s", "slime, Relax #230: 20–50 on PCIe 5, half on 4"
)
GROUP_DELAY_S = _constant(
    "fixed delay of destroying process groups", 2.0, 2.0, 2.0, "s",
    "relax/utils/reloadable_process_group.py:154-179, twice per step",
)  # fmt: skip
GROUP_REBUILD_S = _constant(
    "rebuilding all process groups", 0.4, 1.0, 3.0, "s", "10–40 groups × 30–80 ms"
)
ENGINE_SWITCH_S = _constant(
    "engine sleeps and wakes", 0.8, 2.0, 3.5, "s", "0.3–1 s to release, 0.5–1.5 s to map, graphs"
)
SYNC_FIXED_S = _constant(
    "fixed part of a weight update in colocate", 0.5, 1.0, 2.0, "s", "pause, flush, group rebuild"
)
SYNC_IPC_GB_S = _constant(
    "weights over CUDA IPC", 5, 9, 15, "GB/s",
    "Relax 4B 4–5 s, slime 30B 7 s (8.7 GB/s), GLM-355B 48 s (14.8)",
)  # fmt: skip
SYNC_NETWORK_FIXED_S = _constant(
    "fixed part of a weight update between GPUs", 0.5, 1.5, 2.5, "s", "pause, flush, HTTP"
)
SYNC_NETWORK_GB_S = _constant(
    "weights over NCCL or DCS", 3, 5, 10, "GB/s", "verl: 30B 15.8 s (3.9), 235B 58.6 s (8.0)"
)
POLL_S = _constant("waiting for a poll of one second", 0.2, 0.5, 1.0, "s", "components/rollout.py")

# ---------------------------------------------------------------- lengths

MEAN_SHARE = _constant(
    "mean response ÷ cap", 0.15, 0.35, 0.80, "",
    "published runs 0.17–0.88, median 0.37 (rollout-formulas 3); override with the real mean",
)  # fmt: skip
SIGMA = _constant(
    "spread of response lengths (log-normal)", 0.6, 0.8, 1.0, "",
    "task 21: mean ÷ median 1.40 → 0.82; #152: longest ÷ mean 6.6 of 512 → 0.7",
)  # fmt: skip
PROMPT_TOKENS = _constant("prompt", 128, 300, 1024, "tokens", "DAPO and GSM8K prompts")

EFFICIENCIES: tuple[Constant, ...] = tuple(_TABLE)
