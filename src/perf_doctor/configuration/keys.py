"""The keys of a configuration file: one table, from which they are checked, merged and shown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from perf_doctor.inert import inert, shortened
from perf_doctor.language import LANGUAGES
from perf_doctor.rules.severity import WORST_FIRST

Kind = Literal[
    "card", "number", "whole number", "path", "files", "rules", "rules by file",
    "severity by rule", "choice", "switch",
]  # fmt: skip
MAX_TOLD_CHARS: Final = 60
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class Key(NamedTuple):
    """A setting as it is named in the file; on the command line most stand behind two dashes.

    ``least`` and ``most`` are both allowed and count ``unit``. ``default`` is what holds where
    nobody says anything, None where that depends on the script.
    """

    name: str
    kind: Kind
    about: str
    least: float = 0
    most: float = 0
    unit: str = ""
    choices: tuple[str, ...] = ()
    default: object = None

    @property
    def destination(self) -> str:
        """The name that the command line's parser keeps the option under."""
        return self.name.replace("-", "_")


KEYS: Final = (
    Key("gpu", "card", "the card, perhaps with its memory: H20-141GB"),
    Key("gpus-per-node", "whole number", "GPUs of a machine", 1, 1_000_000, "GPUs"),
    Key("host-ram", "number", "memory of a node in GB (1e9 bytes)", 1, 1_000_000, "GB"),
    Key(
        "network", "number", "GB/s (1e9 bytes) to other nodes for each GPU, one direction",
        0.1, 10_000, "GB/s",
    ),
    Key("model-config-dir", "path", "where ${MODEL_CONFIG_DIR}/<model>.sh is found"),
    Key("mean-response-len", "number", "mean tokens of a response", 1, 10_000_000, "tokens"),
    # Of the logarithm of a length, no tokens: at 0.01 all responses are as long; at 3 one in six is
    # e³ = 20 times the median or longer, so that nearly all are empty or at their limit. 0.8 is
    # usual.
    Key("response-len-sigma", "number", "spread of the logarithm of a response's length", 0.01, 3),
    Key("prompt-len", "number", "mean tokens of a prompt", 1, 10_000_000, "tokens"),
    Key("select", "rules", "only these rules: ids or beginnings of ids", default=()),
    Key("ignore", "rules", "not these rules", default=()),
    Key("per-file-ignores", "rules by file", "not these rules in these files", default=_NOTHING),
    Key(
        "severity", "severity by rule", "how severe a rule's findings are",
        choices=WORST_FIRST, default=_NOTHING,
    ),
    Key(
        "fail-on", "choice", "exit with 1 when a finding is at least this severe",
        choices=(*WORST_FIRST, "never"), default="critical",
    ),
    Key("rules", "files", "catalogs of your own, beside the built-in one", default=()),
    Key("baselines", "files", "known-good configurations of your own", default=()),
    Key("accepted", "path", "a file of findings the project lives with"),
    Key("lang", "choice", "the language of the report", choices=LANGUAGES, default="en"),
    Key("all", "switch", "show every finding, however many", default=False),
)  # fmt: skip
"""In the order in which settings are shown."""

BY_NAME: Final[Mapping[str, Key]] = MappingProxyType({key.name: key for key in KEYS})


def told(value: object) -> str:
    """Return what stands in the file as it may be quoted in one line."""
    try:
        shown = repr(value)
    except (RecursionError, ValueError):  # nested too deep, or a number with too many digits
        return "what is too large to quote"
    return shortened(inert(shown), MAX_TOLD_CHARS)
