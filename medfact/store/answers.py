"""Statements and answers of runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray

from medfact.answers import Demonstration
from medfact.errors import StoreError
from medfact.facts import Fact
from medfact.store import tables
from medfact.store.connection import Database, now
from medfact.store.records import IMPORTED, Answer, Asked, Planned
from medfact.store.runs import STATEMENT_COLUMNS, statement_of
from medfact.store.sheets import Sheet, sheet_of


@dataclass(frozen=True)
class News:
    """Answers as arrays, one entry each. changed: the run's own by then; position: of the statement, from 0.

    answer: 1 True, 0 False, -1 unreadable, -2 a failed call. p_true, p_mass: from 0 to 1, or NaN.
    """

    changed: int
    position: NDArray[np.int64]
    answer: NDArray[np.int8]
    p_true: NDArray[np.float64]
    p_mass: NDArray[np.float64]


class Answers(Database):
    """What runs ask, and what was answered."""

    owner: str

    def save(self, run: str, answers: Sequence[Answer]) -> None:
        """Commits answers. A statement's earlier failure is replaced; an answer, once given, stays."""
        if not answers:
            return
        runs = tables.runs
        with self._writing() as connection:
            connection.execute(runs.update().where(runs.c.run == run).values(changed=runs.c.changed + 1, beat_at=now()))
            batch = connection.execute(sql.select(runs.c.changed).where(runs.c.run == run)).scalar_one()
            at = now()
            rows = ((run, at, batch, *_values(a), run, a.statement_id, a.draw) for a in answers)
            self._insert_all(connection, self._saving, _SAVED, rows)

    @cached_property
    def _saving(self) -> Any:
        """The insertion of answers, compiled once: a run saves thousands of times."""
        places = tables.run_statements
        of = (places.c.run == sql.bindparam("of_run"), places.c.statement_id == sql.bindparam("of_statement"))
        position = sql.select(places.c.position).where(*of, places.c.draw == sql.bindparam("of_draw")).scalar_subquery()
        insertion = self._insert(tables.answers).values(position=position)
        replaced = {name: insertion.excluded[name] for name in ("asked_at", "batch", "position", *_ANSWER_COLUMNS)}
        insertion = insertion.on_conflict_do_update(
            index_elements=["run", "statement_id", "draw"], set_=replaced, where=tables.answers.c.failure.is_not(None)
        )
        return self._compiled(insertion, _SAVED)

    def asked(self, run: str, facts: Sequence[int] | None = None, positions: Sequence[int] | None = None) -> list[Asked]:
        """Statements of a run in the order in which they are asked, with the answers there are: all of them, or those of some
        facts, by their numbers, or at some positions.
        """
        places, statements, given = tables.run_statements, tables.statements, tables.answers
        answered = (
            (given.c.run == places.c.run) & (given.c.statement_id == places.c.statement_id) & (given.c.draw == places.c.draw)
        )
        join = places.join(statements, places.c.statement_id == statements.c.statement_id).outerjoin(given, answered)
        answer_columns = [given.c[name].label(f"a_{name}") for name in _ANSWER_COLUMNS]
        statement_columns = [statements.c[name] for name in STATEMENT_COLUMNS]
        place_columns = (places.c.position, places.c.shots_of, places.c.draw, places.c.fact)
        query = (
            sql.select(*place_columns, *statement_columns, *answer_columns)
            .select_from(join)
            .where(places.c.run == run)
            .order_by(places.c.position)
        )
        if facts is not None:
            query = query.where(places.c.fact.in_(list(facts)))
        if positions is not None:
            query = query.where(places.c.position.in_(list(positions)))
        known: dict[str, Fact] = {}
        with self._reading() as connection:
            return [_asked(row, known) for row in connection.execute(query)]

    def sheet(self, run: str) -> Sheet:
        """A run's statements as arrays."""
        sheets = tables.sheets
        with self._reading() as connection:
            written = connection.execute(sql.select(sheets.c.columns).where(sheets.c.run == run)).scalar()
        if written is not None:
            return Sheet.from_bytes(written)
        with self._reading() as connection:
            made = sheet_of(_planned(connection, run))
        with suppress(StoreError), self._writing(waits=False) as connection:  # it can be made again
            connection.execute(self._insert_new(sheets).values(run=run, columns=made.to_bytes()))
        return made

    def news(self, run: str, since: int = -1) -> News:
        """Answers that were saved when the run's `changed` was greater than `since`."""
        given, runs = tables.answers.c, tables.runs
        query = sql.select(
            given.batch,
            given.position,
            sql.case((given.failure.is_not(None), -2), (given.answer.is_(None), -1), else_=sql.cast(given.answer, sql.Integer)),
            given.p_true,
            given.p_mass,
        ).where(given.run == run, given.batch > since)
        with self._reading() as connection:
            changed = connection.execute(sql.select(runs.c.changed).where(runs.c.run == run)).scalar_one()
            rows = connection.execute(query).all()
        _, position, answer, p_true, p_mass = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        return News(
            changed,
            np.array(position, dtype=np.int64),
            np.array(answer, dtype=np.int8),
            np.array(p_true, dtype=np.float64),
            np.array(p_mass, dtype=np.float64),
        )

    def figures(self, run: str) -> dict[str, Any] | None:
        """The figures that were kept for a run, if they are of its answers as they are now."""
        sheets, runs = tables.sheets, tables.runs
        join = sheets.join(runs, (sheets.c.run == runs.c.run) & (sheets.c.figures_of == runs.c.changed))
        with self._reading() as connection:
            written = connection.execute(sql.select(sheets.c.figures).select_from(join).where(sheets.c.run == run)).scalar()
        return None if written is None else dict(json.loads(written))

    def keep_figures(self, run: str, figures: dict[str, Any], changed: int) -> None:
        """Keeps figures of a run as it was at this `changed`."""
        sheets = tables.sheets
        with self._writing(waits=False) as connection:
            update = sheets.update().where(sheets.c.run == run)
            connection.execute(update.values(figures=json.dumps(figures), figures_of=changed))

    def answers_of(self, keys: Sequence[str]) -> dict[str, Answer]:
        """Readable or unreadable answers of any run of this owner, by their keys; the oldest for each. Failures are none.

        Those of runs that came out of a file are not among them: anybody may have written it.
        """
        given, happened = tables.answers, tables.events
        found: dict[str, Answer] = {}
        join = given.join(tables.runs, given.c.run == tables.runs.c.run)
        columns = [given.c[f.name] for f in fields(Answer)]
        imported = sql.select(happened.c.run).where(happened.c.what == IMPORTED)
        with self._reading() as connection:
            for start in range(0, len(keys), 500):
                query = (
                    sql.select(*columns)
                    .select_from(join)
                    .where(given.c.key.in_(keys[start : start + 500]), given.c.failure.is_(None))
                    .where(tables.runs.c.owner == self.owner, given.c.run.not_in(imported))
                    .order_by(given.c.asked_at.desc())
                )
                found |= {row.key: Answer(**row._mapping) for row in connection.execute(query)}
        return found

    def served(self, run: str) -> list[Any]:
        """What a service said of each call of a run: rows with served_model, fingerprint, prompt_tokens, completion_tokens,
        seconds, attempts, p_low, p_high, cut.
        """
        given = tables.answers.c
        of_service = (
            given.served_model,
            given.fingerprint,
            given.prompt_tokens,
            given.completion_tokens,
            given.seconds,
            given.attempts,
            given.p_low,
            given.p_high,
            given.cut,
        )
        with self._reading() as connection:
            return list(connection.execute(sql.select(*of_service).where(given.run == run)))

    def spent(self, run: str) -> tuple[int, int]:
        """Tokens of the prompts and of the replies of a run, as its service counted them."""
        given = tables.answers
        sums = (sql.func.coalesce(sql.func.sum(column), 0) for column in (given.c.prompt_tokens, given.c.completion_tokens))
        with self._reading() as connection:
            prompt, completion = connection.execute(sql.select(*sums).where(given.c.run == run)).one()
        return int(prompt), int(completion)

    def demonstrations(self, run: str) -> dict[str, tuple[Demonstration, ...]]:
        """The demonstrations of a run by their group."""
        query = (
            sql.select(tables.demonstrations)
            .where(tables.demonstrations.c.run == run)
            .order_by(tables.demonstrations.c.position)
        )
        groups: dict[str, tuple[Demonstration, ...]] = {}
        with self._reading() as connection:
            for row in connection.execute(query):
                groups[row.shots_of] = (*groups.get(row.shots_of, ()), Demonstration(row.text, row.label))
        return groups


