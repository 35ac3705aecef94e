#!/bin/bash
# Qwen3-VL-8B on image questions, one node.
#
#   bash run-qwen3-vl-8B-8xgpu-image.sh            # colocate
#   MODE=async bash run-qwen3-vl-8B-8xgpu-image.sh # separate cards for training and generation

set -eo pipefail

SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)"
if [ -z "${LAUNCHED_BY:-}" ]; then
  source "${SCRIPT_DIR}/../../entrypoint/local.sh"
fi
source "${MODEL_CONFIG_DIR}/qwen3-vl-8B.sh"

MODE="${MODE:-colocate}"
EXP_ROOT="${EXP_ROOT:-${SCRIPT_DIR}/../../../../exps}"
MODEL_ROOT="${MODEL_ROOT:-${EXP_ROOT}}"
DATA_ROOT="${DATA_ROOT:-${EXP_ROOT}}"
TAG="qwen3-vl-8B-${MODE}-$(date +%Y%m%d)"

SHARDS=(
  "'${DATA_ROOT}/openr1mm/train-00000.parquet'"
  "'${DATA_ROOT}/openr1mm/train-00001.parquet'"
)
PROMPT_DATA="[$(IFS=,; echo "${SHARDS[*]}")]"

SYSTEM_PROMPT="Look at the picture, reason step by step inside <think> </think>, then give the result inside <answer> </answer>."

CKPT_ARGS=(
  --hf-checkpoint "${MODEL_ROOT}/Qwen3-VL-8B-Instruct"
  --megatron-to-hf-mode bridge
  --save "${EXP_ROOT}/${TAG}"
  --save-interval 100
)

ROLLOUT_ARGS=(
  --prompt-data "${PROMPT_DATA}"
  --input-key prompt
  --label-key label
  --multimodal-keys '{"image": "image"}'
  --system-prompt "${SYSTEM_PROMPT}"
  --apply-chat-template
  --rollout-shuffle
  --rm-type openr1mm
  --num-rollout 200
  --rollout-batch-size 64
  --n-samples-per-prompt 8
  --global-batch-size 512
  --rollout-max-prompt-len 4096
  --rollout-max-response-len 4096
  --image-max-token-num 2048
  --rollout-temperature 1.0

  # decode the images while the engines are busy
  --use-streaming-dataset
  --streaming-buffer-size 1000
  --prefetch-num-workers 4
  --mm-processor-pool-size 12
  --balance-data
)

PERF_ARGS=(
  --tensor-model-parallel-size 4
  --sequence-parallel
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --use-dynamic-batch-size
  --max-tokens-per-gpu 8192
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
  --clip-grad 1.0
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 1
  --sglang-mem-fraction-static 0.75
)

MISC_ARGS=(
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
  --tb-project-name perf-doctor-examples
  --tb-experiment-name "${TAG}"
)

mkdir -p log
if [ "${MODE}" = "async" ]; then
  # images are cheap to generate for: two cards for the engines, the rest trains
  ray job submit --address="http://${MASTER_ADDR}:8265" \
    --runtime-env-json="${RUNTIME_ENV_JSON}" \
    -- python3 -m relax.entrypoints.train \
    --resource '{"actor": [1, 6], "rollout": [1, 2], "advantages": [1, 0]}' \
    --fully-async \
    --max-staleness 2 \
    --num-data-storage-units 2 \
    --num-iters-per-train-update 16 \
    "${MODEL_ARGS[@]}" "${CKPT_ARGS[@]}" "${ROLLOUT_ARGS[@]}" "${PERF_ARGS[@]}" \
    "${ALGO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${SGLANG_ARGS[@]}" "${MISC_ARGS[@]}" \
    2>&1 | tee "log/${TAG}.log"
else
  ray job submit --address="http://${MASTER_ADDR}:8265" \
    --runtime-env-json="${RUNTIME_ENV_JSON}" \
    -- python3 -m relax.entrypoints.train \
    --resource '{"actor": [1, 8], "rollout": [1, 8]}' \
    --colocate \
    --max-staleness 0 \
    --num-data-storage-units 2 \
    "${MODEL_ARGS[@]}" "${CKPT_ARGS[@]}" "${ROLLOUT_ARGS[@]}" "${PERF_ARGS[@]}" \
    "${ALGO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${SGLANG_ARGS[@]}" "${MISC_ARGS[@]}" \
    2>&1 | tee "log/${TAG}.log"
fi
