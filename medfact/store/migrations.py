"""Numbered steps from an older schema to the newest one."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sql

from medfact.store import tables


def migrate(engine: sql.Engine) -> bool:
    """Brings a database up to the newest schema, making its tables where there are none; False where it is newer than that.

    All of it or nothing happens, one process after the other.
    """
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            return _migrated(connection)
    # The driver commits after each command that changes the schema, unless it is told to leave transactions alone.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            done = _migrated(connection)
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")
        return done


def _migrated(connection: sql.Connection) -> bool:
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
    columns = "run, statement_id, key, answer, p_true, p_mass, raw, failure, asked_at"
    for command in (
        "DROP INDEX IF EXISTS ix_answers_key",
        "ALTER TABLE answers RENAME TO answers_before",
        """CREATE TABLE answers (
            run VARCHAR(32) NOT NULL, statement_id VARCHAR(32) NOT NULL, draw INTEGER DEFAULT 0 NOT NULL,
            "key" VARCHAR(64) NOT NULL, answer BOOLEAN, p_true FLOAT, p_mass FLOAT, raw TEXT, failure TEXT,
            asked_at VARCHAR(32) NOT NULL, PRIMARY KEY (run, statement_id, draw))""",
        'CREATE INDEX ix_answers_key ON answers ("key")',
        f"INSERT INTO answers ({columns}, draw) SELECT {columns}, 0 FROM answers_before",
        "DROP TABLE answers_before",
    ):
        connection.execute(sql.text(command))


def _services(connection: sql.Connection) -> None:
    """2 → 3: what a service said of a call, and bounds of P(True)."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "FLOAT"
    columns = {
        "p_low": double,
        "p_high": double,
        "cut": "VARCHAR(32)",
        "served_model": "TEXT",
        "fingerprint": "TEXT",
        "prompt_tokens": "INTEGER",
        "completion_tokens": "INTEGER",
        "seconds": double,
        "attempts": "INTEGER",
    }
    for name, kind in columns.items():
        connection.execute(sql.text(f"ALTER TABLE answers ADD COLUMN {name} {kind}"))


STEPS: tuple[Callable[[sql.Connection], None], ...] = (_several_draws, _services)
"""The step at index i leads from schema i + 1 to i + 2."""

SCHEMA_VERSION = len(STEPS) + 1
