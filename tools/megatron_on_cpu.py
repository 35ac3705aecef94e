"""Real megatron-core models on a CPU, for counting parameters and saved tensors.

Megatron asks for CUDA in its constructors and for Transformer Engine in its fast paths. What
decides how many bytes a layer keeps is which tensors its kernels save, so the kernels are replaced
by stand-ins that save the same tensors and compute next to nothing: FlashAttention keeps q, k, v,
its output and one fp32 number per row and head; a fused norm keeps its input and one per row.
Needs torch and megatron-core; the package itself needs neither.
"""

# Megatron may only be imported once its calls of CUDA are replaced, and where there is none of
# it, nobody can check types against it.
# ruff: noqa: PLC0415
# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as torch_functional

from perf_doctor.estimate.shape import Recompute, Shape


class _Idle:
    """A CUDA stream or event on a machine that has none."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None: ...

    def __enter__(self) -> _Idle:
        return self

    def __exit__(self, *_args: object) -> None: ...

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args, **_kwargs: self


def without_cuda() -> None:
    """Make megatron-core's calls of ``torch.cuda`` harmless; call before importing it."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    cuda: Any = torch.cuda
    cuda.current_device = lambda: "cpu"
    cuda.is_available = lambda: False
    cuda.Stream = cuda.Event = _Idle
    cuda.current_stream = cuda.stream = lambda *_args, **_kwargs: _Idle()
    cuda.synchronize = lambda *_args, **_kwargs: None
    cuda.get_rng_state = lambda *_args, **_kwargs: torch.get_rng_state()
    cuda.set_rng_state = lambda state, *_args, **_kwargs: torch.set_rng_state(state)
    cuda.manual_seed = torch.manual_seed
    tensor: Any = torch.Tensor
    tensor.cuda = lambda self, *_args, **_kwargs: self


def join(rank: int, tp: int, port: int) -> None:
    """Join the group of ``tp`` processes and set up Megatron's parallel state."""
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(tp)
    )
    dist.init_process_group("gloo", rank=rank, world_size=tp)
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.tensor_parallel import random as megatron_random

    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=tp, expert_tensor_parallel_size=1
    )
    megatron_random._get_cuda_rng_state = lambda *_a, **_k: torch.get_rng_state()
    megatron_random._set_cuda_rng_state = lambda state, *_a, **_k: torch.set_rng_state(state)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    _replace_transformer_engine()


def _replace_transformer_engine() -> None:
    """Classes that Megatron looks at by identity, the block's norm, and the compiled output gate.

    Latent attention's down-projections are whole on every rank with Transformer Engine's linear
    layer alone, so that one has a stand-in, too.
    """
    import megatron.core.transformer.multi_latent_attention as latent
    import megatron.core.transformer.transformer_block as block
    from megatron.core.transformer import attention

    latent.TELinear = attention.TELinear = whole_linear()
    for module in (attention, latent):
        if not isinstance(getattr(module, "TEColumnParallelLinear", None), type):
            module.TEColumnParallelLinear = type("Absent", (), {})
    block.LayerNormImpl = fused_norm()
    attention.SelfAttention._apply_output_gate = lambda _self, x, gate: _OutputGate.apply(x, gate)


class _OutputGate(torch.autograd.Function):
    """What torch.compile makes of x · sigmoid(gate): it keeps its two inputs."""

    @staticmethod
    def forward(ctx: Any, output: Any, gate: Any) -> Any:
        ctx.save_for_backward(output, gate)
        return output * 1

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, torch.zeros_like(ctx.saved_tensors[1])


def whole_linear() -> type:
    """Return a linear layer that is whole on every rank."""
    from megatron.core.transformer.module import MegatronModule

    class Linear(MegatronModule):
        def __init__(self, inputs: int, outputs: int, *, config: Any, **_kwargs: Any) -> None:
            super().__init__(config)
            weight = torch.zeros(outputs, inputs, dtype=torch.bfloat16)
            self.weight = torch.nn.Parameter(weight)

        def forward(self, inputs: Any) -> Any:
            return torch_functional.linear(inputs, self.weight), None

    return Linear


