"""What is known of the batches that a service was sent for a run: before and after each step, so that none is paid twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Part, now


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


class Batches(Part):
    """The batches of runs."""

    def intend(self, run: str, token: str, path: str, parameters: Mapping[str, Any]) -> None:
        """Records that a batch is going to be sent."""
        values = {"run": run, "token": token, "at": now(), "path": path, "parameters": json.dumps(parameters), "closed": False}
        with self.database.writing() as connection:
            connection.execute(schema.batches.insert().values(values))

    def uploaded(self, token: str, file: str) -> None:
        """Records the name of a batch's file at the service, before the batch itself is asked for."""
        self._update(token, file=file)

    def begun(self, token: str, batch: str) -> None:
        """Records the service's name for a batch."""
        self._update(token, batch=batch)

    def close(self, token: str) -> None:
        """Records that all that came of a batch is saved."""
        self._update(token, closed=True)

    def of(self, run: str) -> list[Batch]:
        """The batches of a run, oldest first."""
        row = schema.batches.c
        query = sql.select(row.token, row.at, row.path, row.parameters, row.file, row.batch, row.closed)
        with self.database.reading() as connection:
            found = connection.execute(query.where(row.run == run).order_by(row.number)).all()
        return [Batch(**{**one._mapping, "parameters": json.loads(one.parameters)}) for one in found]

    def _update(self, token: str, **values: Any) -> None:
        with self.database.writing() as connection:
            update = schema.batches.update().where(schema.batches.c.token == token)
            connection.execute(update.values(at=now(), **values))
