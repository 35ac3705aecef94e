"""``perf-doctor mcp``: the tools for agents, on standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import Final

from perf_doctor.cli.arguments import Parser, add_catalog, path
from perf_doctor.cli.output import complain
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import CatalogError
from perf_doctor.shell.limits import ScriptError

_MISSING: Final = "mcp needs an extra: pip install 'perf-doctor[mcp]'"
_EXAMPLES: Final = """\
examples:
  claude mcp add perf-doctor -- perf-doctor mcp
  perf-doctor mcp --root ~/Relax/scripts       whatever folder the client has open
"""


def run(words: list[str]) -> int:
    """Serve one client until it hangs up; 2 when the server cannot start."""
    arguments = make_parser().parse_args(words)
    for folder in arguments.root:
        if not os.path.isdir(folder):
            complain(f"--root {folder}: is no folder")
            return 2
    try:
        import_module("mcp.server.mcpserver")
    except ImportError:
        complain(_MISSING)
        return 2
    from perf_doctor.mcp.reading import Catalogs  # noqa: PLC0415 - needs the extra
    from perf_doctor.mcp.server import serve  # noqa: PLC0415

    catalogs = Catalogs(
        tuple(map(os.path.abspath, arguments.rules)),
        tuple(id for ids in arguments.select for id in ids),
        tuple(id for ids in arguments.ignore for id in ids),
    )
    try:
        load_rules(catalogs.rule_files, catalogs.select, catalogs.ignore)
    except CatalogError as broken:
        for error in broken.errors:
            complain(str(error))
        return 2
    except ScriptError as error:
        complain(str(error))
        return 2
    if sys.stdin.isatty():
        complain("waits for a client on standard input; Ctrl-D ends it")
    # A thread that waits for input would outlive an interrupt; nothing is ever left half done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(tuple(map(os.path.abspath, arguments.root)), catalogs)
    return 0


def make_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        "perf-doctor mcp",
        "Answer an agent or editor that speaks the Model Context Protocol, on standard input and"
        " output. Scripts are read inside the client's roots only, and no file is written.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--root", action="append", default=[], type=path, metavar="DIR",
        help="a folder that may be read beside the client's roots (without either: this folder);"
        " repeatable",
    )  # fmt: skip
    add_catalog(parser)
    return parser
