"""What reviewers say of facts and statements: a log to which verdicts are only added. The last one of a reviewer counts.
Beside it stands which labels they were shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sql

from medfact.facts import Fact
from medfact.limits import HOSTS
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.database import now, parts, rows_among
from medfact.store.entities import IMPORTED, Verdict
from medfact.store.log import Kind, LogPart
from medfact.store.statement_rows import (
    STATEMENT_COLUMNS,
    add_statements,
    fact_columns,
    fact_of,
    records_of,
    rows_of,
    statement_of,
)

REVIEWER, ADJUDICATOR = "reviewer", "adjudicator"
"""Roles. An adjudicator sees the verdicts of others and decides."""

WITHDRAWN = "withdrawn"
"""Takes the reviewer's verdict before it back."""

GAME = "game"
"""The queue of answers against the clock, which are no judgements."""


@dataclass(frozen=True)
class SeenLabels:
    """A person was shown the labels of a pair, which has the id of its true fact."""

    pair: str


SEEN_LABELS = Kind("seen", SeenLabels, subject="pair")


class Verdicts(LogPart):
    """The log of verdicts, and the labels that a person was shown: whoever has seen one is not blind to it any more, nor to
    those of the fact's partners. Whoever records, records as the store's owner.
    """

    def record(self, verdicts: Iterable[Verdict], statements: Iterable[Statement] = ()) -> None:
        """Adds verdicts, all or none, in their order. Their number, owner and time are set here.

        statements: what was judged, which is kept word for word, with its facts as they were shown.
        """
        log, judged = list(verdicts), list(statements)
        facts, texts = records_of(judged), rows_of(judged)
        if log:
            with self.database.writing() as connection:
                known = self._records(connection, {one.fact_id for one in log if not one.record} - facts.keys())
                known |= {fact_id: values[0] for fact_id, values in facts.items()}
                add_statements(self.database, connection, texts, facts)
                connection.execute(schema.verdicts.insert(), [self._row(one, known) for one in log])

    def _row(self, one: Verdict, known: dict[str, str]) -> dict[str, Any]:
        record = known.get(one.fact_id, one.record)
        set_here = {"owner": self.owner, "decided_at": now(), "record": record, "reasons": json.dumps(one.reasons)}
        return {name: value for name, value in {**vars(one), **set_here}.items() if name != "number"}

    def log(self, facts: Sequence[str] | None = None, owners: Sequence[str] = ()) -> list[Verdict]:
        """The log in its order: whole, or of some facts, or of some owners."""
        row = schema.verdicts.c
        query = sql.select(schema.verdicts).order_by(row.number)
        if owners:
            query = query.where(row.owner.in_(owners))
        with self.database.reading() as connection:
            found = rows_among(connection, query, row.fact_id, facts)
            log = [Verdict(**{**entry._mapping, "reasons": tuple(json.loads(entry.reasons))}) for entry in found]
        return sorted(log, key=lambda verdict: verdict.number)

    def version(self) -> tuple[int, int, str]:
        """Changes with every verdict that is recorded, and with every one that is erased."""
        row = schema.verdicts.c
        query = sql.select(sql.func.count(), sql.func.max(row.number), sql.func.max(row.decided_at)).select_from(
            schema.verdicts
        )
        with self.database.reading() as connection:
            count, number, at = connection.execute(query).one()
            return int(count), int(number or 0), str(at or "")

    def reviewers_of_facts(self, owners: Sequence[str] = ()) -> dict[str, int]:
        """Fact id → how many reviewers have a verdict on it now, adjudicators and games left out."""
        row = schema.verdicts.c
        query = sql.select(sql.func.max(row.number).label("number")).where(row.statement_id == "", row.role == REVIEWER)
        query = query.where(row.queue != GAME).group_by(row.owner, row.reviewer, row.fact_id)
        last = (query.where(row.owner.in_(owners)) if owners else query).subquery()
        counted = sql.select(row.fact_id, sql.func.count()).join(last, row.number == last.c.number)
        with self.database.reading() as connection:
            found = connection.execute(counted.where(row.verdict != WITHDRAWN).group_by(row.fact_id))
            return {fact_id: int(number) for fact_id, number in found}

    def is_judged(self, run: str, owners: Sequence[str] = ()) -> bool:
        """Whether there is a verdict on a fact of a run. owners: whose verdicts count, by default everybody's."""
        said, of_run = schema.verdicts.c, schema.run_facts.c
        judged = sql.select(said.fact_id)
        judged = judged.where(said.owner.in_(owners)) if owners else judged
        query = sql.select(of_run.fact).join_from(schema.run_facts, schema.facts, schema.facts.c.record == of_run.record)
        query = query.where(of_run.run == run, of_run.statement_id.is_(None), schema.facts.c.fact_id.in_(judged))
        with self.database.reading() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def statements_of(self, facts: Iterable[str]) -> list[Statement]:
        """All statements about these facts that runs have asked or people have judged. The facts are named as this owner knows
        them, else as reviewers were shown them; not as a stranger's run does.
        """
        row, found = schema.statements.c, list[Statement]()
        with self.database.reading() as connection:
            for some in parts(sorted(facts)):
                shown = {one.fact_id: one.record for one in connection.execute(_shown(some))}
                named = self._described(connection, shown | self._records(connection, some))
                query = sql.select(*(row[name] for name in STATEMENT_COLUMNS)).where(row.fact_id.in_(list(named)))
                rows = connection.execute(query.order_by(row.statement_id))
                found += [statement_of(values, named[values.fact_id]) for values in rows]
        return found

    def facts_shown(self, log: Iterable[Verdict]) -> dict[str, Fact]:
        """The facts of verdicts as their reviewers were shown them, by `Verdict.record`."""
        records = {one.record: one.record for one in log if one.record}
        with self.database.reading() as connection:
            return self._described(connection, records)

    def record_seen(self, pairs: Iterable[str]) -> None:
        """Records that this owner is shown the labels of these pairs. A pair has the id of its true fact."""
        if new := sorted({pair for pair in pairs if not self.has_seen(pair)}):
            self._log.add(SEEN_LABELS, *map(SeenLabels, new))

    def has_seen(self, pair: str, owners: Sequence[str] = ()) -> bool:
        """Whether this owner, or one of those, was shown the labels of a pair."""
        row = schema.log.c
        return bool(self._log.of(SEEN_LABELS, row.owner.in_(owners or [self.owner]), row.subject == pair))

    @staticmethod
    def _described(connection: sql.Connection, records: dict[str, str]) -> dict[str, Fact]:
        """The facts of some records, by the same keys."""
        record = schema.facts.c.record
        found = rows_among(connection, sql.select(record, *fact_columns()), record, sorted(set(records.values())))
        facts = {name: fact_of(values) for name, *values in found}
        return {key: facts[one] for key, one in records.items() if one in facts}

    def _records(self, connection: sql.Connection, facts: Iterable[str]) -> dict[str, str]:
        """Fact id → its record: what this owner was shown last, else that of an own run, else that of a run of the host. A run
        that came from a file says nothing of this.
        """
        found: dict[str, str] = {}
        for some in parts(facts):
            for query in (_of_runs(some, HOSTS), _of_runs(some, (self.owner,)), _shown(some, self.owner)):
                found |= {row.fact_id: row.record for row in connection.execute(query)}
        return found


def _shown(facts: Sequence[str], *owners: str) -> sql.Select[Any]:
    """How reviewers, or some owners, were shown facts, the last one last."""
    row = schema.verdicts.c
    query = sql.select(row.fact_id, row.record).where(row.fact_id.in_(facts), row.record != "")
    return (query.where(row.owner.in_(owners)) if owners else query).order_by(row.number)


def _of_runs(facts: Sequence[str], owners: Sequence[str]) -> sql.Select[Any]:
    """How runs of some owners describe facts, the last one last."""
    fact, of_run, run = schema.facts.c, schema.run_facts.c, schema.runs.c
    imported = sql.select(schema.events.c.run).where(schema.events.c.what == IMPORTED)
    joined = schema.facts.join(schema.run_facts, of_run.record == fact.record).join(schema.runs, run.run == of_run.run)
    query = sql.select(fact.fact_id, fact.record).select_from(joined).group_by(fact.fact_id, fact.record)
    query = query.where(fact.fact_id.in_(facts), run.owner.in_(owners), run.run.not_in(imported))
    return query.order_by(sql.func.max(run.number))
