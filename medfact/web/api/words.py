"""What callers may say: kinds of values that several endpoints take, each with its bounds."""

from __future__ import annotations

import io
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from medfact.errors import Mistake
from medfact.limits import is_public_server
from medfact.spec import RunSpec
from medfact.web.api.caller import Caller
from medfact.web.services import Services, Source
from medfact.web.uploads import MEGABYTE
from medfact.web.visitors import NOBODY, why_nobody

MOST_ROWS, LONGEST_CELL = 1_000, 400

Row = dict[str, Any]
"""What endpoints answer in."""

Cell = Annotated[str, Field(max_length=LONGEST_CELL)]
Column = Literal[
    "head", "relation", "tail", "positive", "head_type", "tail_type", "head_id", "tail_id", "source", "source_id", "specialty",
    "until", "region", "population",
]  # fmt: skip
Rows = Annotated[
    list[dict[Column, Cell]],
    Field(
        max_length=MOST_ROWS,
        description="Facts of your own in place of the data set, each a mapping with head, relation and tail, and where known "
        "positive, source and others of the columns of a facts file. No patient data.",
    ),
]
DataSet = Annotated[str, Field(max_length=100, description="A bundled data set, as data_sets lists them.")]
RunId = Annotated[str, Field(max_length=64, description="The whole id of a run, as evaluate gave it.")]
Name = Annotated[str, Field(max_length=LONGEST_CELL)]
Seed = Annotated[int, Field(ge=0, le=2**31, description="Draws the facts and their false partners.")]
Protocol = Annotated[str, Field(max_length=40, description="The method; medfact is the project's own.")]

USUAL_DATA, USUAL_METHOD = RunSpec.dataset, RunSpec.protocol


def check_somebody(caller: Caller) -> None:
    """Raises Mistake where nobody has said who calls, on a server that wants to know."""
    if caller.owner == NOBODY:
        raise Mistake(why_nobody())


def source_of(services: Services, caller: Caller, data_set: str, rows: list[dict[Column, str]]) -> Source:
    """Where the facts come from: the data set, or the rows, which are kept as a file of the caller's. Raises MedfactError."""
    if not rows:
        return {"dataset": data_set}
    check_somebody(caller)
    content = b"\n".join(map(orjson.dumps, rows))
    address = caller.address if is_public_server() else ""
    with caller.gate.uploading(caller.owner, len(content) / MEGABYTE, address):
        services.quota.check_file(caller.owner, len(content), address)
        return {"facts": str(services.uploads.put(caller.owner, "rows.jsonl", io.BytesIO(content))), "columns": []}
