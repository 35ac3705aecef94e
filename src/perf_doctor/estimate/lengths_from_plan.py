"""How long samples are: what the plan limits, what somebody knows, and what is assumed."""

from __future__ import annotations

from typing import Final

from perf_doctor.estimate.interval import Interval
from perf_doctor.estimate.lengths import Lengths
from perf_doctor.estimate.rl_efficiencies import MEAN_SHARE, PROMPT_TOKENS, SAMPLE_SHARE, SIGMA
from perf_doctor.estimate.time_job import Given
from perf_doctor.language import said
from perf_doctor.plan.plan import Plan

_MEANS: Final = {
    "sample": "Mean sample {tokens} tokens ({low}–{high}) of at most {cap} assumed:"
    " --mean-response-len.",
    "response": "Mean response {tokens} tokens ({low}–{high}) of at most {cap} assumed:"
    " --mean-response-len.",
}  # messages

Spread = tuple[Lengths, Lengths, Lengths]


def lengths_of(plan: Plan, given: Given) -> tuple[Spread, tuple[str, ...]] | str:
    """Return lengths low, expected and high, and what was assumed; else why there are none."""
    sft = plan.task == "sft"
    cap = sample_cap(plan, given) if sft else plan.lengths.response or plan.lengths.context
    if cap is None:
        return said("no length limits a sample") if sft else said("no length limits a response")
    told: list[str] = []
    prompt = 0.0 if sft else _prompt(plan, given, told)
    means = _means(given, cap, SAMPLE_SHARE if sft else MEAN_SHARE, told, sft=sft)
    low, expected, high = (
        Lengths(prompt, mean, sigma, float(cap))
        for mean, sigma in zip(means, _sigmas(given, told), strict=True)
    )
    return (low, expected, high), tuple(told)


def sample_cap(plan: Plan, given: Given) -> int | None:
    """Return tokens that a sample of fine-tuning can have: what the budget holds, or seq-length."""
    if given.sample_cap is not None:
        return given.sample_cap
    return plan.batch.token_budget or plan.lengths.seq_length


def _prompt(plan: Plan, given: Given, told: list[str]) -> float:
    if given.prompt is not None:
        return given.prompt
    usual = PROMPT_TOKENS.expected
    prompt = min(usual, float(plan.lengths.prompt or usual))
    told.append(said("Prompts of {tokens} tokens assumed: --prompt-len.", tokens=f"{prompt:,.0f}"))
    return prompt


def _sigmas(given: Given, told: list[str]) -> tuple[float, float, float]:
    """Return the spread that goes with each mean: the longer answers are, the more they differ."""
    if given.response_sigma is not None:
        return (given.response_sigma,) * 3
    told.append(
        said(
            "Spread of lengths {sigma} ({low}–{high}, log-normal) assumed: --response-len-sigma.",
            sigma=SIGMA.expected, low=SIGMA.low, high=SIGMA.high,
        )
    )  # fmt: skip
    return SIGMA.low, SIGMA.expected, SIGMA.high


def _means(
    given: Given, cap: int, share: Interval, told: list[str], *, sft: bool
) -> tuple[float, float, float]:
    if given.mean_response is not None:
        mean = min(given.mean_response, float(cap))
        return mean, mean, mean
    low, expected, high = share.low * cap, share.expected * cap, share.high * cap
    told.append(
        said(
            _MEANS["sample" if sft else "response"],
            tokens=f"{expected:,.0f}", low=f"{low:,.0f}", high=f"{high:,.0f}", cap=f"{cap:,}",
        )
    )  # fmt: skip
    return low, expected, high
