"""A run as one file: its answers and everything that reports need, but no key.

The same run gives the same lines on every machine. Files may come from strangers: they are read into temporary tables and
checked there, then become a run of the database in one step. A refused file leaves nothing behind, other writers do not wait
for the reading, and memory holds only the ids of the run's facts and one batch of lines.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, BinaryIO

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.exchange.lines import (
    ANSWER,
    COUNTED,
    DEMONSTRATION,
    EVENT,
    EXPORT_AGAIN,
    JSON_COLUMNS,
    MAX_BYTES,
    PLACE,
    PUSH,
    RETRIEVED,
    RUN,
    STATED,
    STATEMENT,
    TABLES,
    Line,
    check,
    encode_header,
    encode_row,
    read_lines,
    spec_in,
)
from medfact.exchange.rows import addressed, portable
from medfact.facts import FACT_COLUMNS
from medfact.models.pressure import kinds_asked
from medfact.models.services.replies import shortened
from medfact.store import schema
from medfact.store.disk import content_of, ending_of, public_reason
from medfact.store.entities import IMPORTED, PAUSED
from medfact.store.recording import add_event
from medfact.store.run_answers import order_of_kinds
from medfact.store.schema import record_id
from medfact.store.statement_rows import gold_rank

if TYPE_CHECKING:
    from medfact.store import Run, Store


_BATCH_LINES, _BATCH_BYTES = 500, 4 << 20
"""Limits of a batch of lines."""

_MAX_EVENTS = 10_000

_RUN_FACT_COLUMNS = ("run", "fact", "record", "statement_id")

_FACT = sql.table(
    "arriving_facts",
    *(sql.column(name, sql.Text()) for name in ("fact_id", "negative_of", "head", "relation", "tail")),
    sql.column("positive", sql.Boolean()),
    sql.column("k", sql.Integer()),
)
"""The facts of a file's statements, without duplicates."""


