"""Runs, statements and answers on disk: in SQLite (write-ahead log) by default, or in PostgreSQL.

Answers are committed before they are counted anywhere. All runs share one copy of a statement, which is what its id is a hash
of; each run stores the order in which it asks them, and how it names and describes their facts.
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
    UnreadRun,
    Verdict,
)
from medfact.store.lookup import KEPT_DELETED
from medfact.store.migrations import SCHEMA_VERSION
from medfact.store.prototype_edits import PrototypeEdits
from medfact.store.publications import Publications
from medfact.store.recording import MADE_FROM_IMPORTED, Recording
from medfact.store.room import Ended, Room
from medfact.store.run_answers import News, RunAnswers
from medfact.store.said import Said
from medfact.store.seen_labels import SeenLabels
from medfact.store.set_ups import SetUps
from medfact.store.sheets import Sheet
from medfact.store.verdicts import Verdicts
from medfact.store.workers import BEAT_SECONDS

__all__ = [
    "BEAT_SECONDS", "COMPLETE", "DECIDED", "FAILED_RUN", "GOING", "IMPORTED", "INTERRUPTED", "KEPT_DELETED",
    "MADE_FROM_IMPORTED", "NOTED", "PAUSED", "RESUMABLE", "RUNNING", "SCHEMA_VERSION", "STOPPED", "STOP_ASKED",
    "WAITING", "Answer", "Asked", "DraftDecision", "Ended", "News", "Plan", "Planned", "PrototypeEdit", "Published",
    "Rejection", "Retrieved", "Run", "RunEvent", "Sheet", "Store", "UnreadRun", "Verdict", "default_url", "exists", "home",
    "is_lasting",
]  # fmt: skip


class Store(Recording, Room, RunAnswers, Decisions, Verdicts, SeenLabels, PrototypeEdits, Publications, SetUps, Said):
    """The database at one URL, as one owner uses it."""

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        super().__init__(url)
        self.owner = owner

    def of(self, owner: str) -> Store:
        """The same database, as another owner uses it."""
        other = copy.copy(self)
        other.owner = owner
        return other
