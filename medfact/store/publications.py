"""Runs that are shown to everybody: published and withdrawn by whoever runs the server, never by a visitor."""

from __future__ import annotations

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Part, now
from medfact.store.entities import Published


class Publications(Part):
    """What is published, whoever owns the runs."""

    def publish(self, run: str, name: str) -> None:
        """Shows a run to everybody under this name, which its owner cannot change. A second time changes the name."""
        row = schema.publications.c
        with self.database.writing() as connection:
            renamed = schema.publications.update().where(row.run == run).values(name=name)
            if not connection.execute(renamed).rowcount:
                added = {"run": run, "name": name, "published_at": now()}
                connection.execute(self.database.insert_new(schema.publications), [added])

    def withdraw(self, run: str) -> bool:
        """Shows a run to nobody but those who have its link. Returns whether it was published."""
        with self.database.writing() as connection:
            gone = schema.publications.delete().where(schema.publications.c.run == run)
            return bool(connection.execute(gone).rowcount)

    def published(self) -> list[Published]:
        """The runs that are published and not deleted, the first published first."""
        row = schema.publications.c
        there = schema.publications.join(schema.runs, schema.runs.c.run == row.run)
        query = sql.select(row.run, row.name, row.published_at).select_from(there).where(schema.runs.c.deleted_at.is_(None))
        with self.database.reading() as connection:
            return [Published(*values) for values in connection.execute(query.order_by(row.published_at, row.run))]
