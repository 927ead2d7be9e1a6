"""A run as one file, from one database to another: its answers and all that reports say of it, but no key.

The same run gives the same lines on every machine. A file is read into temporary tables and checked there, since it may come
from a stranger; then it becomes a run of the database at once. Whatever is wrong with it, nothing of it stays; nobody who
writes waits for the reading; and the memory holds the ids of its facts and one batch of lines.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.exchange.arrivals import Arrival
from medfact.exchange.checks import AT_REST
from medfact.exchange.lines import (
    AGAIN,
    ANSWER,
    COUNTED,
    DEMONSTRATION,
    EVENT,
    LARGEST,
    PLACE,
    RECORDS,
    RUN,
    STATEMENT,
    TABLES,
    read_lines,
    written,
    written_header,
)
from medfact.exchange.portable import addressed, portable
from medfact.spec import RunSpec
from medfact.store import tables
from medfact.store.records import PAUSED, STOPPED

if TYPE_CHECKING:
    from medfact.store import Store

BATCH = 1_000
"""Rows that are read, and lines that are written, together."""

GOING = "It was going on when it was exported."
COULD_NOT_WRITE = "Its database could not be written."
"""In place of what that database said, which names its folder."""

# ------------------------------------------------------------------------------------------------ out


def export_run(store: Store, run_id: str, file: BinaryIO) -> None:
    """Writes a run into a file: the same bytes each time, as long as nothing happens to the run.

    Not written: who owns and who asks it, and what belongs to this machine (`portable`). A run that is going on is written as
    one that was stopped.
    """
    run = store.run(run_id).run
    with store._snapshot() as connection, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        lines = _lines_of(connection, run)
        while some := b"".join(islice(lines, BATCH)):
            packed.write(some)


def _lines_of(connection: sql.Connection, run: str) -> Iterator[bytes]:
    selected = _selected(connection, run)
    counts = {
        kind: connection.execute(sql.select(sql.func.count()).select_from(selected[kind].subquery())).scalar_one()
        for kind in COUNTED
    }
    yield written_header(run, counts)
    yield written(RUN, _run_row(connection, run))
    for kind, query in selected.items():
        for row in connection.execution_options(yield_per=BATCH).execute(query):
            told = row._asdict()
            if kind == EVENT and told["what"] == PAUSED:
                told["said"] = _of_no_database(told["said"])
            yield written(kind, told)


def _selected(connection: sql.Connection, run: str) -> dict[str, sql.Select[Any]]:
    """Kind → what a run has of it, in an order that is the same in every database."""
    bytewise = "BINARY" if connection.dialect.name == "sqlite" else "C"
    statements, places, shots = tables.statements, tables.run_statements, tables.demonstrations
    asked = sql.select(places.c.statement_id).where(places.c.run == run)
    of_run = {kind: sql.select(table).where(table.c.run == run) for kind, table in TABLES.items() if "run" in table.c}
    return {
        STATEMENT: sql.select(statements)
        .where(statements.c.statement_id.in_(asked))
        .order_by(sql.collate(statements.c.statement_id, bytewise)),
        PLACE: of_run[PLACE].order_by(places.c.position),
        DEMONSTRATION: of_run[DEMONSTRATION].order_by(sql.collate(shots.c.shots_of, bytewise), shots.c.position),
        EVENT: of_run[EVENT].order_by(tables.events.c.number),
        ANSWER: of_run[ANSWER].where(tables.answers.c.position.is_not(None)).order_by(tables.answers.c.position),
    }


def _run_row(connection: sql.Connection, run: str) -> dict[str, Any]:
    row = dict(connection.execute(sql.select(tables.runs).where(tables.runs.c.run == run)).one()._mapping)
    for name, kind in RECORDS.items():
        row[name] = json.loads(row[name] or json.dumps(kind()))
    row["spec"] = portable(addressed(RunSpec.from_record(row["spec"]))).to_record()
    if row["state"] not in AT_REST:
        row |= {"state": STOPPED, "reason": GOING, "finished_at": _latest(connection, run) or row["started_at"]}
    elif row["state"] == PAUSED:
        row["reason"] = _of_no_database(row["reason"])
    return row


def _of_no_database(reason: str | None) -> str | None:
    """Why a run paused, without what a database said of itself."""
    return COULD_NOT_WRITE if reason is None or "database" in reason.lower() else reason


def _latest(connection: sql.Connection, run: str) -> str | None:
    """When something was last recorded of a run."""
    times = (tables.events.c.at, tables.answers.c.asked_at)
    found = [connection.execute(sql.select(sql.func.max(time)).where(time.table.c.run == run)).scalar() for time in times]
    return max(filter(None, found), default=None)


# ------------------------------------------------------------------------------------------------- in


def import_run(store: Store, file: BinaryIO, name: str, largest: int = LARGEST) -> str:
    """Makes a run of what `export_run` has written; returns its id, which it keeps. Its owner is the store's.

    Args:
        name: the file's, for what is told of it. largest: bytes that it may unpack to.

    Raises:
        Mistake: the file is broken, is no such file or contradicts itself or what is here, or the run is here already. The
            database is left as it was.
    """
    header, lines = read_lines(file, name, largest)
    with store._told(), store._engine.connect() as connection:
        connection.detach()  # so that its temporary tables go with it
        arrival = Arrival(connection, header)
        try:
            with connection.begin():
                arrival.read(lines)
                arrival.check()
            with connection.begin():
                arrival.take_over(store)
        except ValueError as error:
            where = f"{name}, line {arrival.line}" if arrival.line else name
            raise Mistake(f"{where}: {error}.", AGAIN) from None
    store.sheet(arrival.run)
    return arrival.run
