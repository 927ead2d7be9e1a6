"""Runs, statements and answers on disk.

SQLite by default (write-ahead log), any SQLAlchemy database by its URL. An answer is committed before it is counted anywhere.
Statements are kept once for all runs, under their ids; a run holds the order in which they are asked.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from medfact.answers import Demonstration
from medfact.errors import Mistake, StoreError, UnknownName
from medfact.facts import Fact
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.statements import Statement

SCHEMA_VERSION = 1

RUNNING, COMPLETE, STOPPED, FAILED_RUN = "running", "complete", "stopped", "failed"
"""States of a run. A run that is `running` with no process behind it was interrupted; it can be resumed."""

metadata = sql.MetaData()

_schema = sql.Table("schema_version", metadata, sql.Column("version", sql.Integer, primary_key=True))

_runs = sql.Table(
    "runs",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", sql.String(32), unique=True, nullable=False),
    sql.Column("owner", sql.String(64), nullable=False, index=True),
    sql.Column("state", sql.String(16), nullable=False),
    sql.Column("reason", sql.Text),
    sql.Column("started_at", sql.String(32), nullable=False),
    sql.Column("finished_at", sql.String(32)),
    sql.Column("model", sql.String(512), nullable=False),
    sql.Column("model_revision", sql.String(128)),
    sql.Column("chat", sql.Boolean),
    sql.Column("decoding", sql.Text),
    sql.Column("dataset", sql.String(512), nullable=False),
    sql.Column("dataset_fingerprint", sql.String(64), nullable=False),
    sql.Column("pool", sql.String(256), nullable=False),
    sql.Column("shots", sql.Integer, nullable=False),
    sql.Column("spec", sql.Text, nullable=False),
    sql.Column("versions", sql.Text, nullable=False),
    sql.Column("notes", sql.Text, nullable=False),
    sql.Column("statements", sql.Integer, nullable=False),
)

_FACT_TEXTS = (
    "fact_id",
    "negative_of",
    "head",
    "relation",
    "tail",
    "head_type",
    "tail_type",
    "head_id",
    "tail_id",
    "source",
    "source_id",
    "strength",
    "specialty",
)

_statements = sql.Table(
    "statements",
    metadata,
    sql.Column("statement_id", sql.String(32), primary_key=True),
    *(sql.Column(name, sql.Text, nullable=name not in {"fact_id", "head", "relation"}) for name in _FACT_TEXTS),
    sql.Column("positive", sql.Boolean, nullable=False),
    sql.Column("k", sql.Integer, nullable=False),
    sql.Column("pool", sql.String(256), nullable=False),
    sql.Column("variant", sql.String(16), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("origin", sql.String(64), nullable=False),
)

_run_statements = sql.Table(
    "run_statements",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("statement_id", sql.String(32), nullable=False),
    sql.Column("shots_of", sql.String(300), nullable=False),
)

_demonstrations = sql.Table(
    "demonstrations",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("shots_of", sql.String(300), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("label", sql.Boolean, nullable=False),
)

_rejections = sql.Table(
    "rejections",
    metadata,
    sql.Column("owner", sql.String(64), primary_key=True),
    sql.Column("fact_id", sql.String(32), primary_key=True),
    sql.Column("tail", sql.String(1000), primary_key=True),
    sql.Column("rejected_at", sql.String(32), nullable=False),
)

_answers = sql.Table(
    "answers",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("statement_id", sql.String(32), primary_key=True),
    sql.Column("key", sql.String(64), nullable=False, index=True),
    sql.Column("answer", sql.Boolean),
    sql.Column("p_true", sql.Float(53)),
    sql.Column("p_mass", sql.Float(53)),
    sql.Column("raw", sql.Text),
    sql.Column("failure", sql.Text),
    sql.Column("asked_at", sql.String(32), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said to one statement. `answer` is None where the reply is unreadable or the call failed (`failure`).

    key: a hash of model, revision, prompt and decoding settings.
    """

    statement_id: str
    key: str
    answer: bool | None
    p_true: float | None
    p_mass: float | None
    raw: str | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement of a run: its place, the group of demonstrations that goes before it, and its answer, if there is one."""

    position: int
    shots_of: str
    statement: Statement
    answer: Answer | None


@dataclass(frozen=True)
class Run:
    """A run as it is recorded. `state` is running, complete, stopped or failed; times are ISO 8601, UTC."""

    run: str
    owner: str
    state: str
    reason: str | None
    started_at: str
    finished_at: str | None
    model: str
    model_revision: str | None
    chat: bool | None
    decoding: dict[str, Any]
    dataset: str
    dataset_fingerprint: str
    pool: str
    shots: int
    spec: RunSpec
    versions: dict[str, str]
    notes: list[str]
    statements: int


@dataclass(frozen=True)
class Plan:
    """What a run is going to ask: its statements in order, each with the group whose demonstrations go before it."""

    dataset: str
    dataset_fingerprint: str
    pool: str
    shots: int
    statements: tuple[tuple[Statement, str], ...]
    demonstrations: dict[str, tuple[Demonstration, ...]]
    notes: tuple[str, ...] = ()


def home() -> Path:
    """The folder in which everything is kept: `MEDFACT_HOME`, else the platform's folder for user data."""
    if given := os.environ.get("MEDFACT_HOME"):
        return Path(given).expanduser()
    from platformdirs import user_data_path

    return user_data_path("medfact", appauthor=False)


