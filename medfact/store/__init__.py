"""Runs, statements and answers on disk: in SQLite (write-ahead log) by default, or in PostgreSQL.

Answers are committed before they are counted anywhere. All runs share one copy of a statement; each run stores the order in
which it asks them.
"""

from __future__ import annotations

import copy

from medfact.spec import LOCAL_OWNER
from medfact.store.decisions import Decisions
from medfact.store.engine import default_url, exists, home, is_lasting
from medfact.store.entities import (
    COMPLETE,
    DECIDED,
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
    DraftDecision,
    Plan,
    Planned,
    PrototypeEdit,
    Published,
    Rejection,
    Retrieved,
    Run,
    RunEvent,
    Verdict,
)
from medfact.store.lookup import KEPT_DELETED
from medfact.store.migrations import SCHEMA_VERSION
from medfact.store.prototype_edits import PrototypeEdits
from medfact.store.publications import Publications
from medfact.store.recording import Recording
from medfact.store.room import Ended, Room
from medfact.store.run_answers import News, RunAnswers
from medfact.store.said import Said
from medfact.store.sheets import Sheet
from medfact.store.verdicts import Verdicts
from medfact.store.workers import BEAT_SECONDS

__all__ = [
    "BEAT_SECONDS", "COMPLETE", "DECIDED", "FAILED_RUN", "GOING", "IMPORTED", "INTERRUPTED", "KEPT_DELETED", "NOTED",
    "PAUSED", "RESUMABLE", "RUNNING", "SCHEMA_VERSION", "STOPPED", "STOP_ASKED", "WAITING", "Answer", "Asked",
    "DraftDecision", "Ended", "News", "Plan", "Planned", "PrototypeEdit", "Published", "Rejection", "Retrieved", "Run",
    "RunEvent", "Sheet", "Store", "Verdict", "default_url", "exists", "home", "is_lasting",
]  # fmt: skip


class Store(Recording, Room, RunAnswers, Decisions, Verdicts, PrototypeEdits, Publications, Said):
    """The database at one URL, as one owner uses it."""

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        super().__init__(url)
        self.owner = owner

    def of(self, owner: str) -> Store:
        """The same database, as another owner uses it."""
        other = copy.copy(self)
        other.owner = owner
        return other
