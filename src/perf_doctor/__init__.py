"""perf-doctor: what is wrong with a Relax launch script, for speed and for GPU memory.

``diagnose(path)`` reads a script without running it and returns a ``Diagnosis``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perf_doctor._version import __version__

if TYPE_CHECKING:
    from perf_doctor.diagnosis import Diagnosis, NoLaunchError, diagnose
    from perf_doctor.shell.limits import ScriptError

__all__ = ["Diagnosis", "NoLaunchError", "ScriptError", "__version__", "diagnose"]


def __getattr__(name: str) -> object:
    """Import what is public when it is asked for: ``--version`` needs none of it."""
    if name in ("Diagnosis", "NoLaunchError", "diagnose"):
        from perf_doctor import diagnosis  # noqa: PLC0415

        return getattr(diagnosis, name)
    if name == "ScriptError":
        from perf_doctor.shell.limits import ScriptError  # noqa: PLC0415

        return ScriptError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
