# Language part of Qwen3-VL-8B. The bridge builds the vision tower from the checkpoint.
MODEL_ARGS=(
  --num-layers 36
  --hidden-size 4096
  --ffn-hidden-size 12288
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --kv-channels 128
  --qk-layernorm
  --normalization RMSNorm
  --norm-epsilon 1e-6
  --swiglu
  --disable-bias-linear
  --use-rotary-position-embeddings
  --rotary-base "${ROTARY_BASE:-5000000}"
  --vocab-size 151936
  --untie-embeddings-and-output-weights
)
