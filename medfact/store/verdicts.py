"""What reviewers say of facts and statements: a log to which verdicts are only added. The last one of a reviewer counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import sqlalchemy as sql

from medfact.facts import Fact
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.database import Database, now
from medfact.store.entities import Verdict
from medfact.store.statement_rows import STATEMENT_COLUMNS, statement_of, statement_values

REVIEWER, ADJUDICATOR = "reviewer", "adjudicator"
"""Roles. An adjudicator sees the verdicts of others and decides."""

WITHDRAWN = "withdrawn"
"""Takes the reviewer's verdict before it back."""

GAME = "game"
"""The queue of answers against the clock, which are no judgements."""

MOST_IDS = 500
"""Facts that one query names."""


class Verdicts(Database):
    """The log of verdicts. Whoever records, records as the store's owner."""

    owner: str

    def record_verdicts(self, verdicts: Iterable[Verdict], statements: Iterable[Statement] = ()) -> None:
        """Adds verdicts, all or none, in their order. Their number, owner and time are set here.

        statements: what was judged, which is kept word for word.
        """
        rows = [
            {
                "owner": self.owner,
                "reviewer": one.reviewer,
                "fact_id": one.fact_id,
                "statement_id": one.statement_id,
                "verdict": one.verdict,
                "reasons": json.dumps(list(one.reasons)),
                "wording": one.wording,
                "comment": one.comment,
                "evidence": one.evidence,
                "role": one.role,
                "blind": one.blind,
                "queue": one.queue,
                "bulk": one.bulk,
                "seconds": one.seconds,
                "decided_at": now(),
            }
            for one in verdicts
        ]
        judged = sorted(statements, key=lambda statement: statement.statement_id)  # one order, so that nobody deadlocks
        if rows:
            with self._writing() as connection:
                self._insert_rows(
                    connection, self._insert_new(schema.statements), STATEMENT_COLUMNS, map(statement_values, judged)
                )
                connection.execute(schema.verdicts.insert(), rows)

    def verdicts(self, facts: Sequence[str] | None = None, owners: Sequence[str] = ()) -> list[Verdict]:
        """The log in its order: whole, or of some facts, or of some owners."""
        row = schema.verdicts.c
        query = sql.select(schema.verdicts).order_by(row.number)
        if owners:
            query = query.where(row.owner.in_(owners))
        parts = [query]
        if facts is not None:
            parts = [query.where(row.fact_id.in_(facts[i : i + MOST_IDS])) for i in range(0, len(facts), MOST_IDS)]
        with self._reading() as connection:
            found = [one for part in parts for one in connection.execute(part)]
        return sorted((_verdict(one) for one in found), key=lambda verdict: verdict.number)

    def version_of_verdicts(self) -> tuple[int, int, str]:
        """Changes with every verdict that is recorded, and with every one that is erased."""
        row = schema.verdicts.c
        query = sql.select(sql.func.count(), sql.func.max(row.number), sql.func.max(row.decided_at)).select_from(
            schema.verdicts
        )
        with self._reading() as connection:
            count, number, at = connection.execute(query).one()
            return int(count), int(number or 0), str(at or "")

    def reviewers_of_facts(self, owners: Sequence[str] = ()) -> dict[str, int]:
        """Fact id → how many reviewers have a verdict on it now, adjudicators and games left out."""
        row = schema.verdicts.c
        query = sql.select(sql.func.max(row.number).label("number")).where(row.statement_id == "", row.role == REVIEWER)
        query = query.where(row.queue != GAME).group_by(row.owner, row.reviewer, row.fact_id)
        last = (query.where(row.owner.in_(owners)) if owners else query).subquery()
        counted = sql.select(row.fact_id, sql.func.count()).join(last, row.number == last.c.number)
        with self._reading() as connection:
            found = connection.execute(counted.where(row.verdict != WITHDRAWN).group_by(row.fact_id))
            return {fact_id: int(number) for fact_id, number in found}

    def is_judged(self, run: str, owners: Sequence[str] = ()) -> bool:
        """Whether there is a verdict on a fact of a run. owners: whose verdicts count, by default everybody's."""
        said, statement, place = schema.verdicts.c, schema.statements.c, schema.run_statements.c
        judged = sql.select(said.fact_id)
        judged = judged.where(said.owner.in_(owners)) if owners else judged
        asked = sql.and_(place.run == run, place.statement_id == statement.statement_id)
        query = sql.select(statement.fact_id).join_from(schema.statements, schema.run_statements, asked)
        with self._reading() as connection:
            return connection.execute(query.where(statement.fact_id.in_(judged)).limit(1)).first() is not None

    def statements_of(self, facts: Iterable[str]) -> list[Statement]:
        """All statements about these facts that runs have asked or people have judged."""
        row, known, ids = schema.statements.c, dict[str, Fact](), sorted(facts)
        found: list[Statement] = []
        with self._reading() as connection:
            for i in range(0, len(ids), MOST_IDS):
                query = sql.select(*(row[name] for name in STATEMENT_COLUMNS)).where(row.fact_id.in_(ids[i : i + MOST_IDS]))
                found += [statement_of(values, known) for values in connection.execute(query.order_by(row.statement_id))]
        return found


def _verdict(row: sql.Row[tuple[object, ...]]) -> Verdict:
    values = dict(row._mapping)
    return Verdict(**{**values, "reasons": tuple(json.loads(values["reasons"]))})
