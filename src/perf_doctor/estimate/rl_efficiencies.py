"""What a step of RL does beside training and decoding: rollouts, switching, lengths, modes.

With source and range, as in ``efficiencies``.
"""

from __future__ import annotations

from perf_doctor.estimate.constants import Constant, Table

_TABLE = Table()
_constant = _TABLE.constant


# ---------------------------------------------------------------- rollouts

PREFIX_HIT = _constant(
    "prompt tokens of a group that are found in the cache", 0.4, 0.64, 0.9, "",
    "Relax task 21: 0.638 at n = 8 (ideal 0.875)",
)  # fmt: skip
ROLLOUT_OVERHEAD = _constant(
    "rollout ÷ decode and prefill", 0.9, 1.15, 1.75, "",
    "log-probs, router, reward, uneven engines: verl on H100 0.8–1.3 of 27 rollouts, median 1.0;"
    " NeMo RL's steps 1.0–1.4; Relax with images 1.6 (#152)",
)  # fmt: skip
OCCUPIED = _constant(
    "requests at work between two weight updates ÷ those started", 0.5, 0.75, 1.0, "",
    "asynchronous: an update puts off what is not done, and the next rollout fills up beside it"
    " (relax/engine/rollout/sglang_rollout.py:740-823); engineering range",
)  # fmt: skip

# ---------------------------------------------------------------- switching and weights

HOST_COPY_GB_S = _constant(
    "offload over PCIe per GPU", 10, 20, 45, "GB/s", "slime, Relax #230: 20–50 on PCIe 5, half on 4"
)
GROUP_DELAY_S = _constant(
    "fixed delay of destroying process groups", 2.0, 2.0, 2.0, "s",
    "relax/utils/reloadable_process_group.py:154-179, twice per step",
)  # fmt: skip
GROUP_REBUILD_S = _constant(
    "rebuilding all process groups", 0.2, 0.5, 2.0, "s",
    "Relax #230: groups kept alive save 4.8 s (4B) and 5.4 s (30B), of which 4.0 are delays",
)  # fmt: skip
ENGINE_SWITCH_S = _constant(
    "engine sleeps and wakes", 0.8, 2.0, 3.5, "s", "0.3–1 s to release, 0.5–1.5 s to map, graphs"
)
SYNC_FIXED_S = _constant(
    "fixed part of a weight update in colocate", 0.5, 1.5, 3.0, "s",
    "pause, flush, chunks: Relax 4B 2.2 s with groups kept alive, verl 7B 2.2–3.2",
)  # fmt: skip
SYNC_IPC_GB_S = _constant(
    "weights over CUDA IPC", 5, 12, 20, "GB/s",
    "slime 30B 7 s, GLM-355B 48 s; verl 30B 12 s, 7B 2.2–3.2 with TP 4 and 4–8.7 with TP 2",
)  # fmt: skip
SYNC_NETWORK_FIXED_S = _constant(
    "fixed part of a weight update between GPUs", 0.3, 1.5, 2.5, "s",
    "pause, flush, HTTP; Relax 0.6B in hybrid 0.69 s in all",
)  # fmt: skip
SYNC_NETWORK_GB_S = _constant(
    "weights over NCCL or DCS", 2, 5, 12, "GB/s",
    "verl: 7B 5.5–6.0 s, 30B 7 and 15.8, 32B 14–18, 235B 59 and 250 (1.9 GB/s); Relax VL-8B over"
    " PCIe 8.9",
)  # fmt: skip
POLL_S = _constant("waiting for a poll of one second", 0.2, 0.5, 1.0, "s", "components/rollout.py")

# ---------------------------------------------------------------- lengths

MEAN_SHARE = _constant(
    "mean response ÷ cap", 0.08, 0.33, 0.80, "",
    "14 published setups 0.06–0.88, median 0.33: verl on MATH 0.06 and DAPO-Math 0.12–0.16, NeMo RL"
    " 0.25–0.78, Relax 0.15–0.88; override with the real mean",
)  # fmt: skip
SIGMA = _constant(
    "spread of response lengths (log-normal)", 0.6, 0.8, 1.0, "",
    "task 21: mean ÷ median 1.40 → 0.82; #152: longest ÷ mean 6.6 of 512 → 0.7",
)  # fmt: skip
PROMPT_TOKENS = _constant(
    "prompt", 100, 200, 1024, "tokens",
    "DAPO-Math 159 (five runs), OpenMathInstruct 103–127 (NeMo RL), with images 386 (task 21)",
)  # fmt: skip
SAMPLE_SHARE = _constant(
    "mean sample of fine-tuning ÷ token budget", 0.05, 0.25, 0.80, "",
    "no published distribution: packing exists because samples are far shorter than the budget",
)  # fmt: skip
DROPPED = _constant(
    "groups that a dynamic filter drops", 0.0, 0.3, 0.5, "",
    "not known before the run: rollout-formulas 3 shows 0, 0.3 and 0.5",
)  # fmt: skip
EVAL_PROMPTS = _constant(
    "prompts of one evaluation set", 30, 100, 500, "", "AIME 30, GPQA 198, MATH-500 500"
)

# ---------------------------------------------------------------- modes

SAVE_GB_S = _constant("checkpoint writing per node", 1, 2, 5, "GB/s", "shared file systems, NVMe")
STREAMED = _constant(
    "of what could overlap on policy, share that does", 0.1, 0.4, 0.9, "",
    "groups end late: Relax 201.0 s against 225.9 s, of which some 10 s are switching",
)  # fmt: skip
CARRIED = _constant(
    "of a rollout's longest answers, share that goes on beside the next one", 0.0, 0.5, 1.0, "",
    "with staleness; Relax's 1.76 and 2.00 lie between none (1.1–1.2) and all (1.2–4)",
)  # fmt: skip
ROLLOUT_VARIATION = _constant(
    "deviation ÷ mean of a rollout's seconds, step by step", 0.05, 0.15, 0.3, "",
    "relax-pipeline 3: the value to use when nothing is known",
)  # fmt: skip

RL: tuple[Constant, ...] = tuple(_TABLE)
