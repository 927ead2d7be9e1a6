"""Changes to recorded runs: which process works on them, their states, what their owners do with them, who may see them."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.log_setup import mask_private_text
from medfact.store import schema
from medfact.store.database import now
from medfact.store.disk import erase_runs
from medfact.store.entities import GOING, LENT_KEY, NOTED, RUNNING, STOP_ASKED, Published
from medfact.store.log import Kind, LogPart
from medfact.store.lookup import Lookup, attempts_in, oldest_restorable
from medfact.store.recording import add_event
from medfact.store.workers import in_words, myself

_log = logging.getLogger(__package__)


class Lifecycle(Lookup):
    """Changes recorded runs."""

    def claim(self, run: str) -> int:
        """Makes this process the one that works on a run, and returns the number of this claim, which grows.

        Raises Mistake if another live process works on it.
        """
        record = self.run(run)
        if record.state == RUNNING and record.worker not in (None, myself()):
            raise Mistake(f"Run {run} is being asked by {in_words(record.worker)}.", "Watch it there, or stop it and resume.")
        row = schema.runs.c
        update = schema.runs.update().where(row.run == run, row.changed == record.changed)
        values = {"state": RUNNING, "reason": None, "finished_at": None, "worker": myself(), "beat_at": now()}
        with self.database.writing() as connection:
            if connection.execute(update.values(changed=row.changed + 1, **values)).rowcount != 1:
                raise Mistake(f"Run {run} was taken up by another process just now.", "Watch it there.")
            add_event(connection, run, RUNNING)
            return int(connection.execute(_last_claim(run)).scalar_one())

    def last_claim(self, run: str) -> int:
        """The number of a run's last claim; 0 if it was never claimed."""
        with self.database.reading() as connection:
            return int(connection.execute(_last_claim(run)).scalar() or 0)

    def ask_to_stop(self, run: str) -> None:
        """Asks the process that works on a run, or is going to, to stop."""
        with self.database.writing() as connection:
            add_event(connection, run, STOP_ASKED)

    def is_asked_to_stop(self, run: str, since: int) -> bool:
        """Whether a run was asked to stop after the claim of this number."""
        row = schema.events.c
        query = sql.select(row.number).where(row.run == run, row.what == STOP_ASKED, row.number > since).limit(1)
        with self.database.reading() as connection:
            return connection.execute(query).first() is not None

    def note_lent_key(self, run: str, dollars: float) -> None:
        """Records that a run is asked with a key that the host of the server lends, and its budget."""
        with self.database.writing() as connection:
            add_event(connection, run, LENT_KEY, repr(dollars))

    def beat(self, run: str) -> None:
        """Records that this process is alive."""
        self._update(run, beat_at=now())

    def record_model(self, run: str, *, revision: str, chat: bool, decoding: dict[str, Any], notes: Sequence[str] = ()) -> None:
        """Records the model that was loaded for a run, and notes on it."""
        with self.database.reading() as connection:
            recorded = sql.select(schema.runs.c.notes).where(schema.runs.c.run == run)
            earlier = json.loads(connection.execute(recorded).scalar_one())
        new = [note for note in dict.fromkeys(notes) if note not in earlier]
        values = {"model_revision": revision, "chat": chat, "decoding": json.dumps(decoding)}
        with self.database.writing() as connection:
            update = schema.runs.update().where(schema.runs.c.run == run)
            connection.execute(update.values(notes=json.dumps([*earlier, *new]), changed=schema.runs.c.changed + 1, **values))
            for note in new:
                add_event(connection, run, NOTED, note)

    def set_state(self, run: str, state: str, reason: str | None = None, *, since: int | None = None) -> None:
        """Moves a run to another state. Every state but waiting and running has an end time.

        since: the number of a claim; nothing happens if the run was claimed again after it.
        """
        going = state in GOING
        update = schema.runs.update().where(schema.runs.c.run == run)
        if since is not None:
            update = update.where(sql.func.coalesce(_last_claim(run).scalar_subquery(), 0) == since)
        values = {"finished_at": None if going else now(), "worker": myself() if going else None}
        with self.database.writing() as connection:
            update = update.values(state=state, reason=reason, changed=schema.runs.c.changed + 1, **values)
            if connection.execute(update).rowcount:
                add_event(connection, run, state, reason)
                _log.info("Run %s is %s.%s", run, state, mask_private_text(f" {reason}") if reason else "")

    def describe(self, run: str, *, name: str | None, note: str | None) -> None:
        """Sets a run's name and note; empty ones remove them."""
        self._update(run, name=name or None, note=note or None)

    def trust(self, run: str, *names: str) -> None:
        """Records that a person agrees to what a run's file says in these fields of its spec."""
        spec = self.run(run).spec
        agreed = spec.override(**{name: getattr(spec, name) for name in names})
        if agreed.imported != spec.imported:
            self._update(run, spec=json.dumps(agreed.to_record()))

    def delete(self, run: str) -> None:
        """Hides a run, or a writing with all its attempts. It can be restored for KEPT_DELETED."""
        self._update_attempts(run, deleted_at=now())

    def restore(self, run: str) -> None:
        """Brings back a deleted run, or a writing with all its attempts."""
        self._update_attempts(run, deleted_at=None)

    def _update_attempts(self, run: str, **values: Any) -> None:
        with self.database.writing() as connection:
            same = schema.runs.c.run.in_(attempts_in(connection, run))
            connection.execute(schema.runs.update().where(same).values(**values))

    def _update(self, run: str, **values: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(schema.runs.update().where(schema.runs.c.run == run).values(**values))

    def purge(self) -> int:
        """Erases runs that can no longer be restored, and statements that no run asks. Returns the number of runs.

        A clock that may be ahead erases nothing.
        """
        if self.is_clock_in_doubt():
            return 0
        expired = sql.select(schema.runs.c.run).where(schema.runs.c.deleted_at < oldest_restorable())
        with self.database.writing() as connection:
            runs = connection.execute(expired).scalars().all()
            if runs:
                erase_runs(connection, runs)
        if runs:
            self.database.erased.set()
        return len(runs)


def _last_claim(run: str) -> sql.Select[Any]:
    """The number of the event of a run's last claim."""
    row = schema.events.c
    return sql.select(sql.func.max(row.number)).where(row.run == run, row.what == RUNNING)


PUBLICATIONS = Kind("publication", Published, subject="run")


class Publications(LogPart):
    """What is published, whoever owns the runs."""

    def publish(self, run: str, name: str) -> None:
        """Shows a run to everybody under this name, which its owner cannot change. A second time changes the name."""
        of_run = schema.log.c.subject == run
        before = next((one.published_at for one in self._log.of(PUBLICATIONS, of_run)), now())
        self._log.add(PUBLICATIONS, Published(run, name, before), run=run, replacing=(of_run,))

    def withdraw(self, run: str) -> bool:
        """Shows a run to nobody but those who have its link. Returns whether it was published."""
        return bool(self._log.erase(PUBLICATIONS, schema.log.c.subject == run))

    def published(self) -> list[Published]:
        """The runs that are published and not deleted, the first published first."""
        there = sql.select(schema.runs.c.run).where(schema.runs.c.deleted_at.is_(None))
        found = self._log.of(PUBLICATIONS, schema.log.c.subject.in_(there))
        return sorted(found, key=lambda one: (one.published_at, one.run))
