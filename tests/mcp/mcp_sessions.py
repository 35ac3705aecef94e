"""Client sessions for tests: a real server process over stdio, or the server in this process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, ErrorData, ListRootsResult, Root

from mcp import Client, ClientSession, StdioServerParameters
from perf_doctor.mcp.reading import Catalogs
from perf_doctor.mcp.server import make

PROJECT = Path(__file__).parents[2]
EXAMPLE = "examples/scripts/training/text/run-qwen3-4B-8xgpu.sh"
OTHER = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
START = (
    "import sys; from perf_doctor.cli.mcp import run; sys.exit(run(sys.argv[1:]))"  # as the command
)
MOST_S = 60
T = TypeVar("T")
Call = tuple[str, dict[str, Any]]
Mode = Literal["auto", "legacy"]


@dataclass(frozen=True)
class Answer:
    """What a client got: the text, the structured answer, and whether the call failed."""

    failed: bool
    text: str
    structured: Any

    @property
    def everything(self) -> str:
        """Return all of it as one text, without JSON's escapes."""
        return self.text + json.dumps(self.structured, ensure_ascii=False)


def answer(result: CallToolResult) -> Answer:
    """Return the answer in a result; every part of its content is text."""
    text = "".join(part.text for part in result.content if part.type == "text")
    return Answer(bool(result.is_error), text, result.structured_content)


def over_stdio(
    talk: Callable[[ClientSession], Awaitable[T]],
    *,
    cwd: Path = PROJECT,
    arguments: Sequence[str] = (),
    roots: Sequence[Path] | None = None,
    program: Sequence[str] = ("-c", START),
) -> T:
    """Start the server as a client does, talk to it, and return what was learnt."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*program, *arguments],
        cwd=cwd,
        env={"PYTHONPATH": str(PROJECT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    async def main() -> T:
        with anyio.fail_after(MOST_S), open(os.devnull, "w") as nowhere:
            async with (
                stdio_client(parameters, errlog=nowhere) as (read, write),
                ClientSession(read, write, list_roots_callback=offering(roots)) as session,
            ):
                await session.initialize()
                return await talk(session)

    return anyio.run(main)


def in_process(
    *calls: Call,
    folders: Sequence[Path] = (),
    roots: Sequence[Path | str] | None = None,
    refuses: bool = False,
    mode: Mode = "legacy",
    catalogs: Catalogs | None = None,
) -> list[Answer]:
    """Call tools of a server in this process; ``refuses``: the client does not tell its roots."""

    async def main() -> list[Answer]:
        server = make(tuple(map(str, folders)), catalogs or Catalogs())
        callback = refusing if refuses else offering(roots)
        with anyio.fail_after(MOST_S):
            async with Client(server, list_roots_callback=callback, mode=mode) as client:
                return [answer(await client.call_tool(*call)) for call in calls]

    return anyio.run(main)


def offering(roots: Sequence[Path | str] | None) -> Any:
    """Return the callback of a client with these roots; None for one that knows no roots."""
    if roots is None:
        return None
    uris = [root.as_uri() if isinstance(root, Path) else root for root in roots]

    async def tell(_context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": uri}) for uri in uris])

    return tell


async def refusing(_context: object) -> ErrorData:
    """Answer as a client that says it has roots and then does not tell them."""
    return ErrorData(code=-32603, message="not now\nreally")
