#!/bin/bash
# Qwen3-8B, math RL, colocate, 8 cards. Tuned on H20: please measure before changing PERF_ARGS.

set -euo pipefail

HERE="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
[ -n "${LAUNCHED_BY:-}" ] || source "${HERE}/../../entrypoint/local.sh"
source "${MODEL_CONFIG_DIR:-${HERE}/../../models}/qwen3-8B.sh"

stamp="$(date +%m%d-%H%M)"
RUN_NAME="qwen3-8B-math-${stamp}"
STORE="${STORE:-/data}"

# prompt + response = budget: the longest sample fills exactly one micro-batch
PROMPT_LEN=1024
RESPONSE_LEN=6144

CKPT_ARGS=(
  --hf-checkpoint "${STORE}/models/Qwen3-8B"
  --megatron-to-hf-mode bridge
  --warm-hf-checkpoint-page-cache
  --save "${STORE}/exps/qwen3-8B-math"
  --load "${STORE}/exps/qwen3-8B-math"
  --save-interval 100
)

ROLLOUT_ARGS=(
  --prompt-data "${STORE}/datasets/dapo-math-17k.jsonl"
  --input-key prompt
  --label-key label
  --apply-chat-template
  --rollout-shuffle
  --rm-type dapo
  --reward-key score
  --num-rollout "${NUM_ROLLOUT:-400}"
  --rollout-batch-size 64
  --n-samples-per-prompt 8
  --global-batch-size 256
  --rollout-max-prompt-len ${PROMPT_LEN}
  --rollout-max-response-len ${RESPONSE_LEN}
  --rollout-max-context-len $((PROMPT_LEN + RESPONSE_LEN))
  --rollout-temperature 1.0
  --balance-data
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --use-dynamic-batch-size
  --max-tokens-per-gpu $((PROMPT_LEN + RESPONSE_LEN))
  --calculate-per-token-loss
)

# no KL term, so no --ref-load and no reference pass
ALGO_ARGS=(
  --advantage-estimator grpo
  --entropy-coef 0.0
  --eps-clip 0.2
  --eps-clip-high 0.28
  --use-tis
)

OPTIMIZER_ARGS=(
  --optimizer adam
  --lr 1e-6
  --lr-decay-style constant
  --weight-decay 0.1
  --adam-beta1 0.9
  --adam-beta2 0.98
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 1
  --sglang-mem-fraction-static 0.75
  --sglang-load-format dummy
  --sglang-cuda-graph-bs 1 2 4 8 $(seq 16 8 256)
)

MISC_ARGS=(
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
  --tb-project-name perf-doctor-examples
  --tb-experiment-name "${RUN_NAME}"
)

mkdir -p log
ray job submit --address="http://${MASTER_ADDR}:8265" \
  --runtime-env-json="${RUNTIME_ENV_JSON}" \
  -- python3 -m relax.entrypoints.train \
  --resource '{"actor": [1, 8], "rollout": [1, 8]}' --colocate --max-staleness 0 \
  "${MODEL_ARGS[@]}" "${CKPT_ARGS[@]}" "${ROLLOUT_ARGS[@]}" "${PERF_ARGS[@]}" \
  "${ALGO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${SGLANG_ARGS[@]}" "${MISC_ARGS[@]}" \
  2>&1 | tee "log/${RUN_NAME}.log"
