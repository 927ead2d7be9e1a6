"""What people have said here: how much it is, and how it is erased for good. Elsewhere it is only ever added to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sql

from medfact.errors import StoreError
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.database import Part, rows_among
from medfact.store.disk import ROW_BYTES, bytes_of
from medfact.store.lifecycle import delete_unasked
from medfact.store.statement_rows import statement_values
from medfact.store.verdicts import GAME

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
