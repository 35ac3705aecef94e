"""The facts a rule may use: one table, from which their documentation is made.

A fact is known, absent (None: this job has no such thing) or Unknown (the script does not tell).
A size that the plan leaves open is Unknown here, so that no rule takes "not known" for "no".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple, get_args

from perf_doctor.launch.registry import Option, registry
from perf_doctor.plan.accelerator import Accelerator
from perf_doctor.plan.roles import Mode
from perf_doctor.rules import derived, estimated, sizes, timed, written
from perf_doctor.rules.check import ANY, BOOL, JSON, LIST, NUMBER, TEXT, Type
from perf_doctor.rules.derived import architecture, batch, forward, gpus_of, known, mesh
from perf_doctor.rules.derived import option as of
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Getter, Job
from perf_doctor.rules.judgement import SettingRow
from perf_doctor.rules.written import Rows, setting_row, word_rows

_MODES = Type("text", get_args(Mode))
_ACCELERATORS = Type("text", get_args(Accelerator))


class Fact(NamedTuple):
    """One row of the table.

    ``flags`` are the options the fact is read from, shown in the Setting of a finding; ``rows``
    yields the places to show where the fact is about words and not about options.
    """

    name: str
    type: Type
    doc: str
    get: Getter
    flags: tuple[str, ...] = ()
    rows: Rows | None = None
    unit: str = ""


TABLE: tuple[Fact, ...] = (
    # The kind of job.
    Fact("mode", _MODES, "How trainer and engines share the GPUs; sync is neither shared nor "
         "asynchronous.", lambda job: known(job.plan.roles.mode, "mode"),
         ("--colocate", "--fully-async", "--hybrid", "--loss-type")),
    Fact("sft", BOOL, "Supervised fine-tuning.", derived.is_sft, ("--loss-type",)),
    Fact("rl", BOOL, "Not supervised fine-tuning.", derived.is_rl),
    Fact("trains", BOOL, "A trainer is started: not --debug-rollout-only.",
         lambda job: job.plan.roles.debug != "rollout-only"),
    Fact("starts_engines", BOOL, "Engines are set up: not --debug-train-only, and no rollouts "
         "loaded from a file.", lambda job: job.plan.roles.debug != "train-only"),
    Fact("bridge", BOOL, "The model is built from the Hugging Face checkpoint.",
         derived.is_bridge, ("--megatron-to-hf-mode",)),
    Fact("accelerator", _ACCELERATORS, "The kind of card: gpu (NVIDIA), npu (Ascend) or klx "
         "(Kunlun).", lambda job: job.plan.gpu.accelerator),
    Fact("blackwell", BOOL, "The card is of the Blackwell generation or later.",
         derived.is_blackwell),
    Fact("framework", Type("text", ("relax", "slime")), "Who reads the command line.",
         lambda job: job.plan.framework.name),
    Fact("cuda_max_connections", TEXT, "CUDA_DEVICE_MAX_CONNECTIONS as the script sets it for the "
         "job; None when it does not.", written.variable("CUDA_DEVICE_MAX_CONNECTIONS")),
    Fact("deepep_dispatch_tokens", TEXT, "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK as the "
         "script sets it for the job; None when it does not.",
         written.variable("SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK")),
    Fact("expandable_segments", BOOL, "The script sets expandable_segments:True for PyTorch's CUDA "
         "allocator.", derived.expandable_segments),
    Fact("card", TEXT, "The name of the card, without its memory.", lambda job: job.plan.gpu.name),
    Fact("card_gib", NUMBER, "Memory of a card that programs can use.",
         lambda job: known(job.plan.gpu.usable_gib, "card_gib"), unit="GiB"),
    Fact("spec_v2", TEXT, "SGLANG_ENABLE_SPEC_V2 as the script sets it for the job; None when it "
         "does not.", written.variable("SGLANG_ENABLE_SPEC_V2")),
    # Roles and GPUs.
    Fact("roles", LIST, "The roles --resource sets GPUs aside for, or a CPU entry.",
         derived.roles, ("--resource",)),
    Fact("wrong_entries", LIST, "Roles whose --resource entry is not [1, GPUs].",
         derived.wrong_entries, ("--resource",)),
    Fact("unused_roles", LIST, "Roles with GPUs that this mode never starts.",
         derived.unused_roles, ("--resource",)),
    Fact("unused_gpus", NUMBER, "GPUs set aside for roles that are never started.",
         derived.unused_gpus, ("--resource",)),
    Fact("resource_for_rollout", TEXT, "--resource with the unused GPUs given to the engines; None "
         "where engines cannot use them.", derived.resource_for_rollout),
    Fact("resource_without_unused", TEXT, "--resource without the roles that are never started.",
         derived.resource_without_unused),
    Fact("resource_without_reference", TEXT, "--resource without the reference and without unused "
         "roles, their GPUs given to the engines where these can use them; None without a "
         "reference.", derived.resource_without_reference),
    Fact("gpus", NUMBER, "GPUs of the whole job.",
         lambda job: known(job.plan.cluster.gpus, "gpus"), ("--resource",)),
    Fact("cluster_gpus", NUMBER, "GPUs of the cluster; hardly ever known.",
         lambda job: known(job.cluster_gpus, "cluster_gpus")),
    Fact("gpus_per_node", NUMBER, "GPUs of a machine, as far as the job uses them.",
         sizes.gpus_per_node),
    Fact("nodes", NUMBER, "Nodes of the job.", lambda job: known(job.plan.cluster.nodes, "nodes")),
    Fact("world_size", NUMBER, "Processes, one per GPU, that train the model.",
         lambda job: known(job.plan.cluster.world_size, "world_size"), ("--resource",)),
    Fact("actor_gpus", NUMBER, "GPUs set aside for the actor.", gpus_of("actor"), ("--resource",)),
    Fact("rollout_gpus", NUMBER, "GPUs of the rollout engines, after the framework's changes.",
         derived.rollout_gpus, ("--resource", "--rollout-num-gpus")),
    Fact("genrm_gpus", NUMBER, "GPUs of the generative reward model.", derived.genrm_gpus,
         ("--resource", "--genrm-num-gpus")),
    Fact("teacher_gpus", NUMBER, "GPUs of a teacher that Relax starts itself; None without one.",
         lambda job: job.plan.roles.teacher_gpus, ("--resource",)),
    Fact("legacy_actor_gpus", NUMBER, "GPUs by --actor-num-nodes and --actor-num-gpus-per-node; "
         "None when both stand at their defaults.", derived.legacy_actor_gpus,
         ("--actor-num-nodes", "--actor-num-gpus-per-node")),
    Fact("true_on_policy", BOOL, "No old log-probabilities are computed: asked for, or set because "
         "a rollout is one global batch.", derived.true_on_policy,
         ("--true-on-policy-mode",)),
    Fact("offload_train", BOOL, "The trainer leaves the GPUs while the engines generate.",
         lambda job: known(job.plan.training.offload.train, "offload_train")),
    # Parallel sizes.
    Fact("tp", NUMBER, "Tensor parallel size.", mesh("tp"), ("--tensor-model-parallel-size",)),
    Fact("pp", NUMBER, "Pipeline stages.", mesh("pp"), ("--pipeline-model-parallel-size",)),
    Fact("cp", NUMBER, "Context parallel size.", mesh("cp"), ("--context-parallel-size",)),
    Fact("ep", NUMBER, "Expert parallel size.", mesh("ep"), ("--expert-model-parallel-size",)),
    Fact("etp", NUMBER, "Tensor parallel size of the experts; follows tp when unset.",
         mesh("etp"), ("--expert-tensor-parallel-size",)),
    Fact("dp", NUMBER, "Data parallel size, GPUs ÷ (tp × pp × cp); None with a rest.",
         derived.left_over("dp")),
    Fact("edp", NUMBER, "Data parallel size of the experts; None with a rest.",
         derived.left_over("edp")),
    Fact("vpp", NUMBER, "Model chunks per pipeline stage; None without interleaving.",
         derived.vpp, ("--num-layers-per-virtual-pipeline-stage",
                       "--num-virtual-stages-per-pipeline-rank")),
    Fact("first_stage_layers", NUMBER, "Layers of the first stage as given; else None.",
         of("--decoder-first-pipeline-num-layers"), ("--decoder-first-pipeline-num-layers",)),
    Fact("last_stage_layers", NUMBER, "Layers of the last stage as given; else None.",
         of("--decoder-last-pipeline-num-layers"), ("--decoder-last-pipeline-num-layers",)),
    Fact("stages_between", NUMBER, "Stages without a number of layers of their own.",
         derived.stages_between),
    Fact("layers_between", NUMBER, "Layers left for those stages.", derived.layers_between),
    *(
        Fact(f"{role}_{name}", NUMBER, doc.format(role), forward(role, what), ("--resource",
             "--ref-actor-config"))
        for role in ("reference", "actor_fwd")
        for name, what, doc in (
            ("gpus", "gpus", "GPUs of the {} role; None when it is not started on its own."),
            ("dense_ranks", "dense", "TP × PP × CP of the {} role."),
            ("expert_ranks", "expert", "ETP × EP × PP of the {} role."),
            ("stages", "stages", "Pipeline stages of the {} role."),
        )
    ),
    Fact("ep_within_node", NUMBER, "The largest EP that divides experts and ranks and stays in one "
         "node; None where that is 1.", sizes.ep_within_node),
    # The model.
    Fact("model_family", TEXT, "The model's name without its size; None when not known.",
         lambda job: job.plan.model.family, ("--hf-checkpoint",)),
    Fact("parameters", NUMBER, "Parameters of the model, in 1e9.", sizes.parameters,
         unit="1e9"),
    Fact("weights_gib", NUMBER, "bf16 weights on a GPU of the trainer, the average.",
         sizes.weights_gib, unit="GiB"),
    Fact("expert_gib", NUMBER, "Weights and fp32 gradients of the experts on a GPU of the trainer, "
         "the average.", sizes.expert_gib, unit="GiB"),
    Fact("static_gib", NUMBER, "Weights, gradients and optimizer state on a GPU of the trainer, "
         "the average; no activations.", sizes.static_gib, unit="GiB"),
    Fact("vocab_size", NUMBER, "The vocabulary as Megatron pads it.",
         lambda job: known(job.plan.padded_vocab_size, "vocab_size"), ("--vocab-size",)),
    Fact("moe", BOOL, "The model has experts.", derived.is_moe),
    Fact("num_layers", NUMBER, "Transformer layers.", architecture("layers"),
         ("--num-layers",)),
    Fact("attention_heads", NUMBER, "Attention heads.",
         architecture("attention_heads"), ("--num-attention-heads",)),
    Fact("kv_heads", NUMBER, "Key-value heads; None with latent attention.",
         derived.kv_heads, ("--num-query-groups",)),
    Fact("linear_key_heads", NUMBER, "Key heads of linear-attention layers; None without such.",
         derived.linear("key_heads")),
    Fact("linear_value_heads", NUMBER, "Value heads of linear-attention layers; None without such.",
         derived.linear("value_heads")),
    Fact("num_experts", NUMBER, "Experts; None in a dense model.",
         derived.num_experts, ("--num-experts",)),
    Fact("multimodal_checkpoint", BOOL, "The checkpoint's config is a multimodal one, whatever "
         "the data is.", derived.is_multimodal, ("--hf-checkpoint",)),
    Fact("multimodal_data", BOOL, "The samples hold images, video or sound.",
         derived.multimodal_data, ("--multimodal-keys",)),
    # Batches.
    Fact("rollout_batch_size", NUMBER, "Prompts of one rollout.",
         batch("rollout_batch_size", "--rollout-batch-size"), ("--rollout-batch-size",)),
    Fact("samples_per_prompt", NUMBER, "Answers per prompt.",
         batch("n_samples_per_prompt", "--n-samples-per-prompt"), ("--n-samples-per-prompt",)),
    Fact("samples_per_rollout", NUMBER, "Prompts × answers of one rollout.",
         batch("samples_per_rollout", "--rollout-batch-size"),
         ("--rollout-batch-size", "--n-samples-per-prompt")),
    Fact("global_batch_size", NUMBER, "Samples of one optimizer step.",
         batch("global_batch_size", "--global-batch-size"), ("--global-batch-size",)),
    Fact("steps_per_rollout", NUMBER, "Optimizer steps of one rollout; None where it does not "
         "divide into global batches.", derived.steps,
         ("--rollout-batch-size", "--global-batch-size")),
    Fact("samples_per_rank", NUMBER, "Samples of one optimizer step on one data parallel rank; "
         "None where they do not divide.", derived.samples_per_rank),
    Fact("dynamic_batch", BOOL, "Micro-batches are packed up to a number of tokens.",
         of("--use-dynamic-batch-size"), ("--use-dynamic-batch-size",)),
    Fact("max_tokens_per_gpu", NUMBER, "Tokens of a micro-batch per context parallel rank; None "
         "when not given.", of("--max-tokens-per-gpu"), ("--max-tokens-per-gpu",), unit="tokens"),
    Fact("sample_limit", NUMBER, "Tokens one sample can have: --rollout-max-context-len, else "
         "prompt + response limit as far as given.", sizes.sample_limit,
         ("--rollout-max-context-len", "--rollout-max-prompt-len", "--rollout-max-response-len"),
         unit="tokens"),
    Fact("most_micro_batches", NUMBER, "The most micro-batches an optimizer step can have on one "
         "rank, even if every sample reaches its limit.", sizes.most_micro_batches),
    Fact("forward_logits_gib", NUMBER, "Logits of a forward-only micro-batch of twice "
         "--max-tokens-per-gpu: 6 bytes × tokens × vocabulary ÷ TP.",
         sizes.logits_gib(12), unit="GiB"),
    Fact("sft_logits_gib", NUMBER, "Logits and their loss for --max-tokens-per-gpu in fine-tuning: "
         "6 bytes × tokens × vocabulary ÷ TP.",
         sizes.logits_gib(6), unit="GiB"),
    Fact("balanced", BOOL, "Samples are dealt to the ranks by length.",
         lambda job: known(job.plan.batch.balanced, "balanced"), ("--balance-data",)),
    Fact("pad_tokens", NUMBER, "A micro-batch is padded to a multiple of this.",
         lambda job: known(job.plan.batch.pad_tokens, "pad_tokens"),
         ("--data-pad-size-multiplier",), unit="tokens"),
    Fact("max_staleness", NUMBER, "Weight versions the rollout may be behind.",
         of("--max-staleness"), ("--max-staleness",)),
    Fact("kl", BOOL, "A reference model is needed: --use-kl-loss, or --kl-coef other than 0, "
         "whatever --kl-loss-coef says.", derived.kl, rows=derived.kl_rows),
    Fact("zero_kl", BOOL, "A reference is needed, and its KL term is multiplied by 0.",
         derived.zero_kl, ("--kl-loss-coef",), rows=derived.kl_rows),
    # Engines.
    Fact("engines", NUMBER, "Rollout engines.", sizes.engine("engines"),
         ("--rollout-num-gpus-per-engine",)),
    Fact("idle_engine_gpus", NUMBER, "GPUs of the engines' role that are left over.",
         sizes.engine("idle_gpus"), ("--rollout-num-gpus-per-engine", "--resource")),
    Fact("graph_limit", NUMBER, "The largest decode batch with a CUDA graph; None where SGLang "
         "chooses it.", sizes.graph_limit,
         ("--sglang-cuda-graph-bs", "--sglang-cuda-graph-max-bs")),
    Fact("requests_per_rank", NUMBER, "Samples of a rollout for one engine; with data-parallel "
         "attention for one rank of it.", sizes.requests_per_rank),
    Fact("genrm_load_format", TEXT, "How the reward model's engines load their weights; None "
         "without one or where SGLang chooses.", sizes.genrm("load_format"),
         ("--genrm-model-path", "--genrm-engine-config", "--sglang-load-format")),
    Fact("genrm_mem_fraction", NUMBER, "The reward model's share of its GPUs' memory; None "
         "without one or where SGLang chooses.", sizes.genrm("mem_fraction_static"),
         ("--genrm-engine-config", "--sglang-mem-fraction-static")),
    Fact("gpus_per_engine", NUMBER, "GPUs of one rollout engine.",
         of("--rollout-num-gpus-per-engine"), ("--rollout-num-gpus-per-engine",)),
    # Memory, by the estimate.
    *(Fact(*row) for row in (*estimated.ROWS, *timed.ROWS)),
    # The words of the script.
    Fact("misspelt_flags", LIST, "Flags no parser knows that resemble a known one.",
         written.unknown_flags("misspelt"), rows=written.unknown_rows("misspelt")),
    Fact("corrections", LIST, "Each misspelt flag with the one that was probably meant.",
         written.corrections),
    Fact("dead_flags", LIST, "Flags no parser knows that resemble none.",
         written.unknown_flags("dead"), rows=written.unknown_rows("dead")),
    Fact("newer_flags", LIST, "Flags that only later versions of Relax know.",
         written.newer_flags, rows=written.newer_rows),
    Fact("stray_words", LIST, "Words that no option takes.",
         lambda job: tuple(word.text for word in job.settings.stray),
         rows=word_rows(lambda job: job.settings.stray)),
    Fact("refused_values", LIST, "What the parser itself refuses, in its words.",
         written.refused, rows=written.refused_rows),
    Fact("refused_options", LIST, "The options whose value the parser refuses.",
         written.refused_options),
    Fact("impossible_values", LIST, "Values of which nothing can be made, such as a size of 0.",
         written.impossible, rows=written.impossible_rows),
    Fact("lost_settings", LIST, "Options of the script that a file sourced by it sets again later, "
         "to another value.", written.pairs("lost"), rows=written.pair_rows("lost")),
    Fact("repeated_settings", LIST, "Options that one file passes twice with different values.",
         written.pairs("twice"), rows=written.pair_rows("twice")),
    Fact("false_words", LIST, "Options whose word reads false where every word counts as true.",
         written.false_words, ("--polling-mode",)),
    Fact("cut_words", LIST, "Words that a comment or a missing backslash keeps from the launch.",
         lambda job: tuple(word.text for word in job.cut), rows=word_rows(lambda job: job.cut)),
    Fact("unpassed_arrays", LIST, "Arrays of flags that are set and never passed.",
         lambda job: tuple(job.unpassed), rows=written.array_rows),
)  # fmt: skip

FACTS: Mapping[str, Fact] = {row.name: row for row in TABLE}

_KINDS = {"switch": BOOL, "bool": BOOL, "int": NUMBER, "float": NUMBER, "json": JSON, "str": TEXT}


def fact(job: Job, name: str) -> Value:
    """Return the value of a fact for a job; each is worked out once."""
    if name not in job.known:
        job.known[name] = FACTS[name].get(job)
    return job.known[name]


def setting_rows(job: Job, flags: Iterable[str], facts: Iterable[str]) -> tuple[SettingRow, ...]:
    """Return the rows of these options and of the options these facts are read from, each once."""
    names = list(flags)
    found: list[SettingRow] = []
    for name in facts:
        row = FACTS.get(name)
        if row is not None:
            found.extend(row.rows(job) if row.rows else ())
            names.extend(row.flags)
    settings = (job.settings.given(flag) for flag in dict.fromkeys(names))
    found.extend(setting_row(setting) for setting in settings if setting is not None)
    return tuple({(row.flag, row.file, row.line): row for row in found}.values())


class RuleVocabulary:
    """The names a rule may use: this table and the options of the registry."""

    facts: Mapping[str, Type] = {row.name: row.type for row in TABLE}

    def __init__(self) -> None:
        self._options: dict[str, Type | None] = {}

    def option(self, flag: str) -> Type | None:
        """Return the type of an option's value; None when no parser of the trainer knows it."""
        if flag not in self._options:
            found = registry().get(flag)
            known = found is not None and not found.ignored and found.owner != "ray"
            self._options[flag] = _option_type(found) if found is not None and known else None
        return self._options[flag]

    def nearest_option(self, flag: str) -> str | None:
        """Return the option that was most likely meant, or None."""
        return registry().nearest(flag)


def _option_type(option: Option) -> Type:
    if option.nargs is not None and option.nargs != "?":
        return LIST
    if option.reads is not None:
        return ANY
    kind = _KINDS[option.kind]
    return Type(kind.kind, tuple(str(c) for c in option.choices)) if kind is TEXT else kind


@cache
def vocabulary() -> RuleVocabulary:
    """Return the names every rule may use."""
    return RuleVocabulary()
