#!/bin/bash
#@TOP@
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)"
source "${SCRIPT_DIR}/../../models/qwen3-4B.sh"
#@BEFORE@

#@ASIDE@

CKPT_ARGS=(
  --hf-checkpoint /nowhere/Qwen3-4B
  --ref-load /nowhere/Qwen3-4B
  --megatron-to-hf-mode bridge
)

ROLLOUT_ARGS=(
  --prompt-data /nowhere/data.jsonl
  --num-rollout 100
  --rollout-batch-size 32
  --n-samples-per-prompt 8
  --global-batch-size 128
  --rollout-max-prompt-len 1024
  --rollout-max-response-len 8192
  --balance-data
  #@ROLLOUT@
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  #@BESIDE@
  --recompute-granularity full
  --recompute-method uniform
  --recompute-num-layers 1
  --use-dynamic-batch-size
  --max-tokens-per-gpu 9216
)

ALGO_ARGS=(
  --advantage-estimator grpo
  --use-kl-loss
  --kl-loss-coef 0.0
  --use-tis
)

OPTIMIZER_ARGS=(
  --optimizer-cpu-offload
  --overlap-cpu-optimizer-d2h-h2d
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 1
  --sglang-mem-fraction-static 0.7
)

#@JUST-BEFORE@
ray job submit --address="http://127.0.0.1:8265" \
  -- python3 -m relax.entrypoints.train \
  --resource '{"actor": [1, 8], "rollout": [1, 8]}' \
  --colocate \
  "${MODEL_ARGS[@]}" \
  "${CKPT_ARGS[@]}" \
  "${ROLLOUT_ARGS[@]}" \
  "${ALGO_ARGS[@]}" \
  "${OPTIMIZER_ARGS[@]}" \
  "${PERF_ARGS[@]}" \
  "${SGLANG_ARGS[@]}" "${EXTRA_ARGS[@]}" 2>&1 | tee log/run.log
#@AFTER@
