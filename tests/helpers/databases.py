"""Connections to databases without a store, and descriptions of their schemas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sql

from medfact.store.engine import open_engine


@contextmanager
def begin_transaction(url: str) -> Iterator[sql.Connection]:
    """Yields a connection to the database of a URL in one transaction, which is committed at the end. No store is opened."""
    engine = open_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def describe_schema(url: str) -> dict[str, Any]:
    """Returns the schema of a store's database: table → its columns, primary key, unique constraints and indexes.

    A column is (name, type, nullable, default). The key "version" has the numbers of the applied migrations.
    """
    with begin_transaction(url) as connection:
        inspector = sql.inspect(connection)
        schema: dict[str, Any] = {"version": connection.execute(sql.text("SELECT number FROM migrations")).scalars().all()}
        for table in inspector.get_table_names():
            columns = [(c["name"], str(c["type"]), c["nullable"], str(c["default"])) for c in inspector.get_columns(table)]
            schema[table] = {
                "columns": sorted((*column[:3], column[3].partition("::")[0].strip("'")) for column in columns),
                "key": inspector.get_pk_constraint(table)["constrained_columns"],
                "unique": inspector.get_unique_constraints(table),
                "indexes": sorted((i["name"], i["column_names"], i["unique"]) for i in inspector.get_indexes(table)),
            }
    return schema
