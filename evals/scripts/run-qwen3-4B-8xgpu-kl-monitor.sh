#!/bin/bash
# Qwen3-4B, colocate, 8 GPUs, with the distance to the reference in every log.
set -eo pipefail

MODEL_ARGS=(
  --num-layers 36 --hidden-size 2560 --ffn-hidden-size 9728
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 --qk-layernorm
  --normalization RMSNorm --norm-epsilon 1e-6 --swiglu --disable-bias-linear
  --use-rotary-position-embeddings --rotary-base 1000000 --vocab-size 151936
)

CKPT_ARGS=(
  --hf-checkpoint /data/models/Qwen3-4B
  --ref-load /data/models/Qwen3-4B
  --megatron-to-hf-mode bridge
  --save /data/exps/qwen3-4B-kl
  --save-interval 50
)

ROLLOUT_ARGS=(
  --prompt-data /data/datasets/dapo-math-17k.jsonl
  --input-key prompt
  --label-key label
  --apply-chat-template
  --rm-type dapo
  --num-rollout 200
  --rollout-batch-size 32
  --n-samples-per-prompt 8
  --global-batch-size 256
  --rollout-max-prompt-len 1024
  --rollout-max-response-len 8192
  --balance-data
)

PERF_ARGS=(
  --tensor-model-parallel-size 2
  --sequence-parallel
  --use-dynamic-batch-size
  --max-tokens-per-gpu 9216
)

ALGO_ARGS=(
  --advantage-estimator grpo
  --eps-clip 0.2
  --eps-clip-high 0.28
  --use-tis

  # perf-doctor: ignore[R-M06] the KL to the reference is what we plot
  --use-kl-loss
  --kl-loss-coef 0.0
)

OPTIMIZER_ARGS=(
  --optimizer adam
  --lr 1e-6
  --lr-decay-style constant
)

SGLANG_ARGS=(
  --rollout-num-gpus-per-engine 2
  --sglang-mem-fraction-static 0.7
)

MISC_ARGS=(
  --accumulate-allreduce-grads-in-fp32
  --attention-softmax-in-fp32
  --attention-backend flash
)

ray job submit --address="http://127.0.0.1:8265" \
  -- python3 -m relax.entrypoints.train \
  --resource '{"actor": [1, 8], "rollout": [1, 8]}' \
  --colocate \
  --max-staleness 0 \
  "${MODEL_ARGS[@]}" \
  "${CKPT_ARGS[@]}" \
  "${ROLLOUT_ARGS[@]}" \
  "${PERF_ARGS[@]}" \
  "${ALGO_ARGS[@]}" \
  "${OPTIMIZER_ARGS[@]}" \
  "${SGLANG_ARGS[@]}" \
  "${MISC_ARGS[@]}"
