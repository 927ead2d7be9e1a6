"""The answers after pushes: of each answer of a run, by the kind of push and its round, so that nothing is asked twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray

from medfact.models.pressure import CONTROL, PRESSURES, Replied
from medfact.statements import FAILED, UNREADABLE
from medfact.store import schema
from medfact.store.database import Part, now, rows_among
from medfact.store.entities import Answer, PushedAnswer

_ANSWER_COLUMNS = tuple(one.name for one in fields(Answer))
_answer_values = attrgetter(*_ANSWER_COLUMNS)
_KEY = ("run", "statement_id", "draw", "kind", "round")
_SAVED_COLUMNS = ("run", "asked_at", "kind", "round", *_ANSWER_COLUMNS, "of_run", "of_statement", "of_draw")


def order_of_kinds() -> sql.ColumnElement[int]:
    """The place of a kind among all, the control's first, for the order of rows."""
    return sql.case({kind: place for place, kind in enumerate((CONTROL, *PRESSURES))}, value=schema.pushes.c.kind, else_=99)


Place = tuple[str, int]
"""The id of a statement, and the number of the draw of its demonstrations."""


@dataclass(frozen=True)
class PushedColumns:
    """Answers after pushes as parallel arrays. position: of the statement, from 0. kind: a name. round: from 1.

    answer: 1 True, 0 False, UNREADABLE or FAILED. p_true, p_mass: from 0 to 1, or NaN. is_empty: whether nothing but thinking
    is in the reply, which ends the conversation: no further round is asked.
    """

    position: NDArray[np.int64]
    kind: NDArray[np.str_]
    round: NDArray[np.int64]
    answer: NDArray[np.int8]
    p_true: NDArray[np.float64]
    p_mass: NDArray[np.float64]
    is_empty: NDArray[np.bool_]


def pushed_in(connection: sql.Connection, run: str, statements: Sequence[str] | None) -> Mapping[Place, Sequence[PushedAnswer]]:
    """The answers after the pushes against each answer of a run: all, or those to some statements."""
    row = schema.pushes.c
    query = sql.select(row.kind, row.round, *(row[name] for name in _ANSWER_COLUMNS)).where(row.run == run)
    found: dict[Place, list[PushedAnswer]] = {}
    for kind, turn, *values in rows_among(
        connection, query.order_by(row.position, order_of_kinds(), row.round), row.statement_id, statements
    ):
        answer = Answer(*values)
        found.setdefault((answer.statement_id, answer.draw), []).append(PushedAnswer(kind, turn, answer))
    return found


class Pushes(Part):
    """Saves and reads the answers after pushes."""

    def save(self, run: str, answers: Sequence[PushedAnswer]) -> None:
        """Commits answers. An answer replaces an earlier failure; an earlier answer stays."""
        if not answers:
            return
        row, asked_at = schema.runs.c, now()
        with self.database.writing() as connection:
            update = schema.runs.update().where(row.run == run)
            connection.execute(update.values(changed=row.changed + 1, beat_at=asked_at))
            rows = (
                (run, asked_at, one.kind, one.round, *_answer_values(one.answer), run, one.answer.statement_id, one.answer.draw)
                for one in answers
            )
            self.database.insert_rows(connection, self._insertion, _SAVED_COLUMNS, rows)

    @cached_property
    def _insertion(self) -> Any:
        place = schema.run_statements.c
        same = (place.run == sql.bindparam("of_run"), place.statement_id == sql.bindparam("of_statement"))
        position = sql.select(place.position).where(*same, place.draw == sql.bindparam("of_draw")).scalar_subquery()
        insertion = self.database.insert(schema.pushes).values(position=position)
        kept = [name for name in ("asked_at", "position", *_ANSWER_COLUMNS) if name not in _KEY]
        return insertion.on_conflict_do_update(
            index_elements=_KEY,
            set_={name: insertion.excluded[name] for name in kept},
            where=schema.pushes.c.failure.is_not(None),
        )

    def of(self, run: str) -> Mapping[Place, Sequence[PushedAnswer]]:
        """The answers after the pushes against each answer of a run, kind by kind and round by round."""
        with self.database.reading() as connection:
            return pushed_in(connection, run, None)

    def columns(self, run: str) -> PushedColumns:
        """All of them as arrays."""
        row = schema.pushes.c
        said = sql.cast(row.answer, sql.Integer)
        answer = sql.case((row.failure.is_not(None), FAILED), (row.answer.is_(None), UNREADABLE), else_=said)
        unread = sql.case((sql.and_(row.failure.is_(None), row.answer.is_(None)), sql.func.coalesce(row.raw, "")))
        query = sql.select(row.position, row.kind, row.round, answer, row.p_true, row.p_mass, unread)
        with self.database.reading() as connection:
            found = connection.execute(query.where(row.run == run, row.position.is_not(None)))
            rows = [(*values, raw is not None and Replied(raw, None).is_empty) for *values, raw in found]
        columns = list(zip(*rows, strict=True)) or [()] * 7
        types: tuple[Any, ...] = (np.int64, np.str_, np.int64, np.int8, np.float64, np.float64, np.bool_)
        return PushedColumns(*(np.array(column, dtype=kind) for column, kind in zip(columns, types, strict=True)))
