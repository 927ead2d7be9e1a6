"""Where the database is, and how it is opened."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from medfact.errors import Mistake, StoreError

DRIVER = "postgresql+psycopg"
"""How PostgreSQL is spoken to where an address does not say it."""

PATIENCE = 10
"""Seconds that a server has to answer."""
WAITS = 20.0
"""Seconds that a write waits for another program's, unless the address says otherwise: `sqlite:///file.db?timeout=60`."""


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
    file = file_of(url or default_url())
    return file is None or file.exists()


def file_of(url: str) -> Path | None:
    """The file of an SQLite database, None for any other."""
    with suppress(ArgumentError):
        parsed = _parsed(url)
        named = parsed.database if parsed.get_backend_name() == "sqlite" else None
        if named and named != ":memory:" and not named.startswith("file:"):
            return Path(named).expanduser()
    return None


def _parsed(url: str) -> sql.URL:
    """The parts of an address. Raises ArgumentError where it is none."""
    try:
        parsed = sql.make_url(url)
    except ValueError:  # its port is no number
        raise ArgumentError(url) from None
    if "@" in (parsed.host or ""):  # of a password, which must not be told as a host
        raise ArgumentError(url)
    if parsed.drivername in {"postgres", "postgresql"}:
        parsed = parsed.set(drivername=DRIVER)
    if parsed.get_backend_name() == "postgresql" and "connect_timeout" not in parsed.query:
        parsed = parsed.update_query_dict({"connect_timeout": str(PATIENCE)})
    return parsed


def open_engine(url: str) -> sql.Engine:
    try:
        parsed = _parsed(url)
        if (file := file_of(url)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            parsed = parsed.set(database=str(file))
        waits = float(str(parsed.query.get("timeout", WAITS)))
        # A server may have been started again since a connection was made.
        engine = sql.create_engine(parsed, pool_pre_ping=parsed.get_backend_name() == "postgresql")
        if engine.dialect.name not in {"sqlite", "postgresql"}:
            raise ArgumentError(engine.dialect.name)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        raise Mistake(
            f"{without_password(url)!r} is not a database address.",
            "Write sqlite:///file.db or postgresql+psycopg://user@host/name (an @ in a password as %40).",
        ) from None
    except OSError as error:
        raise StoreError(f"{url} cannot be used: {error.strerror}.", "Choose another place with --db.") from None
    if engine.dialect.name == "sqlite":
        sql.event.listen(engine, "connect", partial(_sqlite_settings, waits))
    return engine


def _sqlite_settings(waits: float, connection: Any, _: object) -> None:
    """Readers never wait for the writer, a writer waits for another a while, and what is committed survives a power cut."""
    for pragma in (f"busy_timeout={1000 * waits:.0f}", "journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def without_password(url: str) -> str:
    """An address as it may be told."""
    try:
        _parsed(url)
    except ArgumentError:
        scheme, separator, _ = url.partition("://")
        return f"{scheme}://…" if separator else url
    parsed = sql.make_url(url)
    shown = {name: value for name, value in parsed.query.items() if "pass" not in name}
    return parsed.set(query=shown).render_as_string(hide_password=True)
