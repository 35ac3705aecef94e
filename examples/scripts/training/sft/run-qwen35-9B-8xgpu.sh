#!/bin/bash
# Qwen3.5-9B, supervised fine-tuning on maths solutions, 8 cards.
# Started in the foreground on the head node; ray is up already.

set -eo pipefail

SCRIPT_DIR="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)"
TREE="${SCRIPT_DIR%/scripts/training/sft}"
source "${TREE}/scripts/entrypoint/local.sh"
source "${MODEL_CONFIG_DIR}/qwen35-9B.sh"

STORE="${STORE:-/data}"
EXP_NAME="qwen35-9B-sft"
printf -v LOG_FILE 'log/%s-%s.log' "${EXP_NAME}" "$(date +%m%d)"

CKPT_ARGS=(
  --hf-checkpoint ${STORE}/models/Qwen3.5-9B
  --megatron-to-hf-mode bridge
  --save ${STORE}/exps/${EXP_NAME}
  --load ${STORE}/exps/${EXP_NAME}
  --save-interval 500
)

SFT_ARGS=(
  --loss-type sft
  --prompt-data ${STORE}/datasets/openmath-cot.parquet
  --input-key problem
  --label-key generated_solution
  --num-epoch 3
  --global-batch-size 256
  --sft-oversize-strategy skip     # 0.2 % of the samples are longer than the budget
  --sft-chunked-logits
  --eval-size 0.005
  --eval-interval 200
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  --pipeline-model-parallel-size 1
  --context-parallel-size 1
  --use-dynamic-batch-size
  --max-tokens-per-gpu 8192
  --calculate-per-token-loss
  --no-rope-fusion
)

OPTIMIZER_ARGS=(
  --optimizer adam
  --lr 1e-5
  --min-lr 1e-6
  --lr-decay-style cosine
  --weight-decay 0.1
  --adam-beta1 0.9
  --adam-beta2 0.98
  --clip-grad 1.0
)

MISC_ARGS=(
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
)

mkdir -p log
python3 -m relax.entrypoints.train \
  --resource '{"sft": [1, 0], "actor": [1, 8]}' \
  --colocate \
  --max-staleness 0 \
  --num-data-storage-units 1 \
  "${MODEL_ARGS[@]}" \
  "${CKPT_ARGS[@]}" \
  "${SFT_ARGS[@]}" \
  "${PERF_ARGS[@]}" \
  "${OPTIMIZER_ARGS[@]}" \
  "${MISC_ARGS[@]}" 2>&1 | tee "${LOG_FILE}"
