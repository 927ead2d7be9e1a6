"""An open database: transactions whose errors are explained in one sentence."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate, chain, islice
from operator import itemgetter
from typing import Any

import orjson
import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from medfact.errors import StoreError
from medfact.store.engine import default_url, file_of, open_engine, patience_with, without_password
from medfact.store.migrations import migrate
from medfact.store.schema import storable

_FREE_DISK = "Free space on its disk, then resume the run; the answers so far are kept."
_CHECK_USER = "Check the user and the password in its address."
_CHECK_SERVER = "Check that its server runs, and the host and the port in its address."
_HINTS = {
    "is full": _FREE_DISK,
    "No space": _FREE_DISK,
    "is locked": "Another program holds it. Once it is free, resume the run; the answers so far are kept.",
    "readonly": "Make its file and its folder writable, then resume the run; the answers so far are kept.",
    "not a database": "Choose another --db.",
    "malformed": "Its file is damaged: restore it from a copy, or choose another --db.",
    "decode": "Its file is damaged: restore it from a copy, or choose another --db.",
    "password": _CHECK_USER,
    "role ": _CHECK_USER,
    "pg_hba": _CHECK_USER,
    "permission denied": "Let its user create and write tables there.",
    'database "': "Create it first (createdb NAME), or check the name in its address.",
    "refused": _CHECK_SERVER,
    "resolve": _CHECK_SERVER,
    "timeout": _CHECK_SERVER,
    "socket": _CHECK_SERVER,
}
"""What to do, by a word in the database's error; the first match counts."""

_PUBLIC = {
    "is full": "its disk is full",
    "No space": "its disk is full",
    "is locked": "another program holds it",
    "readonly": "its file cannot be written",
    "not a database": "its file is damaged",
    "malformed": "its file is damaged",
    "decode": "its file is damaged",
    "unable to open": "its file cannot be opened",
    "I/O error": "its file cannot be read or written",
}
"""What strangers may read of the cause, by a word in it. SQLite's errors quote what is stored, a server's its users."""

_OTHER_HINTS = {
    "sqlite": "Check that its folder is writable and has free space; the answers so far are kept.",
    "postgresql": "Check its server, then resume the run; the answers so far are kept.",
}
"""What to do about all other errors, by the kind of database."""

_MAY_PASS = ("is locked", "disk I/O error")
"""Words of SQLite's errors after which the same may succeed a moment later."""

_STAYS = ("No space", "password", "role ", "pg_hba", "permission denied", 'database "', "read-only")
"""Words of a server's errors after which it will not, although its connections break."""

_FULL_DISK_BYTES = 1 << 18
"""A disk with less free space than this counts as full when SQLite only reports that it cannot read or write."""

_ROWS_PER_INSERT = 5000

_PER_QUERY = 500
"""Most values that one query names."""

_ROWS_TOGETHER = 1 << 7
"""Most rows that one command inserts into SQLite, a power of two."""

_SHORT_WAIT_MS = 50
"""How long a write that can be skipped waits for another program's."""


