"""Finding runs and their histories. Deleted runs are not found until they are restored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sql

from medfact.errors import Mistake, UnknownName
from medfact.spec import RunSpec
from medfact.store import schema
from medfact.store.database import Database
from medfact.store.entities import COMPLETE, GOING, IMPORTED, INTERRUPTED, NOTED, PAUSED, STOP_ASKED, Run, RunEvent
from medfact.store.workers import is_alive

MOST_EVENTS = 1_000
"""Events of a run that are read at once, at most."""

KEPT_DELETED = timedelta(days=7)
"""How long a deleted run can be restored."""


LISTED = 3
"""Runs that are named where an id is none."""


def _named(latest: Sequence[str]) -> str:
    """The ids of the runs begun last, of which there may be many more."""
    return f"The latest {'is' if len(latest) == 1 else 'are'} {', '.join(latest)}." if latest else "There is none yet."


class Lookup(Database):
    """Reads runs and their histories."""

    def runs(self, *owners: str) -> list[Run]:
        """All runs that asked a model, or those of some owners, oldest first."""
        return [run for run in self._all_runs(*owners) if run.spec.task is None]

    def cut_off(self, *owners: str) -> list[Run]:
        """Those of some owners' runs that asked a model and were interrupted or paused."""
        found = self._all_runs(*owners, states=(*GOING, INTERRUPTED, PAUSED))
        return [run for run in found if run.spec.task is None and run.state in {INTERRUPTED, PAUSED}]

    def writings(self, *owners: str) -> list[Run]:
        """All runs that had a model write, or those of some owners, oldest first."""
        return [run for run in self._all_runs(*owners) if run.spec.task is not None]

    def _all_runs(self, *owners: str, states: Sequence[str] = ()) -> list[Run]:
        row = schema.runs.c
        query = sql.select(schema.runs).where(row.deleted_at.is_(None)).order_by(row.number)
        query = query.where(row.state.in_(states)) if states else query
        return self._runs(query.where(row.owner.in_(owners)) if owners else query)

    def run(self, run: str) -> Run:
        """The run whose id begins so. Raises UnknownName if there is none, Mistake if there are several."""
        row = schema.runs.c
        matching = row.run.startswith(run.lower(), autoescape=True)
        matches = self._runs(sql.select(schema.runs).where(matching, row.deleted_at.is_(None)).limit(2)) if run else []
        if len(matches) > 1:
            raise Mistake(f"Several runs begin with {run!r}.", "Give more of the id.")
        if not matches:
            raise UnknownName("run", run, hint=_named([latest.run for latest in self.runs()[-LISTED:]]))
        return matches[0]

    def deleted(self, *owners: str) -> list[Run]:
        """Runs of these owners that can be restored, the last deleted first."""
        row = schema.runs.c
        restorable = sql.select(schema.runs).where(row.deleted_at > oldest_restorable(), row.owner.in_(owners))
        return self._runs(restorable.order_by(row.deleted_at.desc()))

    def last_complete(self, model: str) -> Run | None:
        """The run of a model that was completed last, of any owner; None if there is none.

        One that took answers of earlier runs does not count, nor one from a file: its time says nothing of the model here.
        """
        row, answer = schema.runs.c, schema.answers.c
        taken = sql.exists().where(answer.run == row.run, answer.attempts == 0, answer.served_model.is_(None))
        here = sql.and_(row.deleted_at.is_(None), arrival_of(row.run).is_(None), ~taken)
        complete = sql.select(schema.runs).where(row.model == model, row.state == COMPLETE, here)
        return next(iter(self._runs(complete.order_by(row.finished_at.desc()).limit(1))), None)

    def _runs(self, query: sql.Select[Any]) -> list[Run]:
        with self._reading() as connection:
            return [_run(row) for row in connection.execute(query)]

    def pulse(self, run: str) -> tuple[int, str]:
        """A run's `changed` and state, which tell a page whether anything is new. Raises UnknownName."""
        row = schema.runs.c
        query = sql.select(row.changed, row.state, row.worker, row.beat_at).where(row.run == run, row.deleted_at.is_(None))
        with self._reading() as connection:
            pulse = connection.execute(query).one_or_none()
        if pulse is None:
            raise UnknownName("run", run, ())
        return pulse.changed, _state(pulse)

    def events(self, run: str, what: str | None = None, most: int = MOST_EVENTS) -> list[RunEvent]:
        """The last events of a run (of one kind, if given), oldest first."""
        row = schema.events.c
        return self._events(run, row.said, sql.true() if what is None else row.what == what, most)

    def state_changes(self, run: str, most: int = MOST_EVENTS) -> list[RunEvent]:
        """The last states of a run without their reasons, oldest first."""
        return self._events(run, sql.null(), schema.events.c.what.not_in([NOTED, IMPORTED, STOP_ASKED]), most)

    def _events(self, run: str, said: Any, condition: Any, most: int) -> list[RunEvent]:
        row = schema.events.c
        query = sql.select(row.at, row.what, said).where(row.run == run, condition).order_by(row.number.desc()).limit(most)
        with self._reading() as connection:
            return [RunEvent(*values) for values in connection.execute(query)][::-1]

    def count_events(self, run: str) -> int:
        query = sql.select(sql.func.count()).select_from(schema.events).where(schema.events.c.run == run)
        with self._reading() as connection:
            return int(connection.execute(query).scalar_one())

    def was_imported(self, run: str) -> bool:
        """Whether a run came from a file."""
        return bool(self.events(run, IMPORTED, most=1))


def arrival_of(run: Any, column: Any = schema.events.c.at) -> Any:
    """When a run came here from a file, or another column of that event, as an expression for a query; null where it was begun
    here. A file may tell of arrivals elsewhere: the last one is this one.
    """
    event = schema.events.c
    arrivals = sql.select(column).where(event.run == run, event.what == IMPORTED)
    return arrivals.order_by(event.number.desc()).limit(1).scalar_subquery()


def oldest_restorable() -> str:
    """The time before which deleted runs can no longer be restored."""
    return (datetime.now(UTC) - KEPT_DELETED).isoformat(timespec="milliseconds")


def _run(row: Any) -> Run:
    values = {f.name: getattr(row, f.name) for f in fields(Run)}
    values["spec"] = RunSpec.from_record(json.loads(row.spec))
    for name, empty in (("versions", "{}"), ("notes", "[]"), ("decoding", "{}"), ("pool_text", "{}"), ("population", "{}")):
        values[name] = json.loads(values[name] or empty)
    values["state"] = _state(row)
    return Run(**values)


def _state(row: Any) -> str:
    """A run's stored state, or INTERRUPTED if its process is gone."""
    return INTERRUPTED if row.state in GOING and not is_alive(row.worker, row.beat_at) else str(row.state)
