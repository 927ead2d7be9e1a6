"""Numbered steps from an older schema to the newest one."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sql

from medfact.store import tables


def migrate(connection: sql.Connection) -> bool:
    """Brings a database up to the newest schema, making its tables where there are none; False where it is newer than that."""
    if not sql.inspect(connection).has_table(tables.schema_version.name):
        tables.metadata.create_all(connection)
        connection.execute(tables.schema_version.insert().values(version=SCHEMA_VERSION))
        return True
    version = connection.execute(sql.select(tables.schema_version.c.version)).scalar() or 1
    for step in STEPS[version - 1 :]:
        step(connection)
    if version < SCHEMA_VERSION:
        tables.metadata.create_all(connection)
        connection.execute(tables.schema_version.update().values(version=SCHEMA_VERSION))
    return version <= SCHEMA_VERSION


def _several_draws(connection: sql.Connection) -> None:
    """1 → 2: a statement may be asked several times in a run, with other demonstrations."""
    connection.execute(sql.text("ALTER TABLE run_statements ADD COLUMN draw INTEGER NOT NULL DEFAULT 0"))
    if connection.dialect.name == "postgresql":
        connection.execute(sql.text("ALTER TABLE answers ADD COLUMN draw INTEGER NOT NULL DEFAULT 0"))
        connection.execute(sql.text("ALTER TABLE answers DROP CONSTRAINT answers_pkey"))
        connection.execute(sql.text("ALTER TABLE answers ADD PRIMARY KEY (run, statement_id, draw)"))
        return
    columns = ", ".join(column.name for column in tables.answers.columns if column.name != "draw")
    connection.execute(sql.text("DROP INDEX IF EXISTS ix_answers_key"))
    connection.execute(sql.text("ALTER TABLE answers RENAME TO answers_before"))
    tables.answers.create(connection)
    connection.execute(sql.text(f"INSERT INTO answers ({columns}, draw) SELECT {columns}, 0 FROM answers_before"))
    connection.execute(sql.text("DROP TABLE answers_before"))


STEPS: tuple[Callable[[sql.Connection], None], ...] = (_several_draws,)
"""The step at index i leads from schema i + 1 to i + 2."""

SCHEMA_VERSION = len(STEPS) + 1
