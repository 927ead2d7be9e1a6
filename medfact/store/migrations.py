"""Numbered steps from older schemas to the newest one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import sqlalchemy as sql

from medfact.assets import ENGLISH
from medfact.errors import StoreError
from medfact.store import schema
from medfact.store.schema import record_id

ADVISORY_LOCK_ID = 0x6D656466
"""The lock that a migration holds on a PostgreSQL server ("medf"), so that a second one waits."""


def migrate(engine: sql.Engine) -> bool:
    """Brings a database to the newest schema and creates missing tables. Returns False if the database is newer than that.

    A migration happens whole or not at all, and in one process at a time.
    """
    if _is_newest(engine):  # this check needs no lock
        return True
    if engine.dialect.name != "sqlite":
        with engine.begin() as connection:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(ADVISORY_LOCK_ID)))
            return _migrated(connection)
    # In any other mode, SQLite's driver commits after each command that changes the schema.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            done = _migrated(connection)
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")
        return done


def _is_newest(engine: sql.Engine) -> bool:
    with engine.connect() as connection:
        there = sql.inspect(connection).has_table(schema.schema_version.name)
        if not there or connection.execute(sql.select(schema.schema_version.c.version)).scalar() != SCHEMA_VERSION:
            return False
        return not _new_columns(connection)


def _migrated(connection: sql.Connection) -> bool:
    if not sql.inspect(connection).has_table(schema.schema_version.name):
        _check_encoding(connection)
        schema.metadata.create_all(connection)
        connection.execute(schema.schema_version.insert().values(version=SCHEMA_VERSION))
        return True
    version = connection.execute(sql.select(schema.schema_version.c.version)).scalar() or 1
    for step in STEPS[version - 1 :]:
        step(connection)
    if version < SCHEMA_VERSION:
        schema.metadata.create_all(connection)
        connection.execute(schema.schema_version.update().values(version=SCHEMA_VERSION))
    if version <= SCHEMA_VERSION:
        for column in _new_columns(connection):
            kind = column.type.compile(connection.dialect)
            _add_columns(connection, schema.facts.name, f"{column.name} {kind}")
    return version <= SCHEMA_VERSION


def _new_columns(connection: sql.Connection) -> list[sql.Column[Any]]:
    """The columns of facts that the database has not yet: what `facts.Fact` declares needs no step of its own."""
    there = {one["name"] for one in sql.inspect(connection).get_columns(schema.facts.name)}
    return [column for column in schema.facts.c if column.name not in there]


def _check_encoding(connection: sql.Connection) -> None:
    """Raises StoreError if a server's database cannot hold all characters."""
    if connection.dialect.name == "postgresql":
        encoding = connection.execute(sql.text("SHOW server_encoding")).scalar()
        if encoding != "UTF8":
            raise StoreError(
                f"This database has the encoding {encoding}, which cannot hold every character.",
                "Create another one (createdb --encoding=UTF8 --template=template0 NAME).",
            )


def _execute(connection: sql.Connection, *commands: str) -> None:
    for command in commands:
        connection.execute(sql.text(command))


def _add_columns(connection: sql.Connection, table: str, *columns: str) -> None:
    _execute(connection, *(f"ALTER TABLE {table} ADD COLUMN {column}" for column in columns))


def _new_table(_: sql.Connection) -> None:
    """A step to a schema with a new table: all tables that are missing are created after the last step."""


def _several_draws(connection: sql.Connection) -> None:
    """1 → 2: a run may ask a statement several times, with different demonstrations."""
    _add_columns(connection, "run_statements", "draw INTEGER NOT NULL DEFAULT 0")
    if connection.dialect.name == "postgresql":
        _add_columns(connection, "answers", "draw INTEGER NOT NULL DEFAULT 0")
        _execute(connection, "ALTER TABLE answers DROP CONSTRAINT answers_pkey")
        _execute(connection, "ALTER TABLE answers ADD PRIMARY KEY (run, statement_id, draw)")
        return
    columns = "run, statement_id, key, answer, p_true, p_mass, raw, failure, asked_at"
    _execute(
        connection,
        "DROP INDEX IF EXISTS ix_answers_key",
        "ALTER TABLE answers RENAME TO answers_before",
        """CREATE TABLE answers (
            run VARCHAR(32) NOT NULL, statement_id VARCHAR(32) NOT NULL, draw INTEGER DEFAULT 0 NOT NULL,
            "key" VARCHAR(64) NOT NULL, answer BOOLEAN, p_true FLOAT, p_mass FLOAT, raw TEXT, failure TEXT,
            asked_at VARCHAR(32) NOT NULL, PRIMARY KEY (run, statement_id, draw))""",
        'CREATE INDEX ix_answers_key ON answers ("key")',
        f"INSERT INTO answers ({columns}, draw) SELECT {columns}, 0 FROM answers_before",
        "DROP TABLE answers_before",
    )


