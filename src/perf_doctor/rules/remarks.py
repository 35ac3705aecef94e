"""What is said to a finding from outside its rule: by the script, and by known-good jobs.

A comment of the script is data: a reason lowers a finding to info and is quoted, but never one that
keeps the job from starting; a directive takes one finding out of the report and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from perf_doctor.language import said
from perf_doctor.launch.comments import Directive, Reason, directive, reason_for
from perf_doctor.plan.plan import Plan
from perf_doctor.rules.judgement import Finding, Judgement
from perf_doctor.shell.files import read_text
from perf_doctor.shell.limits import ScriptError
from perf_doctor.shell.model import Comment, Note, Word
from perf_doctor.wording import sentences

if TYPE_CHECKING:
    from perf_doctor.rules.baselines import Baseline


class Remarks:
    """The comments of a launch, found by the place of the words they stand beside.

    ``comments`` are all comments of the script and of what it sources.
    """

    def __init__(self, words: Iterable[Word], comments: Iterable[Comment]) -> None:
        self._words: dict[tuple[str, int], list[Word]] = {}
        for word in words:
            self._words.setdefault((word.place.file, word.place.line), []).append(word)
        self._directives = [found for comment in comments if (found := directive(comment))]
        self._used: set[int] = set()

    def heed(self, judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
        """Return the judgements with what the comments say to them."""
        return tuple(self._heed(judgement) for judgement in judgements)

    def notes(self) -> tuple[Note, ...]:
        """Return a note for every directive that suppressed nothing; to be asked after ``heed``."""
        return tuple(
            Note(_useless(found), found.comment.place)
            for index, found in enumerate(self._directives)
            if index not in self._used
        )

    def _heed(self, judgement: Judgement) -> Judgement:
        finding = judgement.finding
        if finding is None:
            return judgement
        words = [
            word for row in finding.setting for word in self._words.get((row.file, row.line), ())
        ]
        if (order := self._order(finding, words)) is not None:
            place = f"{order.comment.place.file}:{order.comment.place.line}"
            why = said("suppressed at {place}: {reason}", place=place, reason=order.reason)
            return Judgement(judgement.rule, "suppressed", lambda: why, finding)
        reason = reason_for(words)
        return judgement if reason is None else _lowered(judgement, finding, reason)

    def _order(self, finding: Finding, words: Sequence[Word]) -> Directive | None:
        """Return the directive against a finding: beside its flags, or anywhere if it has none."""
        beside = {comment for word in words for comment in word.comments}
        for index, found in enumerate(self._directives):
            meant = finding.rule in found.rules and found.reason
            if meant and (found.comment in beside or not words):
                self._used.add(index)
                return found
        return None


def _useless(found: Directive) -> str:
    rules = ", ".join(found.rules) or said("no rule")
    if not found.reason:
        return said("perf-doctor: ignore[{rules}] gives no reason and is not followed", rules=rules)
    return said("perf-doctor: ignore[{rules}] suppresses nothing here", rules=rules)


def _lowered(judgement: Judgement, finding: Finding, reason: Reason) -> Judgement:
    """Return the judgement as info, the reason quoted; a job that cannot start is not excused."""
    quote = said("“{reason}” (line {line})", reason=reason.text, line=reason.comment.place.line)
    if finding.blocks_launch or finding.severity == "info":
        return replace(judgement, finding=replace(finding, reason_in_script=quote))
    lowered = replace(finding, severity="info", verdict="borderline", reason_in_script=quote)
    return replace(judgement, verdict="borderline", finding=lowered)


def baselines_of(files: Sequence[str]) -> tuple[Baseline, ...]:
    """Return the known-good configurations of these pages.

    Raises ``CatalogError`` for a broken page, ``ScriptError`` for one that cannot be read.
    """
    if not files:
        return ()
    from perf_doctor.rules.baselines import load_baselines  # noqa: PLC0415

    return load_baselines([(_page(file), file) for file in files])


def _page(file: str) -> str:
    try:
        return read_text(file)
    except ScriptError as error:
        raise ScriptError(said("baseline file {file} {reason}", file=file, reason=error)) from None


def compared(
    judgements: Sequence[Judgement], plan: Plan, more: Sequence[Baseline] = ()
) -> tuple[Judgement, ...]:
    """Return the judgements with what a known-good configuration does otherwise in their Cost.

    ``more`` are configurations beside the built-in ones. One is quoted where a finding concerns the
    setting, and never makes a finding of its own.
    """
    if plan.model.name is None or not any(judgement.finding for judgement in judgements):
        return tuple(judgements)
    # a job without findings need not pay for the page of baselines
    from perf_doctor.rules.baselines import built_in_baselines  # noqa: PLC0415
    from perf_doctor.rules.deviations import deviations, quotes  # noqa: PLC0415

    found = deviations((*more, *built_in_baselines(plan.model.name)), plan)
    if not found:
        return tuple(judgements)
    return tuple(
        _quoting(judgement, lambda flags: quotes(found, flags)) for judgement in judgements
    )


def _quoting(judgement: Judgement, quotes: Callable[[Sequence[str]], str]) -> Judgement:
    finding = judgement.finding
    if finding is None:
        return judgement
    changes = finding.fix.changes
    told = quotes([*(row.flag for row in finding.setting), *changes.set, *changes.unset])
    if not told:
        return judgement
    cost = replace(finding.cost, text=sentences((finding.cost.text, told)))
    return replace(judgement, finding=replace(finding, cost=cost))
