"""Every number of the estimate that is measured and not derived, with its source and range.

None is fitted to a single point; ``tests/validation/test_memory_runs.py`` refits those that come
from the bundled runs on half of them and judges them on the other half.
"""

from __future__ import annotations

from perf_doctor.estimate.interval import Interval
from perf_doctor.frozen import frozen

GIB = 2.0**30


@frozen
class Constant:
    """A measured number: ``value`` in ``unit``, and where it comes from."""

    name: str
    value: Interval
    unit: str
    source: str


class Table(list[Constant]):
    """Constants in the order in which they are defined."""

    def constant(
        self, name: str, low: float, expected: float, high: float, unit: str, source: str
    ) -> Interval:
        """Add a constant and return its value."""
        value = Interval(low, expected, high)
        self.append(Constant(name, value, unit, source))
        return value


_TABLE = Table()
_constant = _TABLE.constant


WORKSPACE_GIB = _constant(
    "workspace", 0.05, 0.10, 0.16, "GiB",
    "steady minus state bytes over Megatron-LM CI golden values (30 tests, d98e8a64dd): cuBLAS and"
    " Transformer Engine workspaces, RNG and overflow buffers",
)  # fmt: skip
GROUPED_GEMM_GIB = _constant(
    "workspace of grouped GEMMs", 0.02, 0.10, 0.16, "GiB",
    "Transformer Engine keeps four cuBLAS workspaces of 32 MiB (4 MiB before Hopper); steady minus"
    " state bytes over 12 Megatron-LM CI expert tests: 0.01 (A100) to 0.17",
)  # fmt: skip
IMAGE_SHARE = _constant(
    "tokens of a micro-batch that are images or frames", 0.1, 0.3, 0.7, "",
    "engineering range; depends on the data alone",
)  # fmt: skip
FORMULAS = _constant(
    "measured ÷ computed allocated bytes", 0.985, 1.0, 1.02, "",
    "published peaks whose optimizer is stated: nine in ten distinct ones within 1.5 %",
)  # fmt: skip
FRAGMENTATION = _constant(
    "reserved ÷ allocated", 1.0, 1.05, 1.11, "",
    "18 distinct layouts that publish both (SimuMax 4dcaae5: 1.03–1.09, Bridge card: 1.11)",
)  # fmt: skip
CONTEXT_GIB = _constant(
    "CUDA context and modules", 0.5, 0.65, 0.8, "GiB", "engineering range; OOM texts agree"
)
COMMUNICATION_GIB = _constant(
    "NCCL and process groups of a trainer", 2.5, 4.5, 8.0, "GiB",
    "non-torch memory in OOM texts: slime 3.8 and 4.2, GLM-5.2 9.4, verl#5840 9.7 (with DeepEP);"
    " freed by suspending NCCL: verl#6408 7.0 dense, 9.5 MoE; each less the context",
)  # fmt: skip
COMMUNICATION_SMALL_GIB = _constant(
    "the same for a job without TP, PP, CP and EP", 0.5, 1.2, 2.5, "GiB",
    "0.25–0.6 GiB per communicator (aiconfigurator 0.34–0.39): world, DP, embedding",
)  # fmt: skip
DEEPEP_GIB = _constant("DeepEP buffers", 1.0, 1.5, 2.0, "GiB", "engineering range")
SLEEPING_ENGINE_GIB = _constant(
    "a sleeping SGLang engine", 1.5, 3.0, 4.5, "GiB", "slime OOM texts: 3.2 GiB (vLLM: 7.4)"
)
SLEEPING_TRAINER_GIB = _constant(
    "a sleeping trainer, NCCL groups destroyed", 2.0, 3.5, 5.0, "GiB",
    "slime release v0.1.0: 3–5 GB left by Megatron after offload (15–18 with live groups)",
)  # fmt: skip
RL_LOSS_BYTES = _constant(
    "RL logits and loss per token and vocabulary column of the rank", 16, 20, 24, "bytes",
    "4 fp32 logits + 4 clone kept as softmax + 8 entropy (relax/utils/training/ppo_utils.py:287-317"
    " and 772-800); 20–24 while backward pads slices; five public OOM texts stop in this tensor",
)  # fmt: skip
FORWARD_LOGIT_BYTES = _constant(
    "logits of a pass without gradients, per token and vocabulary column", 6, 7, 8, "bytes",
    "2 bf16 + 4 fp32 while both live (megatron/core/transformer/module.py:497-499); 4 + 4 for the"
    " clones of one sample",
)  # fmt: skip
IMBALANCE = _constant(
    "tokens of the fullest expert rank ÷ mean", 1.0, 1.25, 1.5, "",
    "natural routing of a trained model; 1.0 when balance is forced",
)  # fmt: skip
ENGINE_EXTRA_GIB = _constant(
    "SGLang outside its static share: graphs, activations", 3.0, 4.0, 5.5, "GiB",
    "SGLang's own advice to leave 5–8 GB with the context; 3–5 GiB in slime#274",
)  # fmt: skip
ENGINE_EXTRA_EAGER_GIB = _constant(
    "the same without CUDA graphs", 1.5, 2.5, 4.0, "GiB", "engineering range"
)
DEFAULT_MEM_FRACTION = _constant(
    "static fraction that SGLang picks itself", 0.80, 0.87, 0.91, "",
    "SGLang 0.5.12 server_args: card minus chunked prefill, graphs and parallelism reserves",
)  # fmt: skip
HOST_BASE_GIB = _constant(
    "host memory per GPU for processes, engine, Ray, object store", 5, 10, 20, "GiB",
    "THUDM/slime#1851: 999.9 of 1007.5 GB with 820 GB in eight trainers; engineering range",
)  # fmt: skip
HOST_PINNED = _constant(
    "pinned blocks ÷ bytes asked for", 1.0, 1.02, 1.15, "",
    "the caching host allocator rounds up; slime 102–103 GB per actor against 94 GiB computed",
)  # fmt: skip

CONSTANTS: tuple[Constant, ...] = tuple(_TABLE)
