"""Which labels a person has been shown: whoever has seen one is not blind to it any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Database


class SeenLabels(Database):
    """The labels that one owner has seen, by pair: the label of a true fact gives those of its false partners away."""

    owner: str

    def record_seen(self, pairs: Iterable[str]) -> None:
        """Records that this owner is shown the labels of these pairs. A pair has the id of its true fact."""
        new = sorted({pair for pair in pairs if not self.has_seen(pair)})
        if new:
            with self._writing() as connection:
                connection.execute(self._insert_new(schema.seen_labels), [{"owner": self.owner, "pair": pair} for pair in new])

    def has_seen(self, pair: str, owners: Sequence[str] = ()) -> bool:
        """Whether this owner, or one of those, was shown the labels of a pair."""
        row = schema.seen_labels.c
        query = sql.select(row.pair).where(row.owner.in_(owners or [self.owner]), row.pair == pair)
        with self._reading() as connection:
            return connection.execute(query).first() is not None
