"""Runs: their records, who works on them, what happened to them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sql

from medfact.errors import Mistake, UnknownName
from medfact.facts import Fact
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import tables
from medfact.store.connection import Database, now
from medfact.store.records import COMPLETE, IMPORTED, INTERRUPTED, NOTED, RUNNING, STOP_ASKED, WAITING, Happened, Plan, Run
from medfact.store.sheets import fact_numbers, sheet_of
from medfact.store.workers import in_words, is_alive, myself

MOST_HAPPENED = 1_000
"""Events of a run that are read together, at most."""

KEPT_DELETED = timedelta(days=7)
"""So long a deleted run can be brought back."""

_ID = tables.statements.c.statement_id
_OF_RUN = (tables.answers, tables.run_statements, tables.demonstrations, tables.events, tables.sheets, tables.runs)


class Taken(NamedTuple):
    """A run that this process took up. number: tells this time from others. changed: the run's own until then."""

    number: int
    changed: int


class Runs(Database):
    """What is known of runs, but for their answers. Runs that were deleted are not found, until they are brought back."""

    owner: str

    def start_run(self, spec: RunSpec, plan: Plan, versions: dict[str, str]) -> str:
        """Records a run and all that it will ask, before its model loads; returns its random 128-bit id."""
        run = secrets.token_hex(16)
        numbers = fact_numbers(planned.statement for planned in plan.statements)
        with self._writing() as connection:
            connection.execute(
                tables.runs.insert().values(
                    run=run,
                    owner=self.owner,
                    state=WAITING,
                    worker=myself(),
                    beat_at=now(),
                    started_at=now(),
                    model=spec.model,
                    dataset=plan.dataset,
                    dataset_fingerprint=plan.dataset_fingerprint,
                    pool=plan.pool,
                    pool_text=json.dumps(plan.pool_text),
                    shots=plan.shots,
                    spec=json.dumps(spec.to_record()),
                    versions=json.dumps(versions),
                    notes=json.dumps(plan.notes),
                    statements=len(plan.statements),
                    facts=max(numbers, default=-1) + 1,
                )
            )
            self._add_plan(connection, run, plan, numbers)
            self._tell(connection, run, WAITING, None)
        return run

    def _add_plan(self, connection: sql.Connection, run: str, plan: Plan, numbers: Sequence[int]) -> None:
        if plan.statements:
            self._add_statements(connection, {p.statement.statement_id: p.statement for p in plan.statements})
            columns = ("run", "position", "statement_id", "shots_of", "draw", "fact")
            places = (
                (run, position, planned.statement.statement_id, planned.shots_of, planned.draw, number)
                for position, (planned, number) in enumerate(zip(plan.statements, numbers, strict=True))
            )
            self._insert_all(connection, self._compiled(tables.run_statements.insert(), columns), columns, places)
        shots = [
            {"run": run, "shots_of": group, "position": i, "text": shot.text, "label": shot.label}
            for group, demonstrations in plan.demonstrations.items()
            for i, shot in enumerate(demonstrations)
        ]
        if shots:
            connection.execute(tables.demonstrations.insert(), shots)
        connection.execute(tables.sheets.insert().values(run=run, columns=sheet_of(plan.statements).to_bytes()))

    def _add_statements(self, connection: sql.Connection, statements: dict[str, Statement]) -> None:
        """Adds statements, by their ids. What is here of one already stays, unless it only came out of files."""
        ids = sorted(statements)  # of two processes that add the same ones, none waits for one that waits for it
        values = (statement_values(statements[name]) for name in ids)
        made = self._compiled(self._insert_new(tables.statements), STATEMENT_COLUMNS)
        self._insert_all(connection, made, STATEMENT_COLUMNS, values)
        imported = sql.select(tables.events.c.run).where(tables.events.c.what == IMPORTED)
        if connection.execute(imported.limit(1)).first() is None:
            return
        for start in range(0, len(ids), 500):
            rows = {name: statement_row(statements[name]) for name in ids[start : start + 500]}
            query = _told_by(imported).where(tables.statements.c.statement_id.in_(rows))
            found = [dict(row._mapping) for row in connection.execute(query)]
            told = [rows[row["statement_id"]] for row in found if row != rows[row["statement_id"]]]
            if told:
                own = [{**row, "of_statement": row["statement_id"]} for row in told]
                connection.execute(tables.statements.update().where(sql.bindparam("of_statement") == _ID), own)

    # ------------------------------------------------------------------------------------- who works on it

    def take_up(self, run: str) -> Taken:
        """Makes this process the one that asks a run. Raises Mistake where another that lives asks it already."""
        record = self.run(run)
        if record.state == RUNNING and record.worker not in (None, myself()):
            raise Mistake(f"Run {run} is being asked by {in_words(record.worker)}.", "Watch it there, or stop it and resume.")
        row = tables.runs.c
        update = tables.runs.update().where(row.run == run, row.changed == record.changed)
        with self._writing() as connection:
            taken = connection.execute(
                update.values(
                    state=RUNNING,
                    reason=None,
                    finished_at=None,
                    worker=myself(),
                    beat_at=now(),
                    changed=row.changed + 1,
                )
            )
            if taken.rowcount != 1:
                raise Mistake(f"Run {run} was taken up by another process just now.", "Watch it there.")
            self._tell(connection, run, RUNNING, None)
            return Taken(int(connection.execute(_last_taken_up(run)).scalar_one()), record.changed)

    def ask_to_stop(self, run: str) -> None:
        """Leaves word for the process that asks a run, or is going to, that it is to stop."""
        with self._writing() as connection:
            self._tell(connection, run, STOP_ASKED, None)

    def is_asked_to_stop(self, run: str, since: int) -> bool:
        """Whether word was left since the event of this number."""
        row = tables.events.c
        query = sql.select(row.number).where(row.run == run, row.what == STOP_ASKED, row.number > since).limit(1)
        with self._reading() as connection:
            return connection.execute(query).first() is not None

    def taken_up(self, run: str) -> int:
        """The number of the last time that a run was taken up; 0 where it never was."""
        with self._reading() as connection:
            return int(connection.execute(_last_taken_up(run)).scalar() or 0)

    def beat(self, run: str) -> None:
        """Says that this process still lives."""
        self._update(run, beat_at=now())

    def record_model(self, run: str, *, revision: str, chat: bool, decoding: dict[str, Any], notes: Sequence[str] = ()) -> None:
        """Records what was loaded for a run, and what is to be noted of it."""
        before = self.run(run).notes
        new = [note for note in dict.fromkeys(notes) if note not in before]
        values = {"model_revision": revision, "chat": chat, "decoding": json.dumps(decoding)}
        with self._writing() as connection:
            update = tables.runs.update().where(tables.runs.c.run == run)
            connection.execute(update.values(notes=json.dumps([*before, *new]), changed=tables.runs.c.changed + 1, **values))
            for note in new:
                self._tell(connection, run, NOTED, note)

    def set_state(self, run: str, state: str, reason: str | None = None, *, since: int | None = None) -> None:
        """Moves a run to another state; every state but waiting and running has an end time.

        since: a number that `taken_up` gave; nothing happens where the run was taken up again by now.
        """
        going = state in {WAITING, RUNNING}
        update = tables.runs.update().where(tables.runs.c.run == run)
        if since is not None:
            update = update.where(sql.func.coalesce(_last_taken_up(run).scalar_subquery(), 0) == since)
        with self._writing() as connection:
            done = connection.execute(
                update.values(
                    state=state,
                    reason=reason,
                    finished_at=None if going else now(),
                    worker=myself() if going else None,
                    changed=tables.runs.c.changed + 1,
                )
            )
            if done.rowcount:
                self._tell(connection, run, state, reason)

    def _tell(self, connection: sql.Connection, run: str, what: str, said: str | None) -> None:
        connection.execute(tables.events.insert().values(run=run, at=now(), what=what, said=said))

    def _update(self, run: str, **values: Any) -> None:
        with self._writing() as connection:
            connection.execute(tables.runs.update().where(tables.runs.c.run == run).values(**values))

    # ---------------------------------------------------------------------------------------- finding them

    def runs(self, *owners: str) -> list[Run]:
        """All runs (of these owners, where given), oldest first."""
        query = sql.select(tables.runs).where(tables.runs.c.deleted_at.is_(None)).order_by(tables.runs.c.number)
        if owners:
            query = query.where(tables.runs.c.owner.in_(owners))
        with self._reading() as connection:
            return [_run(row) for row in connection.execute(query)]

    def run(self, run: str) -> Run:
        """A run by its id, or by the beginning of its id where only one run has it.

        Raises UnknownName when there is none, Mistake when there are several.
        """
        row = tables.runs.c
        named = row.run.startswith(run.lower(), autoescape=True)
        query = sql.select(tables.runs).where(named, row.deleted_at.is_(None)).limit(2)
        with self._reading() as connection:
            found = [_run(row) for row in connection.execute(query)] if run else []
        if len(found) > 1:
            raise Mistake(f"Several runs begin with {run!r}.", "Give more of the id.")
        if not found:
            raise UnknownName("run", run, (r.run for r in self.runs()[-3:]))
        return found[0]

    def pulse(self, run: str) -> tuple[int, str]:
        """A run's `changed` and its state: by these a page sees whether anything is new. Raises UnknownName."""
        row = tables.runs.c
        query = sql.select(row.changed, row.state, row.worker, row.beat_at).where(row.run == run, row.deleted_at.is_(None))
        with self._reading() as connection:
            found = connection.execute(query).one_or_none()
        if found is None:
            raise UnknownName("run", run, ())
        return found.changed, _state(found)

    def last_complete(self, model: str) -> Run | None:
        """The run of a model that was completed here last, whoever's; None where there is none."""
        row = tables.runs.c
        query = sql.select(row.run).where((row.model == model) & (row.state == COMPLETE) & row.deleted_at.is_(None))
        with self._reading() as connection:
            found = connection.execute(query.order_by(row.finished_at.desc()).limit(1)).scalar()
        return self.run(found) if found else None

    def happened(self, run: str, what: str | None = None, most: int = MOST_HAPPENED) -> list[Happened]:
        """What happened to a run, oldest first: of one kind, where that is given; the last ones, where there are many."""
        row = tables.events.c
        query = sql.select(row.at, row.what, row.said).where(row.run == run).order_by(row.number.desc()).limit(most)
        if what is not None:
            query = query.where(row.what == what)
        with self._reading() as connection:
            return [Happened(*found) for found in connection.execute(query)][::-1]

    def count_happened(self, run: str) -> int:
        """How much happened to a run."""
        query = sql.select(sql.func.count()).select_from(tables.events).where(tables.events.c.run == run)
        with self._reading() as connection:
            return int(connection.execute(query).scalar_one())

    def moves(self, run: str, most: int = MOST_HAPPENED) -> list[Happened]:
        """The states that a run went through, without their reasons, oldest first; the last ones, where there are many."""
        row = tables.events.c
        of_states = (row.run == run, row.what.not_in([NOTED, IMPORTED, STOP_ASKED]))
        query = sql.select(row.at, row.what).where(*of_states).order_by(row.number.desc()).limit(most)
        with self._reading() as connection:
            return [Happened(at, what, None) for at, what in connection.execute(query)][::-1]

    def was_imported(self, run: str) -> bool:
        """Whether a run came out of a file."""
        return bool(self.happened(run, IMPORTED, most=1))

    # ------------------------------------------------------------------------------- what its owner does to it

    def describe(self, run: str, *, name: str | None, note: str | None) -> None:
        """Gives a run a name and a note; empty ones take them away."""
        self._update(run, name=name or None, note=note or None)

    def delete(self, run: str) -> None:
        """Puts a run away; `restore` brings it back within KEPT_DELETED."""
        self._update(run, deleted_at=now())

    def deleted(self, *owners: str) -> list[Run]:
        """Runs of these owners that can be brought back, the last deleted first."""
        row, since = tables.runs.c, (datetime.now(UTC) - KEPT_DELETED).isoformat(timespec="milliseconds")
        query = sql.select(tables.runs).where(row.deleted_at > since, row.owner.in_(owners)).order_by(row.deleted_at.desc())
        with self._reading() as connection:
            return [_run(found) for found in connection.execute(query)]

    def restore(self, run: str) -> None:
        self._update(run, deleted_at=None)

    def purge(self) -> int:
        """Erases runs that were deleted longer than KEPT_DELETED ago, and statements that no run asks; how many runs."""
        before = (datetime.now(UTC) - KEPT_DELETED).isoformat(timespec="milliseconds")
        with self._writing() as connection:
            gone = connection.execute(sql.select(tables.runs.c.run).where(tables.runs.c.deleted_at < before)).scalars().all()
            for table in _OF_RUN if gone else ():
                connection.execute(table.delete().where(table.c.run.in_(gone)))
            if gone:
                self._forget_unasked(connection)
        return len(gone)

    def _forget_unasked(self, connection: sql.Connection) -> None:
        """Erases statements that no run asks."""
        statements, places = tables.statements, tables.run_statements
        if connection.dialect.name == "postgresql":  # a run that is being recorded may count on one of them
            connection.execute(sql.text("LOCK TABLE statements IN SHARE ROW EXCLUSIVE MODE"))
        asked = statements.outerjoin(places, places.c.statement_id == statements.c.statement_id)
        unasked = sql.select(statements.c.statement_id).select_from(asked).where(places.c.run.is_(None))
        connection.execute(statements.delete().where(statements.c.statement_id.in_(unasked)))


