"""The log: what people say and what happens, an event a row. A kind of event is a dataclass and an entry of `Kind`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

import sqlalchemy as sql
from pydantic import TypeAdapter

from medfact.store import schema
from medfact.store.database import Database, Part, now

Event = TypeVar("Event")

_BY_LOG = ("number", "owner")


@dataclass(frozen=True)
class Kind(Generic[Event]):
    """A kind of event: its name in the log, and the dataclass of its events.

    subject, person, at: names of fields that are columns of the log, by which events are found and erased; "" for none. The
    fields `number` and `owner`, where the dataclass has them, are columns, too. The log sets them, and the time.
    """

    name: str
    events: type[Event]
    subject: str = ""
    person: str = ""
    at: str = ""
    _adapter: TypeAdapter[Event] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_adapter", TypeAdapter(self.events))

    def row(self, owner: str, event: Event, subject: str = "", run: str | None = None) -> dict[str, Any]:
        """The row of an event. subject: where it is no field of the event. run: with which the event is erased."""
        content = _storable(self._adapter.dump_python(event, mode="json"))
        return {
            "at": now(),
            "owner": owner,
            "kind": self.name,
            "subject": content.get(self.subject, subject),
            "person": content.get(self.person, ""),
            "run": run,
            "content": json.dumps({name: value for name, value in content.items() if name not in (*_BY_LOG, self.at)}),
        }

    def event(self, row: Any) -> Event:
        """The event of a row."""
        columns = {name: getattr(row, name) for name in _BY_LOG} | {self.at: row.at}
        declared = {one.name for one in fields(self.events)}  # type: ignore[arg-type]
        set_here = {name: value for name, value in columns.items() if name in declared}
        return self._adapter.validate_python(json.loads(row.content) | set_here)


class Log(Part):
    """The log. Events are added as the store's owner's; those of all owners are read, unless conditions say otherwise."""

    def add(
        self,
        kind: Kind[Event],
        *events: Event,
        subject: str = "",
        run: str | None = None,
        replacing: Sequence[sql.ColumnElement[bool]] = (),
    ) -> None:
        """Adds events, all or none, in their order; see `Kind.row`. replacing: conditions on the events of this kind that are
        erased before, in the same transaction; none where there are no conditions.
        """
        rows = [kind.row(self.owner, event, subject, run) for event in events]
        with self.database.writing() as connection:
            if replacing:
                connection.execute(_erasing(kind, replacing))
            if rows:
                connection.execute(schema.log.insert(), rows)

    def of(self, kind: Kind[Event], *conditions: sql.ColumnElement[bool]) -> list[Event]:
        """The events of a kind that meet conditions on the columns of `schema.log`, in their order."""
        with self.database.reading() as connection:
            return read_events(connection, kind, *conditions)

    def erase(self, kind: Kind[Any], *conditions: sql.ColumnElement[bool]) -> int:
        """Erases events of a kind that meet conditions; returns their number."""
        with self.database.writing() as connection:
            return connection.execute(_erasing(kind, conditions)).rowcount


class LogPart(Part):
    """A part of the store that keeps what it holds in the log."""

    def __init__(self, database: Database, owner: str) -> None:
        super().__init__(database, owner)
        self._log = Log(database, owner)

    def _said(self, kind: Kind[Event], *conditions: sql.ColumnElement[bool]) -> list[Event]:
        """This owner's events of a kind that meet conditions, in their order."""
        return self._log.of(kind, schema.log.c.owner == self.owner, *conditions)


def read_events(connection: sql.Connection, kind: Kind[Event], *conditions: sql.ColumnElement[bool]) -> list[Event]:
    """The events of a kind that meet conditions on the columns of `schema.log`, in their order."""
    query = sql.select(schema.log).where(schema.log.c.kind == kind.name, *conditions).order_by(schema.log.c.number)
    return [kind.event(row) for row in connection.execute(query)]


def _erasing(kind: Kind[Any], conditions: Sequence[sql.ColumnElement[bool]]) -> sql.Delete:
    return schema.log.delete().where(schema.log.c.kind == kind.name, *conditions)


def _storable(value: Any) -> Any:
    """Values as JSON has them, with `schema.storable` texts."""
    if isinstance(value, str):
        return schema.storable(value)
    if isinstance(value, dict):
        return {name: _storable(one) for name, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value