def _services(connection: sql.Connection) -> None:
    """2 → 3: what services report about a call, and bounds of P(True)."""
    double = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "FLOAT"
    _add_columns(connection, "answers", *(f"{name} {double}" for name in ("p_low", "p_high", "seconds")))
    _add_columns(connection, "answers", "cut VARCHAR(32)", "served_model TEXT", "fingerprint TEXT")
    _add_columns(connection, "answers", *(f"{name} INTEGER" for name in ("prompt_tokens", "completion_tokens", "attempts")))


def _watched(connection: sql.Connection) -> None:
    """3 → 4: many pages can watch a run of any process; names, notes, deletion; numbered facts."""
    of_runs = ("facts INTEGER NOT NULL DEFAULT 0", "pool_text TEXT", "name TEXT", "note TEXT")
    of_workers = ("worker VARCHAR(200)", "beat_at VARCHAR(32)", "deleted_at VARCHAR(32)")
    _add_columns(connection, "runs", *of_runs, "changed INTEGER NOT NULL DEFAULT 0", *of_workers)
    _add_columns(connection, "run_statements", "fact INTEGER NOT NULL DEFAULT 0")
    _add_columns(connection, "answers", "position INTEGER", "batch INTEGER NOT NULL DEFAULT 0")
    _execute(
        connection,
        "CREATE INDEX ix_run_statements_statement ON run_statements (run, statement_id, draw)",
        """UPDATE answers SET position = (SELECT p.position FROM run_statements p
            WHERE p.run = answers.run AND p.statement_id = answers.statement_id AND p.draw = answers.draw)""",
    )
    for (run,) in connection.execute(sql.text("SELECT run FROM runs")).all():
        _number_facts(connection, run)
    _execute(
        connection,
        "CREATE INDEX ix_run_statements_fact ON run_statements (run, fact)",
        "CREATE INDEX ix_answers_batch ON answers (run, batch)",
    )
    if connection.dialect.name == "postgresql":
        _free_of_lengths(connection)


def _reasons(connection: sql.Connection) -> None:
    """4 → 5: why a false partner was rejected."""
    _add_columns(connection, "rejections", "reason TEXT NOT NULL DEFAULT ''")


def _difficulty(connection: sql.Connection) -> None:
    """5 → 6: the difficulty of a negative fact."""
    _add_columns(connection, "statements", "difficulty TEXT")


def _population(connection: sql.Connection) -> None:
    """10 → 11: of how many facts those of a run were drawn."""
    _add_columns(connection, "runs", "population TEXT")


def _fact_records(connection: sql.Connection) -> None:
    """12 → 13: names and descriptions of facts belong to the runs that asked them, and to the verdicts on them."""
    _execute(connection, *_FACT_TABLES)
    _record_facts(connection, ", ".join(_FACTS_OF_12))
    _execute(
        connection,
        "CREATE INDEX ix_described_fact ON described (fact_id)",
        """INSERT INTO run_facts (run, fact, record) SELECT p.run, p.fact, d.record FROM run_statements p
            JOIN (SELECT run, fact, min(position) AS first FROM run_statements GROUP BY run, fact) f
            ON f.run = p.run AND f.first = p.position JOIN described d ON d.statement_id = p.statement_id""",
        "CREATE INDEX ix_facts_fact_id ON facts (fact_id)",
        "CREATE INDEX ix_run_facts_record ON run_facts (record)",
        *(_RECORDS_OF_VERDICTS if sql.inspect(connection).has_table(schema.verdicts.name) else ()),
    )
    _record_partners(connection)
    _execute(connection, "DROP TABLE described")
    _narrow_statements(connection)


