"""Fill the reports that the READMEs show with what the program prints today.

    python tools/fill_readme.py [--check]

Between ``<!-- report: SCRIPT -->`` and ``<!-- /report -->`` stands the report on SCRIPT. With
``--check`` nothing is written, and the exit code is 1 when a page is out of date.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from perf_doctor.diagnosis import Doctor
from perf_doctor.report.markdown import markdown_report

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "README.zh-CN.md")
_REPORT = re.compile(r"(<!-- report: (.*?) -->\n).*?(<!-- /report -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return a page with its reports as they are now; the working folder must be the root."""

    def report(match: re.Match[str]) -> str:
        text = markdown_report(Doctor().diagnose(match[2]))
        return f"{match[1]}\n````markdown\n{text}````\n\n{match[3]}"

    return _REPORT.sub(report, page)


def main() -> int:
    """Fill the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    os.chdir(ROOT)
    stale = []
    for name in PAGES:
        before = Path(name).read_text("utf-8")
        if (after := filled(before)) != before:
            stale.append(name)
            if not check:
                Path(name).write_text(after, "utf-8")
    if check and stale:
        print(f"{', '.join(stale)}: out of date; run: make readme", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
