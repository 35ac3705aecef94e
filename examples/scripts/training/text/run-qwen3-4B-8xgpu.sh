#!/bin/bash
# Qwen3-4B, math RL, trainer and engines share one node of 8.
#
#   bash examples/scripts/training/text/run-qwen3-4B-8xgpu.sh

set -eo pipefail

now=$(date +%Y%m%d-%H%M%S)
SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)"
if [ -z "${LAUNCHED_BY:-}" ]; then
  source "${SCRIPT_DIR}/../../entrypoint/local.sh"
fi
source "${MODEL_CONFIG_DIR}/qwen3-4B.sh"

EXP_ROOT="${EXP_ROOT:-/data/exps}"
MODEL_ROOT="${MODEL_ROOT:-${HF_ROOT:-${EXP_ROOT}/models}}"
DATA_ROOT="${DATA_ROOT:-${EXP_ROOT}/datasets}"
STEPS="${STEPS:=300}"

CKPT_ARGS=(
  --hf-checkpoint ${MODEL_ROOT}/Qwen3-4B
  --ref-load ${MODEL_ROOT}/Qwen3-4B
  --megatron-to-hf-mode bridge
  --save ${EXP_ROOT}/qwen3-4B-math
  --load ${EXP_ROOT}/qwen3-4B-math
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

  --num-rollout ${STEPS}
  --rollout-batch-size 32
  --n-samples-per-prompt 8
  --global-batch-size 128
  --rollout-max-prompt-len 1024
  --rollout-max-response-len 8192
  --rollout-temperature 1.0
  --balance-data
)

EVAL_ARGS=(
  --skip-eval-before-train
  --eval-interval 20
  --eval-prompt-data aime ${DATA_ROOT}/aime-2024.jsonl
  --n-samples-per-eval-prompt 8
  --eval-max-response-len 16384
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 1
  --context-parallel-size 1

  --recompute-granularity full
  --recompute-method uniform
  --recompute-num-layers 1

  # --micro-batch-size 4
  --use-dynamic-batch-size
  --max-tokens-per-gpu 9216        # 1024 prompt + 8192 response
  --log-probs-max-tokens-per-gpu 18432
  --calculate-per-token-loss
)

ALGO_ARGS=(
  --advantage-estimator grpo
  --use-kl-loss
  --kl-loss-coef 0.0
  --kl-loss-type low_var_kl
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
  --overlap-cpu-optimizer-d2h-h2d
  --use-precision-aware-optimizer
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 1
  --sglang-mem-fraction-static 0.75
  --sglang-cuda-graph-bs 1 2 4 8 $(seq 16 16 256)
)

MISC_ARGS=(
  # Megatron's default is 0.1 for both
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
  --use-tensorboard
  --tb-project-name perf-doctor-examples
  --tb-experiment-name qwen3-4B-${now}
)

mkdir -p log
ray job submit ${NO_WAIT:+--no-wait} --address="http://${MASTER_ADDR}:8265" \
  --runtime-env-json="${RUNTIME_ENV_JSON}" \
  -- python3 -m relax.entrypoints.train \
  --resource '{"actor": [1, 8], "rollout": [1, 8]}' \
  --colocate \
  --max-staleness 0 \
  --num-data-storage-units 1 \
  "${MODEL_ARGS[@]}" \
  "${CKPT_ARGS[@]}" \
  "${ROLLOUT_ARGS[@]}" \
  "${EVAL_ARGS[@]}" \
  "${ALGO_ARGS[@]}" \
  "${OPTIMIZER_ARGS[@]}" \
  "${PERF_ARGS[@]}" \
  "${SGLANG_ARGS[@]}" \
  "${MISC_ARGS[@]}" 2>&1 | tee "log/qwen3-4B-${now}.log"
