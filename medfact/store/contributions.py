"""What people decide and say: false partners, drafts, sentence templates and the form of the page; how much it is, and how it
is erased for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sql

from medfact.datasets.pairing import PartnerDecisions, scoped_relation, triplet_key
from medfact.errors import StoreError
from medfact.facts import Fact, name_key
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.curations import DECISIONS_ON_CANDIDATES
from medfact.store.database import Part, rows_among
from medfact.store.disk import ROW_BYTES, bytes_of, delete_unasked
from medfact.store.entities import DraftDecision, PartnerDecision, PrototypeEdit
from medfact.store.log import Kind, LogPart
from medfact.store.statement_rows import statement_values
from medfact.store.verdicts import GAME


@dataclass(frozen=True)
class SetUp:
    """What a visitor of the page chose last, as JSON: for the form, not for any run."""

    chosen: str


PARTNERS = Kind("partner", PartnerDecision, subject="fact_id")
DRAFTS = Kind("draft", DraftDecision, subject="run", at="decided_at")
PROTOTYPES = Kind("prototype", PrototypeEdit, subject="pool", person="signed_by", at="decided_at")

SET_UPS = Kind("set-up", SetUp)

_EVENT = schema.log.c


class Decisions(LogPart):
    """Decisions of one owner. Of several on the same, the last counts."""

    def reject(self, fact_id: str, tail: str, reason: str = "", fact: Fact | None = None) -> None:
        """Records that a tail must not be drawn as a false partner, and why. fact: the true one; without it, this holds for the
        id alone.
        """
        head, relation = (fact.head, scoped_relation(fact)) if fact else ("", "")
        self._decide(PartnerDecision(fact_id, tail, reason, head, relation))

    def confirm(self, fact: Fact, tail: str) -> None:
        """Records that this false partner of a true fact is false."""
        self._decide(PartnerDecision(fact.fact_id, tail, "", fact.head, scoped_relation(fact), confirmed=True))

    def _decide(self, new: PartnerDecision) -> None:
        known = next((old for old in self.on_partners() if (old.fact_id, old.tail) == (new.fact_id, new.tail)), None)
        if known is None or (known.confirmed, known.head) != (new.confirmed, new.head):
            self._log.add(PARTNERS, new)

    def take_back(self, fact_id: str, tail: str) -> None:
        """Takes back what was said of a false partner, under whatever ids its true fact has."""
        said = [decision for decision in self._said(PARTNERS) if decision.tail == tail]
        places = {(one.head, one.relation) for one in said if one.fact_id == fact_id and one.head}
        same = [one.number for one in said if one.fact_id == fact_id or (one.head, one.relation) in places]
        self._log.erase(PARTNERS, _EVENT.number.in_(same))

    def of_partners(self) -> PartnerDecisions:
        """What this owner has said of false partners, for draws."""
        said = self.on_partners()
        return PartnerDecisions(
            frozenset((name_key(one.head) or one.fact_id, one.tail) for one in said if not one.confirmed),
            frozenset(triplet_key(one.head, one.relation, one.tail) for one in said if one.confirmed),
        )

    def on_partners(self) -> list[PartnerDecision]:
        """What this owner has said of false partners, the newest first."""
        return list({(one.fact_id, one.tail): one for one in self._said(PARTNERS)}.values())[::-1]

    def decide_on_draft(self, run: str, relation: str, accepted: bool, sentences: Mapping[str, str]) -> None:
        """Records that this owner accepts or refuses a relation's drafted sentences, as they are given here."""
        self._log.add(DRAFTS, DraftDecision(accepted, dict(sentences), run=run, relation=relation))

    def forget_draft_decision(self, run: str, relation: str) -> None:
        """Takes such a decision back."""
        same = [one.number for one in self._said(DRAFTS, _EVENT.subject == run) if one.relation == relation]
        self._log.erase(DRAFTS, _EVENT.number.in_(same))

    def draft_decisions(self, run: str) -> dict[str, DraftDecision]:
        """Relation → what this owner has decided on its draft in a writing."""
        said = {one.relation: one for one in self._said(DRAFTS, _EVENT.subject == run)}
        return dict(sorted(said.items()))


class PrototypeEdits(LogPart):
    """The edits of one owner."""

    def record(self, edits: Iterable[PrototypeEdit]) -> None:
        """Adds edits, all or none, in their order. Their number and time are set here."""
        self._log.add(PROTOTYPES, *edits)

    def log(self, pool: str) -> list[PrototypeEdit]:
        """This owner's log of a pool, in its order."""
        return self._said(PROTOTYPES, _EVENT.subject == pool)


MOST_SET_UPS = 2_000
"""That are kept: the latest."""


class SetUps(LogPart):
    """The set-up of one owner."""

    def last(self) -> str:
        """What this owner chose last, as JSON; "" for nothing."""
        return next((one.chosen for one in reversed(self._said(SET_UPS))), "")

    def keep(self, chosen: str) -> None:
        """Keeps what this owner has chosen, in place of what was kept before."""
        self.keep_all({self.owner: chosen})

    def keep_all(self, chosen: Mapping[str, str]) -> None:
        """Keeps what owners have chosen, in one transaction. Beyond MOST_SET_UPS the oldest give way."""
        if not chosen:
            return
        table, is_one = schema.log, _EVENT.kind == SET_UPS.name
        with self.database.writing() as connection:
            for owner, text in chosen.items():
                connection.execute(table.delete().where(is_one, _EVENT.owner == owner))
                connection.execute(table.insert(), [SET_UPS.row(owner, SetUp(text))])
            latest = sql.select(_EVENT.number).where(is_one).order_by(_EVENT.number.desc()).limit(MOST_SET_UPS)
            connection.execute(table.delete().where(is_one, _EVENT.number.not_in(latest.scalar_subquery())))


FACT_BYTES = 16_000
"""What the statements of one fact may take that is judged, which are kept word for word."""

VERDICTS, GAMES, EDITS, DECISIONS, CHECKS = "verdicts", "games", "edits", "decisions", "checks"
"""Kinds of contributions: verdicts with their comments, answers against the clock, sentence templates, decisions on false
partners and on drafts, and decisions on what documents propose."""

KINDS = (VERDICTS, GAMES, EDITS, DECISIONS, CHECKS)

_KINDS_OF: Mapping[str, tuple[str, ...]] = {
    EDITS: (PROTOTYPES.name,),
    DECISIONS: (PARTNERS.name, DRAFTS.name),
    CHECKS: (DECISIONS_ON_CANDIDATES.name,),
}
"""Kind of contributions → the kinds of events in the log."""


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
        logged = _EVENT.kind.in_([name for names in _KINDS_OF.values() for name in names])
        with self.database.reading() as connection:
            for table, condition in ((schema.verdicts, sql.true()), (schema.log, logged)):
                size = bytes_of(table, connection.dialect.name)
                query = sql.select(table.c.owner, size).where(condition).group_by(table.c.owner)
                for owner, number in _among(connection, query, table.c.owner, owners):
                    found[owner] = found.get(owner, 0) + int(number)
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
        logged = _EVENT.kind.in_([PROTOTYPES.name, DECISIONS_ON_CANDIDATES.name])
        judged = (schema.verdicts, schema.verdicts.c.reviewer == name)
        return self._erase([judged, (schema.log, logged & (_EVENT.person == name))])

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
    if kind in _KINDS_OF:
        yield schema.log, sql.and_(_EVENT.owner == owner, _EVENT.kind.in_(_KINDS_OF[kind]))