class _FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any) -> Any:
        repeats = query.shape[2] // value.shape[2]
        output = value.repeat_interleave(repeats, dim=2).contiguous()
        rows = torch.zeros(query.shape[1], query.shape[2], query.shape[0])
        ctx.save_for_backward(query, key, value, output, rows)
        return output

    @staticmethod
    def backward(ctx: Any, *_gradients: Any) -> Any:
        return tuple(torch.zeros_like(tensor) for tensor in ctx.saved_tensors[:3])


class _FusedNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Any, weight: Any) -> Any:
        rows = inputs.float().pow(2).mean(-1, keepdim=True)
        ctx.save_for_backward(inputs, weight, rows)
        return inputs * weight

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient, torch.zeros_like(ctx.saved_tensors[1])


def flash_attention() -> type:
    """Return a core attention that saves what FlashAttention saves."""
    from megatron.core.transformer.module import MegatronModule

    class CoreAttention(MegatronModule):
        def __init__(self, config: Any, *_args: Any, **_kwargs: Any) -> None:
            super().__init__(config)

        def forward(self, query: Any, key: Any, value: Any, *_args: Any, **_kwargs: Any) -> Any:
            output = _FlashAttention.apply(query, key, value)
            return output.reshape(output.shape[0], output.shape[1], -1)

    return CoreAttention


def fused_norm() -> type:
    """Return a norm, with a bias for LayerNorm, that saves what a fused one saves."""
    from megatron.core.transformer.module import MegatronModule

    class Norm(MegatronModule):
        def __init__(self, config: Any = None, hidden_size: int = 0, *_a: Any, **_k: Any) -> None:
            super().__init__(config)
            self.weight = torch.nn.Parameter(torch.ones(hidden_size, dtype=torch.bfloat16))
            if config is not None and config.normalization == "LayerNorm":
                self.bias = torch.nn.Parameter(torch.zeros(hidden_size, dtype=torch.bfloat16))

        def forward(self, inputs: Any) -> Any:
            normed = _FusedNorm.apply(inputs, self.weight)
            return normed + self.bias if hasattr(self, "bias") else normed

    return Norm


def build(shape: Shape, tp: int, recompute: Recompute) -> Any:
    """Return a GPT model of that shape with stand-ins for its kernels."""
    from megatron.core.models.gpt import gpt_layer_specs as specs
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.identity_op import IdentityOp

    config = _config(shape, tp, recompute)
    if shape.routed is not None:
        spec = specs.get_gpt_decoder_block_spec(config, use_transformer_engine=False)
        spec.layer_norm = fused_norm()
        layers = spec.layer_specs
    else:
        spec = specs.get_gpt_layer_local_spec(
            qk_layernorm=config.qk_layernorm,
            multi_latent_attention=shape.latent is not None,
            normalization=config.normalization,
        )
        layers = [spec]
    for layer in layers:
        attention = layer.submodules.self_attention.submodules
        attention.core_attention = flash_attention()
        norms = ((layer.submodules, ("input_layernorm", "pre_mlp_layernorm")),
                 (attention, ("q_layernorm", "k_layernorm", "kv_layernorm")))  # fmt: skip
        if shape.latent is not None:
            import megatron.core.transformer.multi_latent_attention as latent

            for name in ("linear_q_down_proj", "linear_kv_down_proj"):
                if getattr(attention, name, None) is not None:
                    setattr(attention, name, latent.TELinear)
        for holder, names in norms:
            for name in names:
                if getattr(holder, name, None) not in (None, IdentityOp):
                    setattr(holder, name, fused_norm())
    model = GPTModel(
        config=config,
        transformer_layer_spec=spec,
        vocab_size=shape.vocab,
        max_sequence_length=shape.learned_positions or 512,
        position_embedding_type="rope" if shape.rotary else "learned_absolute",
        share_embeddings_and_output_weights=shape.tied,
    )
    return model.to(torch.bfloat16)


