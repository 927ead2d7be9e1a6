"""Facts, statements and passages as rows of their tables.

Each run, and each reviewer, has the names and descriptions of facts that it was asked or judged with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import sqlalchemy as sql

from medfact.facts import FACT_COLUMNS, Fact
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.database import Database, rows_among
from medfact.store.entities import Asked, Retrieved
from medfact.store.schema import record_id

RECORD_COLUMNS = ("record", *FACT_COLUMNS)
STATEMENT_COLUMNS = ("statement_id", "fact_id", "pool", "variant", "text", "origin")

_fact_values = attrgetter(*FACT_COLUMNS)


def record_values(fact: Fact) -> tuple[Any, ...]:
    """The values of a fact's row, in the order of RECORD_COLUMNS."""
    values = _fact_values(fact)
    return (record_id(dict(zip(FACT_COLUMNS, values, strict=True))), *values)


def statement_values(statement: Statement) -> tuple[Any, ...]:
    """The values of a statement's row, in the order of STATEMENT_COLUMNS."""
    own = (statement.pool, statement.variant, statement.text, statement.origin)
    return (statement.statement_id, statement.fact.fact_id, *own)


def fact_of(values: Sequence[Any]) -> Fact:
    """The fact of a row's values, in the order of FACT_COLUMNS."""
    return Fact(**dict(zip(FACT_COLUMNS, values, strict=True)))


def statement_of(values: Sequence[Any], fact: Fact) -> Statement:
    """The statement of a row's values, in the order of STATEMENT_COLUMNS. fact: as whoever asks names it."""
    statement_id, _, pool, variant, text, origin = values
    return Statement(fact, pool, variant, text, origin, statement_id)


def fact_columns() -> Iterable[sql.Column[Any]]:
    """The columns of `facts` from which `fact_of` makes a fact."""
    return (schema.facts.c[name] for name in FACT_COLUMNS)


Records = Mapping[str, tuple[Any, ...]]
"""Fact id → the values of its row in `facts`."""


def records_of(statements: Iterable[Statement]) -> Records:
    """The records of the statements' facts, in the order in which they come."""
    first: dict[str, Fact] = {}
    for statement in statements:
        first.setdefault(statement.fact.fact_id, statement.fact)
    return {fact_id: record_values(fact) for fact_id, fact in first.items()}


def add_statements(
    database: Database, connection: sql.Connection, statements: Mapping[str, tuple[Any, ...]], facts: Records
) -> None:
    """Adds what is not there yet. statements: the values of their rows, by id. All in one order everywhere, so that nobody
    deadlocks.
    """
    in_order = (statements[name] for name in sorted(statements))
    database.insert_missing(connection, schema.statements, STATEMENT_COLUMNS, in_order)
    described = sorted({values[0]: values for values in facts.values()}.items())
    database.insert_missing(connection, schema.facts, RECORD_COLUMNS, (values for _, values in described))


def rows_of(statements: Iterable[Statement]) -> dict[str, tuple[Any, ...]]:
    """Statement id → the values of its row, for `add_statements`."""
    return {statement.statement_id: statement_values(statement) for statement in statements}


def facts_in(connection: sql.Connection, run: str, numbers: Iterable[int] | None = None) -> dict[int, Fact]:
    """The facts that a run asks by their numbers in it: all, or some."""
    row = schema.run_facts.c
    joined = schema.run_facts.join(schema.facts, schema.facts.c.record == row.record)
    query = sql.select(row.fact, *fact_columns()).select_from(joined).where(row.run == run, row.statement_id.is_(None))
    found = rows_among(connection, query, row.fact, None if numbers is None else sorted(set(numbers)))
    return {number: fact_of(values) for number, *values in found}


Passages = tuple[Retrieved, ...]

_COLUMNS = ("run", "statement_id", "passages", "gold")


def add_passages(database: Database, connection: sql.Connection, run: str, passages: Mapping[str, Passages]) -> None:
    """Adds the passages of statements, by statement id. Those that a statement has already stay."""
    rows = (
        (run, statement_id, json.dumps(found, ensure_ascii=False, separators=(",", ":")), gold_rank(found))
        for statement_id, found in passages.items()
    )
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
    return {
        found.statement_id: tuple(
            Retrieved(texts.setdefault(text, text), *values) for text, *values in json.loads(found.passages)
        )
        for found in rows
    }


def planned_passages(statements: Iterable[Asked]) -> dict[str, Passages]:
    """Statement id → its passages, of statements that have them before they are asked."""
    return {item.statement.statement_id: item.passages for item in statements if item.passages is not None}
