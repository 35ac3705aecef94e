"""Where a report goes and in which format: standard output, files, or both."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from perf_doctor.report.formats import format_of

_DEFAULT: Final = "markdown"


def targets(arguments: argparse.Namespace) -> Iterator[tuple[str | None, str]]:
    """Yield each file (None for standard output) with the format it gets.

    ``-o FORMAT=FILE`` names its format. The format of another FILE is that of ``--format``, or the
    one its name ends with. With a file standard output stays empty, unless every file names its
    format and ``--format`` asks for one more.
    """
    files: list[tuple[str, str | None]] = arguments.output
    if not files or (arguments.format and all(name for _, name in files)):
        yield None, arguments.format or _DEFAULT
    for file, name in files:
        yield file, name or arguments.format or format_of(file) or _DEFAULT
