"""A run as one file: its answers and everything that reports need, but no key.

The same run gives the same lines on every machine. Files may come from strangers: they are read into temporary tables and
checked there, then become a run of the database in one step. A refused file leaves nothing behind, other writers do not wait
for the reading, and memory holds only the ids of the run's facts and one batch of lines.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.exchange.arrivals import Arrival
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
    encode_header,
    encode_row,
    read_lines,
)
from medfact.exchange.portable import addressed, portable
from medfact.store import schema
from medfact.store.disk import ending_of, public_reason
from medfact.store.entities import PAUSED
from medfact.store.run_answers import order_of_kinds

if TYPE_CHECKING:
    from medfact.store import Run, Store

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
