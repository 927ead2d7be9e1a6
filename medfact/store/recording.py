"""Recording a new run: its row, its statements and their order, its demonstrations."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sql

from medfact.spec import RunSpec
from medfact.store import schema
from medfact.store.database import now
from medfact.store.entities import IMPORTED, WAITING, Plan
from medfact.store.retrieval import RetrievedPassages, planned_passages
from medfact.store.sheets import fact_numbers, sheet_of
from medfact.store.statement_rows import STATEMENT_COLUMNS, statement_values
from medfact.store.workers import myself

_UPDATED_TOGETHER = 500
"""Statements whose ids fit into one query."""

MADE_FROM_IMPORTED = "from a run that came from a file"
"""What the event says of a run that was made here."""

_PLACE_COLUMNS = ("run", "position", "statement_id", "shots_of", "draw", "fact")
_ID = schema.statements.c.statement_id


class Recording(RetrievedPassages):
    """Records new runs."""

    owner: str

    def start_run(self, spec: RunSpec, plan: Plan, versions: dict[str, str]) -> str:
        """Records a run and everything it will ask, before its model loads. Returns its random 128-bit id."""
        run = secrets.token_hex(16)
        numbers = fact_numbers(planned.statement for planned in plan.statements)
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
            "facts": max(numbers, default=-1) + 1,
        }
        # all that is to be written is made before: others wait while a transaction is open
        by_id = {planned.statement.statement_id: planned.statement for planned in plan.statements}
        values = {one: statement_values(by_id[one]) for one in sorted(by_id)}  # in one order everywhere: nobody deadlocks
        places = [
            (run, position, planned.statement.statement_id, planned.shots_of, planned.draw, fact)
            for position, (planned, fact) in enumerate(zip(plan.statements, numbers, strict=True))
        ]
        sheet, passages = sheet_of(plan.statements).to_bytes(), planned_passages(plan.statements)
        with self._writing() as connection:
            connection.execute(schema.runs.insert().values(row))
            self._add_statements(connection, values)
            self._insert_rows(connection, schema.run_statements.insert(), _PLACE_COLUMNS, places)
            _add_demonstrations(connection, run, plan)
            self.add_passages(connection, run, passages)
            connection.execute(schema.sheets.insert().values(run=run, columns=sheet))
            add_event(connection, run, WAITING)
            if spec.imported:
                add_event(connection, run, IMPORTED, MADE_FROM_IMPORTED)
        return run

    def _add_statements(self, connection: sql.Connection, values: Mapping[str, tuple[Any, ...]]) -> None:
        """Adds statements. Existing ones keep their descriptions, unless those came only from imported files.

        values: by the statements' ids, in their order.
        """
        ids = list(values)
        self._insert_rows(connection, self._insert_new(schema.statements), STATEMENT_COLUMNS, values.values())
        imported = sql.select(schema.events.c.run).where(schema.events.c.what == IMPORTED)
        if connection.execute(imported.limit(1)).first() is None:
            return
        update = schema.statements.update().where(sql.bindparam("same_id") == _ID)
        for start in range(0, len(ids), _UPDATED_TOGETHER):
            query = _only_asked_by(imported).where(_ID.in_(ids[start : start + _UPDATED_TOGETHER]))
            old = {row.statement_id: dict(row._mapping) for row in connection.execute(query)}
            new = {name: dict(zip(STATEMENT_COLUMNS, values[name], strict=True)) for name in old}
            if changed := [{**row, "same_id": name} for name, row in new.items() if row != old[name]]:
                connection.execute(update, changed)


def _add_demonstrations(connection: sql.Connection, run: str, plan: Plan) -> None:
    rows = [
        {"run": run, "shots_of": group, "position": position, "text": shot.text, "label": shot.label}
        for group, shots in plan.demonstrations.items()
        for position, shot in enumerate(shots)
    ]
    if rows:
        connection.execute(schema.demonstrations.insert(), rows)


def _only_asked_by(runs: sql.Select[Any]) -> sql.Select[Any]:
    """Statements that some of these runs ask, and no other run."""
    these_places, other_places = schema.run_statements.alias(), schema.run_statements.alias()
    others = schema.runs.join(other_places, other_places.c.run == schema.runs.c.run)
    asked = sql.exists().where(these_places.c.run.in_(runs), these_places.c.statement_id == _ID)
    elsewhere = sql.exists().select_from(others).where(schema.runs.c.run.not_in(runs), other_places.c.statement_id == _ID)
    return sql.select(schema.statements).where(asked, ~elsewhere)


def add_event(connection: sql.Connection, run: str, what: str, said: str | None = None) -> None:
    """Adds an event to a run's history."""
    connection.execute(schema.events.insert().values(run=run, at=now(), what=what, said=said))
