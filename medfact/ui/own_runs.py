"""What a visitor may do to runs: those of the owners that are seen from where the visitor is, and no others."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from medfact.errors import Mistake
from medfact.store import KEPT_DELETED, RUNNING, WAITING, Run
from medfact.store.transfer import import_run
from medfact.ui.services import Services

LONGEST_NAME, LONGEST_NOTE = 120, 2_000

Owners = Sequence[str]
"""Whose runs a request may list and change."""


@dataclass(frozen=True)
class Deleted:
    """A run that was deleted, and can be brought back for KEPT_DELETED."""

    run: Run
    at: float


class OwnRuns:
    """The runs of visitors, with every change checked. Each method takes the owners of the request that asks for it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._deleted: dict[str, Deleted] = {}

    def all(self, owners: Owners) -> list[Run]:
        """Runs, newest first."""
        return self._services.store.runs(*owners)[::-1]

    def one(self, owners: Owners, run: object) -> Run:
        """The run of this whole id. Raises Mistake where it is not among theirs, as if there were none."""
        if isinstance(run, str) and re.fullmatch(r"[0-9a-f]{32}", run) and self._services.has(run):
            record = self._services.store.run(run)
            if record.owner in owners:
                return record
        raise Mistake("There is no such run among yours.", "It may have been deleted; load the page again.")

    def describe(self, owners: Owners, run: object, name: object, note: object) -> Run:
        """Gives a run a name and a note; returns it with them."""
        record = self.one(owners, run)
        name, note = " ".join(_clean(name).split()), _clean(note).strip()
        for what, text, most in (("name", name, LONGEST_NAME), ("note", note, LONGEST_NOTE)):
            if len(text) > most:
                raise Mistake(f"The {what} has {len(text):,} characters.", f"{most:,} are the most.")
        self._services.store.describe(record.run, name=name, note=note)
        return self._services.store.run(record.run)

    def delete(self, owners: Owners, run: object) -> Run:
        """Puts a run away, at once. Raises Mistake while it goes on."""
        record = self.one(owners, run)
        if self._services.reports.live(record.run).state in {WAITING, RUNNING}:
            raise Mistake("This run is going on.", "Open it and stop it first; then it can be deleted.")
        self._services.store.delete(record.run)
        self._deleted[record.run] = Deleted(record, time.time())
        return record

    def deleted(self, owners: Owners) -> list[Run]:
        """Runs that can be brought back, the last deleted first."""
        return [deleted.run for deleted in reversed(list(self._kept(owners)))]

    def undo(self, owners: Owners, run: object) -> Run:
        """Brings a deleted run back."""
        found = next((deleted.run for deleted in self._kept(owners) if deleted.run.run == run), None)
        if found is None:
            raise Mistake("There is no such deleted run among yours.", "It may have been brought back already.")
        self._services.store.restore(found.run)
        self._deleted.pop(found.run, None)
        return found

    def _kept(self, owners: Owners) -> Iterator[Deleted]:
        """What was deleted here since the app was started: the database tells no more of deleted runs."""
        since = time.time() - KEPT_DELETED.total_seconds()
        return (kept for kept in self._deleted.copy().values() if kept.run.owner in owners and kept.at > since)

    def bring(self, owner: str, path: Path) -> Run:
        """Takes a run from a file, for this owner."""
        store = self._services.store.of(owner)
        with path.open("rb") as file:
            return store.run(import_run(store, file, path.name))


def _clean(given: object) -> str:
    """Text that every database can keep."""
    return str(given or "").replace("\0", "").encode("utf-8", "replace").decode()