def _told_by(runs: sql.Select[Any]) -> sql.Select[Any]:
    """Statements that some of these runs ask, and no other."""
    of_these, of_others = tables.run_statements.alias(), tables.run_statements.alias()
    others = tables.runs.join(of_others, of_others.c.run == tables.runs.c.run)
    asked = sql.exists().where(of_these.c.run.in_(runs), of_these.c.statement_id == _ID)
    elsewhere = sql.exists().select_from(others).where(tables.runs.c.run.not_in(runs), of_others.c.statement_id == _ID)
    return sql.select(tables.statements).where(asked, ~elsewhere)


def _last_taken_up(run: str) -> sql.Select[Any]:
    """The number of the event that a run was last taken up."""
    row = tables.events.c
    return sql.select(sql.func.max(row.number)).where(row.run == run, row.what == RUNNING)


STATEMENT_COLUMNS = (*tables.FACT_TEXTS, "positive", "k", "statement_id", "pool", "variant", "text", "origin")
"""Of the table `statements`; those of the fact come first."""

_FACT_COLUMNS = len(tables.FACT_TEXTS) + 2
_of_fact = attrgetter(*STATEMENT_COLUMNS[:_FACT_COLUMNS])
_of_statement = attrgetter(*STATEMENT_COLUMNS[_FACT_COLUMNS:])


