"""Compare plans with the hand-checked contexts of public launch scripts.

    python tools/compare_contexts.py FACTS_DIR

FACTS_DIR holds ``corpus/relax-argv.json`` (the words real bash passes) and
``corpus/relax-contexts.json`` (what they mean). Prints every field that differs; exit code 1
when one does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.engines import Engines
from perf_doctor.plan.plan import Plan, build_plan
from perf_doctor.shell.model import Place, Word

Row = Mapping[str, Any]
Getter = Callable[[Plan], Any]


def given(flag: str) -> Getter:
    """The value the script writes; the contexts hold null for an option left to its default."""

    def value(plan: Plan) -> Any:
        setting = plan.settings.given(flag)
        if setting is None:
            return None
        value = setting.value
        return value[0] if isinstance(value, list) and len(value) == 1 else value

    return value


def _experts(name: str) -> Getter:
    def value(plan: Plan) -> Any:
        model = plan.model.architecture
        return None if model is None or model.experts is None else getattr(model.experts, name)

    return value


def _shape(name: str) -> Getter:
    return lambda plan: getattr(plan.model.architecture, name, None)


def _latent(plan: Plan) -> Any:
    latent = plan.model.architecture.latent_attention if plan.model.architecture else None
    return latent and {
        "q_lora_rank": latent.q_lora_rank,
        "kv_lora_rank": latent.kv_lora_rank,
        "qk_head_dim": latent.qk_head_dim,
        "qk_pos_emb_head_dim": latent.qk_rope_head_dim,
        "v_head_dim": latent.v_head_dim,
    }


def _gated(plan: Plan) -> bool:
    """Also by the flag that scripts still pass and no parser has any more."""
    unknown = any(flag.flag == "--use-gated-attention" for flag in plan.settings.unknown_flags)
    return unknown or bool(plan.model.architecture and plan.model.architecture.output_gate)


def _engine(name: str) -> Getter:
    def value(plan: Plan) -> Any:
        found = getattr(plan.engines, name, None)
        return list(found) if isinstance(found, tuple) else found

    return value


def _engine_not(name: str) -> Getter:
    def value(plan: Plan) -> Any:
        engines: Engines | None = plan.engines
        return None if engines is None else not getattr(engines, name)

    return value


FIELDS: dict[str, Getter] = {
    "model_name": lambda p: p.model.name,
    "family": lambda p: p.model.family,
    "arch": lambda p: p.model.kind,
    "natively_multimodal_checkpoint": lambda p: p.model.natively_multimodal,
    "modality": lambda p: p.modality,
    "mode": lambda p: p.mode,
    "gpus": lambda p: p.cluster.gpus,
    "gpus_per_node": lambda p: p.cluster.gpus_per_node,
    "nodes": lambda p: p.cluster.nodes,
    "gpus_created": lambda p: p.cluster.gpus_created,
    "idle_gpus": lambda p: p.cluster.idle_gpus,
    "actor_num_nodes": lambda p: p.cluster.actor_num_nodes,
    "actor_num_gpus_per_node": lambda p: p.cluster.actor_num_gpus_per_node,
    "train_world_size": lambda p: p.cluster.world_size,
    "rollout_gpus": lambda p: p.roles.rollout_num_gpus,
    "true_on_policy_auto": lambda p: p.roles.true_on_policy_auto,
    "active_roles": lambda p: p.roles.active,
    "unused_resource_roles": lambda p: list(p.roles.unused),
    "accelerator.kind": lambda p: p.gpu.accelerator,
    "parallel.tp": lambda p: p.parallel.mesh.tp,
    "parallel.pp": lambda p: p.parallel.mesh.pp,
    "parallel.cp": lambda p: p.parallel.mesh.cp,
    "parallel.ep": lambda p: p.parallel.mesh.ep,
    "parallel.etp": lambda p: p.parallel.etp_given,
    "parallel.etp_effective": lambda p: p.parallel.mesh.etp,
    "parallel.dp": lambda p: p.parallel.mesh.dp,
    "parallel.expert_dp": lambda p: p.parallel.mesh.edp if p.model.kind == "moe" else None,
    "parallel.vpp": lambda p: p.pipeline.vpp,
    "parallel.layers_per_vpp_stage": lambda p: p.pipeline.layers_per_virtual_stage,
    "parallel.sequence_parallel": given("--sequence-parallel"),  # as written, also at TP 1
    "parallel.decoder_first_pp_layers": lambda p: p.pipeline.first_stage_layers,
    "parallel.decoder_last_pp_layers": lambda p: p.pipeline.last_stage_layers,
    "parallel.ref_actor_config": lambda p: p.parallel.reference_config,
    "batch.global_batch_size": lambda p: p.batch.global_batch_size,
    "batch.rollout_batch_size": lambda p: p.batch.rollout_batch_size,
    "batch.n_samples_per_prompt": lambda p: p.batch.n_samples_per_prompt,
    "batch.micro_batch_size": lambda p: p.batch.micro_batch_size,
    "batch.dynamic_batch": lambda p: p.batch.dynamic_batch,
    "batch.max_tokens_per_gpu": lambda p: p.batch.max_tokens_per_gpu,
    "batch.log_probs_max_tokens_per_gpu": lambda p: p.batch.log_probs_max_tokens_per_gpu,
    "batch.over_sampling_batch_size": given("--over-sampling-batch-size"),
    "batch.partial_rollout": lambda p: p.batch.partial_rollout,
    "batch.steps_per_rollout": lambda p: p.batch.optimizer_steps_per_rollout,
    "batch.qkv_format": lambda p: p.batch.qkv_format,
    "lengths.max_resp_len": lambda p: p.lengths.response,
    "lengths.max_prompt_len": given("--rollout-max-prompt-len"),
    "lengths.max_context_len": lambda p: p.lengths.context,
    "lengths.seq_length": lambda p: p.lengths.seq_length,
    "lengths.eval_max_response_len": lambda p: p.lengths.eval_response,
    "balance_data.flag": lambda p: p.settings.on("--balance-data"),
    "balance_data.effective": lambda p: p.batch.balanced,
    "recompute.granularity": lambda p: p.training.recompute.granularity,
    "recompute.method": lambda p: p.training.recompute.method,
    "recompute.num_layers": lambda p: p.training.recompute.num_layers,
    "recompute.modules": lambda p: p.training.recompute.modules,
    "recompute.recompute_loss_function": lambda p: p.training.recompute.loss_function,
    "optimizer.cpu_offload": lambda p: p.training.optimizer.cpu_offload,
    "optimizer.overlap_d2h_h2d": lambda p: p.training.optimizer.overlap_transfers,
    "optimizer.precision_aware": lambda p: p.settings.on("--use-precision-aware-optimizer"),
    "optimizer.offload_fraction": given("--optimizer-offload-fraction"),
    "optimizer.name": lambda p: p.training.optimizer.name,
    "offload.offload": lambda p: p.settings.on("--offload"),
    "offload.offload_train": given("--offload-train"),
    "offload.offload_rollout": given("--offload-rollout"),
    "sglang.gpus_per_engine": _engine("gpus_per_engine"),
    "sglang.tp": _engine("tp"),
    "sglang.pp": _engine("pp"),
    "sglang.dp": _engine("dp"),
    "sglang.ep": _engine("ep"),
    "sglang.n_engines": _engine("engines"),
    "sglang.mem_fraction": _engine("mem_fraction_static"),
    "sglang.load_format": given("--sglang-load-format"),
    "sglang.cuda_graph_bs": _engine("cuda_graph_batch_sizes"),
    "sglang.cuda_graph_max_bs": _engine("cuda_graph_max_batch_size"),
    "sglang.disable_cuda_graph": _engine_not("cuda_graph"),
    "sglang.disable_radix_cache": _engine_not("radix_cache"),
    "sglang.attention_backend": _engine("attention_backend"),
    "sglang.max_running_requests": _engine("max_running_requests"),
    "sglang.server_concurrency": given("--sglang-server-concurrency"),
    "sglang.speculative": lambda p: (
        p.engines.speculative.algorithm if p.engines and p.engines.speculative else None
    ),
    "sglang.enable_dp_attention": _engine("dp_attention"),
    "sglang.context_length": _engine("context_length"),
    "moe.dispatcher": lambda p: p.training.experts.dispatcher,
    "moe.flex_backend": given("--moe-flex-dispatcher-backend"),
    "moe.enable_deepep": lambda p: p.training.experts.enable_deepep,
    "moe.grouped_gemm": lambda p: p.training.experts.grouped_gemm,
    "moe.permute_fusion": lambda p: p.training.experts.permute_fusion,
    "moe.load_balancing": given("--moe-router-load-balancing-type"),
    "attention_backend": lambda p: p.training.attention_backend,
    "no_rope_fusion": lambda p: p.training.rope_fusion is False,
    "calculate_per_token_loss": lambda p: p.training.per_token_loss,
    "streaming_dataset": lambda p: p.settings.on("--use-streaming-dataset"),
    "async.max_staleness": lambda p: p.settings.value("--max-staleness"),
    "async.num_iters_per_train_update": lambda p: p.batch.num_iters_per_train_update,
    "async.num_data_storage_units": lambda p: p.batch.num_data_storage_units,
    "precision": lambda p: p.training.precision,
    "quant": lambda p: list(p.training.quantization or ()) or None,
    "dims.layers": _shape("layers"),
    "dims.hidden": _shape("hidden_size"),
    "dims.heads": _shape("attention_heads"),
    "dims.kv_groups": _shape("query_groups"),
    "dims.head_dim": _shape("head_dim"),
    "dims.ffn": _shape("ffn_hidden_size"),
    "dims.vocab": _shape("vocab_size"),
    "dims.tie_embeddings": _shape("tied_embeddings"),
    "dims.qk_layernorm": _shape("qk_layernorm"),
    "dims.add_qkv_bias": lambda p: p.settings.on("--add-qkv-bias"),
    "dims.gated_attention": _gated,
    "dims.dense_layers": _shape("dense_layers"),
    "dims.experts": _experts("num_experts"),
    "dims.topk": _experts("top_k"),
    "dims.moe_ffn": _experts("ffn_hidden_size"),
    "dims.shared_expert_ffn": lambda p: _experts("shared_ffn_hidden_size")(p) or None,
    "dims.moe_layers": _experts("moe_layers"),
    "dims.moe_layer_freq": given("--moe-layer-freq"),
    "dims.mla": _latent,
    "dims.mtp_num_layers": lambda p: (
        p.model.architecture.mtp_layers or None if p.model.architecture else None
    ),
    "dims.enable_mtp_training": lambda p: p.settings.on("--enable-mtp-training"),
    "dims.make_vocab_size_divisible_by": given("--make-vocab-size-divisible-by"),
}


def _expected(context: Row, path: str) -> Any:
    """The value in the context; None also below a part that is null."""
    value: Any = context
    for name in path.split("."):
        if value is None:
            return None
        value = value.get(name)
    return value


def differences(context: Row, plan: Plan, *, environment_known: bool = True) -> Iterator[str]:
    """Yield one line per field in which the plan and the context differ."""
    for path, getter in FIELDS.items():
        if path == "quant" and not environment_known:
            continue
        top = path.partition(".")[0]
        if top in ("sglang", "moe") and context.get(top) is None:
            continue  # the contexts leave these out where no such flag is given
        expected, found = _expected(context, path), getter(plan)
        if path == "parallel.sequence_parallel":
            found = bool(found)
        if isinstance(found, Mapping):
            found = dict(found)
        if path == "model_name" and expected is None:
            continue  # its checkpoint path is empty; the plan's name is that of the script
        if expected != found:
            yield f"{path}: {found!r}, not {expected!r}"


def compare(contexts: Mapping[str, Row], plan_of: Callable[[str], Plan | None]) -> int:
    """Print what differs for every script, return how many scripts are equal."""
    equal = 0
    for script, context in contexts.items():
        plan = plan_of(script)
        found = (
            ["no launch"]
            if plan is None
            else list(differences(context, plan, environment_known=plan.environment is not None))
        )
        equal += not found
        for line in found:
            print(f"{script}: {line}")
    return equal


def _plan_from_words(script: str, launch: Row) -> Plan:
    """Build the plan from recorded words alone; the environment handed to Ray is not in them."""
    words = [Word(text, Place(script, 1)) for text in launch["argv"]]
    return build_plan(read_settings(words), script=script)


def main() -> int:
    """Compare every script of the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("facts", type=Path)
    corpus = parser.parse_args().facts / "corpus"
    contexts = json.loads((corpus / "relax-contexts.json").read_text(encoding="utf-8"))
    launches = json.loads((corpus / "relax-argv.json").read_text(encoding="utf-8"))

    def plan_of(script: str) -> Plan | None:
        launch = launches.get(script.partition("/")[2])
        return None if launch is None else _plan_from_words(script, launch)

    equal = compare(contexts, plan_of)
    print(f"{equal} of {len(contexts)} contexts equal, {len(FIELDS)} fields each")
    return 0 if equal == len(contexts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
