"""``perf-doctor gpus``: the cards that ``--gpu`` knows."""

from __future__ import annotations

from perf_doctor.cli.arguments import Parser
from perf_doctor.cli.output import say
from perf_doctor.plan.gpu import known_gpus


def run(words: list[str]) -> int:
    """Print one line for each card."""
    make_parser().parse_args(words)
    for gpu in known_gpus():
        usable = "?" if gpu.usable_gib is None else f"{gpu.usable_gib:.1f}"
        tflops = "?" if gpu.bf16_tflops is None else f"{gpu.bf16_tflops:.0f}"
        say(f"{gpu.label:<18} {usable:>6} GiB usable  {tflops:>5} bf16 TFLOPS  {gpu.vendor}")
    return 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    return Parser("perf-doctor gpus", "List the GPUs that --gpu knows.")
