"""A database that is open: transactions whose errors are said in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from medfact.errors import StoreError
from medfact.store.engine import default_url, open_engine, without_password
from medfact.store.migrations import migrate

ROOM = "Make room on its disk, then resume the run; what was answered so far is kept."
WHO = "Check the user and the password in its address."
WHERE = "Check that its server runs, and the host and the port in its address."
HINTS = {
    "is full": ROOM,
    "No space": ROOM,
    "is locked": "Another program holds it. Once that has let it go, resume the run; what was answered so far is kept.",
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


class Database:
    """The database behind one URL, at the newest schema. Several threads and processes may use it at once."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or default_url()
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
    def _snapshot(self) -> Iterator[sql.Connection]:
        """Reads that all see the database as it is at the first of them, whatever is written meanwhile."""
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
            hint = next((hint for word, hint in HINTS.items() if word in cause), OTHERWISE[self._engine.dialect.name])
            raise StoreError(f"The database {without_password(self.url)} cannot be used: {cause}.", hint) from error

    def _insert_new(self, table: sql.Table) -> Any:
        """An insertion that leaves rows as they are whose key is there already."""
        inserts: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
        return inserts[self._engine.dialect.name](table).on_conflict_do_nothing()


def _said(error: SQLAlchemyError) -> str:
    """What a database or its driver says of an error: the last of several tries to reach a server, and what the server said."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    tries = [line for line in lines if line.startswith("- ")]
    return (tries or lines)[-1 if tries else 0].rpartition("FATAL:")[2].strip().removesuffix(".")


def now() -> str:
    """This moment, as it is recorded: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
