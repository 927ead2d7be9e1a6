"""Space on the disk: how much the database and each owner's runs take, and erasing runs for good.

Of an erased run stays a hash of what it held: an altered copy of it can be told from a true one.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import chain
from typing import Any, NamedTuple

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.models.pressure import calls_of
from medfact.models.services.replies import shortened
from medfact.setting import ALL, setting_metadata
from medfact.spec import RunSpec
from medfact.store import schema
from medfact.store.database import Part, rows_among
from medfact.store.entities import GOING, IMPORTED, PAUSED, RUNNING, STOPPED
from medfact.store.lookup import age_counts_from, arrival_of, attempts_in, writing_in
from medfact.store.run_answers import order_of_kinds
from medfact.store.schema import storable
from medfact.store.workers import is_alive

WAS_GOING = "It was going on when it was exported."
DATABASE_ERROR = "Its database could not be written."
"""Replaces the database's own error, which names its folder."""

_RUN = (
    "started_at", "model", "model_revision", "chat", "dataset", "dataset_fingerprint", "pool", "shots", "statements", "facts",
)  # fmt: skip
_JSON = ("decoding", "versions", "notes", "pool_text", "population")
_LEFT_OUT = {"service", "placement", "writing", "race"}
"""Fields of a spec that are no settings, or of which files for others have a hash."""

_ANSWER = (
    "statement_id", "draw", "position", "key", "answer", "p_true", "p_mass", "p_low", "p_high", "raw", "failure", "cut",
    "served_model", "fingerprint", "prompt_tokens", "completion_tokens", "seconds", "attempts", "asked_at",
)  # fmt: skip
_PUSH = (*_ANSWER, "kind", "round")

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f]")
"""Control characters, which an import may leave out."""

_ROWS_AT_ONCE = 1_000


def ending_of(connection: sql.Connection, row: Any) -> dict[str, Any]:
    """How a run ended, as its file says it. One that is going on is written as stopped."""
    ended = {"state": row.state, "reason": row.reason, "finished_at": row.finished_at}
    if row.state in GOING:
        columns = (schema.events.c.at, schema.answers.c.asked_at, schema.pushes.c.asked_at)
        queries = (sql.select(sql.func.max(column)).where(column.table.c.run == row.run) for column in columns)
        latest = max(filter(None, (connection.execute(query).scalar() for query in queries)), default=row.started_at)
        ended = {"state": STOPPED, "reason": WAS_GOING, "finished_at": latest}
    elif row.state == PAUSED:
        ended["reason"] = public_reason(row.reason)
    return ended


def public_reason(reason: str | None) -> str | None:
    """Why a run paused, without details of its database."""
    return DATABASE_ERROR if reason is None or "database" in reason.lower() else reason


def content_of(connection: sql.Connection, run: str) -> str:
    """A hash of all that a run's file holds; "" for a run whose record cannot be read."""
    told = hashlib.sha256()
    with suppress(Mistake, ValueError, TypeError, AttributeError):
        told.update(_line(_of_run(connection, run)))
        for query in _queries(run):
            for row in connection.execute(query, execution_options={"yield_per": _ROWS_AT_ONCE}):
                told.update(_line(row))
        shot = schema.demonstrations.c
        shots = connection.execute(sql.select(shot.shots_of, shot.position, shot.text, shot.label).where(shot.run == run))
        told.update(b"".join(sorted(map(_line, shots))))
        return told.hexdigest()
    return ""


def _of_run(connection: sql.Connection, run: str) -> Iterator[Any]:
    row = connection.execute(sql.select(schema.runs).where(schema.runs.c.run == run)).one()
    yield from ending_of(connection, row).values()
    yield from (getattr(row, name) for name in _RUN)
    yield from (json.dumps(json.loads(getattr(row, name) or "{}") or {}, sort_keys=True) for name in _JSON)
    spec = RunSpec.from_record(json.loads(row.spec))
    for record in (spec, spec.service):  # a setting at its default is left out, so that settings can be added
        kept = (one.name for one in fields(record) if (of := setting_metadata(one)).export_policy == ALL and not of.resumable)
        values = {name: getattr(record, name) for name in kept if name not in _LEFT_OUT}
        yield json.dumps({name: value for name, value in values.items() if value != getattr(type(record), name, None)})


