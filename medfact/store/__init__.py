"""Runs, statements and answers on disk.

SQLite by default (write-ahead log), PostgreSQL by its URL. An answer is committed before it is counted anywhere.
Statements are kept once for all runs, under their ids; a run holds the order in which they are asked.
"""

from __future__ import annotations

import copy

import sqlalchemy as sql

from medfact.spec import LOCAL_OWNER
from medfact.store import tables
from medfact.store.answers import Answers, News
from medfact.store.connection import now
from medfact.store.engine import default_url, exists, home
from medfact.store.migrations import SCHEMA_VERSION
from medfact.store.records import (
    COMPLETE,
    FAILED_RUN,
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
    Happened,
    Plan,
    Planned,
    Run,
)
from medfact.store.runs import KEPT_DELETED, Runs, Taken
from medfact.store.sheets import Sheet
from medfact.store.workers import BEAT

__all__ = [
    "BEAT",
    "COMPLETE",
    "FAILED_RUN",
    "IMPORTED",
    "INTERRUPTED",
    "KEPT_DELETED",
    "NOTED",
    "PAUSED",
    "RESUMABLE",
    "RUNNING",
    "SCHEMA_VERSION",
    "STOPPED",
    "STOP_ASKED",
    "WAITING",
    "Answer",
    "Asked",
    "Happened",
    "News",
    "Plan",
    "Planned",
    "Run",
    "Sheet",
    "Store",
    "Taken",
    "default_url",
    "exists",
    "home",
]


class Store(Runs, Answers):
    """The database behind one URL, as one owner uses it."""

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        super().__init__(url)
        self.owner = owner

    def of(self, owner: str) -> Store:
        """The same database, as another owner uses it."""
        other = copy.copy(self)
        other.owner = owner
        return other

    def reject(self, fact_id: str, tail: str) -> None:
        """Records that a tail is not to be drawn as a false partner of this fact."""
        row = {"owner": self.owner, "fact_id": fact_id, "tail": tail, "rejected_at": now()}
        with self._writing() as connection:
            connection.execute(self._insert_new(tables.rejections), [row])

    def unreject(self, fact_id: str, tail: str) -> None:
        """Takes a rejection back."""
        of = tables.rejections.c
        with self._writing() as connection:
            same = (of.owner == self.owner) & (of.fact_id == fact_id) & (of.tail == tail)
            connection.execute(sql.delete(tables.rejections).where(same))

    def rejections(self) -> dict[str, frozenset[str]]:
        """Id of a positive fact → the tails that its owner has rejected as false partners."""
        query = sql.select(tables.rejections.c.fact_id, tables.rejections.c.tail).where(tables.rejections.c.owner == self.owner)
        rejected: dict[str, frozenset[str]] = {}
        with self._reading() as connection:
            for fact_id, tail in connection.execute(query):
                rejected[fact_id] = rejected.get(fact_id, frozenset()) | {tail}
        return rejected
