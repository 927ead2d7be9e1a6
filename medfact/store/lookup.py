"""Finding runs and their histories. Deleted runs are not found until they are restored."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sql

from medfact.errors import Mistake, UnknownName, UnreadableRun
from medfact.spec import RunSpec
from medfact.store import schema
from medfact.store.database import Part
from medfact.store.entities import (
    COMPLETE,
    GOING,
    IMPORTED,
    INTERRUPTED,
    LENT_KEY,
    NOTED,
    PAUSED,
    STOP_ASKED,
    Run,
    RunEvent,
    UnreadRun,
)
from medfact.store.workers import is_alive

MOST_EVENTS = 1_000
"""Events of a run that are read at once, at most."""

KEPT_DELETED = timedelta(days=7)
"""How long a deleted run can be restored."""

MAYBE_DELETED = "It may have been deleted."
"""The hint where an id is none. It names no other id, because an id opens a run."""


def writing_in(run: str, spec: str) -> str | None:
    """The id of the first attempt of a writing, by the id and the recorded spec of one of its attempts; None of any other run.
    What a run's file says it belongs to does not count.
    """
    record: dict[str, Any] = {}
    with suppress(ValueError, TypeError):  # a damaged record
        record = dict(json.loads(spec))
    if not record.get("task"):
        return None
    return str(record.get("writing") or run) if "writing" not in record.get("imported", ()) else run


def attempts_in(connection: sql.Connection, run: str) -> list[str]:
    """The ids of all attempts of the writing that a run belongs to, deleted ones too; of any other run its own alone."""
    row = schema.runs.c
    found = connection.execute(sql.select(row.spec, row.owner).where(row.run == run)).one_or_none()
    first = writing_in(run, found.spec) if found else None
    if found is None or first is None:
        return [run]
    related = sql.or_(row.run == first, row.spec.contains(first, autoescape=True))
    query = sql.select(row.run, row.spec).where(row.owner == found.owner, related).order_by(row.number)
    return [attempt for attempt, spec in connection.execute(query) if writing_in(attempt, spec) == first]


class Lookup(Part):
    """Reads runs and their histories."""

    readers: Collection[str] | None = None
    """The owners for whom runs are read; None for the person whose database it is, who reads all that there is of them."""

    def runs(self, *owners: str) -> list[Run]:
        """All runs that asked a model, or those of some owners, oldest first."""
        return [run for run in self._all_runs(*owners) if not run.spec.writes]

    def listed(self, *owners: str) -> list[Run | UnreadRun]:
        """The same, with those whose record cannot be read."""
        return [run for run in self._found(_listed(owners)) if isinstance(run, UnreadRun) or not run.spec.writes]

    def unfinished(self, *owners: str) -> list[Run]:
        """Those of some owners' runs that asked a model and are going on, paused or interrupted."""
        return [run for run in self._all_runs(*owners, states=(*GOING, INTERRUPTED, PAUSED)) if not run.spec.writes]

    def writings(self, *owners: str) -> list[Run]:
        """All runs that had a model write, or those of some owners, oldest first."""
        return [run for run in self._all_runs(*owners) if run.spec.writes]

    def _all_runs(self, *owners: str, states: Sequence[str] = ()) -> list[Run]:
        query = _listed(owners)
        return self._runs(query.where(schema.runs.c.state.in_(states)) if states else query)

    def run(self, run: str) -> Run:
        """The run whose id begins so. Raises UnknownName if there is none, Mistake if there are several, UnreadableRun."""
        found = self.recorded(run)
        if isinstance(found, UnreadRun):
            raise UnreadableRun(found.run, found.why)
        return found

    def recorded(self, run: str) -> Run | UnreadRun:
        """The same, also of a run whose record cannot be read."""
        matching = schema.runs.c.run.startswith(run.lower(), autoescape=True)
        matches = self._found(_listed().where(matching).limit(2)) if run else []
        if len(matches) > 1:
            raise Mistake(f"Several runs begin with {run!r}.", "Give more of the id.")
        if not matches:
            raise UnknownName("run", run, hint=MAYBE_DELETED)
        return matches[0]

    def attempts(self, run: str) -> list[Run | UnreadRun]:
        """All attempts of the writing that a run belongs to, deleted ones too; of any other run itself alone."""
        row = schema.runs.c
        with self.database.reading() as connection:
            ids = attempts_in(connection, run)
        return self._found(_selected().where(row.run.in_(ids)).order_by(row.number))

    def put_away(self, run: str) -> list[str]:
        """The ids of deleted runs that can be restored and begin so."""
        row = schema.runs.c
        query = sql.select(row.run).where(
            row.deleted_at > oldest_restorable(), row.run.startswith(run.lower(), autoescape=True)
        )
        with self.database.reading() as connection:
            return list(connection.execute(query).scalars())

    def deleted(self, *owners: str) -> list[Run]:
        """Runs that can be restored, all or those of some owners, the last deleted first; of a writing, its first attempt."""
        row = schema.runs.c
        restorable = _selected().where(row.deleted_at > oldest_restorable()).order_by(row.deleted_at.desc())
        with self.database.reading() as connection:
            rows = connection.execute(restorable.where(row.owner.in_(owners)) if owners else restorable).all()
        found = (_recorded(one) for one in rows if writing_in(one.run, one.spec) in (None, one.run))
        return [run for run in found if isinstance(run, Run)]

    def last_complete(self, model: str) -> Run | None:
        """The run of a model that was completed last, of any owner; None if there is none.

        One that took answers of earlier runs does not count, nor one out of a file: its time says nothing of the model here.
        """
        row, answer = schema.runs.c, schema.answers.c
        taken = sql.exists().where(answer.run == row.run, answer.attempts == 0, answer.served_model.is_(None))
        ended = _selected().where(row.model == model, row.state == COMPLETE, row.deleted_at.is_(None))
        complete = ended.where(~taken, ~_was_imported())
        return next(iter(self._runs(complete.order_by(row.finished_at.desc()).limit(1))), None)

    def _runs(self, query: sql.Select[Any]) -> list[Run]:
        """Those that can be read: a record that cannot be stops no list."""
        return [run for run in self._found(query) if isinstance(run, Run)]

    def _found(self, query: sql.Select[Any]) -> list[Run | UnreadRun]:
        with self.database.reading() as connection:
            found = [_recorded(row) for row in connection.execute(query)]
        if self.readers is None:
            return found
        return [run.seen_by(self.readers) if isinstance(run, Run) else run for run in found]

    def pulse(self, run: str) -> tuple[int, str]:
        """A run's `changed` and state, which tell a page whether anything is new. Raises UnknownName."""
        row = schema.runs.c
        query = sql.select(row.changed, row.state, row.worker, row.beat_at).where(row.run == run, row.deleted_at.is_(None))
        with self.database.reading() as connection:
            pulse = connection.execute(query).one_or_none()
        if pulse is None:
            raise UnknownName("run", run, hint=MAYBE_DELETED)
        return pulse.changed, _state(pulse)

    def events(self, run: str, what: str | None = None, most: int = MOST_EVENTS) -> list[RunEvent]:
        """The last events of a run (of one kind, if given), oldest first."""
        row = schema.events.c
        return self._events(run, row.said, sql.true() if what is None else row.what == what, most)

    def state_changes(self, run: str, most: int = MOST_EVENTS) -> list[RunEvent]:
        """The last states of a run without their reasons, oldest first."""
        return self._events(run, sql.null(), schema.events.c.what.not_in([NOTED, IMPORTED, STOP_ASKED, LENT_KEY]), most)

    def _events(self, run: str, said: Any, condition: Any, most: int) -> list[RunEvent]:
        row = schema.events.c
        query = sql.select(row.at, row.what, said).where(row.run == run, condition).order_by(row.number.desc()).limit(most)
        with self.database.reading() as connection:
            return [RunEvent(*values) for values in connection.execute(query)][::-1]

    def with_lent_keys(self) -> list[Run]:
        """The runs that were asked with a key that the host of the server has lent, deleted ones too."""
        event = schema.events.c
        lent = sql.exists().where(event.run == schema.runs.c.run, event.what == LENT_KEY)
        return self._runs(_selected().where(lent, ~_was_imported()))

    def lent_dollars(self, run: str) -> float:
        """The budget of a run that was asked with such a key, as it was granted last."""
        return sum(float(event.said or 0) for event in self.events(run, LENT_KEY, most=1))

    def count_events(self, run: str) -> int:
        query = sql.select(sql.func.count()).select_from(schema.events).where(schema.events.c.run == run)
        with self.database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def is_clock_in_doubt(self) -> bool:
        """Whether the newest run here is over a day old: this machine was away, or its clock is ahead."""
        day_ago = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="milliseconds")
        with self.database.reading() as connection:
            newest = connection.execute(sql.select(sql.func.max(age_counts_from()))).scalar()
        return newest is not None and newest < day_ago

    def was_imported(self, run: str) -> bool:
        """Whether a run came from a file, or was made from one that did."""
        return bool(self.events(run, IMPORTED, most=1))


