"""Every number of the time estimate that is measured and not derived, with its source and range.

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

# ---------------------------------------------------------------- decoding and rollout

DECODE_STEP_S = _constant(
    "host time of a decode step", 0.2e-3, 0.5e-3, 1.0e-3, "s",
    "scheduling and sampling that overlap leaves; Qwen3-0.6B at batch 1 takes 2.4 ms in all",
)  # fmt: skip
DECODE_LAYER_S = _constant(
    "decode, per layer, dense", 38e-6, 46e-6, 65e-6, "s",
    "kernels in a CUDA graph; 37 vLLM and 130 SGLang points on H100, H200 and H20",
)  # fmt: skip
DECODE_EXPERT_LAYER_S = _constant(
    "decode, per layer with experts", 70e-6, 90e-6, 130e-6, "s",
    "same points: Qwen3-30B, Qwen3-235B, DeepSeek-V3; SGLang 0.5.15 nearer to the low end",
)  # fmt: skip
DECODE_LINEAR_LAYER_S = _constant(
    "decode, more per layer of Gated DeltaNet", 10e-6, 35e-6, 80e-6, "s",
    "SGLang's cookbook: twelve Qwen3.5 and 3.6 runs on H100 and H200",
)  # fmt: skip
EAGER_GAP_S = _constant(
    "decode, per layer more without CUDA graphs", 20e-6, 35e-6, 75e-6, "s",
    "SGLang #1401 +28 and +69 µs per layer at batch 1, xLLM #713 +26 at batch 30",
)  # fmt: skip
EAGER_HOST_S = _constant(
    "decode without CUDA graphs, at least per layer", 0.1e-3, 0.15e-3, 0.5e-3, "s",
    "the host launches no faster: xLLM #713 0.15 ms, DeepSpeed #8352 (GPT-2) 0.4 ms; verl's"
    " Qwen3-30B on H20 some 0.45",
)  # fmt: skip
DECODE_SEQUENCE_S = _constant(
    "decode, per running sequence, SGLang", 4e-6, 10e-6, 40e-6, "s",
    "sampling, detokenizing; 130 points up to 128 requests",
)  # fmt: skip
VLLM_SEQUENCE_S = _constant(
    "decode, per running sequence, vLLM", 25e-6, 40e-6, 100e-6, "s",
    "37 points up to 1,019 requests, prefill of short prompts included; verl's 14B on H20, TP 2"
    " against TP 4, some 90",
)  # fmt: skip
DECODE_WEIGHTS: dict[Family, Interval] = {
    "ampere": _constant("weights read ÷ bandwidth, Ampere", 0.65, 0.85, 0.95, "", "as Hopper"),
    "hopper": _constant(
        "weights read ÷ bandwidth, Hopper", 0.80, 0.92, 0.97, "", "vLLM and SGLang, 8B–70B"
    ),
    "h20": _constant("weights read ÷ bandwidth, H20", 0.75, 0.90, 0.97, "", "Hopper's memory"),
    "blackwell": _constant("weights read ÷ bandwidth, Blackwell", 0.5, 0.75, 0.9, "", "wide"),
    "other": _constant("weights read ÷ bandwidth, other cards", 0.4, 0.65, 0.9, "", "wide"),
}  # fmt: skip
NARROW_READ = _constant(
    "of that with weights of 8 bits", 0.75, 0.89, 1.0, "",
    "scales and casts: DeepSeek-V3 and Qwen3-235B on H200, Qwen3.5 and 3.6",
)  # fmt: skip
ROWS = _constant(
    "rate ÷ peak at which a product of up to 64 tokens multiplies 64", 0.50, 0.64, 0.95, "",
    "Hopper multiplies 64 rows at once, which only H20 notices: Qwen's table at batch 1, 0.62 in 16"
    " and 0.73 in 8 bits; up to 64 requests cost what one costs, which no public point checks",
)  # fmt: skip
EXPERT_READ: dict[Family, Interval] = {
    "ampere": _constant("experts read ÷ bandwidth, Ampere", 0.6, 0.9, 1.1, "", "as Hopper"),
    "hopper": _constant(
        "experts read ÷ bandwidth, Hopper", 0.75, 0.98, 1.2, "",
        "of the experts that uniform routing would meet; real routing meets fewer, hence near 1",
    ),
    "h20": _constant(
        "experts read ÷ bandwidth, H20", 0.65, 0.88, 1.1, "", "SGLang #5839, some 100 requests"
    ),
    "blackwell": _constant("experts read ÷ bandwidth, Blackwell", 0.4, 0.7, 1.0, "", "wide"),
    "other": _constant("experts read ÷ bandwidth, other cards", 0.4, 0.7, 1.0, "", "wide"),
}  # fmt: skip
H20_NARROW_EXPERTS = _constant(
    "of that on H20 with weights of 8 bits", 0.55, 0.72, 1.0, "",
    "SGLang #5846 and #5850: Qwen3-30B and Qwen3-235B, some 100 requests",
)  # fmt: skip
DECODE_KV = _constant("KV read ÷ bandwidth", 0.75, 0.92, 1.0, "", "contexts of 1–10k tokens")
ATTENTION_ROWS = _constant(
    "query rows that decode attention multiplies at once", 16, 64, 128, "",
    "FlashAttention-3 tiles, filled or not: 128 in SGLang #5630 (H20, 908 tokens/s, FlashInfer"
    " 2014), 64 since vllm-project/flash-attention #63; 64 fits Qwen's H20 table at 6–129k tokens",
)  # fmt: skip
DECODE_COMPUTE: dict[Family, Interval] = {
    "ampere": _constant("decode GEMM ÷ peak, Ampere", 0.5, 0.65, 0.8, "", "as Hopper"),
    "hopper": _constant(
        "decode GEMM ÷ peak, Hopper", 0.55, 0.75, 0.85, "", "100–900 requests of 8B–70B"
    ),
    "h20": _constant("decode GEMM ÷ peak, H20", 0.7, 0.88, 0.95, "", "as its prefill"),
    "blackwell": _constant("decode GEMM ÷ peak, Blackwell", 0.3, 0.5, 0.7, "", "wide"),
    "other": _constant("decode GEMM ÷ peak, other cards", 0.3, 0.5, 0.7, "", "wide"),
}  # fmt: skip
PREFILL: dict[Family, Interval] = {
    "ampere": _constant("prefill ÷ peak, Ampere", 0.4, 0.55, 0.7, "", "as Hopper"),
    "hopper": _constant(
        "prefill ÷ peak, Hopper", 0.45, 0.60, 0.7, "",
        "Qwen3-32B on 2–8 H100; times to the first token of Qwen3.6-27B come out within 4 %",
    ),
    "h20": _constant("prefill ÷ peak, H20", 0.6, 0.75, 0.9, "", "sglang#6681: 3,651 tokens/s"),
    "blackwell": _constant("prefill ÷ peak, Blackwell", 0.3, 0.4, 0.6, "", "wide"),
    "other": _constant("prefill ÷ peak, other cards", 0.25, 0.4, 0.6, "", "wide"),
}  # fmt: skip
PREFILL_EXPERTS: dict[Family, Interval] = {
    "ampere": _constant("experts' prefill ÷ peak, Ampere", 0.1, 0.2, 0.4, "", "wide"),
    "hopper": _constant(
        "experts' prefill ÷ peak, Hopper", 0.08, 0.14, 0.25, "",
        "grouped products, permutes and their launches: DeepSeek-V3, Qwen3-235B, Qwen3.5, Qwen3.6",
    ),
    "h20": _constant(
        "experts' prefill ÷ peak, H20", 0.25, 0.38, 0.55, "", "Qwen3-30B and 235B, 5–129k tokens"
    ),
    "blackwell": _constant("experts' prefill ÷ peak, Blackwell", 0.04, 0.1, 0.25, "", "wide"),
    "other": _constant("experts' prefill ÷ peak, other cards", 0.08, 0.15, 0.4, "", "wide"),
}  # fmt: skip
PREFILL_LAYER_S = _constant(
    "prefill of a chunk, per layer", 0.1e-3, 0.3e-3, 0.6e-3, "s",
    "launched without graphs; time to the first token of short prompts",
)  # fmt: skip
PREFILL_EXPERT_LAYER_S = _constant(
    "prefill of a chunk, per layer with experts", 0.3e-3, 0.6e-3, 1.5e-3, "s", "same points"
)
PREFILL_CHUNK = _constant(
    "prompt tokens of one prefill", 2048, 8192, 16384, "tokens",
    "SGLang's chunked_prefill_size on cards of 80 GB and more",
)  # fmt: skip
ALL_REDUCE_S = _constant(
    "small all-reduce of a decode step", 5e-6, 7.5e-6, 15e-6, "s",
    "Qwen3-32B with TP 2, 4 and 8 on H100 (NVLink)",
)  # fmt: skip
ALL_REDUCE_RANK_S = _constant("of that per further rank", 0.2e-6, 0.5e-6, 1e-6, "s", "same points")
DECODE_UNMODELLED = _constant(
    "measured ÷ computed decode step, beside the rates", 0.90, 1.0, 1.12, "",
    "engine versions, kernels tuned or not for a shape; spread within one source",
)  # fmt: skip
PREFIX_HIT = _constant(
    "prompt tokens of a group that are found in the cache", 0.4, 0.64, 0.9, "",
    "Relax task 21: 0.638 at n = 8 (ideal 0.875)",
)  # fmt: skip
ROLLOUT_OVERHEAD = _constant(
    "rollout ÷ decode and prefill", 0.9, 1.15, 1.75, "",
    "log-probs, router, reward, uneven engines: verl on H100 0.8–1.3 of 27 rollouts, median 1.0;"
    " NeMo RL's steps 1.0–1.4; Relax with images 1.6 (#152)",
)  # fmt: skip
OCCUPIED = _constant(
    "requests at work between two weight updates ÷ those started", 0.5, 0.75, 1.0, "",
    "asynchronous: an update puts off what is not done, and the next rollout fills up beside it"
    " (relax/engine/rollout/sglang_rollout.py:740-823); engineering range",
)  # fmt: skip
ACCEPTANCE = _constant(
    "share of drafted tokens that is accepted", 0.50, 0.65, 0.85, "",
    "MTP with 3 steps: 2–3.3 tokens per step trained online, less when frozen (rollout-formulas 2)",
)  # fmt: skip

# ---------------------------------------------------------------- switching and weights

HOST_COPY_GB_S = _constant(
    "offload over PCIe per GPU", 10, 20, 45, "GB/s", "slime, Relax #230: 20–50 on PCIe 5, half on 4"
)
PAGEABLE_COPY_GB_S = _constant(
    "offload through pageable memory per GPU", 1, 2, 5, "GB/s",
    "verl's weights, to the GPU and back around each phase: 5–9 s more of an update with TP 2",
)  # fmt: skip
VERL_PHASE_S = _constant(
    "around a phase of verl's Megatron trainer", 3, 9, 18, "s",
    "padded batches handed over: seconds less FLOPs ÷ (MFU · peak · GPUs) of updates of 8,192"
    " samples, 16 on one node without offload, 8 on four; of measured runs only",
)  # fmt: skip
GROUP_DELAY_S = _constant(
    "fixed delay of destroying process groups", 2.0, 2.0, 2.0, "s",
    "relax/utils/reloadable_process_group.py:154-179, twice per step",
)  # fmt: skip
GROUP_REBUILD_S = _constant(
    "rebuilding all process groups", 0.2, 0.5, 2.0, "s",
    "Relax #230: groups kept alive save 4.8 s (4B) and 5.4 s (30B), of which 4.0 are delays",
)  # fmt: skip
ENGINE_SWITCH_S = _constant(
    "engine sleeps and wakes", 0.8, 2.0, 3.5, "s", "0.3–1 s to release, 0.5–1.5 s to map, graphs"
)
UNFUSED_ROTARY_S = _constant(
    "rotary embedding of one packed sample, q or k, without fusion", 40e-6, 75e-6, 120e-6, "s",
    "Megatron splits packed samples and embeds each by itself: verl's 7B log-probs with and without"
    " apply_rope_fusion, 17 s apart of 4,096 samples a rank; of measured runs only",
)  # fmt: skip
SYNC_FIXED_S = _constant(
    "fixed part of a weight update in colocate", 0.5, 1.5, 3.0, "s",
    "pause, flush, chunks: Relax 4B 2.2 s with groups kept alive, verl 7B 2.2–3.2",
)  # fmt: skip
SYNC_IPC_GB_S = _constant(
    "weights over CUDA IPC", 5, 12, 20, "GB/s",
    "slime 30B 7 s, GLM-355B 48 s; verl 30B 12 s, 7B 2.2–3.2 with TP 4 and 4–8.7 with TP 2",
)  # fmt: skip
SYNC_NETWORK_FIXED_S = _constant(
    "fixed part of a weight update between GPUs", 0.3, 1.5, 2.5, "s",
    "pause, flush, HTTP; Relax 0.6B in hybrid 0.69 s in all",
)  # fmt: skip
SYNC_NETWORK_GB_S = _constant(
    "weights over NCCL or DCS", 2, 5, 12, "GB/s",
    "verl: 7B 5.5–6.0 s, 30B 7 and 15.8, 32B 14–18, 235B 59 and 250 (1.9 GB/s); Relax VL-8B over"
    " PCIe 8.9",
)  # fmt: skip
POLL_S = _constant("waiting for a poll of one second", 0.2, 0.5, 1.0, "s", "components/rollout.py")

# ---------------------------------------------------------------- lengths

MEAN_SHARE = _constant(
    "mean response ÷ cap", 0.08, 0.33, 0.80, "",
    "14 published setups 0.06–0.88, median 0.33: verl on MATH 0.06 and DAPO-Math 0.12–0.16, NeMo RL"
    " 0.25–0.78, Relax 0.15–0.88; override with the real mean",
)  # fmt: skip
SIGMA = _constant(
    "spread of response lengths (log-normal)", 0.6, 0.8, 1.0, "",
    "task 21: mean ÷ median 1.40 → 0.82; #152: longest ÷ mean 6.6 of 512 → 0.7",
)  # fmt: skip
PROMPT_TOKENS = _constant(
    "prompt", 100, 200, 1024, "tokens",
    "DAPO-Math 159 (five runs), OpenMathInstruct 103–127 (NeMo RL), with images 386 (task 21)",
)  # fmt: skip
SAMPLE_SHARE = _constant(
    "mean sample of fine-tuning ÷ token budget", 0.05, 0.25, 0.80, "",
    "no published distribution: packing exists because samples are far shorter than the budget",
)  # fmt: skip
DROPPED = _constant(
    "groups that a dynamic filter drops", 0.0, 0.3, 0.5, "",
    "not known before the run: rollout-formulas 3 shows 0, 0.3 and 0.5",
)  # fmt: skip
EVAL_PROMPTS = _constant(
    "prompts of one evaluation set", 30, 100, 500, "", "AIME 30, GPQA 198, MATH-500 500"
)

# ---------------------------------------------------------------- modes

SAVE_GB_S = _constant("checkpoint writing per node", 1, 2, 5, "GB/s", "shared file systems, NVMe")
STREAMED = _constant(
    "of what could overlap on policy, share that does", 0.1, 0.4, 0.9, "",
    "groups end late: Relax 201.0 s against 225.9 s, of which some 10 s are switching",
)  # fmt: skip
CARRIED = _constant(
    "of a rollout's longest answers, share that goes on beside the next one", 0.0, 0.5, 1.0, "",
    "with staleness; Relax's 1.76 and 2.00 lie between none (1.1–1.2) and all (1.2–4)",
)  # fmt: skip
ROLLOUT_VARIATION = _constant(
    "deviation ÷ mean of a rollout's seconds, step by step", 0.05, 0.15, 0.3, "",
    "relax-pipeline 3: the value to use when nothing is known",
)  # fmt: skip

EFFICIENCIES: tuple[Constant, ...] = tuple(_TABLE)