_FACTS_OF_12 = (
    "fact_id", "negative_of", "head", "relation", "tail", "head_type", "tail_type", "head_id", "tail_id", "source", "source_id",
    "strength", "specialty", "difficulty", "positive", "k",
)  # fmt: skip
"""What each statement said of its fact until schema 12."""

_FACT_TABLES = (
    """CREATE TABLE facts (
        record TEXT NOT NULL, head TEXT NOT NULL, relation TEXT NOT NULL, tail TEXT, positive BOOLEAN NOT NULL, head_type TEXT,
        tail_type TEXT, head_id TEXT, tail_id TEXT, source TEXT, source_id TEXT, as_of TEXT, strength TEXT, specialty TEXT,
        negative_of TEXT, k INTEGER NOT NULL, fact_id TEXT NOT NULL, difficulty TEXT, PRIMARY KEY (record))""",
    """CREATE TABLE run_facts (
        run TEXT NOT NULL, fact INTEGER NOT NULL, record TEXT NOT NULL, statement_id TEXT, PRIMARY KEY (run, fact))""",
    "CREATE TEMPORARY TABLE described (statement_id TEXT NOT NULL PRIMARY KEY, fact_id TEXT NOT NULL, record TEXT NOT NULL)",
)

_RECORDS_OF_VERDICTS = (
    "ALTER TABLE verdicts ADD COLUMN record TEXT NOT NULL DEFAULT ''",
    """UPDATE verdicts SET record = coalesce(
        (SELECT d.record FROM described d WHERE d.statement_id = verdicts.statement_id),
        (SELECT min(d.record) FROM described d WHERE d.fact_id = verdicts.fact_id), '')""",
    "CREATE INDEX ix_verdicts_record ON verdicts (record)",
)


def _record_facts(connection: sql.Connection, columns: str) -> None:
    """Fills `facts`, and `described`: which of them each statement says."""
    known: dict[tuple[Any, ...], str] = {}
    statements = connection.execute(sql.text(f"SELECT statement_id, {columns} FROM statements")).all()
    pairs, rows = [], []
    for statement_id, *values in statements:
        fact = tuple(values)
        if fact not in known:
            told = dict(zip(_FACTS_OF_12, fact, strict=True))
            told["positive"] = bool(told["positive"])
            known[fact] = record_id(told)
            rows.append({"record": known[fact], **told})
        pairs.append({"statement_id": statement_id, "fact_id": fact[0], "record": known[fact]})
    insert_facts = f"INSERT INTO facts (record, {columns}) VALUES (:record, {', '.join(f':{name}' for name in _FACTS_OF_12)})"
    for command, found in (
        (insert_facts, rows),
        ("INSERT INTO described (statement_id, fact_id, record) VALUES (:statement_id, :fact_id, :record)", pairs),
    ):
        if found:
            connection.execute(sql.text(command), found)


def _record_partners(connection: sql.Connection) -> None:
    """Records, beside false partners that a run asks without their true fact, that fact, where another run states it."""
    query = "SELECT r.run, f.fact_id, f.negative_of FROM run_facts r JOIN facts f ON f.record = r.record ORDER BY r.run"
    for run, group in groupby(connection.execute(sql.text(query)).all(), key=lambda row: row.run):
        asked = {row.fact_id: row.negative_of for row in group}
        stated = "SELECT statement_id, record FROM described WHERE fact_id = :fact ORDER BY statement_id LIMIT 1"
        missing = sorted({of for of in asked.values() if of is not None} - asked.keys())
        found = [connection.execute(sql.text(stated), {"fact": fact}).one_or_none() for fact in missing]
        rows = [{"run": run, "fact": place, **one._mapping} for place, one in enumerate(filter(None, found), len(asked))]
        if rows:
            beside = "INSERT INTO run_facts (run, fact, record, statement_id) VALUES (:run, :fact, :record, :statement_id)"
            connection.execute(sql.text(beside), rows)