def _queries(run: str) -> Iterable[sql.Select[Any]]:
    """What belongs to a run besides its row and its demonstrations, in an order that is the same in every database."""
    place, fact, found = schema.run_statements.c, schema.run_facts.c, schema.retrieved.c
    event, answer, push = schema.events.c, schema.answers.c, schema.pushes.c

    def rows(columns: Sequence[sql.Column[Any]], *order: Any) -> sql.Select[Any]:
        return sql.select(*columns).where(columns[0].table.c.run == run).order_by(*order)

    yield rows([place.position, place.statement_id, place.shots_of, place.draw, place.fact], place.position)
    yield rows([fact.fact, fact.record], fact.fact).where(fact.statement_id.is_(None))
    yield rows([fact.record, fact.statement_id], fact.statement_id).where(fact.statement_id.is_not(None))
    yield rows([found.statement_id, found.passages], found.statement_id)
    yield rows([event.at, event.what], event.number).where(event.what != IMPORTED)
    yield rows([answer[name] for name in _ANSWER], answer.position).where(answer.position.is_not(None))
    pushed = rows([push[name] for name in _PUSH], push.position, order_of_kinds(), push.round)
    yield pushed.where(push.position.is_not(None))


def _line(row: Iterable[Any]) -> bytes:
    """A row as text, the same before and after it was in a file."""
    return json.dumps([_told(value) for value in row]).encode() + b"\n"


def _told(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSEEN.sub("", shortened(storable(value)))
    return None if isinstance(value, float) and not math.isfinite(value) else value


ROW_BYTES = 200
"""What a row takes beside its texts."""


TABLES_OF_RUNS = (
    schema.answers, schema.pushes, schema.run_statements, schema.run_facts, schema.demonstrations, schema.retrieved,
    schema.events, schema.log, schema.sheets, schema.runs,
)  # fmt: skip


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
        if self.database.file is None:
            return None
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._pragma("page_size")

    def spare_bytes(self) -> int:
        """Bytes in the database's file that erased contents have left, for new ones; 0 on a server."""
        return 0 if self.database.file is None else self._pragma("freelist_count") * self._pragma("page_size")

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


def erase_runs(connection: sql.Connection, runs: Sequence[str]) -> None:
    """Erases runs, and statements that no other run asks. What remains is a hash of what each held."""
    erased = schema.erased_runs
    for run in runs:
        if connection.execute(sql.select(erased.c.run).where(erased.c.run == run)).first() is None:  # the first copy counts
            connection.execute(erased.insert().values(run=run, content=content_of(connection, run)))
    for table in TABLES_OF_RUNS:
        connection.execute(table.delete().where(table.c.run.in_(runs)))
    delete_unasked(connection)


def delete_unasked(connection: sql.Connection) -> None:
    """Erases statements that no run asks, and facts that none has, unless somebody has said something of the fact."""
    statements, facts, of_runs, said = schema.statements, schema.facts, schema.run_facts, schema.verdicts.c
    if connection.dialect.name == "postgresql":  # a run that is being recorded may rely on one of them
        connection.execute(sql.text("LOCK TABLE statements, facts IN SHARE ROW EXCLUSIVE MODE"))
    asked = sql.select(schema.run_statements.c.statement_id).union_all(sql.select(of_runs.c.statement_id)).subquery()
    found = statements.outerjoin(asked, asked.c.statement_id == statements.c.statement_id)
    unasked = sql.select(statements.c.statement_id).select_from(found).where(asked.c.statement_id.is_(None))
    unasked = unasked.where(~sql.exists().where(said.fact_id == statements.c.fact_id))
    connection.execute(statements.delete().where(statements.c.statement_id.in_(unasked)))
    used = (sql.exists().where(column == facts.c.record) for column in (of_runs.c.record, said.record))
    connection.execute(facts.delete().where(*(~one for one in used)))


def _calls(statements: int, spec: str) -> int:
    """How many statements a run asks, and pushes against their answers at most. spec: its record."""
    chosen: Sequence[str] = ()
    with suppress(ValueError, AttributeError):  # a damaged record
        chosen = json.loads(spec).get("pressure", ())
    return calls_of(chosen, statements)


def bytes_of(table: sql.Table, dialect: str) -> Any:
    """The bytes of a group of rows of a table, as an expression for a query."""
    columns: list[Any] = [column for column in table.c if isinstance(column.type, schema.StoredText | sql.LargeBinary)]
    length: Any = sql.func.octet_length
    if dialect == "sqlite":  # whose `length` counts the characters of a text
        columns, length = [sql.cast(column, sql.LargeBinary) for column in columns], sql.func.length
    sizes = (sql.func.coalesce(length(column), 0) for column in columns)
    return sql.func.coalesce(sql.func.sum(sum(sizes, sql.literal(ROW_BYTES))), 0)
