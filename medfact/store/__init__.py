"""Runs, statements and answers on disk: in SQLite (write-ahead log) by default, or in PostgreSQL.

Answers are committed before they are counted anywhere. All runs share one copy of a statement, which is what its id is a hash
of; each run stores the order in which it asks them, and how it names and describes their facts.
"""

from __future__ import annotations

import copy

from medfact.spec import LOCAL_OWNER
from medfact.store.contributions import Contributions, Decisions, PrototypeEdits, SetUps
from medfact.store.curations import Candidate, Curation, CurationDecision, Curations
from medfact.store.database import Database
from medfact.store.disk import Disk, Ended
from medfact.store.engine import default_url, exists, home, is_lasting
from medfact.store.entities import (
    COMPLETE,
    DECIDED,
    FAILED_RUN,
    GOING,
    IMPORTED,
    INTERRUPTED,
    LENT_KEY,
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
    PrototypeEdit,
    Published,
    PushedAnswer,
    Retrieved,
    Run,
    RunEvent,
    UnreadRun,
    Verdict,
)
from medfact.store.lifecycle import Lifecycle, Publications
from medfact.store.lookup import KEPT_DELETED
from medfact.store.recording import MADE_FROM_IMPORTED, Batch, Batches, Recording
from medfact.store.run_answers import Answers, News, Pushes
from medfact.store.sheets import Sheet
from medfact.store.verdicts import Verdicts
from medfact.store.workers import BEAT_SECONDS

__all__ = [
    "BEAT_SECONDS", "COMPLETE", "DECIDED", "FAILED_RUN", "GOING", "IMPORTED", "INTERRUPTED", "KEPT_DELETED", "LENT_KEY",
    "MADE_FROM_IMPORTED", "NOTED", "PAUSED", "RESUMABLE", "RUNNING", "STOPPED", "STOP_ASKED", "WAITING",
    "Answer", "Asked", "Batch", "Candidate", "Curation", "CurationDecision", "DraftDecision", "Ended", "News", "Plan",
    "PrototypeEdit", "Published", "PushedAnswer", "Retrieved", "Run", "RunEvent", "Sheet", "Store", "UnreadRun",
    "Verdict", "default_url", "exists", "home", "is_lasting",
]  # fmt: skip


class Store(Recording, Lifecycle):
    """The runs in the database at one URL, as one owner uses it: begun, found, and moved from state to state. What they ask and
    what was answered, and all that is kept beside runs, are parts of it.
    """

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        super().__init__(Database(url), owner)
        self._open_parts()

    def _open_parts(self) -> None:
        self.answers = Answers(self.database, self.owner)
        self.batches = Batches(self.database, self.owner)
        self.contributions = Contributions(self.database, self.owner)
        self.curations = Curations(self.database, self.owner)
        self.decisions = Decisions(self.database, self.owner)
        self.disk = Disk(self.database, self.owner)
        self.prototype_edits = PrototypeEdits(self.database, self.owner)
        self.publications = Publications(self.database, self.owner)
        self.pushes = Pushes(self.database, self.owner)
        self.set_ups = SetUps(self.database, self.owner)
        self.verdicts = Verdicts(self.database, self.owner)

    @property
    def url(self) -> str:
        """The address of its database."""
        return self.database.url

    def of(self, owner: str) -> Store:
        """The same database, as another owner uses it."""
        other = copy.copy(self)
        other.owner = owner
        other._open_parts()
        return other

    def seen_by(self, *owners: str) -> Store:
        """The same database, as far as these owners may read of runs: of others' runs neither the name nor the note."""
        other = copy.copy(self)
        other.readers = owners
        return other
