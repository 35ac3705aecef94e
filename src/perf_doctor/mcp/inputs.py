"""What a client may say: every argument with its type and its bounds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from perf_doctor.mcp.roots import MAX_SCRIPTS
from perf_doctor.shell.limits import MAX_PATH_CHARS

Text = Annotated[str, StringConstraints(max_length=MAX_PATH_CHARS)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
RuleId = Annotated[str, StringConstraints(max_length=40), Field(description="R-M02")]


def _lean(schema: dict[str, Any]) -> None:
    """Take out of a schema what a reader pays for and learns nothing by: titles, null."""
    for one in schema.get("properties", {}).values():
        one.pop("title", None)
        ways = [way for way in one.get("anyOf", ()) if way != {"type": "null"}]
        if len(ways) == 1:
            del one["anyOf"]
            one.update(ways[0])
            one.pop("default", None)


class Job(BaseModel):
    """What is known of the job beside its script; what is left out is assumed, and told so."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, json_schema_extra=_lean)

    gpu: Annotated[Text, Field(description="card, perhaps with memory: H20-141GB")] | None = None
    gpus_per_node: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    host_ram_gb: (
        Annotated[float, Field(ge=1, le=1_000_000, description="memory of a node")] | None
    ) = None
    env: dict[Name, Text] = Field(
        default={}, max_length=64, description="environment the script is started with"
    )
    args: list[Text] = Field(default=[], max_length=64, description="arguments of the script")
    model_config_dir: (
        Annotated[Text, Field(description="where <model>.sh files are, if not scripts/models")]
        | None
    ) = None
    mean_response_len: Annotated[float, Field(ge=1, le=10_000_000, description="tokens")] | None = (
        None
    )
    response_len_sigma: (
        Annotated[float, Field(ge=0.01, le=3, description="spread of the logarithm")] | None
    ) = None
    prompt_len: Annotated[float, Field(ge=1, le=10_000_000, description="mean tokens")] | None = (
        None
    )


Scripts = Annotated[
    list[Text],
    Field(
        min_length=1, max_length=MAX_SCRIPTS, description="launch scripts, or folders of scripts"
    ),
]
Script = Annotated[Text, Field(description="path of a launch script")]
Changes = Annotated[list[Text], Field(max_length=64)]
Detail = Annotated[
    Literal["brief", "full"],
    Field(description="full: everything that is known, of one script; brief is enough to act on"),
]
