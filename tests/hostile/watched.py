"""Calls the command in a process of its own and writes down everything it touches.

Started by ``test_hostile.py`` as ``python -P watched.py PLAN``. PLAN is a JSON file with ``runs``
(a list of argument lists for ``perf_doctor.cli.main``; one that begins with ``library:`` calls
``perf_doctor.diagnose``) and ``record``, where the answer goes: per run its exit code, output,
seconds and the crash if there was one, and the audit events of them all.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path

# Reading is judged by its path afterwards; everything else here must not happen at all.
PATH_EVENTS = frozenset({"open", "os.listdir", "os.scandir", "glob.glob"})
NEVER = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.kill",
    "os.startfile",
    "pty.",
    "socket.",
    "ssl.",
    "urllib.",
    "http.",
    "ftplib.",
    "smtplib.",
    "webbrowser.",
    "ctypes.",
    "signal.",
    "shutil.",
    "tempfile.",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "os.putenv",
    "os.chdir",
    "resource.setrlimit",
    "pickle.",
    "marshal.dumps",
)
MEMORY_BYTES = 2 * 2**30
_events: list[dict[str, object]] = []
_watching = True


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event in PATH_EVENTS:
        target = arguments[0] if arguments else None
        if isinstance(target, str | bytes | os.PathLike):
            mode, flags = (*arguments[1:3], None, None)[:2] if event == "open" else (None, None)
            path = os.path.realpath(os.fsdecode(target))
            flags = flags if isinstance(flags, int) else 0
            _events.append({"event": event, "path": path, "mode": mode, "flags": flags})
    elif event.startswith(NEVER):
        _events.append({"event": event, "arguments": repr(arguments)[:200]})


def _call(arguments: list[str]) -> dict[str, object]:
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    crash = ""
    started = time.perf_counter()
    try:
        code = _run(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        code, crash = -1, traceback.format_exc()[-3000:]
    seconds = time.perf_counter() - started
    sys.stdout.flush()
    sys.stderr.flush()
    outputs = {"out": out.getvalue().hex(), "err": err.getvalue().hex()}
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return {"code": code, "crash": crash, "seconds": seconds, **outputs}


def _run(arguments: list[str]) -> int:
    if arguments[0] == "library:":
        return _call_library(arguments[1])
    from perf_doctor.cli import main

    return main(arguments)


def _call_library(path: str) -> int:
    """Call ``diagnose``; it may refuse a script, with an error of its own or the system's."""
    import perf_doctor

    try:
        perf_doctor.diagnose(path)
    except OSError:
        return 2
    except Exception as refusal:
        if not type(refusal).__module__.startswith("perf_doctor"):
            raise
        return 2
    return 0


def _main() -> None:
    global _watching  # noqa: PLW0603 - an audit hook cannot be taken off, only told to look away
    plan = json.loads(Path(sys.argv[1]).read_text())
    # A value that grows without end shall end as a crash here and not take the machine along.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    sys.addaudithook(_hook)
    runs = [_call(arguments) for arguments in plan["runs"]]
    _watching = False
    Path(plan["record"]).write_text(json.dumps({"runs": runs, "events": _events}))


if __name__ == "__main__":
    _main()
