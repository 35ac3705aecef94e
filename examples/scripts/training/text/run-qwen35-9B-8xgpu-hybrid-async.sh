#!/bin/bash
# Qwen3.5-9B hybrid：4 卡训练（顺带算 old log-prob），4 卡推理

set -ex
set -o pipefail

SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &>/dev/null && pwd)"
if [ -z "${LAUNCHED_BY:-}" ]; then
    source "${SCRIPT_DIR}/../../entrypoint/local.sh"
fi
source "${MODEL_CONFIG_DIR}/qwen35-9B.sh"

: "${EXP_DIR:=/data/exps}"
: "${MODEL_DIR:=${EXP_DIR}/models}"
: "${DATA_DIR:=${EXP_DIR}/datasets}"
timestamp=$(date +%s)

CKPT_ARGS=(
    --hf-checkpoint ${MODEL_DIR}/Qwen3.5-9B
    --megatron-to-hf-mode bridge
    --load ${EXP_DIR}/qwen35-9B-hybrid
    --save ${EXP_DIR}/qwen35-9B-hybrid
    --save-interval 100
)

DATA_ARGS=(
    --prompt-data ${DATA_DIR}/dapo-math-17k.jsonl
    --input-key prompt
    --label-key label
    --apply-chat-template
    --rollout-shuffle
    --rm-type dapo
    --reward-key score
)

BATCH_ARGS=(
    --num-rollout ${NUM_ROLLOUT:-500}
    --rollout-batch-size 32
    --n-samples-per-prompt 8
    --global-batch-size 256
    --rollout-max-prompt-len 1024
    --rollout-max-response-len 8192
    --rollout-temperature 1

    --use-dynamic-batch-size
    --max-tokens-per-gpu 9216
    --calculate-per-token-loss
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size ${TP:-4}
    --sequence-parallel
    --pipeline-model-parallel-size 1
    --context-parallel-size 1
    --no-rope-fusion
)

GRPO_ARGS=(
    --advantage-estimator grpo
    --entropy-coef 0.00
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
    --sglang-mem-fraction-static 0.85
)

MISC_ARGS=(
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --accumulate-allreduce-grads-in-fp32
    --attention-softmax-in-fp32
    --attention-backend flash
)

LOG_ARGS=(
    # --use-wandb
    # --wandb-project qwen35-9B
    --tb-project-name perf-doctor-examples
    --tb-experiment-name qwen35-9B-hybrid-${timestamp}
)

mkdir -p log
ray job submit --address="http://${MASTER_ADDR}:8265" \
    --runtime-env-json="${RUNTIME_ENV_JSON}" \
    -- python3 -m relax.entrypoints.train \
    --resource '{"actor": [1, 4], "rollout": [1, 4]}'\
    --hybrid \
    --max-staleness 0 \
    --num-data-storage-units 1 \
    --num-iters-per-train-update 8 \
    "${MODEL_ARGS[@]}" "${CKPT_ARGS[@]}" "${DATA_ARGS[@]}" "${BATCH_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" \
    "${SGLANG_ARGS[@]}" "${MISC_ARGS[@]}" "${LOG_ARGS[@]}" 2>&1 | tee log/qwen35-9B-hybrid-${timestamp}.log
