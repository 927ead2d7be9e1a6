"""The statements of runs, the answers to them, and the answers after pushes against these."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import sqlalchemy as sql
from numpy.typing import NDArray

from medfact.answers import Demonstration, read_answer
from medfact.answers.reading import COMMITTED
from medfact.errors import StoreError, UnknownName, UnreadableRun
from medfact.facts import Fact
from medfact.models.pressure import CONTROL, PRESSURES, Replied
from medfact.models.prompt import LENGTH, is_cut_in_thinking, is_whole
from medfact.spec import PROTOCOLS
from medfact.statements import FAILED, UNREADABLE, Statement
from medfact.store import schema
from medfact.store.database import Database, Part, now, rows_among
from medfact.store.entities import IMPORTED, Answer, Asked, PushedAnswer
from medfact.store.sheets import Sheet, readable_sheet, sheet_of
from medfact.store.statement_rows import (
    STATEMENT_COLUMNS,
    Passages,
    add_passages,
    fact_columns,
    fact_of,
    facts_in,
    passages_in,
    statement_of,
)

_ANSWER_COLUMNS = tuple(one.name for one in fields(Answer))
_answer_values = attrgetter(*_ANSWER_COLUMNS)
_KEY = ("run", "statement_id", "draw")
_PUSH_COLUMNS = ("run", "asked_at", "kind", "round", *_ANSWER_COLUMNS, "of_run", "of_statement", "of_draw")


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


def _upsert(database: Database, table: sql.Table, key: Sequence[str], columns: Sequence[str]) -> Any:
    """An insertion of answers at the positions of their statements. It replaces an earlier failure, and no earlier answer."""
    place = schema.run_statements.c
    same = (place.run == sql.bindparam("of_run"), place.statement_id == sql.bindparam("of_statement"))
    position = sql.select(place.position).where(*same, place.draw == sql.bindparam("of_draw")).scalar_subquery()
    insertion = database.insert(table).values(position=position)
    replaced = {name: insertion.excluded[name] for name in columns if name not in key}
    return insertion.on_conflict_do_update(index_elements=key, set_=replaced, where=table.c.failure.is_not(None))


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
            self.database.insert_rows(connection, self._insertion, _PUSH_COLUMNS, rows)

    @cached_property
    def _insertion(self) -> Any:
        return _upsert(self.database, schema.pushes, (*_KEY, "kind", "round"), ("asked_at", "position", *_ANSWER_COLUMNS))

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


_SAVED_COLUMNS = ("run", "asked_at", "batch", *_ANSWER_COLUMNS, "of_run", "of_statement", "of_draw")


@dataclass(frozen=True)
class News:
    """Answers as parallel arrays. changed: the run's own when they were read. position: of the statement, from 0.

    answer: 1 True, 0 False, UNREADABLE or FAILED. p_true, p_mass: from 0 to 1, or NaN. committed: as in `Records`.
    """

    changed: int
    position: NDArray[np.int64]
    answer: NDArray[np.int8]
    p_true: NDArray[np.float64]
    p_mass: NDArray[np.float64]
    committed: NDArray[np.int8] | None = None


class Answers(Part):
    """Reads what runs ask, reads and saves the answers."""

    def save(self, run: str, answers: Sequence[Answer]) -> None:
        """Commits answers. An answer replaces an earlier failure; an earlier answer stays."""
        if not answers:
            return
        row, asked_at = schema.runs.c, now()
        with self.database.writing() as connection:
            update = schema.runs.update().where(row.run == run)
            connection.execute(update.values(changed=row.changed + 1, beat_at=asked_at))
            batch = connection.execute(sql.select(row.changed).where(row.run == run)).scalar_one()
            rows = ((run, asked_at, batch, *_answer_values(a), run, a.statement_id, a.draw) for a in answers)
            self.database.insert_rows(connection, self._answer_insertion, _SAVED_COLUMNS, rows)

    @cached_property
    def _answer_insertion(self) -> Any:
        return _upsert(self.database, schema.answers, _KEY, ("asked_at", "batch", "position", *_ANSWER_COLUMNS))

    def asked(self, run: str, facts: Sequence[int] | None = None, positions: Sequence[int] | None = None) -> list[Asked]:
        """Statements of a run with their answers, in the order in which they are asked: all, or those of some facts (by their
        numbers), or those at some positions.
        """
        places, statements, answers = schema.run_statements, schema.statements, schema.answers
        same = (getattr(answers.c, name) == getattr(places.c, name) for name in ("run", "statement_id", "draw"))
        join = places.join(statements, places.c.statement_id == statements.c.statement_id).outerjoin(answers, sql.and_(*same))
        place_columns = (places.c.position, places.c.shots_of, places.c.draw, places.c.fact)
        statement_columns = (statements.c[name] for name in STATEMENT_COLUMNS)
        answer_columns = (answers.c[name].label(f"a_{name}") for name in _ANSWER_COLUMNS)
        query = sql.select(*place_columns, *statement_columns, *answer_columns).select_from(join).where(places.c.run == run)
        if facts is not None:
            query = query.where(places.c.fact.in_(list(facts)))
        if positions is not None:
            query = query.where(places.c.position.in_(list(positions)))
        with self.database.reading() as connection:
            known = facts_in(connection, run, facts if positions is None else _facts_at(connection, run, positions))
            asked = [_asked(row, known, run) for row in connection.execute(query.order_by(places.c.position))]
            some = None if facts is None and positions is None else [item.statement.statement_id for item in asked]
            passages, pushed = passages_in(connection, run, some), pushed_in(connection, run, some)
        asked = [replace(item, passages=passages.get(item.statement.statement_id)) for item in asked] if passages else asked
        return [replace(item, pushed=_pushed_of(item, pushed)) for item in asked] if pushed else asked

    def facts(self, run: str) -> list[Fact]:
        """The facts of a run by their number in it."""
        with self.database.reading() as connection:
            found = facts_in(connection, run)
        return [found[number] for number in sorted(found)]

    def false_facts(self, run: str) -> dict[int, Fact]:
        """Those facts of a run that do not hold, each by its number in it."""
        return {number: fact for number, fact in enumerate(self.facts(run)) if not fact.positive}

    def presumed(self, run: str) -> tuple[int, int]:
        """How many of the false facts of a run are presumed to be false, and how many there are."""
        of_run, facts = schema.run_facts.c, schema.facts
        joined = schema.run_facts.join(facts, facts.c.record == of_run.record)
        counted = sql.select(sql.func.count(facts.c.presumed), sql.func.count()).select_from(joined)
        with self.database.reading() as connection:
            presumed, false = connection.execute(counted.where(of_run.run == run, facts.c.positive.is_(False))).one()
        return int(presumed), int(false)

    def once_true(self, run: str) -> list[int]:
        """The numbers of the facts of a run that do not hold, and did so until a date."""
        of_run, facts = schema.run_facts.c, schema.facts
        joined = schema.run_facts.join(facts, facts.c.record == of_run.record)
        query = sql.select(of_run.fact).select_from(joined)
        query = query.where(of_run.run == run, facts.c.until.is_not(None), facts.c.positive.is_(False))
        with self.database.reading() as connection:
            return sorted(connection.execute(query).scalars())

    def partners(self, run: str) -> tuple[Statement, ...]:
        """A statement of each true fact of which a run asks false partners alone; see `Plan.partners`."""
        of_run, statements, facts = schema.run_facts.c, schema.statements, schema.facts
        joined = schema.run_facts.join(statements, statements.c.statement_id == of_run.statement_id)
        columns = [*(statements.c[name] for name in STATEMENT_COLUMNS), *fact_columns()]
        query = sql.select(*columns).select_from(joined.join(facts, facts.c.record == of_run.record)).where(of_run.run == run)
        own = len(STATEMENT_COLUMNS)
        with self.database.reading() as connection:
            rows = connection.execute(query.order_by(of_run.fact)).all()
        return tuple(statement_of(values[:own], fact_of(values[own:])) for values in rows)

    def demonstrations(self, run: str) -> dict[str, tuple[Demonstration, ...]]:
        """Group → its demonstrations."""
        row = schema.demonstrations.c
        groups: dict[str, tuple[Demonstration, ...]] = {}
        with self.database.reading() as connection:
            for shot in connection.execute(
                sql.select(row.shots_of, row.text, row.label).where(row.run == run).order_by(row.position)
            ):
                groups[shot.shots_of] = (*groups.get(shot.shots_of, ()), Demonstration(shot.text, shot.label))
        return groups

    def sheet(self, run: str) -> Sheet:
        """A run's statements as arrays."""
        sheets = schema.sheets
        with self.database.reading() as connection:
            saved = connection.execute(sql.select(sheets.c.columns).where(sheets.c.run == run)).scalar()
            if saved is not None and (sheet := readable_sheet(saved)) is not None:
                return sheet
            sheet = sheet_of(_planned(connection, run))
        with suppress(StoreError), self.database.writing_soon() as connection:  # only a cache
            connection.execute(sheets.delete().where(sheets.c.run == run))
            connection.execute(self.database.insert_new(sheets).values(run=run, columns=sheet.to_bytes()))
        return sheet

    def news(self, run: str, since: int = -1) -> News:
        """Answers that were saved after the run's `changed` was `since`."""
        row, runs = schema.answers.c, schema.runs.c
        said = sql.cast(row.answer, sql.Integer)
        answer = sql.case((row.failure.is_not(None), FAILED), (row.answer.is_(None), UNREADABLE), else_=said)
        query = sql.select(row.position, answer, row.p_true, row.p_mass).where(row.run == run, row.batch > since)
        with self.database.reading() as connection:
            of_run = connection.execute(sql.select(runs.changed, runs.spec).where(runs.run == run)).one_or_none()
            if of_run is None:
                raise UnknownName("run", run)  # it was deleted just now
            is_by_paper = _is_read_as_in_a_paper(of_run.spec)
            rows = connection.execute(query.add_columns(row.raw, row.cut) if is_by_paper else query).all()
        columns = list(zip(*(values[:4] for values in rows), strict=True)) or [()] * 4
        types = (np.int64, np.int8, np.float64, np.float64)
        committed = np.array([_committed(*values[1:]) for values in rows], dtype=np.int8) if is_by_paper else None
        position, read, p_true, p_mass = (np.array(column, dtype=kind) for column, kind in zip(columns, types, strict=True))
        return News(of_run.changed, position, read, p_true, p_mass, committed)

    def figures(self, run: str) -> dict[str, Any] | None:
        """The figures that were kept for a run, if its answers have not changed since."""
        sheets, runs = schema.sheets, schema.runs
        join = sheets.join(runs, (sheets.c.run == runs.c.run) & (sheets.c.figures_of == runs.c.changed))
        with self.database.reading() as connection:
            saved = connection.execute(sql.select(sheets.c.figures).select_from(join).where(sheets.c.run == run)).scalar()
        return None if saved is None else dict(json.loads(saved))

    def keep_figures(self, run: str, figures: dict[str, Any], changed: int) -> None:
        """Keeps figures of a run. changed: the run's own when they were computed."""
        update = schema.sheets.update().where(schema.sheets.c.run == run)
        with self.database.writing_soon() as connection:
            connection.execute(update.values(figures=json.dumps(figures), figures_of=changed))

    def reusable(self, keys: Sequence[str]) -> dict[str, Answer]:
        """Key → the oldest answer of this owner's runs with that key, failures excluded.

        Answers of imported runs are excluded: anybody may have written their files.
        """
        row = schema.answers.c
        imported = sql.select(schema.events.c.run).where(schema.events.c.what == IMPORTED)
        query = (
            sql.select(*(row[name] for name in _ANSWER_COLUMNS))
            .join(schema.runs, row.run == schema.runs.c.run)
            .where(schema.runs.c.owner == self.owner, row.failure.is_(None), row.run.not_in(imported))
            .order_by(row.asked_at.desc())
        )
        with self.database.reading() as connection:
            return {saved.key: Answer(*saved) for saved in rows_among(connection, query, row.key, keys)}

    def save_passages(self, run: str, passages: Mapping[str, Passages]) -> None:
        """Commits the passages of statements, by statement id. Those that a statement has already stay."""
        with self.database.writing() as connection:
            update = schema.runs.update().where(schema.runs.c.run == run)
            connection.execute(update.values(changed=schema.runs.c.changed + 1, beat_at=now()))
            add_passages(self.database, connection, run, passages)

    def gold_ranks(self, run: str, statements: int) -> NDArray[np.int64]:
        """Of each statement by position, the rank of its first gold passage, from 1; 0 for none, −1 before retrieval."""
        row, place = schema.retrieved.c, schema.run_statements.c
        same = schema.retrieved.join(schema.run_statements, (place.run == row.run) & (place.statement_id == row.statement_id))
        ranks = np.full(statements, -1, dtype=np.int64)
        with self.database.reading() as connection:
            query = sql.select(place.position, row.gold).select_from(same).where(row.run == run)
            for position, gold in connection.execute(query):
                ranks[position] = gold
        return ranks

    def service_calls(self, run: str) -> list[Any]:
        """What a service reported about each call of a run, those with pushes among them: rows with served_model, fingerprint,
        upstream, prompt_tokens, completion_tokens, reasoning_tokens, seconds, attempts, p_low, p_high, cut, failure.
        """
        reported = ("served_model", "fingerprint", "upstream", "prompt_tokens", "completion_tokens", "seconds", "attempts")
        names = (*reported, "reasoning_tokens", "p_low", "p_high", "cut", "failure")
        with self.database.reading() as connection:
            return [
                call
                for table in (schema.answers, schema.pushes)
                for call in connection.execute(sql.select(*(table.c[name] for name in names)).where(table.c.run == run))
            ]

    def replies_cut(self, run: str, why: str) -> int:
        """How many replies of a run were cut short for a reason (`Completion.cut`)."""
        row = schema.answers.c
        with self.database.reading() as connection:
            count = sql.select(sql.func.count()).where(row.run == run, row.cut == why)
            return int(connection.execute(count).scalar_one())

    def thinking_cut(self, run: str) -> int:
        """For how many statements of a run the limit cut the thinking, so that there is no answer."""
        row = schema.answers.c
        cut = sql.select(row.raw).where(row.run == run, row.cut == LENGTH, row.answer.is_(None))
        with self.database.reading() as connection:
            return sum(is_cut_in_thinking(raw or "") for raw in connection.execute(cut).scalars())

    def tokens_used(self, run: str) -> tuple[int, int]:
        """Tokens of a run's prompts and of its replies, as its service counted them, those of pushes among them."""
        prompt = completion = 0
        with self.database.reading() as connection:
            for row in (schema.answers.c, schema.pushes.c):
                sums = (sql.func.coalesce(sql.func.sum(column), 0) for column in (row.prompt_tokens, row.completion_tokens))
                entering, leaving = connection.execute(sql.select(*sums).where(row.run == run)).one()
                prompt, completion = prompt + int(entering), completion + int(leaving)
        return prompt, completion


