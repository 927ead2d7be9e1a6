"""What people decide and say: false partners, drafts, sentence templates and the form of the page; how much it is, and how it
is erased for good.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sql

from medfact.datasets.pairing import PartnerDecisions, scoped_relation, triplet_key
from medfact.errors import StoreError
from medfact.facts import Fact, name_key
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.database import Part, now, rows_among
from medfact.store.disk import ROW_BYTES, bytes_of, delete_unasked
from medfact.store.entities import DraftDecision, PartnerDecision, PrototypeEdit
from medfact.store.statement_rows import statement_values
from medfact.store.verdicts import GAME


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
        head, relation = (fact.head, scoped_relation(fact)) if fact else ("", "")
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


FACT_BYTES = 16_000
"""What the statements of one fact may take that is judged, which are kept word for word."""

VERDICTS, GAMES, EDITS, DECISIONS, CHECKS = "verdicts", "games", "edits", "decisions", "checks"
"""Kinds of contributions: verdicts with their comments, answers against the clock, sentence templates, decisions on false
partners and on drafts, and decisions on what documents propose."""

KINDS = (VERDICTS, GAMES, EDITS, DECISIONS, CHECKS)

_TABLES = (
    schema.verdicts,
    schema.prototype_edits,
    schema.rejections,
    schema.draft_decisions,
    schema.curation_decisions,
)


def bytes_of_rows(rows: Iterable[object]) -> int:
    """About how many bytes such rows take."""
    return sum(ROW_BYTES + len(str(row).encode()) for row in rows)


def bytes_of_judged(statements: Iterable[Statement]) -> int:
    """About how many bytes statements take that are kept because they are judged."""
    return sum(ROW_BYTES + len(str(statement_values(one)).encode()) for one in statements)


class Contributions(Part):
    """What owners have contributed."""

    def bytes(self, *owners: str) -> dict[str, int]:
        """Owner → about how many bytes what they have said takes; of all owners where none is named."""
        found: dict[str, int] = {}
        with self.database.reading() as connection:
            for table in _TABLES:
                query = sql.select(table.c.owner, bytes_of(table, connection.dialect.name)).group_by(table.c.owner)
                for owner, size in _among(connection, query, table.c.owner, owners):
                    found[owner] = found.get(owner, 0) + int(size)
            row = schema.verdicts.c
            facts = sql.select(row.owner, sql.func.count(row.fact_id.distinct())).where(row.queue != GAME).group_by(row.owner)
            for owner, number in _among(connection, facts, row.owner, owners):
                found[owner] += FACT_BYTES * int(number)
        return found

    def erase(self, kinds: Sequence[str] = KINDS) -> int:
        """Erases what this owner has said; returns the number of rows. What was only kept because it was judged goes, too."""
        return self._erase([condition for kind in kinds for condition in _of_kind(kind, self.owner)])

    def erase_by(self, name: str) -> int:
        """Erases what was said under a name, by whatever owner: verdicts with their comments, sentences signed off, and
        decisions on what documents propose.
        """
        verdicts, edits, checks = schema.verdicts, schema.prototype_edits, schema.curation_decisions
        named = ((verdicts, verdicts.c.reviewer), (edits, edits.c.signed_by), (checks, checks.c.reviewer))
        return self._erase([(table, column == name) for table, column in named])

    def _erase(self, which: Sequence[tuple[sql.Table, Any]]) -> int:
        with self.database.writing() as connection:
            if connection.dialect.name == "sqlite":  # what is erased is overwritten
                connection.exec_driver_sql("PRAGMA secure_delete=ON")
            erased = sum(connection.execute(table.delete().where(condition)).rowcount for table, condition in which)
            if erased:
                delete_unasked(connection)
        if erased:
            self.database.erased.set()
        if erased and self.database.file is not None:
            with suppress(StoreError), self.database.reading() as connection:  # nor does it stay in the log of changes
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        return erased


def _among(connection: sql.Connection, query: Any, column: Any, owners: Sequence[str]) -> Iterable[Any]:
    return rows_among(connection, query, column, owners) if owners else connection.execute(query)


def _of_kind(kind: str, owner: str) -> Iterator[tuple[sql.Table, Any]]:
    """The rows of a kind that are an owner's."""
    said = schema.verdicts
    if kind in (VERDICTS, GAMES):
        yield said, sql.and_(said.c.owner == owner, said.c.queue == GAME if kind == GAMES else said.c.queue != GAME)
    tables: dict[str, tuple[sql.Table, ...]] = {
        EDITS: (schema.prototype_edits,),
        DECISIONS: (schema.rejections, schema.draft_decisions),
        CHECKS: (schema.curation_decisions,),
    }
    yield from ((table, table.c.owner == owner) for table in tables.get(kind, ()))
