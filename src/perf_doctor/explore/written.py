"""One option as a launch has it: given or left to its default, and what the trainer stores."""

from __future__ import annotations

from typing import Any

from perf_doctor.frozen import frozen
from perf_doctor.launch.registry import registry
from perf_doctor.launch.settings import Setting, Settings
from perf_doctor.shell.model import Unknown


@frozen
class Written:
    """``setting`` is None for an option that is not given.

    ``stored``: what the trainer's namespace holds; of a value that is not known, its text.
    """

    setting: Setting | None
    stored: Any
    on: bool | Unknown | None = None


def written_in(settings: Settings, flag: str) -> Written:
    """Return an option of a launch; a switch also tells whether it is on as ``flag`` says it."""
    option = registry().get(flag)
    assert option is not None, flag
    setting = settings.given(flag)
    stored = option.default if setting is None else setting.stored
    if isinstance(stored, Unknown):
        stored = str(stored) if setting is None else setting.text
    return Written(setting, stored, settings.on(flag) if option.kind == "switch" else None)