def age_counts_from() -> Any:
    """The time from which the age of a run counts, as an expression: when it arrived here, if it came from a file, whose own
    times say nothing; else when it ended, or was recorded.
    """
    row = schema.runs.c
    return sql.func.coalesce(arrival_of(row.run), row.finished_at, row.started_at)


def arrival_of(run: Any, column: Any = schema.events.c.at) -> Any:
    """When a run came here from a file, or another column of that event, as an expression for a query; null where it was begun
    here. A file may tell of arrivals elsewhere: the last one is this one.
    """
    event = schema.events.c
    arrivals = sql.select(column).where(event.run == run, event.what == IMPORTED)
    return arrivals.order_by(event.number.desc()).limit(1).scalar_subquery()


def _was_imported() -> Any:
    """A condition: that a run came from a file, or was made from one that did."""
    event = schema.events.c
    return sql.exists().where(event.run == schema.runs.c.run, event.what == IMPORTED)


def _selected() -> sql.Select[Any]:
    """Runs with all that `_run` reads."""
    return sql.select(schema.runs, _was_imported().label("imported"))


def oldest_restorable() -> str:
    """The time before which deleted runs can no longer be restored."""
    return (datetime.now(UTC) - KEPT_DELETED).isoformat(timespec="milliseconds")


def _listed(owners: Sequence[str] = ()) -> sql.Select[Any]:
    """Runs that are not deleted, all or those of some owners, oldest first."""
    row = schema.runs.c
    query = _selected().where(row.deleted_at.is_(None)).order_by(row.number)
    return query.where(row.owner.in_(owners)) if owners else query


def _recorded(row: Any) -> Run | UnreadRun:
    try:
        return _run(row)
    except Mistake as error:
        why = error.problem.rstrip(".")
    except json.JSONDecodeError:
        why = "its record is no JSON"
    except (ValueError, TypeError, AttributeError, KeyError):
        why = "its settings are none that this medfact knows"
    return UnreadRun(row.run, row.owner, row.state, row.started_at, row.model, why)


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
