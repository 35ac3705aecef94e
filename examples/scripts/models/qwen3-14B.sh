# Qwen3-14B: dense, 40 layers, GQA 40/8, untied.
# The block is the 8B one; only what differs stands here.
source "$(dirname -- "${BASH_SOURCE[0]}")/qwen3-8B.sh"

MODEL_ARGS+=(
  --num-layers 40
  --hidden-size 5120
  --ffn-hidden-size 17408
  --num-attention-heads 40
)