def default_url() -> str:
    """`MEDFACT_DATABASE_URL`, else a file under `home`."""
    return os.environ.get("MEDFACT_DATABASE_URL") or f"sqlite:///{home() / 'medfact.db'}"


def exists(url: str | None = None) -> bool:
    """Whether there is a database already; a server's is taken to be there."""
    file = _file_of(url or default_url())
    return file is None or file.exists()


def _file_of(url: str) -> Path | None:
    """The file of an SQLite database, None for any other."""
    with suppress(ArgumentError):
        parsed = sql.make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database and parsed.database != ":memory:":
            return Path(parsed.database).expanduser()
    return None


class Store:
    """The database behind one URL. Several threads and processes may use it at once."""

    def __init__(self, url: str | None = None, owner: str = LOCAL_OWNER) -> None:
        self.url = url or default_url()
        self.owner = owner
        self._engine = _engine(self.url)
        with self._writing() as connection:
            metadata.create_all(connection)
            version = connection.execute(sql.select(_schema.c.version)).scalar()
            if version is None:
                connection.execute(_schema.insert().values(version=SCHEMA_VERSION))
            elif version > SCHEMA_VERSION:
                raise StoreError(
                    f"{_without_password(self.url)} was made by a newer medfact.", "Update medfact, or choose another --db."
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
                f"The database {_without_password(self.url)} cannot be used: {cause}.",
                "Check that its folder can be written and has room; what was answered so far is kept.",
            ) from error

    # ------------------------------------------------------------------------------------------- runs

    def start_run(self, spec: RunSpec, plan: Plan, versions: dict[str, str]) -> str:
        """Records a run and all that it will ask, before its model loads; returns its random 128-bit id."""
        run = secrets.token_hex(16)
        with self._writing() as connection:
            connection.execute(
                _runs.insert().values(
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
                rows = {statement.statement_id: _statement_row(statement) for statement, _ in plan.statements}
                connection.execute(self._insert_new(_statements), list(rows.values()))
                connection.execute(
                    _run_statements.insert(),
                    [
                        {"run": run, "position": i, "statement_id": statement.statement_id, "shots_of": group}
                        for i, (statement, group) in enumerate(plan.statements)
                    ],
                )
            shots = [
                {"run": run, "shots_of": group, "position": i, "text": shot.text, "label": shot.label}
                for group, demonstrations in plan.demonstrations.items()
                for i, shot in enumerate(demonstrations)
            ]
            if shots:
                connection.execute(_demonstrations.insert(), shots)
        return run

    def _insert_new(self, table: sql.Table) -> Any:
        """An insertion that leaves rows as they are whose key is there already."""
        inserts: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
        return inserts[self._engine.dialect.name](table).on_conflict_do_nothing()

    def record_model(self, run: str, *, revision: str, chat: bool, decoding: dict[str, Any]) -> None:
        """Records what was loaded for a run."""
        self._update(run, model_revision=revision, chat=chat, decoding=json.dumps(decoding))

    def set_state(self, run: str, state: str, reason: str | None = None) -> None:
        """Moves a run to another state; every state but running has an end time."""
        self._update(run, state=state, reason=reason, finished_at=None if state == RUNNING else _now())

    def _update(self, run: str, **values: Any) -> None:
        with self._writing() as connection:
            connection.execute(_runs.update().where(_runs.c.run == run).values(**values))

    def runs(self, owner: str | None = None) -> list[Run]:
        """All runs (of one owner, where given), oldest first."""
        query = sql.select(_runs).order_by(_runs.c.number)
        if owner is not None:
            query = query.where(_runs.c.owner == owner)
        with self._reading() as connection:
            return [_run(row) for row in connection.execute(query)]

    def run(self, run: str) -> Run:
        """A run by its id, or by the beginning of its id where only one run has it.

        Raises UnknownName when there is none, Mistake when there are several.
        """
        query = sql.select(_runs).where(_runs.c.run.startswith(run, autoescape=True)).limit(2)
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
            connection.execute(self._insert_new(_rejections), [row])

    def rejections(self) -> dict[str, frozenset[str]]:
        """Id of a positive fact → the tails that its owner has rejected as false partners."""
        query = sql.select(_rejections.c.fact_id, _rejections.c.tail).where(_rejections.c.owner == self.owner)
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
        ids = [answer.statement_id for answer in answers]
        with self._writing() as connection:
            connection.execute(
                _answers.delete().where(
                    _answers.c.run == run, _answers.c.statement_id.in_(ids), _answers.c.failure.is_not(None)
                )
            )
            connection.execute(
                self._insert_new(_answers),
                [{"run": run, "asked_at": _now(), **{f.name: getattr(a, f.name) for f in fields(a)}} for a in answers],
            )

    def asked(self, run: str) -> list[Asked]:
        """All statements of a run in the order in which they are asked, with the answers there are."""
        join = _run_statements.join(_statements, _run_statements.c.statement_id == _statements.c.statement_id).outerjoin(
            _answers,
            (_answers.c.run == _run_statements.c.run) & (_answers.c.statement_id == _run_statements.c.statement_id),
        )
        answer_columns = [_answers.c[f.name].label(f"a_{f.name}") for f in fields(Answer)]
        query = (
            sql.select(_run_statements.c.position, _run_statements.c.shots_of, _statements, *answer_columns)
            .select_from(join)
            .where(_run_statements.c.run == run)
            .order_by(_run_statements.c.position)
        )
        facts: dict[str, Fact] = {}
        with self._reading() as connection:
            return [_asked(row._mapping, facts) for row in connection.execute(query)]

    def demonstrations(self, run: str) -> dict[str, tuple[Demonstration, ...]]:
        """The demonstrations of a run by their group."""
        query = sql.select(_demonstrations).where(_demonstrations.c.run == run).order_by(_demonstrations.c.position)
        groups: dict[str, tuple[Demonstration, ...]] = {}
        with self._reading() as connection:
            for row in connection.execute(query):
                groups[row.shots_of] = (*groups.get(row.shots_of, ()), Demonstration(row.text, row.label))
        return groups


def _engine(url: str) -> sql.Engine:
    try:
        parsed = sql.make_url(url)
        if (file := _file_of(url)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        engine = sql.create_engine(parsed)
        if engine.dialect.name not in {"sqlite", "postgresql"}:
            raise ArgumentError(engine.dialect.name)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError):
        raise Mistake(
            f"{_without_password(url)!r} is not a database address.",
            "Write sqlite:///file.db or postgresql+psycopg://user@host/name.",
        ) from None
    except OSError as error:
        raise StoreError(f"{url} cannot be used: {error.strerror}.", "Choose another place with --db.") from None
    if engine.dialect.name == "sqlite":
        sql.event.listen(engine, "connect", _sqlite_settings)
    return engine


def _sqlite_settings(connection: Any, _: object) -> None:
    """Readers never wait for the writer, and a writer waits half a minute for another."""
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")


def _without_password(url: str) -> str:
    try:
        return sql.make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url.split("@")[-1]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _statement_row(statement: Statement) -> dict[str, Any]:
    fact = statement.fact
    return {
        **{name: getattr(fact, name) for name in _FACT_TEXTS},
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
        fact = Fact(**{name: row[name] for name in _FACT_TEXTS}, positive=row["positive"], k=row["k"])
        facts[fact.fact_id] = fact
    statement = Statement(fact, row["pool"], row["variant"], row["text"], row["origin"], row["statement_id"])
    answer = None
    if row["a_statement_id"] is not None:
        answer = Answer(**{f.name: row[f"a_{f.name}"] for f in fields(Answer)})
    return Asked(row["position"], row["shots_of"], statement, answer)


def _run(row: Any) -> Run:
    values = {f.name: getattr(row, f.name) for f in fields(Run)}
    values["spec"] = RunSpec.from_record(json.loads(row.spec))
    for name in ("versions", "notes", "decoding"):
        values[name] = json.loads(getattr(row, name) or "{}")
    return Run(**values)
