"""A database that is open: transactions whose errors are said in one sentence."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from operator import itemgetter
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from medfact.errors import StoreError
from medfact.store.engine import default_url, file_of, open_engine, without_password
from medfact.store.migrations import migrate
from medfact.store.tables import writable

ROOM = "Make room on its disk, then resume the run; what was answered so far is kept."
WHO = "Check the user and the password in its address."
WHERE = "Check that its server runs, and the host and the port in its address."
HINTS = {
    "is full": ROOM,
    "No space": ROOM,
    "is locked": "Another program holds it. Once that has let it go, resume the run; what was answered so far is kept.",
    "readonly": "Make its file and its folder writable, then resume the run; what was answered so far is kept.",
    "not a database": "Choose another --db.",
    "malformed": "Its file is damaged: put a copy of it in its place, or choose another --db.",
    "password": WHO,
    "role ": WHO,
    "pg_hba": WHO,
    "permission denied": "Let its user make and write tables there.",
    'database "': "Make it first (createdb NAME), or check the name in its address.",
    "refused": WHERE,
    "resolve": WHERE,
    "timeout": WHERE,
    "socket": WHERE,
}
"""What to do, by a word of what the database says; the first that is there counts."""

OTHERWISE = {
    "sqlite": "Check that its folder can be written and has room; what was answered so far is kept.",
    "postgresql": "Check its server, then resume the run; what was answered so far is kept.",
}
"""What to do in all other cases, by the kind of database."""

LEAST = 1 << 18
"""Bytes without which a disk counts as full, where the database says only that it cannot write."""

ROWS = 5000
"""Rows that are handed to the database together."""

AT_ONCE = 50
"""Milliseconds that a write waits for another program's where it may as well be made another time."""


class Database:
    """The database behind one URL, at the newest schema. Several threads and processes may use it at once."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or default_url()
        self._engine = open_engine(self.url)
        file = file_of(self.url)
        self._file = file and file.absolute()
        with self._told():
            up_to_date = migrate(self._engine)
        if not up_to_date:
            raise StoreError(
                f"{without_password(self.url)} was made by a newer medfact.", "Update medfact, or choose another --db."
            )
        self._seen = self._which_file()

    @contextmanager
    def _writing(self, *, waits: bool = True) -> Iterator[sql.Connection]:
        """A transaction. waits: for another program's; else it is given up soon, as it may be made another time."""
        self._check_file()
        with self._told(), self._engine.connect() as connection, _patience(connection, waits), connection.begin():
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sql.Connection]:
        self._check_file()
        with self._told(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _snapshot(self) -> Iterator[sql.Connection]:
        """Reads that all see the database as it is at the first of them, whatever is written meanwhile."""
        self._check_file()
        with self._told(), self._engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")  # which its driver leaves out before a read
            else:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            cause = _said(error)
            if self._has_no_room(cause):
                cause = f"its disk is full ({cause})"
            hint = next((hint for word, hint in HINTS.items() if word in cause), OTHERWISE[self._engine.dialect.name])
            shown = cause if self._engine.dialect.name == "sqlite" else ""  # a server's words name its users
            raise StoreError(f"The database {without_password(self.url)} cannot be used: {cause}.", hint, shown) from error

    def _has_no_room(self, cause: str) -> bool:
        """Whether a full disk is why a file cannot be read, written or opened."""
        if self._file is None or not ("I/O error" in cause or "unable to open" in cause):
            return False
        try:
            return shutil.disk_usage(self._file.parent).free < LEAST
        except OSError:
            return False

    def _which_file(self) -> tuple[int, int] | None:
        """What tells the database's file from another that is put in its place; None where there is no file."""
        if self._file is None:
            return None
        try:
            found = self._file.stat()
        except OSError as error:
            raise StoreError(
                f"The database {without_password(self.url)} is not there any more ({error.strerror}).",
                "Put its file back, then resume the run; what is in it is kept.",
                "its file is not there any more",
            ) from None
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """An open file that was deleted can still be written, and all that is written to it is lost."""
        found = self._which_file()
        if found != self._seen:
            self._engine.dispose()
            self._seen = found

    def _insert(self, table: sql.Table) -> Any:
        """An insertion that may say what happens to rows whose key is there already."""
        inserts: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
        return inserts[self._engine.dialect.name](table)

    def _insert_new(self, table: sql.Table) -> Any:
        """An insertion that leaves rows as they are whose key is there already."""
        return self._insert(table).on_conflict_do_nothing()

    def _compiled(self, insertion: Any, columns: Sequence[str]) -> Any:
        """An insertion with a parameter for each of these columns, by their names, as `_insert_all` takes it."""
        return insertion.compile(dialect=self._engine.dialect, column_keys=list(columns))

    def _insert_all(
        self, connection: sql.Connection, made: Any, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Many rows, as the driver takes them: of large runs, what is otherwise done for each value takes longest.

        made: a compiled insertion. rows: the values of its columns, in their order.
        """
        names = made.positiontup if made.positional else None
        order = [columns.index(name) for name in names or ()]
        rows = map(_writable, rows)
        while some := list(islice(rows, ROWS)):
            if names is None:
                given: list[Any] = [dict(zip(columns, row, strict=True)) for row in some]
            elif order == list(range(len(columns))):
                given = some
            else:
                given = list(map(itemgetter(*order), some))
            connection.exec_driver_sql(str(made), given)


def _writable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a row as they are stored; see `tables.writable`."""
    text = "".join([value for value in row if type(value) is str])
    return row if writable(text) == text else tuple(writable(v) if type(v) is str else v for v in row)


def _said(error: SQLAlchemyError) -> str:
    """What a database or its driver says of an error: the last of several tries to reach a server, and what the server said."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    tries = [line for line in lines if line.startswith("- ")]
    return (tries or lines)[-1 if tries else 0].rpartition("FATAL:")[2].strip().removesuffix(".")


@contextmanager
def _patience(connection: sql.Connection, waits: bool) -> Iterator[None]:
    """Where nothing waits, another program's transaction ends this one soon."""
    if waits:
        yield
        return
    hasty, usual = f"SET lock_timeout = {AT_ONCE}", "RESET lock_timeout"
    if connection.dialect.name == "sqlite":
        before = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
        hasty, usual = f"PRAGMA busy_timeout={AT_ONCE}", f"PRAGMA busy_timeout={before}"
    connection.exec_driver_sql(hasty)
    connection.commit()
    try:
        yield
    finally:
        with suppress(SQLAlchemyError):
            connection.exec_driver_sql(usual)
            connection.commit()


def now() -> str:
    """This moment, as it is recorded: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
