"""What a visitor of the page has chosen last, so that it is there when the page is opened again."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Part, now

MOST_SET_UPS = 2_000
"""That are kept: the latest."""


class SetUps(Part):
    """The set-up of one owner."""

    def last(self) -> str:
        """What this owner chose last, as JSON; "" for nothing."""
        row = schema.set_ups.c
        with self.database.reading() as connection:
            return connection.execute(sql.select(row.chosen).where(row.owner == self.owner)).scalar() or ""

    def keep(self, chosen: str) -> None:
        """Keeps what this owner has chosen, in place of what was kept before."""
        self.keep_all({self.owner: chosen})

    def keep_all(self, chosen: Mapping[str, str]) -> None:
        """Keeps what owners have chosen, in one transaction. Beyond MOST_SET_UPS the oldest give way."""
        if not chosen:
            return
        table, row = schema.set_ups, schema.set_ups.c
        latest = sql.select(row.owner).order_by(row.changed_at.desc(), row.owner).limit(MOST_SET_UPS).scalar_subquery()
        with self.database.writing() as connection:
            for owner, text in chosen.items():
                connection.execute(table.delete().where(row.owner == owner))
                connection.execute(table.insert(), [{"owner": owner, "chosen": text, "changed_at": now()}])
            connection.execute(table.delete().where(row.owner.not_in(latest)))
