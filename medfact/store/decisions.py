"""What a person has decided: false partners that must not be drawn, drafted templates that may be used, and sentence templates
that were changed, added or signed off.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import sqlalchemy as sql

from medfact.store import schema
from medfact.store.database import Part, now
from medfact.store.entities import DraftDecision, PrototypeEdit, Rejection


class Decisions(Part):
    """Decisions of one owner."""

    def reject(self, fact_id: str, tail: str, reason: str = "") -> None:
        """Records that a tail must not be drawn as a false partner of this fact, and why."""
        row = {"owner": self.owner, "fact_id": fact_id, "tail": tail, "rejected_at": now(), "reason": reason}
        with self.database.writing() as connection:
            connection.execute(self.database.insert_new(schema.rejections), [row])

    def unreject(self, fact_id: str, tail: str) -> None:
        """Takes a rejection back."""
        row = schema.rejections.c
        with self.database.writing() as connection:
            same = (row.owner == self.owner, row.fact_id == fact_id, row.tail == tail)
            connection.execute(schema.rejections.delete().where(*same))

    def rejections(self) -> dict[str, frozenset[str]]:
        """Id of a positive fact → the tails that this owner has rejected as false partners."""
        rejected: dict[str, frozenset[str]] = {}
        for item in self.rejected():
            rejected[item.fact_id] = rejected.get(item.fact_id, frozenset()) | {item.tail}
        return rejected

    def rejected(self) -> list[Rejection]:
        """The false partners that this owner has rejected, the newest first."""
        row = schema.rejections.c
        listed = sql.select(row.fact_id, row.tail, row.reason).where(row.owner == self.owner)
        with self.database.reading() as connection:
            return [Rejection(*columns) for columns in connection.execute(listed.order_by(row.rejected_at.desc(), row.tail))]

    def decide_on_draft(self, run: str, relation: str, accepted: bool, sentences: Mapping[str, str]) -> None:
        """Records that this owner accepts or refuses a relation's drafted sentences, as they are given here."""
        row = schema.draft_decisions.c
        values = {
            "owner": self.owner,
            "run": run,
            "relation": relation,
            "accepted": accepted,
            "sentences": json.dumps(dict(sentences)),
            "decided_at": now(),
        }
        with self.database.writing() as connection:
            same = (row.owner == self.owner, row.run == run, row.relation == relation)
            connection.execute(schema.draft_decisions.delete().where(*same))
            connection.execute(schema.draft_decisions.insert(), [values])

    def forget_draft_decision(self, run: str, relation: str) -> None:
        """Takes such a decision back."""
        row = schema.draft_decisions.c
        with self.database.writing() as connection:
            same = (row.owner == self.owner, row.run == run, row.relation == relation)
            connection.execute(schema.draft_decisions.delete().where(*same))

    def draft_decisions(self, run: str) -> dict[str, DraftDecision]:
        """Relation → what this owner has decided on its draft in a writing."""
        row = schema.draft_decisions.c
        query = sql.select(row.relation, row.accepted, row.sentences, row.decided_at)
        with self.database.reading() as connection:
            found = connection.execute(query.where(row.owner == self.owner, row.run == run).order_by(row.relation))
            return {one.relation: DraftDecision(one.accepted, json.loads(one.sentences), one.decided_at) for one in found}


class PrototypeEdits(Part):
    """The edits of one owner."""

    def record(self, edits: Iterable[PrototypeEdit]) -> None:
        """Adds edits, all or none, in their order. Their number and time are set here."""
        set_here = {"owner": self.owner, "decided_at": now()}
        rows = [{name: value for name, value in {**vars(one), **set_here}.items() if name != "number"} for one in edits]
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
