"""Logits and loss: bytes per token and vocabulary column of the rank, on the last stage."""

from __future__ import annotations

from perf_doctor.estimate.constants import FORWARD_LOGIT_BYTES, RL_LOSS_BYTES
from perf_doctor.estimate.interval import Interval, exactly
from perf_doctor.estimate.shape import Loss

# bf16 logits, and an fp32 copy in place of which the softmax is written.
_MEGATRON = exactly(6.0)
# Transformer Engine's parallel cross entropy writes the gradient over the bf16 logits.
_FUSED = exactly(2.0)
# The fp32 copy, its softmax and its gradient; without entropy (megatron/core/tensor_parallel/
# cross_entropy.py), Relax's SFT loss on full logits.
_SFT = Interval(6.0, 8.0, 12.0)
# Rows of logits that chunked SFT builds at once (relax/backends/megatron/loss.py:353-402).
CHUNK_TOKENS = 1024.0


def loss_bytes(loss: Loss, *, scaled: bool = False) -> Interval:
    """Return bytes per token and vocabulary column at the peak of the loss.

    ``scaled``: a temperature other than 1 keeps one more fp32 copy.
    """
    if loss == "rl":
        return RL_LOSS_BYTES + exactly(4.0) if scaled else RL_LOSS_BYTES
    if loss == "sft":
        return _SFT
    if loss == "sft-chunked":
        return _SFT
    return _FUSED if loss == "fused" else _MEGATRON


def logits_in_loss(loss: Loss, tokens: Interval, columns: float, *, scaled: bool) -> Interval:
    """Return bytes of logits and loss: bytes per column × tokens × V/tp."""
    rows = exactly(min(CHUNK_TOKENS, tokens.expected)) if loss == "sft-chunked" else tokens
    return loss_bytes(loss, scaled=scaled) * rows * columns


def forward_logits(tokens: Interval, columns: float) -> Interval:
    """Return bytes of logits in a pass that computes log-probs without gradients."""
    return FORWARD_LOGIT_BYTES * tokens * columns


def mtp_logits(tokens: Interval, columns: float) -> Interval:
    """Return logits and loss of one layer of multi-token prediction: 4–6 bytes, no RL terms."""
    return Interval(4.0, 6.0, 6.0) * tokens * columns
