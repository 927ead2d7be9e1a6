"""How facts are recorded: each run, and each reviewer, with the names and descriptions that it was asked or judged with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sql

from medfact.facts import Fact
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.database import Database
from medfact.store.statement_rows import (
    RECORD_COLUMNS,
    STATEMENT_COLUMNS,
    fact_columns,
    fact_of,
    record_values,
    statement_values,
)

_PER_QUERY = 500

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
    database.insert_rows(connection, database.insert_new(schema.statements), STATEMENT_COLUMNS, in_order)
    described = sorted({values[0]: values for values in facts.values()}.items())
    database.insert_rows(connection, database.insert_new(schema.facts), RECORD_COLUMNS, (values for _, values in described))


def rows_of(statements: Iterable[Statement]) -> dict[str, tuple[Any, ...]]:
    """Statement id → the values of its row, for `add_statements`."""
    return {statement.statement_id: statement_values(statement) for statement in statements}


def facts_in(connection: sql.Connection, run: str, numbers: Iterable[int] | None = None) -> dict[int, Fact]:
    """The facts that a run asks by their numbers in it: all, or some."""
    row = schema.run_facts.c
    joined = schema.run_facts.join(schema.facts, schema.facts.c.record == row.record)
    query = sql.select(row.fact, *fact_columns()).select_from(joined).where(row.run == run, row.statement_id.is_(None))
    if numbers is None:
        return {number: fact_of(values) for number, *values in connection.execute(query)}
    found: dict[int, Fact] = {}
    for some in parts(sorted(set(numbers))):
        found |= {number: fact_of(values) for number, *values in connection.execute(query.where(row.fact.in_(some)))}
    return found


def parts(items: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """As many at a time as one query may name."""
    rest = iter(items)
    while part := list(islice(rest, _PER_QUERY)):
        yield part
