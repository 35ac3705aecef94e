"""Feed the readers of untrusted text with damaged text, for a while: nothing but a clean answer.

``python tools/fuzz.py SECONDS`` gives each target that many seconds. What goes in are our own
examples with lines, words and characters cut, doubled, exchanged and added; what must come out is
an answer or one of the errors that are told in one line, inert in every format. A failure is shown
as the smallest input that hypothesis finds for it, with the seed to repeat it: ``--seed N``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from perf_doctor.configuration.find import ConfigurationError, read
from perf_doctor.diagnosis import Doctor
from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.plan import build_plan
from perf_doctor.report.formats import FORMATS, Report, rendered
from perf_doctor.rules.check import check_expression
from perf_doctor.rules.evaluate import evaluate
from perf_doctor.rules.expression import parse_expression
from perf_doctor.rules.facts import vocabulary
from perf_doctor.rules.job import Job, LaunchFlags
from perf_doctor.rules.judge import RuleScope
from perf_doctor.rules.model import CatalogError
from perf_doctor.rules.position import RuleError
from perf_doctor.rules.rule import parse_catalog
from perf_doctor.shell.limits import ScriptError
from perf_doctor.shell.reader import STDIN_NAME

ROOT: Final = Path(__file__).parent.parent
BATCH: Final = 20
SLOW_S: Final = 20.0
"""Processor time of one answer that is a fault: a reading is bounded to a second or two."""
_NASTY: Final = (
    "$(rm -rf /)", "`id`", "${A:-${A}}", "${!A}", "<<EOF", "EOF", "\\", "'", '"', "\x1b]0;x\x07",
    "\u202e", "{1..1000000}", "while :; do", "done", "if", "fi", "case $1 in", "esac", "f() {", "}",
    "(", ")", "&&", "||", ";", "--", "--colocate", "--resource '{\"actor\": [1, 8]}'", "=", "0",
    "-1", "1e999", "9" * 40, "\0", "\r\n", "\t", "é中", "- **Check:**", "### R-X99 — x",
    "`a and`", "{tp", "not in", "[[", "source ../../../../etc/passwd", 'eval "$A"', "set -u",
    "exit", "export", "# perf-doctor: ignore[R]",
)  # fmt: skip


def damaged(texts: list[str]) -> st.SearchStrategy[str]:
    """Return a strategy of these texts with a few pieces changed."""
    piece = st.one_of(st.sampled_from(_NASTY), st.text(max_size=12))
    change = st.tuples(st.integers(0, 3), st.integers(0, 10_000), st.integers(1, 60), piece)
    changes = st.lists(change, min_size=1, max_size=8)
    return st.builds(_changed, st.sampled_from(texts), changes)


def _changed(text: str, changes: list[tuple[int, int, int, str]]) -> str:
    for kind, at, size, piece in changes:
        place = at % (len(text) + 1)
        end = place + size
        if kind == 0:
            text = text[:place] + piece + text[place:]
        elif kind == 1:
            text = text[:place] + text[end:]
        elif kind == 2:
            text = text[:end] + text[place:]
        else:
            text = text[:place] + piece + text[end:]
    return text


def one_line(error: Exception) -> None:
    """Check what a user is told of an error."""
    assert "\n" not in str(error)
    assert str(error)


def script(text: str) -> None:
    """Read, estimate and judge a script, and show it in every format."""
    began = time.process_time()
    try:
        diagnosis = Doctor().diagnose(STDIN_NAME, text.encode("utf-8", "surrogatepass"))
    except ScriptError as error:
        one_line(error)
        return
    for name in FORMATS:
        shown = rendered(name, Report((diagnosis,)))
        assert all(char.isprintable() or char in "\n\t\u3000" for char in shown), name
    assert time.process_time() - began < SLOW_S


def catalog(text: str) -> None:
    """Parse a page of rules."""
    try:
        parse_catalog([(text, "fuzz.md")], vocabulary())
    except CatalogError as broken:
        for error in broken.errors:
            one_line(error)


def expression(text: str) -> None:
    """Parse, check and evaluate an expression."""
    try:
        parsed = parse_expression(text)
        check_expression(parsed, vocabulary())
    except RuleError as error:
        one_line(error)
        return
    job = _job()
    evaluate(parsed, RuleScope(job, (), LaunchFlags(job.settings)))


def configuration(text: str) -> None:
    """Read a configuration file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "perf-doctor.toml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            read(str(file))
        except ConfigurationError as error:
            one_line(error)


def _job() -> Job:
    return Job(plan=build_plan(read_settings(())))


def _expressions() -> list[str]:
    page = ROOT / "src/perf_doctor/skill/references/rules.md"
    lines = (line.partition("**Check:** `")[2] for line in page.read_text("utf-8").split("\n"))
    return [line.partition("`")[0] for line in lines if line]


def _rules() -> list[str]:
    page = (ROOT / "src/perf_doctor/skill/references/rules.md").read_text("utf-8")
    return [f"### {section}" for section in page.split("\n### ")[1:]][::5]


def _scripts() -> list[str]:
    return [path.read_text("utf-8") for path in sorted((ROOT / "examples/scripts").rglob("*.sh"))]


_CONFIGURATION: Final = """\
gpu = "H800"
host-ram = 1024.5
ignore = ["R-C01", "R-M"]
all = true
[per-file-ignores]
"scripts/**/*.sh" = ["R-P"]
[severity]
R-P11 = "warn"
"""
TARGETS: Final[dict[str, tuple[Callable[[str], None], Callable[[], list[str]]]]] = {
    "script": (script, _scripts),
    "catalog": (catalog, _rules),
    "expression": (expression, _expressions),
    "configuration": (configuration, lambda: [_CONFIGURATION]),
}


def batches(name: str, first: int, examples: int) -> Iterator[None]:
    """Run a target again and again, each time with the next seed, and yield after each."""
    target, texts = TARGETS[name]
    inputs = damaged(texts())
    limits = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    for number in range(first, sys.maxsize):
        seed(number)(limits(given(inputs)(target)))()
        yield


def main() -> None:
    """Give each target its time; a failure ends it with the seed that repeats it."""
    parser = argparse.ArgumentParser(description="Feed the readers with damaged text.")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    for name in TARGETS:
        ends = time.monotonic() + arguments.seconds
        done = 0
        try:
            for _ in batches(name, arguments.seed, BATCH):
                done += 1
                if time.monotonic() > ends:
                    break
        except BaseException:
            told = f"fuzz: {name} failed; repeat it with --seed {arguments.seed + done}"
            print(told, file=sys.stderr)
            raise
        print(f"fuzz: {name}: {BATCH * done} inputs, nothing wrong")


if __name__ == "__main__":
    main()
