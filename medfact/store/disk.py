"""Space on the disk: how much the database and each owner's runs take, and which runs can be erased."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import sqlalchemy as sql

from medfact.models.pressure import calls_of
from medfact.store import schema
from medfact.store.database import Part, rows_among
from medfact.store.entities import GOING, RUNNING
from medfact.store.lifecycle import TABLES_OF_RUNS, erase_runs
from medfact.store.lookup import age_counts_from, arrival_of, attempts_in, writing_in
from medfact.store.workers import is_alive

ROW_BYTES = 200
"""What a row takes beside its texts."""


class Ended(NamedTuple):
    """A run that nobody asks now, or a writing, by one of its attempts. ended_at: the time from which its age counts."""

    run: str
    owner: str
    ended_at: str


class HeldRun(NamedTuple):
    """A run that takes room, perhaps a deleted one. calls: its statements and pushes. changed: the number of its version."""

    run: str
    owner: str
    calls: int
    state: str
    changed: int


class Disk(Part):
    """Says what the database takes, and erases runs for good."""

    def used_bytes(self) -> int | None:
        """Bytes that the database's contents take, without the room that erased ones left in its file; None on a server."""
        return (
            None if self.database.file is None else (self._pragma("page_count") - self._pragma("freelist_count")) * self._page()
        )

    def spare_bytes(self) -> int:
        """Bytes in the database's file that erased contents have left, for new ones; 0 on a server."""
        return 0 if self.database.file is None else self._pragma("freelist_count") * self._page()

    def _page(self) -> int:
        return self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        with self.database.reading() as connection:
            return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())

    def ended(self, besides: Sequence[str]) -> list[Ended]:
        """The runs that nobody asks now, deleted ones too, but for those of some owners; those that ended first come first."""
        row = schema.runs.c
        at = age_counts_from().label("at")
        query = sql.select(row.run, row.owner, at, row.state, row.worker, row.beat_at, row.spec)
        with self.database.reading() as connection:
            found = connection.execute(query.where(row.owner.not_in(besides)).order_by(at)).all()
        together: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        for run in found:
            together[run.owner, writing_in(run.run, run.spec) or run.run].append(run)
        ended = [
            Ended(attempts[0].run, owner, attempts[-1].at)
            for (owner, _), attempts in together.items()
            if not any(attempt.state in GOING and is_alive(attempt.worker, attempt.beat_at) for attempt in attempts)
        ]
        return sorted(ended, key=lambda one: one.ended_at)

    def held(self, owners: Sequence[str]) -> list[HeldRun]:
        """All runs of some owners, deleted ones too."""
        row = schema.runs.c
        query = sql.select(row.run, row.owner, row.statements, row.spec, row.state, row.changed)
        with self.database.reading() as connection:
            return [
                HeldRun(one.run, one.owner, _calls(one.statements, one.spec), one.state, one.changed)
                for one in rows_among(connection, query, row.owner, owners)
            ]

    def erase_deleted(self) -> int:
        """Erases this owner's deleted runs for good; returns their number."""
        row = schema.runs.c
        deleted = sql.select(row.run).where(row.owner == self.owner, row.deleted_at.is_not(None))
        with self.database.writing() as connection:
            if runs := connection.execute(deleted).scalars().all():
                erase_runs(connection, runs)
        if runs:
            self.database.erased.set()
        return len(runs)

    def statements_begun(self, owner: str, since: str) -> int:
        """Statements and pushes of the runs that an owner has begun since a time, as it is recorded, deleted ones too. Those
        from files were begun elsewhere: they count when they are asked here.
        """
        row, event = schema.runs.c, schema.events.alias()
        arrived = arrival_of(row.run, schema.events.c.number)
        taken_up = (event.c.run == row.run, event.c.what == RUNNING, event.c.number > arrived, event.c.at >= since)
        from_file = sql.and_(arrived.is_not(None), sql.exists().where(*taken_up))
        begun = sql.or_(sql.and_(arrived.is_(None), row.started_at >= since), from_file)
        query = sql.select(row.statements, row.spec).where(row.owner == owner, begun)
        with self.database.reading() as connection:
            return sum(_calls(statements, spec) for statements, spec in connection.execute(query))

    def run_bytes(self, runs: Sequence[str]) -> dict[str, int]:
        """About how many bytes each of these runs takes, with the statements that it asks, which others may ask too."""
        sizes = dict.fromkeys(runs, 0)
        place, statement = schema.run_statements, schema.statements
        with self.database.reading() as connection:
            dialect = connection.dialect.name
            queries = [sql.select(table.c.run, bytes_of(table, dialect)).group_by(table.c.run) for table in TABLES_OF_RUNS]
            asked = place.join(statement, statement.c.statement_id == place.c.statement_id)
            queries.append(sql.select(place.c.run, bytes_of(statement, dialect)).select_from(asked).group_by(place.c.run))
            for query in queries:
                for name, size in rows_among(connection, query, query.selected_columns[0], runs):
                    sizes[name] += int(size)
        return sizes

    def erase(self, runs: Sequence[str]) -> None:
        """Erases runs for good, writings with all their attempts, and the statements that no other run asks."""
        with self.database.writing() as connection:
            erase_runs(connection, list(dict.fromkeys(chain.from_iterable(attempts_in(connection, run) for run in runs))))
        self.database.erased.set()


def _calls(statements: int, spec: str) -> int:
    """How many statements a run asks, and pushes against their answers at most. spec: its record."""
    chosen: Sequence[str] = ()
    with suppress(ValueError, AttributeError):  # a damaged record
        chosen = json.loads(spec).get("pressure", ()) if '"pressure"' in spec else ()
    return calls_of(chosen, statements)


def bytes_of(table: sql.Table, dialect: str) -> Any:
    """The bytes of a group of rows of a table, as an expression for a query."""
    columns = [column for column in table.c if isinstance(column.type, schema.StoredText | sql.LargeBinary)]
    sizes = (sql.func.coalesce(_length(column, dialect), 0) for column in columns)
    return sql.func.coalesce(sql.func.sum(sum(sizes, sql.literal(ROW_BYTES))), 0)


def _length(column: sql.Column[Any], dialect: str) -> Any:
    """The bytes of a text; `length` counts characters."""
    if dialect == "postgresql":
        return sql.func.octet_length(column)
    return sql.func.length(sql.cast(column, sql.LargeBinary))
