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
"""The driver for PostgreSQL if an address names none."""

CONNECT_SECONDS = 10
"""How long a server may take to answer."""

WRITE_WAIT_SECONDS = 20.0
"""How long a write waits for another program's. An address can set it: `sqlite:///file.db?timeout=60`."""

PATIENCE_SECONDS = 60.0
"""How long a run tries again what a database refuses that is away: at most three times as long as a write waits."""


def home() -> Path:
    """The folder of all data: `MEDFACT_HOME`, else the platform's folder for user data. Raises Mistake where there is none."""
    if folder := os.environ.get("MEDFACT_HOME"):
        return _expanded(folder)
    from platformdirs import user_data_path

    try:
        return user_data_path("medfact", appauthor=False)
    except RuntimeError:
        raise _without_home("its data") from None


def _expanded(path: str) -> Path:
    """A path whose ~ stands for the home folder of a user. Raises Mistake where there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise _without_home(path) from None


def _without_home(wanted: str) -> Mistake:
    return Mistake(
        f"This system knows no home folder for {wanted}.",
        "Set MEDFACT_HOME to a whole path of a folder, such as /data.",
    )


def bucket() -> Path | None:
    """The folder for copies of the database that outlive this machine's disk: `MEDFACT_BUCKET`; None where none is named."""
    folder = os.environ.get("MEDFACT_BUCKET", "").strip()
    return _expanded(folder) if folder else None


def is_lasting() -> bool:
    """Whether what is kept outlives the server: on a Space, whose disk is lost when it stops, only what is kept elsewhere."""
    elsewhere = ("MEDFACT_DATABASE_URL", "MEDFACT_BUCKET")
    return not os.environ.get("SPACE_ID") or any(os.environ.get(name) for name in elsewhere)


def default_url() -> str:
    """`MEDFACT_DATABASE_URL`, else a file under `home`."""
    return os.environ.get("MEDFACT_DATABASE_URL") or f"sqlite:///{home() / 'medfact.db'}"


def exists(url: str | None = None) -> bool:
    """Whether the database exists; one on a server is assumed to exist."""
    file = file_of(url or default_url())
    return file is None or file.exists()


def file_of(url: str) -> Path | None:
    """The file of an SQLite database, None for any other."""
    with suppress(ArgumentError):
        parsed = _parsed(url)
        name = parsed.database if parsed.get_backend_name() == "sqlite" else None
        if name and name != ":memory:" and not name.startswith("file:"):
            return _expanded(name)
    return None


def _parsed(url: str) -> sql.URL:
    """The parts of an address. Raises ArgumentError if it is not one."""
    try:
        parsed = sql.make_url(url)
    except ValueError:  # its port is not a number
        raise ArgumentError(url) from None
    if "@" in (parsed.host or ""):  # part of a password, which must not be shown as a host
        raise ArgumentError(url)
    if parsed.drivername in {"postgres", "postgresql"}:
        parsed = parsed.set(drivername=DRIVER)
    if parsed.get_backend_name() == "postgresql" and "connect_timeout" not in parsed.query:
        parsed = parsed.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
    return parsed


def patience_with(engine: sql.Engine) -> float:
    """Seconds of patience with a database."""
    wait_seconds = float(str(engine.url.query.get("timeout", WRITE_WAIT_SECONDS)))
    return PATIENCE_SECONDS if engine.dialect.name == "postgresql" else min(PATIENCE_SECONDS, 3 * wait_seconds)


def open_engine(url: str) -> sql.Engine:
    """Prepares connections to a database. Raises Mistake if the address is not one, StoreError if its folder cannot be made."""
    try:
        parsed = _parsed(url)
        if (file := file_of(url)) is not None:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # only its owner may read it, and SQLite's files beside it
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            parsed = parsed.set(database=str(file))
        wait_seconds = float(str(parsed.query.get("timeout", WRITE_WAIT_SECONDS)))
        # A server may have restarted since a connection was made.
        engine = sql.create_engine(parsed, pool_pre_ping=parsed.get_backend_name() == "postgresql")
        if engine.dialect.name not in {"sqlite", "postgresql"}:
            raise ArgumentError(engine.dialect.name)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        raise Mistake(
            f"{without_password(url)!r} is not a database address.",
            "Write sqlite:///file.db or postgresql+psycopg://user@host/name (an @ in a password as %40).",
        ) from None
    except OSError as error:
        raise StoreError(f"{url} cannot be used: {error.strerror}.", "Choose another folder with --db.") from None
    if engine.dialect.name == "sqlite":
        sql.event.listen(engine, "connect", partial(_set_up_sqlite, wait_seconds))
    return engine


def _set_up_sqlite(wait_seconds: float, connection: Any, _: object) -> None:
    """Readers never wait for writers, writers wait for each other, and commits survive a power cut."""
    for pragma in (f"busy_timeout={1000 * wait_seconds:.0f}", "journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def without_password(url: str) -> str:
    """An address without its password."""
    try:
        _parsed(url)
    except ArgumentError:
        scheme, separator, _ = url.partition("://")
        return f"{scheme}://…" if separator else url
    parsed = sql.make_url(url)
    shown = {name: value for name, value in parsed.query.items() if "pass" not in name}
    return parsed.set(query=shown).render_as_string(hide_password=True)
