"""Sentence templates that a person has changed, added or signed off: a log to which rows are only added."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Part, now
from medfact.store.entities import PrototypeEdit


class PrototypeEdits(Part):
    """The edits of one owner."""

    def record(self, edits: Iterable[PrototypeEdit]) -> None:
        """Adds edits, all or none, in their order. Their number and time are set here."""
        rows = [
            {
                "owner": self.owner,
                "pool": one.pool,
                "relation": one.relation,
                "form": one.form,
                "sentence": one.sentence,
                "signed_by": one.signed_by,
                "decided_at": now(),
            }
            for one in edits
        ]
        if rows:
            with self.database.writing() as connection:
                connection.execute(schema.prototype_edits.insert(), rows)

    def log(self, pool: str) -> list[PrototypeEdit]:
        """This owner's log of a pool, in its order."""
        row = schema.prototype_edits.c
        columns = (row.pool, row.relation, row.form, row.sentence, row.signed_by, row.number, row.decided_at)
        query = sql.select(*columns).where(row.owner == self.owner, row.pool == pool).order_by(row.number)
        with self.database.reading() as connection:
            return [PrototypeEdit(*values) for values in connection.execute(query)]