def statement_values(statement: Statement) -> tuple[Any, ...]:
    """The values of a row of the table `statements`, by STATEMENT_COLUMNS."""
    return (*_of_fact(statement.fact), *_of_statement(statement))


def statement_row(statement: Statement) -> dict[str, Any]:
    """A row of the table `statements`."""
    return dict(zip(STATEMENT_COLUMNS, statement_values(statement), strict=True))


def statement_of(values: Sequence[Any], facts: dict[str, Fact]) -> Statement:
    """The statement of such values; `facts` keeps one fact for all its statements."""
    fact = facts.get(values[0])
    if fact is None:
        fact = Fact(**dict(zip(STATEMENT_COLUMNS[:_FACT_COLUMNS], values, strict=False)))
        facts[fact.fact_id] = fact
    statement_id, pool, variant, text, origin = values[_FACT_COLUMNS:]
    return Statement(fact, pool, variant, text, origin, statement_id)


def _run(row: Any) -> Run:
    values = {f.name: getattr(row, f.name) for f in fields(Run)}
    values["spec"] = RunSpec.from_record(json.loads(row.spec))
    for name, nothing in (("versions", "{}"), ("notes", "[]"), ("decoding", "{}"), ("pool_text", "{}")):
        values[name] = json.loads(getattr(row, name) or nothing)
    values["state"] = _state(row)
    return Run(**values)


def _state(row: Any) -> str:
    """The state of a run as its row says, but for one whose process is gone."""
    going = row.state in {WAITING, RUNNING}
    return INTERRUPTED if going and not is_alive(row.worker, row.beat_at) else str(row.state)
