"""The report for a terminal: short blocks as compilers print them, with the script's own line.

Text is built from pieces with a style, never from markup, so nothing a script says can be read as
a style; what is wide in a terminal is counted as wide.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.inert import inert, shortened
from perf_doctor.language import said
from perf_doctor.launch.secrets import REDACTED
from perf_doctor.report.context import context_line
from perf_doctor.report.fixes import all_fixes
from perf_doctor.report.flags import changed_flags
from perf_doctor.report.formats import Report
from perf_doctor.report.markdown import left_out
from perf_doctor.report.plain import plain
from perf_doctor.report.top_action import nothing_to_do, top_action
from perf_doctor.rules.judgement import Cost, Finding, SettingRow
from perf_doctor.rules.severity import WORST_FIRST
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.reader import STDIN_NAME
from perf_doctor.width import breaks, narrow

MAX_FINDINGS: Final = 12
MIN_COLUMNS: Final = 40
"""A terminal is taken to be at least this wide: below it there is no room beside the margins."""
_MAX_LINE_CHARS: Final = 4_000
_NOTHING: Final = FlagChanges({}, ())
_SECTIONS: Final = {"performance": "Performance", "memory": "Memory"}  # messages
_COLOURS: Final = {"critical": "bold red", "warn": "bold yellow", "info": "bold cyan"}
_MARGIN: Final = "  "
_WORD: Final = re.compile(r"[\u3400-\u9fff]{1,3}|[^\W\u3400-\u9fff]+")
"""A word; of Chinese, which has no spaces, about as much."""


def render(report: Report) -> str:
    """Return the reports on all scripts, one behind the other.

    No line is wider than ``report.columns`` but those that are there to be copied whole: flags and
    commands. Without ``report.colour`` there is no escape in it.
    """
    return "\n".join(
        text_report(
            diagnosis, everything=report.everything, columns=report.columns, colour=report.colour
        )
        for diagnosis in report.diagnoses
    )


def text_report(
    diagnosis: Diagnosis, *, everything: bool = False, columns: int = 80, colour: bool = False
) -> str:
    """Return the report on one script; without ``everything`` it has the worst 12 findings."""
    page = _Page(diagnosis, columns, colour=colour)
    page.wrapped((diagnosis.script, "bold"))
    page.wrapped((context_line(diagnosis.plan), "dim"), indent=_MARGIN)
    findings = diagnosis.findings
    limit = len(findings) if everything else MAX_FINDINGS
    for category in _SECTIONS:
        page.blank()
        page.wrapped((said(_SECTIONS[category]), "bold underline"))
        _section(page, findings[:limit], findings[limit:], category)
    page.blank()
    page.wrapped((said("Summary"), "bold underline"))
    _summary(page)
    return page.text


class _Page:
    """The lines of one script's report; what is put on it is redacted and inert."""

    def __init__(self, diagnosis: Diagnosis, columns: int, *, colour: bool) -> None:
        self.diagnosis = diagnosis
        self.columns = max(MIN_COLUMNS, columns)
        self._file = StringIO()
        self._console = Console(
            file=self._file,
            force_terminal=colour,
            force_jupyter=False,
            force_interactive=False,
            color_system="standard" if colour else None,
            no_color=not colour,
            width=self.columns,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return self._file.getvalue()

    def clean(self, text: str) -> str:
        """Return a text as it may be shown: without secrets, on one line, harmless."""
        return plain(self.diagnosis, text)

    def blank(self) -> None:
        """Leave a line empty."""
        self._console.print()

    def whole(self, *pieces: tuple[str, str]) -> None:
        """Print one line as it is, however long."""
        self._print(Text.assemble(*((self.clean(text), style) for text, style in pieces)))

    def wrapped(
        self, *pieces: tuple[str, str], indent: str = "", first: str = "", right: str = ""
    ) -> None:
        """Print pieces as lines behind an indent, the first one's is ``first`` where that is given.

        ``right`` stands at the right end of the last line, or of one of its own.
        """
        text = Text.assemble(*((self.clean(piece), style) for piece, style in pieces))
        room = self.columns - max(len(indent), len(first))
        if narrow(text.plain):
            lines = list(text.wrap(self._console, room, overflow="fold"))
        else:
            lines = list(text.divide(breaks(text.plain, room)))
        for number, line in enumerate(lines):
            line.rstrip()
            shown = Text(indent if number or not first else first) + line
            if right and number == len(lines) - 1:
                self._beside(shown, right)
            else:
                self._print(shown)

    def _beside(self, left: Text, right: str) -> None:
        gap = self.columns - left.cell_len - cell_len(right)
        if gap < 2:
            self._print(left)
            left, gap = Text(), max(0, self.columns - cell_len(right))
        self._print(left + Text(" " * gap) + Text(right, "bold"))

    def cells(self, *pieces: tuple[str, str]) -> None:
        """Print pieces that are clean already as one line, which they fit."""
        self._print(Text.assemble(*pieces))

    def _print(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)


def _section(
    page: _Page, shown: Iterable[Finding], hidden: Iterable[Finding], category: str
) -> None:
    mine = [finding for finding in shown if finding.category == category]
    for number, finding in enumerate(mine):
        if number:
            page.blank()
        _finding(page, finding)
    more = sum(finding.category == category for finding in hidden)
    suppressed = sum(finding.category == category for finding in page.diagnosis.suppressed)
    if not mine and not more:
        page.wrapped((said("None."), ""), indent=_MARGIN)
    if last := left_out(suppressed, more):
        page.wrapped((last, "dim"), indent=_MARGIN)


def _finding(page: _Page, finding: Finding) -> None:
    page.wrapped(
        (finding.severity, _COLOURS[finding.severity]),
        (f" {finding.rule}", "bold"),
        (f" {finding.title}", ""),
        right=said("stops the launch") if finding.blocks_launch else _gain(finding.cost),
    )
    if finding.setting:
        _source(page, finding.setting[0])
    if finding.reason_in_script is not None:
        reason = shortened(page.clean(finding.reason_in_script))
        page.wrapped((said("the script says: {text}", text=reason), "italic"), indent=_MARGIN)
    page.wrapped((finding.cost.text, ""), indent=_MARGIN)
    _fix(page, finding)
    page.wrapped((said("skip if: {text}", text=finding.skip_if), "dim"), indent=_MARGIN)


def _gain(cost: Cost) -> str:
    """Return what the fix does to the step and to the memory, nothing where that is nothing."""
    parts = []
    if cost.step_time_fraction is not None and abs(cost.step_time_fraction) >= 0.005:
        share = f"{-100 * cost.step_time_fraction:+,.0f}"
        parts.append(said("step {share} %", share=share))
    if cost.memory_gib is not None and abs(cost.memory_gib) >= 0.05:
        parts.append(said("memory {gib} GiB", gib=f"{-cost.memory_gib:+,.1f}"))
    return ", ".join(parts)


def _fix(page: _Page, finding: Finding) -> None:
    """Print the flags on a line that can be copied, and the sentence where it says more."""
    flags, text = changed_flags(finding.fix.changes), finding.fix.text
    first = f"{_MARGIN}{said('fix: ')}"
    indent = " " * cell_len(first)
    if not flags:
        page.wrapped((text, ""), indent=indent, first=first)
        return
    page.whole((first, ""), (flags, "green"))
    if len(_WORD.findall(text.replace(f"`{flags}`", ""))) > 1:  # more than "Pass `--flag`."
        page.wrapped((text, ""), indent=indent)


def _source(page: _Page, row: SettingRow) -> None:
    """Print the script's line with its number and a mark below the flag, as far as it is known."""
    parts = _parts(page.diagnosis, row)
    if parts is None:
        return
    number = str(row.line)
    bar = f"{' ' * (len(number) + 1)}|"
    where = _last_cells(
        page.clean(f"{row.file}:{row.line}:{row.column}"), page.columns - len(bar) - 4
    )
    before, flag, after = _window(*parts, page.columns - len(bar) - 3)
    page.cells((f"{bar[:-1]}--> ", "blue"), (where, "dim"))
    page.cells((f"{number} | ", "blue"), (f"{before}{flag}{after}", ""))
    if flag:
        page.cells((f"{bar} ", "blue"), (f"{' ' * cell_len(before)}{'^' * cell_len(flag)}", "bold"))


def _parts(diagnosis: Diagnosis, row: SettingRow) -> tuple[str, str, str] | None:
    """Return the line before the flag, the flag and what follows, None where there is no line.

    A flag that is not found where it should be, after secrets are masked, is empty.
    """
    lines = diagnosis.texts.get(row.file, "").split("\n")
    if not 1 <= row.line <= len(lines) or not lines[row.line - 1].strip():
        return None
    line = lines[row.line - 1].rstrip()
    masked = _masked(diagnosis, row, line)
    before = _masked(diagnosis, row, line[: row.column - 1])
    if not masked.startswith(before):  # a secret that the flag is a part of
        return "", "", _shown(masked)
    start = len(before)
    word = row.flag if masked.startswith(row.flag, start) else _first_word(masked[start:])
    end = start + len(word)
    return _shown(masked[:start]), _shown(word), _shown(masked[end:])


def _first_word(text: str) -> str:
    """Return what stands there instead of the flag: a variable that holds it, a quoted word."""
    return text.split(maxsplit=1)[0] if text.strip() and not text[0].isspace() else ""


def _masked(diagnosis: Diagnosis, row: SettingRow, line: str) -> str:
    """Return the line without secrets, among them the words that are some by the flag before."""
    argv = diagnosis.trainer.argv
    told = diagnosis.redactor.redact_words(word.text for word in argv)
    for word, shown in zip(argv, told, strict=True):
        pieces = word.text.split("\n")
        lines = range(word.place.line, word.place.line + len(pieces))
        if shown == REDACTED and word.place.file == row.file and row.line in lines:
            for piece in filter(None, pieces):
                line = re.sub(rf"(?<!\w){re.escape(piece)}(?!\w)", lambda _: REDACTED, line)
    return diagnosis.redactor.redact(line)


def _shown(text: str) -> str:
    return inert(text.replace("\t", "    "))


def _window(before: str, flag: str, after: str, room: int) -> tuple[str, str, str]:
    """Return the three parts, shortened around the flag to so many cells."""
    flag = _first_cells(flag, room)
    left = room - cell_len(flag)
    kept = max(left // 3, left - cell_len(after))
    before = _last_cells(before, min(left, kept))
    return before, flag, _first_cells(after, left - cell_len(before))


def _first_cells(text: str, room: int) -> str:
    """Return the beginning of a text in at most so many cells."""
    if len(text) <= _MAX_LINE_CHARS and cell_len(text) <= room:
        return text
    text = text[:room]
    while text and cell_len(text) > room - 1:
        text = text[:-1]
    return f"{text}…" if room > 0 else ""


def _last_cells(text: str, room: int) -> str:
    """Return the end of a text in at most so many cells."""
    return _first_cells(text[::-1], room)[::-1]


def _summary(page: _Page) -> None:
    diagnosis = page.diagnosis
    page.wrapped(*_counts(diagnosis), indent=_MARGIN)
    action = top_action(diagnosis)
    first = f"{_MARGIN}{said('top action: ')}"
    if action is None:
        page.wrapped((nothing_to_do(), ""), indent=_MARGIN, first=first)
    elif action.flags:
        page.whole((first, ""), (action.flags, "green"), (f" ({action.rule})", ""))
    else:
        page.wrapped((str(action), ""), indent=" " * cell_len(first), first=first)
    _all_fixes(page)
    _next(page)


def _counts(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    for severity in WORST_FIRST:
        number = diagnosis.count(severity)
        if severity != WORST_FIRST[0]:
            yield " · ", ""
        yield f"{severity}: {number}", _COLOURS[severity] if number else "dim"


def _all_fixes(page: _Page) -> None:
    """Print the flags of all fixes, one a line as they stand in a script, and what they give."""
    effect = all_fixes(page.diagnosis)
    if effect is None:
        return
    page.blank()
    page.wrapped((said("All fixes together"), "bold underline"))
    for flag, value in effect.changes.set.items():
        page.whole((f"    {changed_flags(FlagChanges({flag: value}, ()))}", "green"))
    if effect.changes.unset:
        page.whole((f"    {changed_flags(FlagChanges({}, effect.changes.unset))}", "green"))
    if told := str(effect):
        page.wrapped((told, ""), indent=_MARGIN)


def _next(page: _Page) -> None:
    """Print the commands that go on from here: on one line where they fit, never broken."""
    diagnosis = page.diagnosis
    script = "-" if diagnosis.script == STDIN_NAME else shlex.quote(diagnosis.script)
    commands = [f"perf-doctor {script} -o report.html"]
    findings = diagnosis.findings
    if any(finding.fix.changes != _NOTHING for finding in findings):
        commands.insert(0, f"perf-doctor {script} --diff")
    if findings:
        commands.insert(0, f"perf-doctor explain {findings[0].rule} {script}")
    page.blank()
    first = said("next: ")
    line = f"{first}{' · '.join(commands)}"
    if cell_len(page.clean(line)) <= page.columns:
        page.whole((line, "dim"))
        return
    for number, command in enumerate(commands):
        page.whole((" " * cell_len(first) if number else first, "dim"), (command, ""))
