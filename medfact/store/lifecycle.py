"""Changes to recorded runs: which process works on them, their states, what their owners do with them."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.log_setup import masked
from medfact.store import schema
from medfact.store.contents import content_of
from medfact.store.database import now
from medfact.store.entities import GOING, LENT_KEY, NOTED, RUNNING, STOP_ASKED
from medfact.store.lookup import Lookup, attempts_in, oldest_restorable
from medfact.store.recording import add_event
from medfact.store.workers import in_words, myself

_log = logging.getLogger(__package__)

TABLES_OF_RUNS = (
    schema.answers, schema.pushes, schema.run_statements, schema.run_facts, schema.demonstrations, schema.retrieved,
    schema.events, schema.batches, schema.sheets, schema.publications, schema.runs,
)  # fmt: skip


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
                _log.info("Run %s is %s: %s", run, state, masked(reason or "no reason"))

    def describe(self, run: str, *, name: str | None, note: str | None) -> None:
        """Sets a run's name and note; empty ones remove them."""
        self._update(run, name=name or None, note=note or None)

    def trust(self, run: str, *names: str) -> None:
        """Records that a person agrees to what a run's file says in these fields of its spec."""
        spec = self.run(run).spec
        agreed = spec.chosen(**{name: getattr(spec, name) for name in names})
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


def erase_runs(connection: sql.Connection, runs: Sequence[str]) -> None:
    """Erases runs, and statements that no other run asks. What remains is a hash of what each held."""
    for run in runs:
        _record_erased(connection, run)
    for table in TABLES_OF_RUNS:
        connection.execute(table.delete().where(table.c.run.in_(runs)))
    delete_unasked(connection)


def _record_erased(connection: sql.Connection, run: str) -> None:
    """Records that a run was erased. Of a copy that was erased too, the first one counts."""
    known = connection.execute(sql.select(schema.erased_runs.c.run).where(schema.erased_runs.c.run == run)).first()
    if known is None:
        connection.execute(schema.erased_runs.insert().values(run=run, content=content_of(connection, run)))


def delete_unasked(connection: sql.Connection) -> None:
    """Erases statements that no run asks, and facts that none has, unless somebody has said something of the fact."""
    statements, facts, of_runs, said = schema.statements, schema.facts, schema.run_facts, schema.verdicts.c
    if connection.dialect.name == "postgresql":  # a run that is being recorded may rely on one of them
        connection.execute(sql.text("LOCK TABLE statements, facts IN SHARE ROW EXCLUSIVE MODE"))
    asked = sql.select(schema.run_statements.c.statement_id).union_all(sql.select(of_runs.c.statement_id)).subquery()
    found = statements.outerjoin(asked, asked.c.statement_id == statements.c.statement_id)
    unasked = sql.select(statements.c.statement_id).select_from(found).where(asked.c.statement_id.is_(None))
    unasked = unasked.where(~sql.exists().where(said.fact_id == statements.c.fact_id))
    connection.execute(statements.delete().where(statements.c.statement_id.in_(unasked)))
    used = (sql.exists().where(column == facts.c.record) for column in (of_runs.c.record, said.record))
    connection.execute(facts.delete().where(*(~one for one in used)))


def _last_claim(run: str) -> sql.Select[Any]:
    """The number of the event of a run's last claim."""
    row = schema.events.c
    return sql.select(sql.func.max(row.number)).where(row.run == run, row.what == RUNNING)
