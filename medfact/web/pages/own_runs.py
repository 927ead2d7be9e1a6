"""What a visitor may do to runs: those of the owners that are seen from where the visitor is, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medfact.datasets.isolated import reading
from medfact.errors import Mistake, UnreadableRun
from medfact.exchange import import_run
from medfact.results.live import state_now
from medfact.store import GOING, Run, UnreadRun
from medfact.web.services import Services

LONGEST_NAME, LONGEST_NOTE = 120, 2_000

LARGE_BYTES = 1_000_000
"""A packed file of a run above this takes long to read."""

Owners = Sequence[str]
"""Whose runs a request may list and change."""


LARGEST_RUN_BYTES = 256 << 20
"""That a visitor's file of a run may unpack to."""


class OwnRuns:
    """The runs of visitors, with every change checked. Each method takes the owners of the request that asks for it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def all(self, owners: Owners) -> list[Run]:
        """Runs, newest first."""
        return self._services.as_now(self._services.store.runs(*owners)[::-1])

    def one(self, owners: Owners, run: object) -> Run:
        """The run of this whole id. Raises Mistake where it is not among theirs, as if there were none."""
        record = self._of(owners, run)
        if isinstance(record, UnreadRun):
            raise UnreadableRun(record.run, record.why)
        return record

    def _of(self, owners: Owners, run: object) -> Run | UnreadRun:
        if isinstance(run, str) and self._services.has(run):
            record = self._services.store.recorded(run)
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

    def unread(self, owners: Owners) -> list[UnreadRun]:
        """Runs whose record cannot be read, newest first."""
        return [run for run in self._services.store.listed(*owners)[::-1] if isinstance(run, UnreadRun)]

    def delete(self, owners: Owners, run: object) -> Run | UnreadRun:
        """Puts a run away, at once, also one that cannot be read. Raises Mistake while it goes on, and where the host has
        published it.
        """
        record = self._of(owners, run)
        if isinstance(record, Run) and state_now(record, self._services.jobs.snapshot(record.run)) in GOING:
            raise Mistake("This run is going on.", "Open it and stop it first; then it can be deleted.")
        if any(publication.run == record.run for publication in self._services.store.publications.published()):
            raise Mistake(
                "The host of this server shows this run in its gallery.", "Ask the host to withdraw it; then it can be deleted."
            )
        self._services.store.delete(record.run)
        return record

    def deleted(self, owners: Owners) -> list[Run]:
        """Runs that can be brought back, the last deleted first."""
        return self._services.store.deleted(*owners)

    def undo(self, owners: Owners, run: object) -> Run:
        """Brings a deleted run back."""
        found = next((deleted for deleted in self.deleted(owners) if deleted.run == run), None)
        if found is None:
            raise Mistake("There is no such deleted run among yours.", "It may have been brought back already.")
        self._services.store.restore(found.run)
        return found

    def bring(self, owner: str, path: Path) -> Run:
        """Takes a run from a file, for this owner."""
        store = self._services.store.of(owner)
        with reading() as turn, path.open("rb") as file:
            if turn and path.stat().st_size > LARGE_BYTES and not turn.becomes_long():
                raise Mistake(f"{path.name} takes long to read, as others do.", "Try again in a minute.")
            return store.run(import_run(store, file, path.name, LARGEST_RUN_BYTES))


def _clean(given: object) -> str:
    """Text that every database can keep."""
    return str(given or "").replace("\0", "").encode("utf-8", "replace").decode()
