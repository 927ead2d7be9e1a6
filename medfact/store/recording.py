"""Recording a new run, and the batches of calls that a service is sent for it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sql

from medfact.caching import shared_cache
from medfact.spec import RunSpec
from medfact.store import schema
from medfact.store.database import Part, now
from medfact.store.entities import IMPORTED, WAITING, Plan
from medfact.store.log import Kind, LogPart
from medfact.store.sheets import fact_numbers, sheet_of
from medfact.store.statement_rows import Records, add_passages, add_statements, planned_passages, records_of, rows_of
from medfact.store.workers import myself

MADE_FROM_IMPORTED = "from a run that came from a file"
"""What the event says of a run that was made here."""

_PLACES, _RUN_FACTS = schema.run_statements.insert(), schema.run_facts.insert()
_PLACE_COLUMNS = ("run", "position", "statement_id", "shots_of", "draw", "fact")
_RUN_FACT_COLUMNS = ("run", "fact", "record", "statement_id")


MOST_STATEMENTS = 40_000
"""Statements of the plans whose rows are kept, those used last. Those of a larger plan are not: few begin it twice."""


class Recording(Part):
    """Records new runs."""

    def start_run(self, spec: RunSpec, plan: Plan, versions: dict[str, str]) -> str:
        """Records a run and everything it will ask, before its model loads. Returns its random 128-bit id."""
        # all that is to be written is made before: others wait while a transaction is open
        run, passages = secrets.token_hex(16), planned_passages(plan.statements)
        rows = _kept_rows_of(plan) if len(plan.statements) <= MOST_STATEMENTS else _rows_of(plan)
        shots = [
            {"run": run, "shots_of": group, "position": position, "text": shot.text, "label": shot.label}
            for group, shown in plan.demonstrations.items()
            for position, shot in enumerate(shown)
        ]
        row = {
            "run": run,
            "owner": self.owner,
            "state": WAITING,
            "worker": myself(),
            "beat_at": now(),
            "started_at": now(),
            "model": spec.model,
            "dataset": plan.dataset,
            "dataset_fingerprint": plan.dataset_fingerprint,
            "pool": plan.pool,
            "pool_text": json.dumps(plan.pool_text),
            "population": json.dumps(dict(plan.population)),
            "shots": plan.shots,
            "spec": json.dumps(spec.to_record()),
            "versions": json.dumps(versions),
            "notes": json.dumps(plan.notes),
            "statements": len(plan.statements),
            "facts": rows.facts,
        }
        facts, places = ([(run, *values) for values in of] for of in (rows.run_facts, rows.places))
        with self.database.writing() as connection:
            connection.execute(schema.runs.insert().values(row))
            add_statements(self.database, connection, rows.statements, rows.records)
            self.database.insert_rows(connection, _RUN_FACTS, _RUN_FACT_COLUMNS, facts)
            self.database.insert_rows(connection, _PLACES, _PLACE_COLUMNS, places)
            if shots:
                connection.execute(schema.demonstrations.insert(), shots)
            add_passages(self.database, connection, run, passages)
            connection.execute(schema.sheets.insert().values(run=run, columns=rows.sheet))
            add_event(connection, run, WAITING)
            if spec.imported:
                add_event(connection, run, IMPORTED, MADE_FROM_IMPORTED)
        return run


@dataclass(frozen=True)
class _Rows:
    """What is written of a plan, whatever run it is of: rows without the run's id, and the number of its facts."""

    plan: Plan
    facts: int
    statements: Mapping[str, tuple[Any, ...]]
    records: Records
    run_facts: Sequence[tuple[Any, ...]]
    places: Sequence[tuple[Any, ...]]
    sheet: bytes


@shared_cache(MOST_STATEMENTS, lambda rows: 1 + len(rows.places), key=id)  # what is kept holds its plan, so no other has its id
def _kept_rows_of(plan: Plan) -> _Rows:
    """Made once for a plan: many visitors begin the same run."""
    return _rows_of(plan)


def _rows_of(plan: Plan) -> _Rows:
    asked = [planned.statement for planned in plan.statements]
    facts, partners = records_of(asked), records_of(plan.partners)
    described = [(number, values[0], None) for number, values in enumerate(facts.values())]
    shown = enumerate(plan.partners, len(facts))
    beside = [(number, partners[one.fact.fact_id][0], one.statement_id) for number, one in shown]
    places = [
        (position, planned.statement.statement_id, planned.shots_of, planned.draw, fact)
        for position, (planned, fact) in enumerate(zip(plan.statements, fact_numbers(asked), strict=True))
    ]
    statements, sheet = rows_of((*asked, *plan.partners)), sheet_of(plan.statements).to_bytes()
    return _Rows(plan, len(facts), statements, {**facts, **partners}, [*described, *beside], places, sheet)


def add_event(connection: sql.Connection, run: str, what: str, said: str | None = None) -> None:
    """Adds an event to a run's history."""
    connection.execute(schema.events.insert().values(run=run, at=now(), what=what, said=said))


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch, from the intention on. token: names it, at the service too. at: when its last step was recorded. path: where its
    calls go. parameters: of them. file, batch: the service's own names; None until they are known.
    """

    token: str
    at: str
    path: str
    parameters: Mapping[str, Any]
    file: str | None
    batch: str | None
    closed: bool


BATCHES = Kind("batch", Batch, subject="token", at="at")


class Batches(LogPart):
    """The batches of runs, which belong to this machine: no file of a run has them. Each step adds an event."""

    def intend(self, run: str, token: str, path: str, parameters: Mapping[str, Any]) -> None:
        """Records that a batch is going to be sent."""
        self._log.add(BATCHES, Batch(token, "", path, parameters, None, None, False), run=run)

    def uploaded(self, run: str, token: str, file: str) -> None:
        """Records the name of a batch's file at the service, before the batch itself is asked for."""
        self._add_step(run, token, file=file)

    def begun(self, run: str, token: str, batch: str) -> None:
        """Records the service's name for a batch."""
        self._add_step(run, token, batch=batch)

    def close(self, run: str, token: str) -> None:
        """Records that all that came of a batch is saved."""
        self._add_step(run, token, closed=True)

    def of(self, run: str) -> list[Batch]:
        """The batches of a run, oldest first."""
        return list({batch.token: batch for batch in self._log.of(BATCHES, schema.log.c.run == run)}.values())

    def _add_step(self, run: str, token: str, **values: Any) -> None:
        batch = next(batch for batch in self.of(run) if batch.token == token)
        self._log.add(BATCHES, replace(batch, **values), run=run)
