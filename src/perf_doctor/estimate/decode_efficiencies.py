"""What engines reach when they decode and prefill, with its source and range (``efficiencies``)."""

from __future__ import annotations

from perf_doctor.estimate.constants import Constant, Table
from perf_doctor.estimate.efficiencies import Family
from perf_doctor.estimate.interval import Interval

_TABLE = Table()
_constant = _TABLE.constant


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
ACCEPTANCE = _constant(
    "share of drafted tokens that is accepted", 0.50, 0.65, 0.85, "",
    "MTP with 3 steps: 2–3.3 tokens per step trained online, less when frozen (rollout-formulas 2)",
)  # fmt: skip

DECODING: tuple[Constant, ...] = tuple(_TABLE)
