# Qwen3.6-35B-A3B: 256 experts, 8 per token, one shared expert, GDN hybrid attention
# (30 of the 40 layers are linear; the bridge takes that from the checkpoint).

NUM_LAYERS=40
NUM_DENSE_LAYERS=${NUM_DENSE_LAYERS:-0}

layer_kinds=()
for ((layer = 0; layer < NUM_LAYERS; layer++)); do
  if ((layer < NUM_DENSE_LAYERS)); then
    layer_kinds+=(0)
  else
    layer_kinds+=(1)
  fi
done
printf -v LAYER_FREQ '[%s]' "$(IFS=','; echo "${layer_kinds[*]}")"

MODEL_ARGS=(
  --num-layers ${NUM_LAYERS}
  --hidden-size 2048
  --ffn-hidden-size 512
  --num-attention-heads 16
  --group-query-attention
  --num-query-groups 2
  --kv-channels 256
  --qk-layernorm
  --attention-output-gate

  --normalization RMSNorm
  --apply-layernorm-1p
  --norm-epsilon 1e-6
  --swiglu
  --disable-bias-linear

  --position-embedding-type rope
  --rotary-percent 0.25
  --rotary-base 10000000
  --vocab-size 248320
  --untie-embeddings-and-output-weights

  # experts
  --num-experts 256
  --moe-router-topk 8
  --moe-layer-freq ${LAYER_FREQ}
  --moe-ffn-hidden-size 512
  --moe-shared-expert-intermediate-size 512
  --moe-shared-expert-gate
  --moe-router-score-function softmax
  --moe-router-dtype fp32
  --moe-token-drop-policy probs
  --moe-aux-loss-coeff 0
  --moe-token-dispatcher-type alltoall
  --moe-grouped-gemm
  --moe-permute-fusion
)
