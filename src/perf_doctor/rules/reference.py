"""The catalog as people look things up in it: lists, one rule, the words a rule may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from perf_doctor.estimate.shown import listed
from perf_doctor.language import said
from perf_doctor.rules.check import Type
from perf_doctor.rules.facts import TABLE
from perf_doctor.rules.functions import FUNCTIONS, Function
from perf_doctor.rules.model import Rule
from perf_doctor.rules.position import nearest_name
from perf_doctor.shell.limits import ScriptError

SERIES: Final = {
    "C": "Will it start, and does each flag do anything?",
    "M": "GPU and host memory",
    "P": "Step time",
    "S": "Rollout engines and their weights",
}  # messages

_TEMPLATE: Final = """\
### {id} — What is wrong, in a few words

- **Category:** {category}
- **Severity:** info
- **Trigger:** When this rule is about a job, in words.
- **Check:** `mode == "colocate" and value("--max-staleness") > 0`
- **Cost:** What it costs this job, with its values: staleness {{value("--max-staleness")}}.
- **Why:** The mechanism, specific to Relax.
- **Fix:** What to do; flags to copy go into Patch.
- **Patch:** `set --max-staleness 0`
- **Skip when:** When today's setting is right after all.
- **Source:** relax/path/to/file.py:123
- **Examples:**
  - fires: `dense --max-staleness 1`
  - quiet: `dense`
"""


def list_lines(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield the rules, grouped by series; one that nobody can decide for a reader is marked."""
    series = ""
    for rule in sorted(rules, key=_order):
        if rule.id[2] != series:
            series = rule.id[2]
            heading = said(SERIES[series]) if series in SERIES else said("Others")
            yield f"{'' if series == 'C' else chr(10)}{series} — {heading}"
        severity = "→".join(dict.fromkeys(rule.severity))
        marks = [severity]
        if rule.blocks_launch:
            marks.append(said("blocks the launch"))
        if not rule.cases:
            marks.append(said("needs judgement"))
        line = said("{title} ({marks})", title=rule.title, marks=listed(marks))
        yield f"  {rule.id:<6} {line}"


def _order(rule: Rule) -> tuple[int, str]:
    return list(SERIES).index(rule.id[2]) if rule.id[2] in SERIES else len(SERIES), rule.id


def find_rule(rule_id: str, rules: Sequence[Rule]) -> Rule:
    """Return the rule with this id; raises ``ScriptError`` with the nearest id."""
    wanted = rule_id.upper()
    for rule in rules:
        if rule.id == wanted:
            return rule
    nearest = nearest_name(wanted, [rule.id for rule in rules])
    raise ScriptError(
        f"no rule is called {rule_id}" + (f"; did you mean {nearest}?" if nearest else "")
    )


def section(rule: Rule, page: str) -> str:
    """Return the rule as it is written on its page."""
    lines = page.splitlines()[rule.place.line - 1 :]
    end = next((i for i, line in enumerate(lines) if i and line.startswith("#")), len(lines))
    return "\n".join(lines[:end]).rstrip() + "\n"


def facts_page() -> str:
    """Return the facts and functions a rule may use, as markdown made from the tables."""
    lines = ["# Facts and functions of the rule language", "", "## Facts", ""]
    lines += ["| fact | type | meaning |", "|---|---|---|"]
    for row in TABLE:
        unit = f", {row.unit}" if row.unit else ""
        lines.append(f"| `{row.name}` | {_type(row.type)}{unit} | {row.doc} |")
    lines += ["", "## Functions", "", "| function | gives | meaning |", "|---|---|---|"]
    lines += [f"| `{_call(name, f)}` | {f.gives} | {f.doc} |" for name, f in FUNCTIONS.items()]
    return "\n".join(lines) + "\n"


def _type(kind: Type) -> str:
    return " / ".join(f"`{choice}`" for choice in kind.choices) or kind.kind


def _call(name: str, function: Function) -> str:
    more = ", …" if function.variadic else ""
    return f"{name}({', '.join(function.takes)}{more})"


def template(series: str, rules: Sequence[Rule]) -> str:
    """Return a filled-in rule with the next free id of a series."""
    numbers = [int(rule.id[3:]) for rule in rules if rule.id[2] == series]
    category = "memory" if series == "M" else "performance"
    return _TEMPLATE.format(id=f"R-{series}{max(numbers, default=0) + 1:02d}", category=category)
