#!/bin/bash
# Qwen3.6-35B-A3B, math RL, colocate on one node (8 x 96 GB, 2 TB host memory).
#
#   ROLLOUT_PRECISION=fp8 bash run-qwen36-35B-A3B-8xgpu.sh     # engines in fp8, trainer stays bf16

set -eo pipefail

SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)"
if [ -z "${LAUNCHED_BY:-}" ]; then
  source "${SCRIPT_DIR}/../../entrypoint/local.sh"
fi
source "${MODEL_CONFIG_DIR}/qwen36-35B-A3B.sh"

EXP_ROOT="${EXP_ROOT:-/data/exps}"
MODEL_ROOT="${MODEL_ROOT:-${EXP_ROOT}/models}"
DATA_ROOT="${DATA_ROOT:-${EXP_ROOT}/datasets}"
ROLLOUT_PRECISION="${ROLLOUT_PRECISION:-bf16}"
now=$(date +%Y%m%d-%H%M%S)

CKPT_ARGS=(
  --hf-checkpoint ${MODEL_ROOT}/Qwen3.6-35B-A3B
  --megatron-to-hf-mode bridge
  --warm-hf-checkpoint-page-cache
  --save ${EXP_ROOT}/qwen36-35B-A3B-math
  --load ${EXP_ROOT}/qwen36-35B-A3B-math
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
  --num-rollout 200
  --rollout-batch-size 32
  --n-samples-per-prompt 8
  --global-batch-size 256
  --rollout-max-prompt-len 2048
  --rollout-max-response-len 8192
  --rollout-temperature 1.0
  --balance-data
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --expert-model-parallel-size 8
  --expert-tensor-parallel-size 1

  --recompute-granularity full
  --recompute-method uniform
  --recompute-num-layers 1

  --use-dynamic-batch-size
  --max-tokens-per-gpu 10240
  --calculate-per-token-loss

  # the checkpoint is multimodal even when the data are text
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

  # 单机必须 offload：EP8 时每卡权重约 10 GiB、fp32 梯度约 20 GiB、Adam 状态约 48 GiB，
  # 加起来已近 80 GiB，logits 就放不下了。两机以上再拿掉。
  --optimizer-cpu-offload
  --overlap-cpu-optimizer-d2h-h2d
  --use-precision-aware-optimizer
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 2
  --sglang-mem-fraction-static 0.7
  --sglang-cuda-graph-bs 1 2 4 8 $(seq 16 8 128)
)
case "${ROLLOUT_PRECISION}" in
  bf16) ;;
  fp8) SGLANG_ARGS+=(--sglang-hf-checkpoint ${MODEL_ROOT}/Qwen3.6-35B-A3B-FP8) ;;
  *)
    echo "ROLLOUT_PRECISION is bf16 or fp8, not ${ROLLOUT_PRECISION}"
    exit 1
    ;;
esac

MISC_ARGS=(
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
  --tb-project-name perf-doctor-examples
  --tb-experiment-name qwen36-35B-A3B-${ROLLOUT_PRECISION}-${now}
)

mkdir -p log
ray job submit --address="http://${MASTER_ADDR}:8265" \
  --runtime-env-json="${RUNTIME_ENV_JSON}" \
  -- python3 -m relax.entrypoints.train \
  --resource '{"actor": [1, 8], "rollout": [1, 8]}' \
  --colocate \
  --max-staleness 0 \
  "${MODEL_ARGS[@]}" \
  "${CKPT_ARGS[@]}" \
  "${ROLLOUT_ARGS[@]}" \
  "${ALGO_ARGS[@]}" \
  "${OPTIMIZER_ARGS[@]}" \
  "${PERF_ARGS[@]}" \
  "${SGLANG_ARGS[@]}" \
  "${MISC_ARGS[@]}" 2>&1 | tee "log/qwen36-35B-A3B-${now}.log"
