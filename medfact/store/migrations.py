"""Migrations: numbered changes to the tables, each applied once to a database, in order.

A database is created at the newest schema. Its table `migrations` holds the number of that schema, and of each one since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sql

from medfact.errors import StoreError
from medfact.store import schema

Migration = Callable[[sql.Connection], None]

MIGRATIONS: list[Migration] = []
"""The migrations since 1.0: the one at index i leads from schema i + 1 to schema i + 2."""

ADVISORY_LOCK_ID = 0x6D656466
"""The lock on a PostgreSQL server ("medf") that a migration holds, so that a second one waits."""


def migration(function: Migration) -> Migration:
    """Registers a migration as the last one."""
    MIGRATIONS.append(function)
    return function


def newest_schema() -> int:
    """The number of the schema that this medfact writes."""
    return 1 + len(MIGRATIONS)


def migrate(engine: sql.Engine, address: str) -> None:
    """Creates the tables of a new database; applies the migrations that an older one lacks, all or none.

    Raises StoreError, before anything is changed, if the database was made by a newer medfact or by a development version.

    Args:
        address: of the database, for messages.
    """
    with engine.connect() as connection:
        if _schema_of(connection, address) == newest_schema() and not _missing_columns(connection):
            return
    with _exclusive(engine) as connection:
        number = _schema_of(connection, address)
        if not number:
            _check_encoding(connection)
            schema.metadata.create_all(connection)
            _record(connection, newest_schema())
        for step, apply in enumerate(MIGRATIONS, 2):
            if 0 < number < step:
                apply(connection)
                _record(connection, step)
        for column in _missing_columns(connection):
            kind = column.type.compile(connection.dialect)
            connection.execute(sql.text(f"ALTER TABLE {schema.facts.name} ADD COLUMN {column.name} {kind}"))


def _schema_of(connection: sql.Connection, address: str) -> int:
    """The number of a database's schema; 0 for a new database."""
    inspector = sql.inspect(connection)
    if inspector.has_table("schema_version") or inspector.has_table("rejections"):
        raise StoreError(
            f"{address} was made by a development version before 1.0: choose another database, or move this one away.",
            cause="it was made by a development version before 1.0",
        )
    if not inspector.has_table(schema.migrations.name):
        return 0
    number = int(connection.execute(sql.select(sql.func.max(schema.migrations.c.number))).scalar_one())
    if number > newest_schema():
        raise StoreError(f"{address} was made by a newer medfact.", "Update medfact, or choose another --db.")
    return number


def _missing_columns(connection: sql.Connection) -> list[sql.Column[object]]:
    """The columns of facts that the database lacks: a field that `facts.Fact` declares needs no migration."""
    present = {column["name"] for column in sql.inspect(connection).get_columns(schema.facts.name)}
    return [column for column in schema.facts.c if column.name not in present]


def _record(connection: sql.Connection, number: int) -> None:
    connection.execute(schema.migrations.insert().values(number=number))


@contextmanager
def _exclusive(engine: sql.Engine) -> Iterator[sql.Connection]:
    """A transaction for changes to the tables, in one process at a time."""
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(ADVISORY_LOCK_ID)))
            yield connection
        return
    # In any other mode, SQLite's driver commits after each command that changes the tables.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")


def _check_encoding(connection: sql.Connection) -> None:
    """Raises StoreError if a server's database cannot hold all characters."""
    if connection.dialect.name == "postgresql":
        encoding = connection.execute(sql.text("SHOW server_encoding")).scalar()
        if encoding != "UTF8":
            raise StoreError(
                f"This database has the encoding {encoding}, which cannot hold every character.",
                "Create another one (createdb --encoding=UTF8 --template=template0 NAME).",
            )
