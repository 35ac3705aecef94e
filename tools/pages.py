"""Write what the pages of ``docs/`` take from the program: rules, tables, real output.

    python tools/pages.py [--check]

Pages about rules are written whole, from the catalog. In every other page the program's own words
stand between two marks, and only they are replaced::

    <!-- run: estimate run-qwen3-8B-8xgpu.sh -->     what the command prints, in EXAMPLES
    <!-- run notes: … -->                             with the notes it gives on standard error
    <!-- run terminal: … -->                          both, as they look in a terminal
    <!-- run lines=1-12: … -->                        these lines of it
    <!-- table: configuration -->                     a table of ``TABLES``
    <!-- end -->

With ``--check`` nothing is written, and the exit code is 1 when a page is out of date.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from perf_doctor.cli import main as perf_doctor
from perf_doctor.cli.arguments import diagnose_parser
from perf_doctor.configuration.keys import KEYS, Key
from perf_doctor.language import ENGLISH, speak
from perf_doctor.report.formats import FORMATS
from perf_doctor.rules.built_in import BUILT_IN
from rule_pages import rule_pages

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
EXAMPLES: Final = ROOT / "examples/scripts/training/text"
WRITTEN: Final = "<!-- Written by tools/pages.py from {source}: change that, then `make pages`. -->"

_RUN = re.compile(
    r"(<!-- run(?: (?P<how>notes|terminal))?(?: lines=(?P<first>\d+)-(?P<last>\d+))?: "
    r"(?P<command>.*?) -->\n).*?(<!-- end -->)",
    re.DOTALL,
)
_TABLE = re.compile(r"(<!-- table: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MARK = re.compile(r"<!-- (?!end )\w+.*?: .*? -->")
_END = "<!-- end -->"


def current() -> dict[Path, str]:
    """Return every page that the program has a part in, as it should be now."""
    pages = {DOCS / name: text for name, text in written().items()}
    for page in sorted(DOCS.rglob("*.md")):
        if page not in pages:
            before = page.read_text("utf-8")
            if _MARK.search(before):
                pages[page] = filled(before)
    return pages


def written() -> dict[str, str]:
    """Return the pages that are written whole, by their path below ``docs/``."""
    rules = WRITTEN.format(source="the catalog of rules")
    return {
        "writing-rules.md": _writing_rules(),
        **{name: f"{rules}\n\n{text}" for name, text in rule_pages().items()},
    }


def filled(page: str) -> str:
    """Return a page with all that stands between marks as it is now."""
    if len(_MARK.findall(page)) != page.count(_END):
        raise ValueError(f"marks and {_END} do not go in pairs")
    page = _RUN.sub(lambda m: f"{m[1]}\n{_run(m)}\n\n{m[6]}", page)
    return _TABLE.sub(lambda m: f"{m[1]}\n{TABLES[m['name']]()}\n\n{m[3]}", page)


def _run(match: re.Match[str]) -> str:
    """Return a command and its output in a fence."""
    command = match["command"]
    terminal = match["how"] == "terminal"
    said, told = _output(shlex.split(command) + ["--format", "text"] * terminal)
    lines = said.rstrip("\n").split("\n")
    if match["first"]:
        lines = lines[int(match["first"]) - 1 : int(match["last"])]
    if match["how"]:
        lines = [*told.rstrip("\n").split("\n"), *lines]
    body = "\n".join([f"$ perf-doctor {command}", *lines])
    ticks = max((len(run) for run in re.findall(r"^`{3,}", body, re.MULTILINE)), default=2) + 1
    fence = "`" * max(ticks, 3)
    return f"{fence}{'text' if terminal else _language(command)}\n{body}\n{fence}"


def _language(command: str) -> str:
    """Return what the output is to be coloured as; a script without a format gets markdown."""
    named = re.search(r"--(?:format )?(\w+)$", command)
    if named is None or named[1] not in FORMATS:
        report = ".sh" in command.partition(" ")[0] and "--show-settings" not in command
        return "markdown" if report else "text"
    return {"diff": "diff", "json": "json"}.get(named[1], "text")


def _output(words: list[str]) -> tuple[str, str]:
    """Return what the program prints on standard output and on standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with (
        contextlib.chdir(EXAMPLES),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _plain_surroundings(),
    ):
        code = perf_doctor(words)
    if code not in (0, 1):
        raise ValueError(f"perf-doctor {shlex.join(words)}: {err.getvalue()}")
    out.seek(0)
    return out.read(), err.getvalue()


@contextlib.contextmanager
def _plain_surroundings() -> Iterator[None]:
    """Let a run speak English, uncoloured and 84 cells wide; afterwards all is as before."""
    before = dict(os.environ)
    os.environ.update(LC_ALL="C.UTF-8", COLUMNS="84", NO_COLOR="1")
    try:
        yield
    finally:
        speak(ENGLISH)
        os.environ.clear()
        os.environ.update(before)


def _writing_rules() -> str:
    """Return the guide of the skill with its links as they are on the site."""
    guide = Path(BUILT_IN).with_name("writing-rules.md").read_text("utf-8")
    guide = guide.replace("](rules.md)", "](rules/en/index.md)")
    return f"{WRITTEN.format(source='the skill')}\n\n{guide}"


def _configuration() -> str:
    options = diagnose_parser().format_help()
    rows = ["| key | says | holds | default |", "|---|---|---|---|"]
    file_alone = []
    for key in KEYS:
        if not re.search(rf"--{key.name}(?![\w-])", options):
            file_alone.append(f"`{key.name}`")
        default = f"`{_toml(key.default)}`" if key.default is not None else ""
        cells = (f"`{key.name}`", key.about.replace("<", "&lt;"), _holds(key), default)
        rows.append(f"| {' | '.join(cells)} |")
    told = f"Each but {' and '.join(file_alone)} is an option of the command line too: `--gpu`."
    return "\n".join([*rows, "", told])


def _holds(key: Key) -> str:
    """Return what a key may hold, in words."""
    if key.choices:
        choices = ", ".join(f"`{choice}`" for choice in key.choices)
        return f"a table of {choices} by rule id" if key.kind == "severity by rule" else choices
    if key.unit or key.most:
        kind = "a whole number" if key.kind == "whole number" else "a number"
        return f"{kind} from {key.least:,} to {key.most:,}"
    return {
        "card": "text",
        "path": "a path",
        "files": "a list of paths",
        "rules": "a list of ids or beginnings of ids",
        "rules by file": "a table of such lists by glob",
        "switch": "`true` or `false`",
    }[key.kind]


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return "[]" if isinstance(value, tuple) else "{}"


def _formats() -> str:
    rows = ["| format | for | a file ending in |", "|---|---|---|"]
    for name, one in FORMATS.items():
        ends = ", ".join(f"`{suffix}`" for suffix in one.suffixes)
        rows.append(f"| `{name}` | {one.about} | {ends} |")
    return "\n".join(rows)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "configuration": _configuration,
    "formats": _formats,
}


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for page, text in current().items():
        if page.exists() and page.read_text("utf-8") == text:
            continue
        stale.append(str(page.relative_to(ROOT)))
        if not check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, "utf-8")
    if check and stale:
        print(f"{', '.join(stale)}: out of date; run: make pages", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
