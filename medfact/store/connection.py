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

HINTS = {
    "full": "Make room on its disk, then resume the run; what was answered so far is kept.",
    "locked": "Another program holds it. Once that has let it go, resume the run; what was answered so far is kept.",
}
"""What to do, by a word of what the database says."""

OTHERWISE = "Check that its folder can be written and has room; what was answered so far is kept."


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
    def _told(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            hint = next((hint for word, hint in HINTS.items() if word in cause), OTHERWISE)
            raise StoreError(f"The database {without_password(self.url)} cannot be used: {cause}.", hint) from error

    def _insert_new(self, table: sql.Table) -> Any:
        """An insertion that leaves rows as they are whose key is there already."""
        inserts: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
        return inserts[self._engine.dialect.name](table).on_conflict_do_nothing()


def now() -> str:
    """This moment, as it is recorded: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