def _config(shape: Shape, tp: int, recompute: Recompute) -> Any:
    from megatron.core.transformer.transformer_config import (
        MLATransformerConfig,
        TransformerConfig,
    )

    options: dict[str, Any] = {
        "num_layers": shape.layers,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "ffn_hidden_size": shape.ffn or shape.hidden,
        "gated_linear_unit": shape.gated_mlp,
        "activation_func": torch_functional.silu if shape.gated_mlp else torch_functional.gelu,
        "bias_activation_fusion": shape.gated_mlp,
        "add_bias_linear": shape.linear_bias,
        "add_qkv_bias": shape.qkv_bias,
        "normalization": "RMSNorm" if shape.rms_norm else "LayerNorm",
        "qk_layernorm": shape.qk_norm or shape.latent is not None,
        "attention_output_gate": shape.output_gate,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "tensor_model_parallel_size": tp,
        "sequence_parallel": tp > 1,
        "expert_tensor_parallel_size": 1,
        "use_cpu_initialization": True,
        "params_dtype": torch.bfloat16,
        "pipeline_dtype": torch.bfloat16,
        "bf16": True,
        "gradient_accumulation_fusion": False,
        "masked_softmax_fusion": False,
    }
    if recompute.granularity == "selective":
        options["recompute_granularity"] = "selective"
        options["recompute_modules"] = sorted(recompute.modules)
    routed, latent = shape.routed, shape.latent
    if routed is not None:
        options.update(
            num_moe_experts=routed.experts,
            moe_router_topk=routed.top_k,
            moe_ffn_hidden_size=routed.ffn,
            moe_shared_expert_intermediate_size=routed.shared_ffn or None,
            moe_shared_expert_gate=routed.shared_gate,
            moe_layer_freq=[int(moe) for moe in shape.moe_layers],
            moe_router_load_balancing_type="none",
            moe_token_dispatcher_type="allgather" if tp == 1 else "alltoall",
        )
    if latent is None:
        options.update(num_query_groups=shape.groups, kv_channels=shape.head_dim)
        return TransformerConfig(**options)
    return MLATransformerConfig(
        **options,
        multi_latent_attention=True,
        rope_type="rope",
        q_lora_rank=latent.q_lora_rank or None,
        kv_lora_rank=latent.kv_lora_rank,
        qk_head_dim=latent.qk_head_dim,
        qk_pos_emb_head_dim=latent.qk_rope_head_dim,
        v_head_dim=latent.v_head_dim,
    )


class Meter:
    """Bytes of distinct storages that autograd saves, those of ``ignored`` tensors left out."""

    def __init__(self) -> None:
        self._ignored: set[int] = set()
        self._kept: dict[int, Any] = {}

    def ignore(self, tensors: Iterator[Any]) -> None:
        """Leave out what lives on anyway: parameters, the rotary table."""
        self._ignored.update(tensor.untyped_storage().data_ptr() for tensor in tensors)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what is saved inside the block."""
        with torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor):
            yield

    def _pack(self, tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._ignored:
            self._kept[storage.data_ptr()] = storage
        return tensor

    @property
    def total(self) -> int:
        """Bytes so far."""
        return sum(storage.nbytes() for storage in self._kept.values())


def saved_bytes(model: Any, tokens: int, batch: int, tp: int) -> int:
    """Return what the last decoder layer saves for ``batch`` sequences of ``tokens`` each."""
    layer = model.decoder.layers[-1]
    rotary = model.rotary_pos_emb(tokens) if hasattr(model, "rotary_pos_emb") else None
    hidden = layer.config.hidden_size
    inputs = torch.randn(tokens // tp, batch, hidden, dtype=torch.bfloat16, requires_grad=True) * 1
    meter = Meter()
    meter.ignore(model.parameters())
    if rotary is not None:
        meter.ignore(iter([rotary]))
    with meter.running():
        layer(inputs, attention_mask=None, rotary_pos_emb=rotary)
    return meter.total