def _is_read_as_in_a_paper(spec: str) -> bool:
    protocol = PROTOCOLS.get(json.loads(spec).get("protocol"))
    return protocol is not None and protocol.reading != COMMITTED


def _committed(answer: int, _p_true: object, _p_mass: object, raw: str | None, cut: str | None) -> int:
    """The answer that a reply commits to, as `News` has it. answer: as the run reads it."""
    committed = read_answer(raw) if raw is not None and is_whole(raw, cut) else None
    return FAILED if answer == FAILED else UNREADABLE if committed is None else int(committed)


def _pushed_of(item: Asked, pushed: Mapping[Place, Sequence[PushedAnswer]]) -> tuple[PushedAnswer, ...]:
    return tuple(pushed.get((item.statement.statement_id, item.draw), ()))


def _facts_at(connection: sql.Connection, run: str, positions: Sequence[int]) -> Iterable[int]:
    """The numbers of the facts at some positions of a run."""
    place = schema.run_statements.c
    return connection.execute(sql.select(place.fact).where(place.run == run, place.position.in_(list(positions)))).scalars()


def _planned(connection: sql.Connection, run: str) -> Iterator[Asked]:
    """The statements of a run in order, read a part at a time."""
    places, statements = schema.run_statements, schema.statements
    join = places.join(statements, places.c.statement_id == statements.c.statement_id)
    columns = (places.c.shots_of, places.c.draw, places.c.fact, *(statements.c[name] for name in STATEMENT_COLUMNS))
    query = sql.select(*columns).select_from(join).where(places.c.run == run).order_by(places.c.position)
    known = facts_in(connection, run)
    with connection.execute(query, execution_options={"yield_per": 1_000}) as rows:
        for shots_of, draw, fact, *values in rows:
            yield Asked(statement_of(values, _one_of(known, fact, run)), shots_of, draw)


def _one_of(facts: Mapping[int, Fact], number: int, run: str) -> Fact:
    if number not in facts:
        raise UnreadableRun(run, "facts that it asks are missing")
    return facts[number]


def _asked(row: Any, facts: Mapping[int, Fact], run: str) -> Asked:
    position, shots_of, draw, fact, *values = row
    statement, answer = values[: len(STATEMENT_COLUMNS)], values[len(STATEMENT_COLUMNS) :]
    made = statement_of(statement, _one_of(facts, fact, run))
    return Asked(made, shots_of, draw, None, position, fact, None if answer[0] is None else Answer(*answer))
