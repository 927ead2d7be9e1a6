"""Runs, statements and answers on disk: in SQLite (write-ahead log) by default, or in PostgreSQL.

Answers are committed before they are counted anywhere. All runs share one copy of a statement; each run stores the order in
which it asks them.
"""

from __future__ import annotations

import copy

import sqlalchemy as sql

from medfact.spec import LOCAL_OWNER
from medfact.store import schema
from medfact.store.database import now
from medfact.store.engine import default_url, exists, home
from medfact.store.entities import (
    COMPLETE,
    FAILED_RUN,
    GOING,
    IMPORTED,
    INTERRUPTED,
    NOTED,
    PAUSED,
    RESUMABLE,
    RUNNING,
    STOP_ASKED,
    STOPPED,
    WAITING,
    Answer,
    Asked,
    Plan,
    Planned,
    Rejection,
    Run,
    RunEvent,
)
from medfact.store.lifecycle import Lifecycle
from medfact.store.lookup import KEPT_DELETED
from medfact.store.migrations import SCHEMA_VERSION
from medfact.store.recording import Recording
from medfact.store.run_answers import News, RunAnswers
from medfact.store.sheets import Sheet
from medfact.store.workers import BEAT_SECONDS

__all__ = [
    "BEAT_SECONDS", "COMPLETE", "FAILED_RUN", "GOING", "IMPORTED", "INTERRUPTED", "KEPT_DELETED", "NOTED", "PAUSED",
    "RESUMABLE", "RUNNING", "SCHEMA_VERSION", "STOPPED", "STOP_ASKED", "WAITING", "Answer", "Asked", "News", "Plan", "Planned",
    "Rejection", "Run", "RunEvent", "Sheet", "Store", "default_url", "exists", "home",
]  # fmt: skip


class Store(Recording, Lifecycle, RunAnswers):
    """The database at one URL, as one owner uses it."""

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        super().__init__(url)
        self.owner = owner

    def of(self, owner: str) -> Store:
        """The same database, as another owner uses it."""
        other = copy.copy(self)
        other.owner = owner
        return other

    def reject(self, fact_id: str, tail: str, reason: str = "") -> None:
        """Records that a tail must not be drawn as a false partner of this fact, and why."""
        row = {"owner": self.owner, "fact_id": fact_id, "tail": tail, "rejected_at": now(), "reason": reason}
        with self._writing() as connection:
            connection.execute(self._insert_new(schema.rejections), [row])

    def unreject(self, fact_id: str, tail: str) -> None:
        """Takes a rejection back."""
        row = schema.rejections.c
        with self._writing() as connection:
            same = (row.owner == self.owner, row.fact_id == fact_id, row.tail == tail)
            connection.execute(schema.rejections.delete().where(*same))

    def rejections(self) -> dict[str, frozenset[str]]:
        """Id of a positive fact → the tails that this owner has rejected as false partners."""
        rejected: dict[str, frozenset[str]] = {}
        for item in self.rejected():
            rejected[item.fact_id] = rejected.get(item.fact_id, frozenset()) | {item.tail}
        return rejected

    def rejected(self) -> list[Rejection]:
        """The false partners that this owner has rejected, the newest first."""
        row = schema.rejections.c
        listed = sql.select(row.fact_id, row.tail, row.reason).where(row.owner == self.owner)
        with self._reading() as connection:
            return [Rejection(*columns) for columns in connection.execute(listed.order_by(row.rejected_at.desc(), row.tail))]
