# Qwen3.5-9B: three Gated DeltaNet layers, then one full-attention layer, and so on.
# Which layer is which comes from the checkpoint (bridge mode), not from here.
MODEL_ARGS=(
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 12288
  --num-attention-heads 16
  --group-query-attention
  --num-query-groups 4
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
)
