#!/bin/bash
# Qwen3.6-35B-A3B, math RL, fully asynchronous on two nodes:
# 8 cards train, 6 generate, 2 compute the old log-probabilities.

set -eo pipefail

SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)"
if [ -z "${LAUNCHED_BY:-}" ]; then
  source "${SCRIPT_DIR}/../../entrypoint/local.sh"
fi
source "${MODEL_CONFIG_DIR}/qwen36-35B-A3B.sh"

EXP_ROOT="${EXP_ROOT:-/data/exps}"
MODEL_ROOT="${MODEL_ROOT:-${EXP_ROOT}/models}"
DATA_ROOT="${DATA_ROOT:-${EXP_ROOT}/datasets}"
HEAD_IP="${HEAD_IP:-${MASTER_ADDR%%:*}}"
run_id="$(date +%Y%m%d-%H%M%S)"

PROMPTS=32
SAMPLES=8

CKPT_ARGS=(
  --hf-checkpoint ${MODEL_ROOT}/Qwen3.6-35B-A3B
  --megatron-to-hf-mode bridge
  --save ${EXP_ROOT}/qwen36-35B-A3B-async
  --load ${EXP_ROOT}/qwen36-35B-A3B-async
  --save-interval 50
)

ROLLOUT_ARGS=(
  --prompt-data ${DATA_ROOT}/dapo-math-17k.jsonl
  --input-key prompt
  --label-key label
  --apply-chat-template
  --rollout-shuffle
  --rm-type dapo
  --reward-key score
  --num-rollout 800
  --rollout-batch-size ${PROMPTS}
  --n-samples-per-prompt ${SAMPLES}
  --global-batch-size $((PROMPTS * SAMPLES))
  --rollout-max-prompt-len 2048
  --rollout-max-response-len 8192
  --rollout-temperature 1.0
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --expert-model-parallel-size 8
  --expert-tensor-parallel-size 1
  --moe-token-dispatcher-type flex
  --moe-flex-dispatcher-backend deepep

  --recompute-granularity full
  --recompute-method uniform
  --recompute-num-layers 1

  --use-dynamic-batch-size
  --max-tokens-per-gpu 10240
  --calculate-per-token-loss
  --no-rope-fusion
)

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

  --optimizer-cpu-offload
  --overlap-cpu-optimizer-d2h-d2h
  --use-precision-aware-optimizer
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 2
  --sglang-mem-fraction-static 0.8
  --sglang-cuda-graph-bs 1 2 4 8 $(seq 16 8 256)
)

MISC_ARGS=(
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
  --use-health-check
  --tb-project-name perf-doctor-examples
  --tb-experiment-name qwen36-35B-A3B-async-${run_id}
)

mkdir -p log
stdbuf -oL ray job submit ${NO_WAIT:+--no-wait} --address="http://${HEAD_IP}:8265" \
  --runtime-env-json="${RUNTIME_ENV_JSON}" \
  -- python3 -m relax.entrypoints.train \
  --resource '{"actor": [1, 8], "rollout": [1, 6], "actor_fwd": [1, 2], "advantages": [1, 0]}' \
  --fully-async \
  --max-staleness 2 \
  --num-data-storage-units 2 \
  --num-iters-per-train-update 16 \
  "${MODEL_ARGS[@]}" \
  "${CKPT_ARGS[@]}" \
  "${ROLLOUT_ARGS[@]}" \
  "${ALGO_ARGS[@]}" \
  "${OPTIMIZER_ARGS[@]}" \
  "${PERF_ARGS[@]}" \
  "${SGLANG_ARGS[@]}" \
  "${MISC_ARGS[@]}" 2>&1 | tee "log/qwen36-35B-A3B-async-${run_id}.log"
