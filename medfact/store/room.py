"""Room on the disk: how much the database takes, and which runs can be erased to make some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.entities import GOING
from medfact.store.lifecycle import Lifecycle, erase_runs
from medfact.store.workers import is_alive


class Ended(NamedTuple):
    """A run that nobody asks now. ended_at: when it was recorded, if it never ended in order. deleted: by its owner."""

    run: str
    owner: str
    statements: int
    ended_at: str
    deleted: bool


class Room(Lifecycle):
    """Says what the database takes, and erases runs for good."""

    def used_bytes(self) -> int | None:
        """Bytes that the database's contents take, without the room that erased ones left in its file; None on a server."""
        return None if self._file is None else (self._pragma("page_count") - self._pragma("freelist_count")) * self._page()

    def spare_bytes(self) -> int:
        """Bytes in the database's file that erased contents have left, for new ones; 0 on a server."""
        return 0 if self._file is None else self._pragma("freelist_count") * self._page()

    def _page(self) -> int:
        return self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        with self._reading() as connection:
            return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())

    def ended(self, besides: Sequence[str]) -> list[Ended]:
        """The runs that nobody asks now, deleted ones too, but for those of some owners; those that ended first come first."""
        row = schema.runs.c
        at = sql.func.coalesce(row.finished_at, row.started_at).label("at")
        query = sql.select(row.run, row.owner, row.statements, at, row.deleted_at, row.state, row.worker, row.beat_at)
        with self._reading() as connection:
            found = connection.execute(query.where(row.owner.not_in(besides)).order_by(at)).all()
        return [
            Ended(one.run, one.owner, one.statements, one.at, one.deleted_at is not None)
            for one in found
            if one.state not in GOING or not is_alive(one.worker, one.beat_at)
        ]

    def statements_begun(self, owner: str, since: str) -> int:
        """Statements of the runs that an owner has begun since a time, as it is recorded, deleted ones too."""
        row = schema.runs.c
        query = sql.select(sql.func.coalesce(sql.func.sum(row.statements), 0))
        with self._reading() as connection:
            found = connection.execute(query.where(row.owner == owner, row.started_at >= since))
            return int(found.scalar_one())

    def erase(self, runs: Sequence[str]) -> None:
        """Erases runs for good, and the statements that no other run asks."""
        with self._writing() as connection:
            erase_runs(connection, runs)