def _narrow_statements(connection: sql.Connection) -> None:
    """Leaves to a statement what its id is a hash of."""
    gone = [name for name in _FACTS_OF_12 if name != "fact_id"]
    if connection.dialect.name == "postgresql":
        _execute(connection, "ALTER TABLE statements " + ", ".join(f"DROP COLUMN {name}" for name in gone))
        return
    columns = "statement_id, fact_id, pool, variant, text, origin"
    _execute(  # without a column at a time, SQLite would write the table anew fifteen times
        connection,
        "ALTER TABLE statements RENAME TO statements_before",
        """CREATE TABLE statements (
            statement_id VARCHAR(32) NOT NULL, fact_id TEXT NOT NULL, pool VARCHAR(256) NOT NULL, variant VARCHAR(16) NOT NULL,
            text TEXT NOT NULL, origin VARCHAR(64) NOT NULL, PRIMARY KEY (statement_id))""",
        f"INSERT INTO statements ({columns}) SELECT {columns} FROM statements_before",
        "DROP TABLE statements_before",
    )


def _thinking(connection: sql.Connection) -> None:
    """15 → 16: tokens of thinking stand apart, and a model may be asked how sure it is."""
    _add_columns(connection, "answers", "reasoning_tokens INTEGER", "stated TEXT")


def _times_and_places(_: sql.Connection) -> None:
    """18 → 19: facts of a time, a place and a population. The columns come with the others of `facts.Fact`; the number grows
    because the ids of such facts are hashes of them, so that an older version would take them for damaged.
    """


def _language_of_verdicts(connection: sql.Connection) -> None:
    """20 → 21: a fact may be judged in another language. Databases from before there were verdicts get a new table."""
    if sql.inspect(connection).has_table(schema.verdicts.name):
        _add_columns(connection, schema.verdicts.name, f"language TEXT NOT NULL DEFAULT '{ENGLISH}'")


def _upstream(connection: sql.Connection) -> None:
    """21 → 22: the host behind a router that answered. Databases from before there were pushes get a new table."""
    inspected = sql.inspect(connection)
    for table in (schema.answers.name, schema.pushes.name):
        if inspected.has_table(table) and all(column["name"] != "upstream" for column in inspected.get_columns(table)):
            _add_columns(connection, table, "upstream TEXT")


def _confirmed_partners(connection: sql.Connection) -> None:
    """22 → 23: false partners may be confirmed, and what is said of them holds for the triplet in any file."""
    _add_columns(
        connection,
        schema.rejections.name,
        "head TEXT NOT NULL DEFAULT ''",
        "relation TEXT NOT NULL DEFAULT ''",
        "confirmed BOOLEAN NOT NULL DEFAULT FALSE",
    )


def _free_of_lengths(connection: sql.Connection) -> None:
    """Removes length limits, which SQLite never enforced."""
    limited = sql.text(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND data_type = 'character varying'"
    )
    for table, column in connection.execute(limited).all():
        if table in schema.metadata.tables:
            _execute(connection, f'ALTER TABLE {table} ALTER COLUMN "{column}" TYPE TEXT')


def _number_facts(connection: sql.Connection, run: str) -> None:
    rows = connection.execute(
        sql.text(
            "SELECT p.position, s.fact_id FROM run_statements p JOIN statements s ON s.statement_id = p.statement_id "
            "WHERE p.run = :run ORDER BY p.position"
        ),
        {"run": run},
    )
    numbers: dict[str, int] = {}
    placed = [{"run": run, "position": position, "fact": numbers.setdefault(fact, len(numbers))} for position, fact in rows]
    if placed:
        numbered = "UPDATE run_statements SET fact = :fact WHERE run = :run AND position = :position"
        connection.execute(sql.text(numbered), placed)
    connection.execute(sql.text("UPDATE runs SET facts = :facts WHERE run = :run"), {"run": run, "facts": len(numbers)})


STEPS: tuple[Callable[[sql.Connection], None], ...] = (
    _several_draws,
    _services,
    _watched,
    _reasons,
    _difficulty,
    _new_table,  # drafts' decisions
    _new_table,  # verdicts
    _new_table,  # edits of prototypes
    _new_table,  # retrieved passages
    _population,
    _new_table,  # publications
    _fact_records,
    _new_table,  # labels that were seen
    _new_table,  # set-ups
    _thinking,
    _new_table,  # batches
    _new_table,  # pushes
    _times_and_places,
    _new_table,  # curations
    _language_of_verdicts,
    _upstream,
    _confirmed_partners,
)
"""The step at index i leads from schema i + 1 to i + 2."""

SCHEMA_VERSION = len(STEPS) + 1