class Arrival:
    """A run on its way into the database of a connection.

    Its methods raise ValueError if something is wrong: in line number `line`, or in the whole file if that is None.
    """

    def __init__(self, connection: sql.Connection, header: Mapping[str, Any]) -> None:
        self.run = ""
        self.line: int | None = None
        self._connection = connection
        self._header = header
        self._staged = {kind: _staged(kind, table) for kind, table in TABLES.items() if kind != RUN}
        self._row: dict[str, Any] = {}
        self._counts = dict.fromkeys(TABLES, 0)
        self._fact_numbers: dict[str, int] = {}
        self._records: dict[str, str] = {}
        self._partners: dict[str, tuple[str, str]] = {}
        self._last: Any = None
        self._latest = ""

    def stage(self, lines: Iterable[Line]) -> None:
        """Reads all lines into temporary tables, and checks each."""
        for kind, table in self._staged.items():
            self._connection.execute(sql.text(f"CREATE TEMPORARY TABLE {table.name} AS {_WITHOUT_ROWS[kind]}"))
        for name, columns in (("statements", "statement_id"), ("run_statements", "statement_id, draw")):
            self._connection.execute(sql.text(f"CREATE INDEX ix_arriving_{name} ON arriving_{name} ({columns})"))
        rows_of = {STATEMENT: self._statements, PLACE: self._places, DEMONSTRATION: self._shots, EVENT: self._events}
        rows_of |= {RETRIEVED: self._passages, ANSWER: self._answers, PUSH: self._pushes}
        for kind, group in groupby(lines, key=lambda line: line.kind):
            self._last = None
            if kind == RUN:
                self._read_run(list(islice(group, 2)))
                continue
            if not self.run:
                raise ValueError("it does not begin with a run")
            for batch in _batches(group):
                self._insert(self._staged[kind], rows_of[kind](batch))
        self.line = None

    def _insert(self, table: sql.TableClause, rows: Iterable[dict[str, Any]]) -> None:
        """Adds rows through the driver itself: their values are checked already, and there are many."""
        names = table.c.keys()
        mark = "?" if self._connection.dialect.name == "sqlite" else "%s"
        columns, marks = ", ".join(f'"{name}"' for name in names), ", ".join([mark] * len(names))
        values = [tuple(row.get(name) for name in names) for row in rows]
        self._connection.exec_driver_sql(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", values)

    def _rows(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        for line in batch:
            self.line = line.number
            self._counts[line.kind] += 1
            check(line.kind, line.row)
            yield line.row if line.kind == STATEMENT else {"run": self.run, **line.row}

    def _read_run(self, lines: Sequence[Line]) -> None:
        for row in self._rows(lines):
            if self.run:
                raise ValueError("it holds a second run")
            spec = portable(spec_in(row)).as_imported()
            records = {name: row[name] or kind() for name, kind in JSON_COLUMNS.items()} | {"spec": spec.to_record()}
            self._row = {**row, **{name: json.dumps(record) for name, record in records.items()}}
            self._draws, self.run, self._kinds = spec.shot_draws, row["run"], kinds_asked(spec.pressure)
            if self._header.get("run") != self.run:
                raise ValueError("it is another run than the first line says")
            self._latest = row["finished_at"] or row["started_at"]
            _refuse_known(self._connection, self.run)

    def _statements(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        for row in self._rows(batch):
            self._check_order(row["statement_id"])
            yield {**row, "record": record_id({name: row[name] for name in FACT_COLUMNS})}

    def _staged_for(self, batch: Sequence[Line], kind: str, *names: str) -> Iterable[Any]:
        """The statement ids of a batch as far as there are rows of another kind for them, and these rows' columns."""
        staged = self._staged[kind].c
        asked = {line.row["statement_id"] for line in batch}
        query = sql.select(staged.statement_id, *(staged[name] for name in names))
        return self._connection.execute(query.where(staged.statement_id.in_(asked)))

    def _places(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        facts = {name: (fact, record) for name, fact, record in self._staged_for(batch, STATEMENT, "fact_id", "record")}
        for row in self._rows(batch):
            if row["position"] != self._counts[PLACE] - 1:
                raise ValueError(f"its position is {row['position']}, not {self._counts[PLACE] - 1}")
            if row["statement_id"] not in facts:
                raise ValueError("its statement is not in the file")
            if row["draw"] >= self._draws:
                raise ValueError("the run has no such draw")
            fact, record = facts[row["statement_id"]]
            self._records.setdefault(fact, record)
            yield {**row, "fact": self._fact_numbers.setdefault(fact, len(self._fact_numbers))}

    def _shots(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        for row in self._rows(batch):
            group, position = self._last or ("", -1)
            self._check_order((row["shots_of"], row["position"]))
            if row["position"] != (position + 1 if row["shots_of"] == group else 0):
                raise ValueError("a demonstration before it is missing")
            yield row

    def _passages(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        known = {name for (name,) in self._staged_for(batch, PLACE)}
        for row in self._rows(batch):
            self._check_order(row["statement_id"])
            if row["statement_id"] not in known:
                raise ValueError("the run does not ask its statement")
            yield {**row, "gold": gold_rank(json.loads(row["passages"]))}

    def _events(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        for row in self._rows(batch):
            if self._counts[EVENT] > _MAX_EVENTS:
                raise ValueError(f"more than {_MAX_EVENTS:,} things happened to it")
            if row["what"] != IMPORTED:
                self._latest = max(self._latest, row["at"])
            yield {**row, "number": self._counts[EVENT]}

    def _answers(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        positions = self._positions(batch)
        for row in self._rows(batch):
            position = positions.get((row["statement_id"], row["draw"]))
            if position is None:
                raise ValueError("the run does not ask its statement")
            self._check_order(position)
            self._latest = max(self._latest, row["asked_at"])
            yield {**row, "raw": row["raw"] and shortened(row["raw"]), "position": position, "batch": 1}

    def _positions(self, batch: Sequence[Line]) -> dict[tuple[str, int], int]:
        """The id of a statement and its draw → where the run asks it."""
        return {(name, draw): position for name, draw, position in self._staged_for(batch, PLACE, "draw", "position")}

    def _pushes(self, batch: Sequence[Line]) -> Iterator[dict[str, Any]]:
        positions = self._positions(batch)
        for row in self._rows(batch):
            position = positions.get((row["statement_id"], row["draw"]))
            if position is None or row["kind"] not in self._kinds:
                raise ValueError("the run does not push this answer")
            self._check_order((position, self._kinds.index(row["kind"]), row["round"]))
            self._latest = max(self._latest, row["asked_at"])
            yield {**row, "raw": row["raw"] and shortened(row["raw"]), "position": position}

    def _check_order(self, key: Any) -> None:
        if self._last is not None and not self._last < key:
            raise ValueError("it stands twice, or in the wrong place")
        self._last = key

    def check(self) -> None:
        """Checks what no single line shows: counts, duplicates, and what facts and statements say of each other."""
        if not self.run:
            raise ValueError("it holds no run")
        for kind, name in COUNTED.items():
            if self._header.get(name) != self._counts[kind]:
                raise ValueError(
                    f"it holds {self._counts[kind]} {name}, and its first line says {self._header.get(name)!r:.20}"
                )
        if (self._row["statements"], self._row["facts"]) != (self._counts[PLACE], len(self._fact_numbers)):
            raise ValueError("its run says another number of statements or facts")
        columns = ", ".join(_FACT.c.keys())
        facts = f"CREATE TEMPORARY TABLE {_FACT.name} AS SELECT DISTINCT {columns} FROM {self._staged[STATEMENT].name}"
        self._connection.execute(sql.text(facts))
        if self._connection.dialect.name == "postgresql":  # whose planner assumes that unknown tables are small
            for table in (*self._staged.values(), _FACT):
                self._connection.execute(sql.text(f"ANALYZE {table.name}"))
        self._check_partners()
        for query, problem in self._contradictions():
            if (wrong_id := self._connection.execute(query.limit(1)).scalar()) is not None:
                raise ValueError(f"{wrong_id} {problem}")

    def _contradictions(self) -> Iterator[tuple[sql.Select[Any], str]]:
        """Queries for ids that are wrong, and what is wrong with them."""
        place = self._staged[PLACE]
        once = sql.select(place.c.statement_id).group_by(place.c.statement_id, place.c.draw)
        yield once.having(sql.func.count() > 1), "is asked twice"
        yield sql.select(_FACT.c.fact_id).group_by(_FACT.c.fact_id).having(sql.func.count() > 1), "is several facts"
        negative = _FACT.alias("negative")
        both = negative.outerjoin(_FACT, negative.c.negative_of == _FACT.c.fact_id)
        alone = sql.select(negative.c.fact_id).select_from(both).where(negative.c.negative_of.is_not(None))
        # the id of a negative fact says nothing of its head: that of its true fact does
        yield alone.where(_FACT.c.fact_id.is_(None)), "is the negative of a fact that the file does not hold"
        other = (negative.c.head != _FACT.c.head) | (negative.c.relation != _FACT.c.relation) | ~_FACT.c.positive
        yield alone.where(other), "is no negative of its fact"

    def _check_partners(self) -> None:
        """Finds the statements that nobody asks: one of each true fact of which false partners alone are asked."""
        statement, place = self._staged[STATEMENT], self._staged[PLACE]
        unasked = statement.outerjoin(place, place.c.statement_id == statement.c.statement_id)
        query = sql.select(statement.c.statement_id, statement.c.fact_id, statement.c.record).select_from(unasked)
        wanted = set(self._connection.execute(sql.select(_FACT.c.negative_of).distinct()).scalars()) - self._fact_numbers.keys()
        for name, fact, record in self._connection.execute(query.where(place.c.run.is_(None))):
            if fact not in wanted or fact in self._partners:
                raise ValueError(f"{name} is never asked")
            self._partners[fact] = name, record

    def take_over(self, store: Store) -> None:
        """Adds it to the database as a run of the store's owner."""
        execute = self._connection.execute
        row = {**self._row, "owner": store.owner, "changed": 1}
        if execute(store.database.insert_new(schema.runs).values(**row).returning(schema.runs.c.run)).first() is None:
            _refuse_known(self._connection, self.run)
        self._add_statements(store)
        self._add_facts(store)
        for kind in (PLACE, DEMONSTRATION, RETRIEVED, ANSWER, PUSH):
            staged, table = self._staged[kind], TABLES[kind]
            names = table.c.keys()
            execute(table.insert().from_select(names, sql.select(*(staged.c[name] for name in names))))
        event = self._staged[EVENT].c
        happened = sql.select(event.run, event.at, event.what, event.said).order_by(event.number)
        execute(schema.events.insert().from_select(["run", "at", "what", "said"], happened))
        _refuse_altered(self._connection, self.run)
        add_event(self._connection, self.run, IMPORTED, f"from a file that shows it as it was at {self._latest}")

    def _add_statements(self, store: Store) -> None:
        staged, here = self._staged[STATEMENT], schema.statements
        columns = here.c.keys()
        new = sql.select(*(staged.c[name] for name in columns)).where(sql.true()).order_by(staged.c.statement_id)
        self._connection.execute(store.database.insert_new(here).from_select(columns, new))
        both = staged.join(here, here.c.statement_id == staged.c.statement_id)
        differs = sql.or_(*(here.c[name].is_distinct_from(staged.c[name]) for name in columns))
        query = sql.select(staged.c.statement_id).select_from(both).where(differs).limit(1)
        if (differing := self._connection.execute(query).scalar()) is not None:
            raise Mistake(
                f"The statement {differing} of this file is here already, and says something else here.",
                "The file was altered: import it into another database with --db.",
            )

    def _add_facts(self, store: Store) -> None:
        """Adds the facts as the file describes them, for this run alone."""
        asked = [(self.run, number, self._records[fact], None) for fact, number in self._fact_numbers.items()]
        beside = [(self.run, number, record, name) for number, (name, record) in enumerate(self._partners.values(), len(asked))]
        store.database.insert_rows(self._connection, schema.run_facts.insert(), _RUN_FACT_COLUMNS, [*asked, *beside])
        staged, of_run = self._staged[STATEMENT], schema.run_facts.c
        used = sql.select(of_run.record).where(of_run.run == self.run)
        columns = schema.facts.c.keys()
        new = sql.select(*(staged.c[name] for name in columns)).where(staged.c.record.in_(used)).distinct()
        self._connection.execute(store.database.insert_new(schema.facts).from_select(columns, new.order_by(staged.c.record)))


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += line.bytes
        if len(batch) == _BATCH_LINES or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_WITHOUT_ROWS = {kind: f"SELECT * FROM {table.name} WHERE 1 = 0" for kind, table in TABLES.items()} | {
    STATEMENT: "SELECT s.statement_id, s.pool, s.variant, s.text, s.origin, f.* FROM statements s, facts f WHERE 1 = 0"
}
"""Kind of a line → what gives a table with its columns and no row."""


def _staged(kind: str, table: sql.Table) -> sql.TableClause:
    """The temporary table for the rows of a kind. Their texts are storable already."""
    columns = [*table.c, *([schema.facts.c.record] if kind == STATEMENT else [])]
    kinds = {column.name: sql.Text() if isinstance(column.type, schema.StoredText) else column.type for column in columns}
    return sql.table(f"arriving_{table.name}", *(sql.column(name, kind_) for name, kind_ in kinds.items()))


def _refuse_known(connection: sql.Connection, run: str) -> None:
    """Raises Mistake if the database has the run already."""
    query = sql.select(schema.runs.c.deleted_at).where(schema.runs.c.run == run)
    known = connection.execute(query).one_or_none()
    if known is None:
        return
    if known.deleted_at is None:
        raise Mistake(f"Run {run} is here already.")
    raise Mistake(f"Run {run} is here already, but was deleted on {known.deleted_at[:10]}.", "It can be restored.")


def _refuse_altered(connection: sql.Connection, run: str) -> None:
    """Raises Mistake if the database had a run of this id that was erased, and it held something else."""
    content = connection.execute(sql.select(schema.erased_runs.c.content).where(schema.erased_runs.c.run == run)).scalar()
    if content is not None and content != content_of(connection, run):
        raise Mistake(
            f"Run {run} was here and was erased, and this file holds something else under its id.",
            "Import the file that was exported here, unaltered; or import this one into another database with --db.",
        )


_ROWS_AT_ONCE = 1_000

# ------------------------------------------------------------------------------------------------ out


def export_run(store: Store, run_id: str, file: BinaryIO, without: Collection[str] = ()) -> None:
    """Writes a run into a file: the same bytes each time, as long as the run does not change.

    Leaves out its owner, its process, and what belongs to this machine (`portable`). A run that is going on is written as
    stopped. without: columns of answers that are left out too. The store says for whom (`Store.seen_by`).
    """
    run = store.run(run_id)
    with store.database.snapshot() as connection, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        lines = _lines_of(connection, run, dict.fromkeys(without))
        while part := b"".join(islice(lines, _ROWS_AT_ONCE)):
            packed.write(part)


def _lines_of(connection: sql.Connection, record: Run, gone: Mapping[str, None]) -> Iterator[bytes]:
    run = record.run
    queries = _queries(connection, run)
    counts = {
        kind: connection.execute(sql.select(sql.func.count()).select_from(queries[kind].subquery())).scalar_one()
        for kind in COUNTED
    }
    yield encode_header(run, counts)
    yield encode_row(RUN, _run_row(connection, record))
    for kind, query in queries.items():
        for row in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query):
            values = {**row._asdict(), **(gone if kind in (ANSWER, PUSH) else {})}
            if kind == EVENT and values["what"] == PAUSED:
                values["said"] = public_reason(values["said"])
            yield encode_row(kind, values)


def _queries(connection: sql.Connection, run: str) -> dict[str, sql.Select[Any]]:
    """Kind → a query for a run's rows, in an order that is the same in every database."""
    bytewise = "BINARY" if connection.dialect.name == "sqlite" else "C"
    shots, pushes = schema.demonstrations, schema.pushes.c
    of_run = {kind: sql.select(table).where(table.c.run == run) for kind, table in TABLES.items() if "run" in table.c}
    return {
        STATEMENT: _stated(run).order_by(sql.collate(schema.statements.c.statement_id, bytewise)),
        PLACE: of_run[PLACE].order_by(schema.run_statements.c.position),
        DEMONSTRATION: of_run[DEMONSTRATION].order_by(sql.collate(shots.c.shots_of, bytewise), shots.c.position),
        RETRIEVED: of_run[RETRIEVED].order_by(sql.collate(schema.retrieved.c.statement_id, bytewise)),
        EVENT: of_run[EVENT].order_by(schema.events.c.number),
        ANSWER: of_run[ANSWER].where(schema.answers.c.position.is_not(None)).order_by(schema.answers.c.position),
        PUSH: of_run[PUSH].where(pushes.position.is_not(None)).order_by(pushes.position, order_of_kinds(), pushes.round),
    }


def _stated(run: str) -> sql.Select[Any]:
    """The statements that a run asks, each with its fact as the run describes it; and one of each fact that it has beside."""
    place, of_run, statements, facts = schema.run_statements.c, schema.run_facts.c, schema.statements, schema.facts
    asked = sql.select(place.statement_id, place.fact).where(place.run == run)
    beside = sql.select(of_run.statement_id, of_run.fact).where(of_run.run == run, of_run.statement_id.is_not(None))
    named = asked.union(beside).subquery()
    joined = statements.join(named, named.c.statement_id == statements.c.statement_id)
    joined = joined.join(schema.run_facts, (of_run.run == run) & (of_run.fact == named.c.fact))
    return sql.select(*STATED.values()).select_from(joined.join(facts, facts.c.record == of_run.record))


def _run_row(connection: sql.Connection, record: Run) -> dict[str, Any]:
    found = connection.execute(sql.select(schema.runs).where(schema.runs.c.run == record.run)).one()
    row = {**found._mapping, **ending_of(connection, found), "name": record.name, "note": record.note}
    for name, kind in JSON_COLUMNS.items():
        row[name] = json.loads(row[name] or json.dumps(kind()))
    row["spec"] = portable(addressed(record.spec)).to_record()
    return row


# ------------------------------------------------------------------------------------------------- in


def import_run(store: Store, file: BinaryIO, name: str, max_bytes: int = MAX_BYTES) -> str:
    """Adds a run from a file of `export_run` for the store's owner, and returns its id, which stays the same.

    Args:
        name: of the file, for messages. max_bytes: that it may unpack to.

    Raises:
        Mistake: the file is damaged, holds no run, contradicts itself or the database, or the run exists already. The database
            is left as it was.
    """
    header, lines = read_lines(file, name, max_bytes)
    with store.database.explained_errors(), store.database.engine.connect() as connection:
        connection.detach()  # closing it drops its temporary tables
        arrival = Arrival(connection, header)
        try:
            with connection.begin():
                arrival.stage(lines)
                arrival.check()
            with connection.begin():
                arrival.take_over(store)
        except ValueError as error:
            where = f"{name}, line {arrival.line}" if arrival.line else name
            raise Mistake(f"{where}: {error}.", EXPORT_AGAIN) from None
    store.answers.sheet(arrival.run)
    return arrival.run
