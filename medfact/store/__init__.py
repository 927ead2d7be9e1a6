"""Runs, statements and answers on disk.

SQLite by default (write-ahead log), any SQLAlchemy database by its URL. An answer is committed before it is counted anywhere.
Statements are kept once for all runs, under their ids; a run holds the order in which they are asked.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from medfact.answers import Demonstration
from medfact.errors import Mistake, StoreError, UnknownName
from medfact.facts import Fact
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.statements import Statement
from medfact.store import tables
from medfact.store.engine import default_url, exists, home, open_engine, without_password
from medfact.store.migrations import SCHEMA_VERSION, migrate
from medfact.store.records import COMPLETE, FAILED_RUN, RUNNING, STOPPED, Answer, Asked, Plan, Planned, Run

__all__ = [
    "COMPLETE",
    "FAILED_RUN",
    "RUNNING",
    "SCHEMA_VERSION",
    "STOPPED",
    "Answer",
    "Asked",
    "Plan",
    "Planned",
    "Run",
    "Store",
    "default_url",
    "exists",
    "home",
]


class Store:
    """The database behind one URL. Several threads and processes may use it at once."""

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        self.url = url or default_url()
        self.owner = owner
        self._engine = open_engine(self.url)
        with self._told():
            up_to_date = migrate(self._engine)
        if not up_to_date:
            raise StoreError(
                f"{without_password(self.url)} was made by a newer medfact.", "Update medfact, or choose another --db."
            )

    @contextmanager
    def _writing(self) -> Iterator[sql.Connection]:
        with self._told(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sql.Connection]:
        with self._told(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(
                f"The database {without_password(self.url)} cannot be used: {cause}.",
                "Check that its folder can be written and has room; what was answered so far is kept.",
            ) from error

    # ------------------------------------------------------------------------------------------- runs

    def start_run(self, spec: RunSpec, plan: Plan, versions: dict[str, str]) -> str:
        """Records a run and all that it will ask, before its model loads; returns its random 128-bit id."""
        run = secrets.token_hex(16)
        with self._writing() as connection:
            connection.execute(
                tables.runs.insert().values(
                    run=run,
                    owner=self.owner,
                    state=RUNNING,
                    started_at=_now(),
                    model=spec.model,
                    dataset=plan.dataset,
                    dataset_fingerprint=plan.dataset_fingerprint,
                    pool=plan.pool,
                    shots=plan.shots,
                    spec=json.dumps(spec.to_record()),
                    versions=json.dumps(versions),
                    notes=json.dumps(plan.notes),
                    statements=len(plan.statements),
                )
            )
            if plan.statements:
                rows = {planned.statement.statement_id: _statement_row(planned.statement) for planned in plan.statements}
                connection.execute(self._insert_new(tables.statements), list(rows.values()))
                connection.execute(
                    tables.run_statements.insert(),
                    [
                        {
                            "run": run,
                            "position": position,
                            "statement_id": planned.statement.statement_id,
                            "shots_of": planned.shots_of,
                            "draw": planned.draw,
                        }
                        for position, planned in enumerate(plan.statements)
                    ],
                )
            shots = [
                {"run": run, "shots_of": group, "position": i, "text": shot.text, "label": shot.label}
                for group, demonstrations in plan.demonstrations.items()
                for i, shot in enumerate(demonstrations)
            ]
            if shots:
                connection.execute(tables.demonstrations.insert(), shots)
        return run

    def _insert_new(self, table: sql.Table) -> Any:
        """An insertion that leaves rows as they are whose key is there already."""
        inserts: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
        return inserts[self._engine.dialect.name](table).on_conflict_do_nothing()

    def record_model(self, run: str, *, revision: str, chat: bool, decoding: dict[str, Any], notes: Sequence[str] = ()) -> None:
        """Records what was loaded for a run, and what is to be noted of it."""
        noted = json.dumps(list(dict.fromkeys((*self.run(run).notes, *notes))))
        self._update(run, model_revision=revision, chat=chat, decoding=json.dumps(decoding), notes=noted)

    def set_state(self, run: str, state: str, reason: str | None = None) -> None:
        """Moves a run to another state; every state but running has an end time."""
        self._update(run, state=state, reason=reason, finished_at=None if state == RUNNING else _now())

    def _update(self, run: str, **values: Any) -> None:
        with self._writing() as connection:
            connection.execute(tables.runs.update().where(tables.runs.c.run == run).values(**values))

    def runs(self, owner: str | None = None) -> list[Run]:
        """All runs (of one owner, where given), oldest first."""
        query = sql.select(tables.runs).order_by(tables.runs.c.number)
        if owner is not None:
            query = query.where(tables.runs.c.owner == owner)
        with self._reading() as connection:
            return [_run(row) for row in connection.execute(query)]

    def run(self, run: str) -> Run:
        """A run by its id, or by the beginning of its id where only one run has it.

        Raises UnknownName when there is none, Mistake when there are several.
        """
        query = sql.select(tables.runs).where(tables.runs.c.run.startswith(run, autoescape=True)).limit(2)
        with self._reading() as connection:
            found = [_run(row) for row in connection.execute(query)] if run else []
        if len(found) > 1:
            raise Mistake(f"Several runs begin with {run!r}.", "Give more of the id.")
        if not found:
            raise UnknownName("run", run, (r.run for r in self.runs()[-3:]))
        return found[0]

    # ------------------------------------------------------------------------------------- rejections

    def reject(self, fact_id: str, tail: str) -> None:
        """Records that a tail is not to be drawn as a false partner of this fact."""
        row = {"owner": self.owner, "fact_id": fact_id, "tail": tail, "rejected_at": _now()}
        with self._writing() as connection:
            connection.execute(self._insert_new(tables.rejections), [row])

    def rejections(self) -> dict[str, frozenset[str]]:
        """Id of a positive fact → the tails that its owner has rejected as false partners."""
        query = sql.select(tables.rejections.c.fact_id, tables.rejections.c.tail).where(tables.rejections.c.owner == self.owner)
        rejected: dict[str, frozenset[str]] = {}
        with self._reading() as connection:
            for fact_id, tail in connection.execute(query):
                rejected[fact_id] = rejected.get(fact_id, frozenset()) | {tail}
        return rejected

    # ---------------------------------------------------------------------------------------- answers

    def save(self, run: str, answers: Sequence[Answer]) -> None:
        """Commits answers. A statement's earlier failure is replaced; an answer, once given, stays."""
        if not answers:
            return
        with self._writing() as connection:
            for draw in {answer.draw for answer in answers}:
                ids = [answer.statement_id for answer in answers if answer.draw == draw]
                connection.execute(
                    tables.answers.delete().where(
                        tables.answers.c.run == run,
                        tables.answers.c.draw == draw,
                        tables.answers.c.statement_id.in_(ids),
                        tables.answers.c.failure.is_not(None),
                    )
                )
            connection.execute(
                self._insert_new(tables.answers),
                [{"run": run, "asked_at": _now(), **{f.name: getattr(a, f.name) for f in fields(a)}} for a in answers],
            )

    def asked(self, run: str) -> list[Asked]:
        """All statements of a run in the order in which they are asked, with the answers there are."""
        places, statements, given = tables.run_statements, tables.statements, tables.answers
        answered = (
            (given.c.run == places.c.run) & (given.c.statement_id == places.c.statement_id) & (given.c.draw == places.c.draw)
        )
        join = places.join(statements, places.c.statement_id == statements.c.statement_id).outerjoin(given, answered)
        answer_columns = [given.c[f.name].label(f"a_{f.name}") for f in fields(Answer)]
        query = (
            sql.select(places.c.position, places.c.shots_of, places.c.draw, statements, *answer_columns)
            .select_from(join)
            .where(places.c.run == run)
            .order_by(places.c.position)
        )
        facts: dict[str, Fact] = {}
        with self._reading() as connection:
            return [_asked(row._mapping, facts) for row in connection.execute(query)]

    def answers_of(self, keys: Sequence[str]) -> dict[str, Answer]:
        """Readable or unreadable answers of any run of this owner, by their keys; the oldest for each. Failures are none."""
        given = tables.answers
        found: dict[str, Answer] = {}
        join = given.join(tables.runs, given.c.run == tables.runs.c.run)
        columns = [given.c[f.name] for f in fields(Answer)]
        with self._reading() as connection:
            for start in range(0, len(keys), 500):
                query = (
                    sql.select(*columns)
                    .select_from(join)
                    .where(given.c.key.in_(keys[start : start + 500]), given.c.failure.is_(None))
                    .where(tables.runs.c.owner == self.owner)
                    .order_by(given.c.asked_at.desc())
                )
                found |= {row.key: Answer(**row._mapping) for row in connection.execute(query)}
        return found

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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _statement_row(statement: Statement) -> dict[str, Any]:
    fact = statement.fact
    return {
        **{name: getattr(fact, name) for name in tables.FACT_TEXTS},
        "positive": fact.positive,
        "k": fact.k,
        "statement_id": statement.statement_id,
        "pool": statement.pool,
        "variant": statement.variant,
        "text": statement.text,
        "origin": statement.origin,
    }


def _asked(row: Any, facts: dict[str, Fact]) -> Asked:
    fact = facts.get(row["fact_id"])
    if fact is None:
        fact = Fact(**{name: row[name] for name in tables.FACT_TEXTS}, positive=row["positive"], k=row["k"])
        facts[fact.fact_id] = fact
    statement = Statement(fact, row["pool"], row["variant"], row["text"], row["origin"], row["statement_id"])
    answer = None
    if row["a_statement_id"] is not None:
        answer = Answer(**{f.name: row[f"a_{f.name}"] for f in fields(Answer)})
    return Asked(row["position"], row["shots_of"], statement, answer, row["draw"])


def _run(row: Any) -> Run:
    values = {f.name: getattr(row, f.name) for f in fields(Run)}
    values["spec"] = RunSpec.from_record(json.loads(row.spec))
    for name in ("versions", "notes", "decoding"):
        values[name] = json.loads(getattr(row, name) or "{}")
    return Run(**values)