class Database:
    """The database at one URL, at the newest schema. Several threads and processes may use it at once."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or default_url()
        self.engine = open_engine(self.url)
        self.patience_seconds = patience_with(self.engine)
        file = file_of(self.url)
        self.file = file and file.absolute()
        with self.explained_errors():
            migrate(self.engine, without_password(self.url))
        self._opened_file = self._file_identity()
        self._new: dict[str, Any] = {}
        self.erased = threading.Event()
        """Set when this process has erased something for good; copies of the database still hold it then."""

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """A transaction, which waits for those of other programs."""
        self._check_file()
        with self.explained_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing_soon(self) -> Iterator[sql.Connection]:
        """A transaction that fails soon if another program is writing."""
        self._check_file()
        with self.explained_errors(), self.engine.connect() as connection, _short_wait(connection), connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        self._check_file()
        with self.explained_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sql.Connection]:
        """A connection whose reads all see the same state of the database, whatever is written meanwhile."""
        with self.reading() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")  # its driver starts no transaction for reads
            else:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def explained_errors(self) -> Iterator[None]:
        """Turns errors of the database into a StoreError with a hint."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = _cause(error)
            is_full = self._has_full_disk(cause)
            is_transient = not is_full and _may_pass(error, cause)
            if is_full:
                cause = f"its disk is full ({cause})"
            hint = next((hint for word, hint in _HINTS.items() if word in cause), _OTHER_HINTS[self.engine.dialect.name])
            public = next((said for word, said in _PUBLIC.items() if word in cause and self.file is not None), "")
            problem = f"The database {without_password(self.url)} cannot be used: {cause}."
            raise StoreError(problem, hint, public, is_transient) from error

    def _has_full_disk(self, cause: str) -> bool:
        """Whether a full disk explains that a file cannot be read, written or opened."""
        if self.file is None or not ("I/O error" in cause or "unable to open" in cause):
            return False
        try:
            return shutil.disk_usage(self.file.parent).free < _FULL_DISK_BYTES
        except OSError:
            return False

    def _file_identity(self) -> tuple[int, int] | None:
        """Device and inode of the database's file, which change when it is replaced; None if there is no file."""
        if self.file is None:
            return None
        try:
            status = self.file.stat()
        except OSError as error:
            raise StoreError(
                f"The database {without_password(self.url)} is not there any more ({error.strerror}).",
                "Put its file back, then resume the run; its contents are kept.",
                "its file is not there any more",
            ) from None
        return status.st_dev, status.st_ino

    def _check_file(self) -> None:
        """Reconnects if the file was replaced: writes to a deleted file succeed while it is open, but are lost."""
        identity = self._file_identity()
        if identity != self._opened_file:
            self.engine.dispose()
            self._opened_file = identity

    def insert(self, table: sql.Table) -> Any:
        """An insertion that can say what happens to rows whose key exists already."""
        inserts: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
        return inserts[self.engine.dialect.name](table)

    def insert_new(self, table: sql.Table) -> Any:
        """An insertion that skips rows whose key exists already: the same one each time."""
        if table.name not in self._new:
            self._new[table.name] = self.insert(table).on_conflict_do_nothing()
        return self._new[table.name]

    def insert_rows(
        self, connection: sql.Connection, insertion: Any, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Inserts many rows through the driver itself: for large runs, SQLAlchemy's work on every value takes longest.

        columns: names of the insertion's parameters. rows: their values, in the same order.
        """
        compiled = _compiled(insertion, self.engine.dialect, tuple(columns))
        if compiled.positional and _is_exact_as_json(insertion, columns):
            self._insert_as_json(connection, compiled, columns, iter(rows), "true")
            return
        remaining = map(_storable_row, rows)
        if compiled.positional:
            self._insert_together(connection, compiled, columns, remaining)
            return
        while batch := list(islice(remaining, _ROWS_PER_INSERT)):
            connection.exec_driver_sql(str(compiled), [dict(zip(columns, row, strict=True)) for row in batch])

    def insert_missing(
        self, connection: sql.Connection, table: sql.Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Inserts those of many rows whose key is not there. Most may be: nothing but their key is read then."""
        insertion = self.insert_new(table)
        compiled = _compiled(insertion, self.engine.dialect, tuple(columns))
        if not (compiled.positional and _is_exact_as_json(insertion, columns)):
            self.insert_rows(connection, insertion, columns, rows)
            return
        key = (column.name for column in table.primary_key.columns)
        same = " AND ".join(f"{table.name}.{name} = {_in_json(columns, name)}" for name in key)
        is_missing = f"NOT EXISTS (SELECT 1 FROM {table.name} WHERE {same})"
        self._insert_as_json(connection, compiled, columns, iter(rows), is_missing)

    @staticmethod
    def _insert_as_json(
        connection: sql.Connection, compiled: Any, columns: Sequence[str], rows: Iterator[tuple[Any, ...]], where: str
    ) -> None:
        """Inserts thousands of rows with each command, which SQLite reads out of one text. Its driver gives way to Python's
        other threads at every command: with one for each row, a busy server would hold the database for minutes.

        where: which rows; "true" for all, since "on conflict" would be read as the condition of a join without it.
        """
        before, _, after = _around_values(str(compiled))
        each = ", ".join(_in_json(columns, name) for name in compiled.positiontup)
        command = f"{before.removesuffix('VALUES ')}SELECT {each} FROM json_each(?) WHERE {where}{after}"
        while batch := list(islice(rows, _ROWS_PER_INSERT)):
            connection.exec_driver_sql(command, (_json_of(batch),))

    @staticmethod
    def _insert_together(
        connection: sql.Connection, compiled: Any, columns: Sequence[str], rows: Iterator[tuple[Any, ...]]
    ) -> None:
        """Inserts many rows with each command, with a parameter for each value."""
        in_order = itemgetter(*(columns.index(name) for name in compiled.positiontup))
        before, values, after = _around_values(str(compiled))
        for batch in _in_powers_of_two(rows):
            command = before + ", ".join([values] * len(batch)) + after
            connection.exec_driver_sql(command, tuple(chain.from_iterable(map(in_order, batch))))


class Part:
    """A part of the store: what it reads is in a database, and what it writes is an owner's."""

    def __init__(self, database: Database, owner: str) -> None:
        self.database = database
        self.owner = owner


def parts(values: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """As many at a time as one query may name."""
    rest = iter(values)
    while part := list(islice(rest, _PER_QUERY)):
        yield part


def rows_among(
    connection: sql.Connection, query: sql.Select[Any], column: sql.ColumnElement[Any], values: Iterable[Any] | None
) -> Iterator[Any]:
    """The rows of a query that have one of these values in a column, read part after part; all where there is None."""
    if values is None:
        yield from connection.execute(query)
        return
    for part in parts(values):
        yield from connection.execute(query.where(column.in_(part)))


@lru_cache(maxsize=32)
def _compiled(insertion: Any, dialect: sql.Dialect, columns: tuple[str, ...]) -> Any:
    """An insertion as text. SQLAlchemy takes half a millisecond for each."""
    return insertion.compile(dialect=dialect, column_keys=list(columns))


def _is_exact_as_json(insertion: Any, columns: Sequence[str]) -> bool:
    """Whether values of these columns are the same after a way through a text. Not fractions, of which SQLite may read another
    last digit, nor bytes; and nothing that is computed is inserted.
    """
    of_table = insertion.table.columns
    return all(name in of_table and of_table[name].type.python_type in (str, int, bool) for name in columns)


def _in_json(columns: Sequence[str], name: str) -> str:
    """A column's value in a row that is written as JSON."""
    return f"json_extract(value, '$[{columns.index(name)}]')"


def _in_powers_of_two(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in batches of 128, and the rest in batches of 64, 32 and so on. SQLite's driver keeps the commands that it has
    prepared: with one for each number of rows, they would take hundreds of megabytes, and long to prepare.
    """
    while rest := list(islice(rows, _ROWS_TOGETHER)):
        while rest:
            size = 1 << (len(rest).bit_length() - 1)
            yield rest[:size]
            del rest[:size]


def _around_values(insertion: str) -> tuple[str, str, str]:
    """The text of an insertion of one row: what stands before its values, the values in their brackets, and what follows."""
    begin = insertion.index(" VALUES (") + len(" VALUES ")
    depths = accumulate({"(": 1, ")": -1}.get(character, 0) for character in insertion[begin:])
    end = begin + 1 + next(place for place, depth in enumerate(depths) if not depth)
    return insertion[:begin], insertion[begin:end], insertion[end:]


def _storable_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a row as they are stored; see `schema.storable`."""
    text = "".join([value for value in row if type(value) is str])
    return row if storable(text) == text else tuple(storable(v) if type(v) is str else v for v in row)


def _json_of(rows: Sequence[tuple[Any, ...]]) -> str:
    """Rows as JSON, of values that can be stored."""
    with suppress(orjson.JSONEncodeError):  # of a lone surrogate
        text = orjson.dumps(rows).decode()
        if "\\u0000" not in text:
            return text
    return json.dumps([_storable_row(row) for row in rows], ensure_ascii=False)


def _cause(error: SQLAlchemyError) -> str:
    """What the database or its driver reports: after several attempts to connect, the error of the last one."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    attempts = [line for line in lines if line.startswith("- ")]
    line = attempts[-1] if attempts else lines[0]
    return line.rpartition("FATAL:")[2].strip().removesuffix(".")


def _may_pass(error: SQLAlchemyError, cause: str) -> bool:
    """Whether the same may succeed a moment later: a lock is let go, a server comes back."""
    if any(word in cause for word in _MAY_PASS):
        return True
    from_server = isinstance(error, OperationalError | InterfaceError) and "sqlite" not in type(error.orig).__module__
    return from_server and not any(word in cause for word in _STAYS)


@contextmanager
def _short_wait(connection: sql.Connection) -> Iterator[None]:
    """Lets this connection wait only shortly for other programs' transactions."""
    short, usual = f"SET lock_timeout = {_SHORT_WAIT_MS}", "RESET lock_timeout"
    if connection.dialect.name == "sqlite":
        before = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
        short, usual = f"PRAGMA busy_timeout={_SHORT_WAIT_MS}", f"PRAGMA busy_timeout={before}"
    connection.exec_driver_sql(short)
    connection.commit()
    try:
        yield
    finally:
        with suppress(SQLAlchemyError):
            connection.exec_driver_sql(usual)
            connection.commit()


def now() -> str:
    """The current time as it is recorded: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
