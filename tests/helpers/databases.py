"""Databases as tests look at them: without a store, and by the shape of their tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sql

from medfact.store.engine import open_engine


@contextmanager
def working_on(url: str) -> Iterator[sql.Connection]:
    """A database, without a store; what is done is kept."""
    engine = open_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def shape(url: str) -> dict[str, Any]:
    """Tables with their columns (name, type, needed, default), keys and indexes, and the numbers of schemas."""
    with working_on(url) as connection:
        inspector = sql.inspect(connection)
        made: dict[str, Any] = {"version": connection.execute(sql.text("SELECT number FROM migrations")).scalars().all()}
        for table in inspector.get_table_names():
            columns = [(c["name"], str(c["type"]), c["nullable"], str(c["default"])) for c in inspector.get_columns(table)]
            made[table] = {
                "columns": sorted((*column[:3], column[3].partition("::")[0].strip("'")) for column in columns),
                "key": inspector.get_pk_constraint(table)["constrained_columns"],
                "unique": inspector.get_unique_constraints(table),
                "indexes": sorted((i["name"], i["column_names"], i["unique"]) for i in inspector.get_indexes(table)),
            }
    return made
