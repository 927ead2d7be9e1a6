"""What a person has decided: false partners that are false or must not be drawn, drafted templates that may be used, and
sentence templates that were changed, added or signed off.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import sqlalchemy as sql

from medfact.datasets.pairing import PartnerDecisions, relation_within_bounds, triplet_key
from medfact.facts import Fact, name_key
from medfact.store import schema
from medfact.store.database import Part, now
from medfact.store.entities import DraftDecision, PartnerDecision, PrototypeEdit


class Decisions(Part):
    """Decisions of one owner."""

    def reject(self, fact_id: str, tail: str, reason: str = "", fact: Fact | None = None) -> None:
        """Records that a tail must not be drawn as a false partner, and why. fact: the true one; without it, this holds for the
        id alone.
        """
        self._decide(fact_id, tail, reason, fact, confirmed=False)

    def confirm(self, fact: Fact, tail: str) -> None:
        """Records that this false partner of a true fact is false."""
        self._decide(fact.fact_id, tail, "", fact, confirmed=True)

    def _decide(self, fact_id: str, tail: str, reason: str, fact: Fact | None, confirmed: bool) -> None:
        row = schema.rejections.c
        head, relation = (fact.head, relation_within_bounds(fact)) if fact else ("", "")
        said = {"tail": tail, "rejected_at": now(), "reason": reason, "confirmed": confirmed}
        values = {"owner": self.owner, "fact_id": fact_id, "head": head, "relation": relation, **said}
        with self.database.writing() as connection:
            same = (row.owner == self.owner, row.fact_id == fact_id, row.tail == tail)
            differs = row.confirmed.is_not(confirmed) | (row.head != head)
            connection.execute(schema.rejections.delete().where(*same, differs))
            connection.execute(self.database.insert_new(schema.rejections), [values])

    def take_back(self, fact_id: str, tail: str) -> None:
        """Takes back what was said of a false partner, under whatever ids its true fact has."""
        row = schema.rejections.c
        own = (row.owner == self.owner, row.tail == tail)
        places = sql.select(row.head, row.relation).where(*own, row.fact_id == fact_id, row.head != "")
        same = (row.fact_id == fact_id) | sql.tuple_(row.head, row.relation).in_(places)
        with self.database.writing() as connection:
            connection.execute(schema.rejections.delete().where(*own, same))

    def of_partners(self) -> PartnerDecisions:
        """What this owner has said of false partners, for draws."""
        said = self.on_partners()
        return PartnerDecisions(
            frozenset((name_key(one.head) or one.fact_id, one.tail) for one in said if not one.confirmed),
            frozenset(triplet_key(one.head, one.relation, one.tail) for one in said if one.confirmed),
        )

    def on_partners(self) -> list[PartnerDecision]:
        """What this owner has said of false partners, the newest first."""
        row = schema.rejections.c
        listed = sql.select(row.fact_id, row.tail, row.reason, row.head, row.relation, row.confirmed)
        listed = listed.where(row.owner == self.owner).order_by(row.rejected_at.desc(), row.tail)
        with self.database.reading() as connection:
            return [PartnerDecision(*columns) for columns in connection.execute(listed)]

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
