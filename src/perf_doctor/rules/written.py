"""Facts about the words of the script, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from perf_doctor.language import said
from perf_doctor.launch.settings import Setting, UnknownFlag
from perf_doctor.plan.problems import Problem
from perf_doctor.rules.functions import Value
from perf_doctor.rules.job import Getter, Job
from perf_doctor.rules.judgement import SettingRow
from perf_doctor.rules.quote import Prose, as_code, quoted
from perf_doctor.shell.model import Unknown, Word

Rows = Callable[[Job], tuple[SettingRow, ...]]


def _row(words: tuple[Word, ...], flag: str, value: object) -> SettingRow:
    place = words[0].place
    return SettingRow(flag, value, place.file, place.line, words[0].group, place.column)


def setting_row(setting: Setting) -> SettingRow:
    """Return the row of a setting; a switch shows True, another option its text or number."""
    value = setting.text if isinstance(setting.value, Unknown) else setting.value
    return _row(setting.words, setting.flag, value)


def unknown_flags(kind: str) -> Getter:
    """Return a getter of the unknown flags of one kind: misspelt or dead."""
    return lambda job: tuple(
        flag.flag for flag in job.settings.unknown_flags if _kind(flag) == kind
    )


def _kind(flag: UnknownFlag) -> str:
    return "misspelt" if flag.nearest and not flag.ignored else "dead"


def unknown_rows(kind: str) -> Rows:
    """Return a getter of their rows, with the words that are dropped with them."""
    return lambda job: tuple(
        _row((flag.word, *flag.words), flag.flag, " ".join(w.text for w in flag.words) or True)
        for flag in job.settings.unknown_flags
        if _kind(flag) == kind
    )


def corrections(job: Job) -> Value:
    """Return what each misspelt flag was probably meant to be."""
    return tuple(
        Prose(f"{as_code(flag.flag)} → `{flag.nearest}`")
        for flag in job.settings.unknown_flags
        if _kind(flag) == "misspelt"
    )


def newer_flags(job: Job) -> Value:
    """Return the flags that only later versions of Relax know."""
    return tuple(dict.fromkeys(s.flag for s in job.settings if s.option.newer))


def word_rows(words: Callable[[Job], Iterable[Word]]) -> Rows:
    """Return a getter of the rows of single words."""
    return lambda job: tuple(_row((word,), word.text, True) for word in words(job))


def _lost(kind: str) -> Callable[[Job], list[tuple[Setting, Setting]]]:
    """Return a getter of the (loser, winner) pairs of one kind.

    A model file that the script overrides is how the files are meant to be used, and neither.
    """

    def get(job: Job) -> list[tuple[Setting, Setting]]:
        found = []
        for loser, winner in job.overridden():
            same_file = loser.place.file == winner.place.file
            by_sourced = not same_file and loser.place.file == job.plan.script
            if (kind == "twice" and same_file) or (kind == "lost" and by_sourced):
                found.append((loser, winner))
        return found

    return get


def pairs(kind: str) -> Getter:
    """Return a getter of the pairs of one kind, each as a text."""
    return lambda job: tuple(
        Prose(
            said(
                "`{flag}` {lost} (line {line}), then {won} ({place})",
                flag=loser.flag, lost=_given(loser), line=loser.place.line, won=_given(winner),
                place=_where(winner),
            )
        )
        for loser, winner in _lost(kind)(job)
    )  # fmt: skip


def _given(setting: Setting) -> str:
    return quoted(setting.text) if setting.text else said("on")


def _where(setting: Setting) -> str:
    file = setting.place.file.rpartition("/")[2]
    return f"{quoted(file)}:{setting.place.line}"


def pair_rows(kind: str) -> Rows:
    """Return a getter of the rows of losers and winners."""
    return lambda job: tuple(setting_row(s) for pair in _lost(kind)(job) for s in pair)


def false_words(job: Job) -> Value:
    """Options of argparse's ``type=bool`` whose word reads false: every word is true there."""
    return tuple(
        Prose(as_code(f"{s.flag} {s.text}"))
        for s in job.settings
        if s.option.kind == "bool" and s.text.lower() in ("false", "0", "no", "off")
    )


def refused(job: Job) -> Value:
    """Return what the parser refuses, in argparse's words."""
    return tuple(problem.text for problem in job.settings.problems)


def refused_options(job: Job) -> Value:
    """Return the options whose words the parser refuses."""
    return tuple(p.words[0].text.partition("=")[0] for p in job.settings.problems)


def refused_rows(job: Job) -> tuple[SettingRow, ...]:
    """Return the rows of what the parser refuses."""
    return tuple(
        _row(p.words, p.words[0].text, " ".join(w.text for w in p.words[1:]) or True)
        for p in job.settings.problems
    )


def impossible(job: Job) -> Value:
    """Return what the plan could make nothing of, one text each."""
    return tuple(problem.text for problem in _problems(job))


def impossible_rows(job: Job) -> tuple[SettingRow, ...]:
    """Return the rows of the settings of which nothing can be made."""
    return tuple(setting_row(p.setting) for p in _problems(job) if p.setting is not None)


def _problems(job: Job) -> list[Problem]:
    """Problems of single values; ``--resource`` has facts of its own."""
    return [
        problem
        for problem in job.plan.problems
        if problem.setting is not None and problem.setting.option.flag != "--resource"
    ]


def newer_rows(job: Job) -> tuple[SettingRow, ...]:
    """Return the rows of the flags that only later versions of Relax know."""
    return tuple(setting_row(setting) for setting in job.settings if setting.option.newer)


def array_rows(job: Job) -> tuple[SettingRow, ...]:
    """Return where each array of flags that is never passed is set."""
    return tuple(
        SettingRow(name, None, place.file, place.line, name, place.column)
        for name, place in job.unpassed.items()
    )


def variable(name: str) -> Getter:
    """Return a getter of an environment variable that the script sets; else None."""

    def get(job: Job) -> Value:
        text = job.environment.get(name)
        if text and "${" in text:
            return Unknown(name, said("the script takes it from elsewhere"))
        return text

    return get
