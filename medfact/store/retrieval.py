"""The passages that were retrieved for the statements of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Database, rows_among
from medfact.store.entities import Asked, Retrieved

Passages = tuple[Retrieved, ...]

_COLUMNS = ("run", "statement_id", "passages", "gold")


def add_passages(database: Database, connection: sql.Connection, run: str, passages: Mapping[str, Passages]) -> None:
    """Adds the passages of statements, by statement id. Those that a statement has already stay."""
    rows = ((run, statement_id, _to_json(found), gold_rank(found)) for statement_id, found in passages.items())
    database.insert_rows(connection, database.insert_new(schema.retrieved), _COLUMNS, rows)


def gold_rank(passages: Iterable[Sequence[Any]]) -> int:
    """The rank of the first gold passage, from 1; 0 for none."""
    return next((rank for rank, passage in enumerate(passages, 1) if passage[3]), 0)


def passages_in(connection: sql.Connection, run: str, statements: Iterable[str] | None = None) -> dict[str, Passages]:
    """Statement id → its passages, for all statements of a run or for some. Equal texts share one object."""
    row = schema.retrieved.c
    query = sql.select(row.statement_id, row.passages).where(row.run == run)
    texts: dict[str, str] = {}
    some = None if statements is None else dict.fromkeys(statements)
    rows = rows_among(connection, query, row.statement_id, some)
    return {found.statement_id: _from_json(found.passages, texts) for found in rows}


def planned_passages(statements: Iterable[Asked]) -> dict[str, Passages]:
    """Statement id → its passages, of statements that have them before they are asked."""
    return {item.statement.statement_id: item.passages for item in statements if item.passages is not None}


def _to_json(passages: Passages) -> str:
    return json.dumps([list(passage) for passage in passages], ensure_ascii=False, separators=(",", ":"))


def _from_json(text: str, texts: dict[str, str]) -> Passages:
    found = (Retrieved(*values) for values in json.loads(text))
    return tuple(one._replace(text=texts.setdefault(one.text, one.text)) for one in found)
