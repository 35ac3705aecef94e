"""``perf-doctor what-if`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perf_doctor.explore.pair import stopped_by
from perf_doctor.explore.what_if import Changed, WhatIf
from perf_doctor.explore.written import Written
from perf_doctor.inert import inert, shortened
from perf_doctor.language import said
from perf_doctor.report.context import context_line
from perf_doctor.report.document import as_json, head_object, masked
from perf_doctor.report.explored import (
    changes_object,
    estimate_object,
    findings_object,
    gain_object,
)
from perf_doctor.report.side_by_side import Titles, side_by_side
from perf_doctor.report.verdicts import MAX_COLUMNS, found_lines
from perf_doctor.width import fitted, left, width

_WIDTH: Final = 60
_ON: Final = {True: "on", False: "off"}  # messages


def what_if_report(tried: WhatIf) -> str:
    """Return the changes, the two jobs side by side, and the findings that come and go."""
    lines = [inert(tried.script.script), context_line(tried.pair.before.plan), ""]
    lines += _changes(tried)
    lines.append("")
    if tried.changes_anything:
        after = context_line(tried.pair.after.plan)
        lines[2:2] = [f"→ {after}"] if after != lines[1] else []
        lines += side_by_side(tried.pair, Titles(said("before"), said("after")))
        found = found_lines(tried.pair, said("appears"), said("vanishes"))
        lines += ["", *found] if found else []
    else:
        lines.append(said("no effective change: the launch is the same"))
    text = "\n".join(lines)
    return tried.script.redactor.redact(tried.asked.redactor.redact(text)) + "\n"


def _changes(tried: WhatIf) -> Iterator[str]:
    """Yield a line for each option that was asked about: as it would stand, and as it stands."""
    rows: list[tuple[str, str, Changed | None]] = [
        (_verb(option), _asked(option, tried), option) for option in tried.options
    ]
    rows += [(said("remove"), flag, None) for flag in tried.removed_unknown]
    cells = min(_WIDTH, max(width(text) for _, text, _ in rows))
    room = MAX_COLUMNS - cells - len("remove    was ")
    for verb, text, option in rows:
        was = said("no parser knows it") if option is None else _was(option, tried, room)
        yield f"{left(verb, 8)}{left(fitted(text, cells), cells)}  {was}"


def _verb(option: Changed) -> str:
    return said("remove") if option.after.setting is None else said("set")


def _asked(option: Changed, tried: WhatIf) -> str:
    if option.after.setting is None:
        return option.flag
    words = tried.asked.redactor.redact_words(word.text for word in option.after.setting.words)
    return inert(" ".join(words))


def _was(option: Changed, tried: WhatIf, room: int) -> str:
    before, after = option.before, option.after
    if before.setting is None:
        return said("is not set") if after.setting is None else said("was not set")
    if not option.differs:
        if after.setting:
            return said("is so already")
        return said("was {value}, the default", value=value_of(before))
    words = tried.script.redactor.redact_words(word.text for word in before.setting.words)
    was = inert(" ".join(words[1:]) or value_of(before))
    return said("was {value}", value=shortened(was, room))


def value_of(written: Written) -> str:
    """Return the value of an option as a table shows it."""
    setting = written.setting
    if written.on is not None:
        on = said(_ON[written.on is True])
        if setting is not None:
            return on
        return _default(on) if written.on else said("not set")
    if setting is None:
        return said("not set") if written.stored is None else _default(written.stored)
    return setting.text


def _default(value: object) -> str:
    return said("{value} (default)", value=value)


def what_if_json(tried: WhatIf) -> str:
    """Return the same as JSON: both estimates as reports have them, and what is found."""
    body = {
        "script": tried.script.script,
        **changes_object(tried.asked.changes, tried.asked.redactor),
        "effective": tried.changes_anything,
        "before": estimate_object(tried.pair, "before"),
        "after": estimate_object(tried.pair, "after"),
        "gain": gain_object(tried.pair),
        "findings": findings_object(tried.pair, "appeared", "vanished"),
        "stopped_by": {
            "before": list(stopped_by(tried.pair.findings_before)),
            "after": list(stopped_by(tried.pair.findings_after)),
        },
    }
    hidden = masked(masked(body, tried.asked.redactor), tried.script.redactor)
    assert isinstance(hidden, dict)
    return as_json({**head_object(), **hidden})
