"""What one reading may cost at most; every limit that is hit is told in a note.

The largest real launch script has 317 lines and 24 kB, sources three files and takes
some 2,000 steps; the limits leave a factor of ten to a thousand.
"""

from __future__ import annotations

from typing import Final

MAX_FILE_BYTES: Final = 1 << 20
MAX_SOURCED_FILES: Final = 64
MAX_PATH_CHARS: Final = 4_096
MAX_SOURCE_DEPTH: Final = 12
MAX_NESTING: Final = 40
MAX_CALL_DEPTH: Final = 16
MAX_STEPS: Final = 100_000
MAX_LOOP_ITERATIONS: Final = 4_096
MAX_WORDS: Final = 20_000
MAX_VALUE_CHARS: Final = 1 << 17
MAX_PATTERN_WORK: Final = 1 << 21
"""Characters of a pattern times characters of its text; to replace it, times the text again."""
MAX_REGEX_TEXT_CHARS: Final = 400
MAX_REGEX_REPEATS: Final = 2
"""Two repeats, tried from every character: the time is at most cubic in a short text."""
MAX_RUNS: Final = 8
MAX_BRANCHES: Final = 256
MAX_COMMENTS: Final = 20_000
MAX_NOTES: Final = 100
MAX_SYNTAX_NODES: Final = 300_000
PARSE_SECONDS: Final = 1.0
EVALUATION_SECONDS: Final = 2.0
"""Processor time for all the ways through a script together: a busy machine changes no result."""


class LimitReached(Exception):
    """Raised when a limit on the whole reading is hit; its text says which, for a note."""


class TooMuch(Exception):
    """Raised when one word or value grows beyond a limit; only that word is given up."""


class ScriptError(Exception):
    """Raised when a script cannot be read at all; its text is one line for the user."""
