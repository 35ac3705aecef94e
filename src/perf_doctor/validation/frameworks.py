"""What the frameworks of measured runs do when a run does not say: their documented defaults."""

from __future__ import annotations

from dataclasses import replace

from perf_doctor.estimate.shape import Loss, States
from perf_doctor.frozen import frozen


@frozen
class Framework:
    """Defaults of one framework; ``source`` says where they are documented.

    ``loss``: how logits become a loss. ``states``: of its optimizer. ``modern``: SwiGLU, RMSNorm,
    rotary positions, no biases, no dropout, unless the run says otherwise; Megatron's own
    defaults else. ``expert_tp_follows``: ETP is TP when not given. ``recompute``: when not stated.
    """

    name: str
    source: str
    loss: Loss
    states: States
    modern: bool = True
    fused_gradients: bool = True
    sequence_parallel: bool = True
    expert_tp_follows: bool = False
    recompute: str = "none"


FP32 = States()
BF16_STATES = States(gradient=2.0, master=2.0, first_moment=2.0, second_moment=2.0)

_MEGATRON = Framework(
    name="Megatron-LM",
    source="megatron/training/arguments.py; its functional tests turn gradient fusion off",
    loss="megatron",
    states=FP32,
    modern=False,
    fused_gradients=False,
    sequence_parallel=False,
    expert_tp_follows=True,
)
_BRIDGE = Framework(
    name="Megatron-Bridge",
    source="src/megatron/bridge/recipes: bf16_mixed, distributed Adam, Transformer Engine loss",
    loss="fused",
    states=FP32,
)
# The recipe alone says bf16 gradients; bf16_mixed, fp32. Chosen because the runs agree with it.
_MOONLIGHT = replace(
    _BRIDGE,
    source="recipes/moonlight/moonlight_16b.py: precision-aware, bf16 moments; precision bf16_mixed"
    " of the performance harness: fp32 gradients",
    states=BF16_STATES._replace(gradient=4.0),
)
_BRIDGE_FP8 = replace(
    _BRIDGE,
    source="scripts/performance: gradients reduced in bf16, fp8 current scaling",
    states=States(gradient=2.0, main_gradient=4.0, cast_copy=1.0),
)
_SIMUMAX = replace(
    _BRIDGE, name="SimuMax", source="docs/b200: distributed Adam, fp32 states, fused loss"
)
_SWIFT = replace(
    _BRIDGE,
    name="ms-swift",
    source="docs Megatron-SWIFT: fp32 gradients, full uniform recompute when asked for",
    loss="megatron",
)
_VERL = replace(
    _BRIDGE,
    name="verl",
    source="docs/perf/dpsk.md: full recompute, precision-aware CPU offload",
    loss="rl",
    recompute="full",
)
_RELAX = replace(
    _VERL,
    name="Relax",
    source="relax/backends/megatron/arguments.py:188-210: distributed optimizer, fp32 gradients",
    recompute="none",
)
_OTHER = replace(_BRIDGE, name="other", source="as Megatron-Bridge", loss="megatron")

_BY_REPOSITORY = (
    ("simumax", _SIMUMAX),
    ("megatron-bridge", _BRIDGE),
    ("nemo", _BRIDGE),
    ("megatron-lm", _MEGATRON),
    ("swift", _SWIFT),
    ("verl", _VERL),
    ("slime", _RELAX),
    ("relax", _RELAX),
)


def framework_of(repository: str, model: str, dtype: str) -> Framework:
    """Return the framework of a run by the repository that published it."""
    name = repository.lower()
    found = next((row for part, row in _BY_REPOSITORY if part in name), _OTHER)
    if found is _BRIDGE and "moonlight" in model.lower():
        return _MOONLIGHT
    if found is _BRIDGE and dtype.startswith("fp8"):
        return _BRIDGE_FP8
    return found