_ANSWER_COLUMNS = tuple(f.name for f in fields(Answer))
_values = attrgetter(*_ANSWER_COLUMNS)
_SAVED = ("run", "asked_at", "batch", *_ANSWER_COLUMNS, "of_run", "of_statement", "of_draw")


def _planned(connection: sql.Connection, run: str) -> Iterator[Planned]:
    """What a run asks, in its order, as it is read."""
    places, statements = tables.run_statements, tables.statements
    join = places.join(statements, places.c.statement_id == statements.c.statement_id)
    columns = (places.c.shots_of, places.c.draw, *(statements.c[name] for name in STATEMENT_COLUMNS))
    query = sql.select(*columns).select_from(join).where(places.c.run == run).order_by(places.c.position)
    known: dict[str, Fact] = {}
    for shots_of, draw, *values in connection.execution_options(yield_per=1_000).execute(query):
        yield Planned(statement_of(values, known), shots_of, draw)


def _asked(row: Any, facts: dict[str, Fact]) -> Asked:
    position, shots_of, draw, fact, *values = row
    of_statement, of_answer = values[: len(STATEMENT_COLUMNS)], values[len(STATEMENT_COLUMNS) :]
    answer = Answer(*of_answer) if of_answer[0] is not None else None
    return Asked(position, shots_of, statement_of(of_statement, facts), answer, draw, fact)
