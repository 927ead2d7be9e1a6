"""A PostgreSQL server for the tests, in a temporary folder and on a socket in it; removed at the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from waiting import HANG_SECONDS

USER = "medfact"
"""Name of the database superuser."""

REQUIRED_VARIABLE = "MEDFACT_TESTS_NEED_POSTGRESQL"
"""With this variable set, tests fail without PostgreSQL; otherwise they are skipped."""

NOT_INSTALLED = "PostgreSQL is not installed here: install it (on Debian: apt-get install postgresql) to test the store on it."
FAST_SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200")
"""Settings that give up durability, which these tests do not need."""


@dataclass
class PostgresServer:
    """A running server. Each test gets a schema of one database, which is faster to create than a database."""

    folder: Path  # of the socket, the data and the log
    start: Callable[[], subprocess.Popen[bytes]]  # starts a server process on the data
    process: subprocess.Popen[bytes]  # the running one
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, user: str = USER, database: str = "postgres") -> str:
        """Returns the URL of a database of this server, for SQLAlchemy."""
        return f"postgresql+psycopg://{user}@/{database}?host={self.folder}"

    def create_schema(self) -> str:
        """Creates an empty schema with a new name, and returns the URL of a database whose tables are in it."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}&options=-csearch_path%3D{name}"

    def stop(self, stop_signal: signal.Signals = signal.SIGINT) -> None:
        """Stops the server, which breaks all its connections; the data stay. stop_signal: such as SIGQUIT, to stop at once."""
        self.process.send_signal(stop_signal)
        self.process.wait(timeout=30)

    def start_again(self) -> None:
        """Starts the stopped server, and waits until it answers."""
        self.process = self.start()
        _wait_for(self)

    def execute(self, command: str) -> None:
        """Executes an SQL command as the superuser."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True) as connection:
            connection.execute(command)


@contextmanager
def close_connections() -> Iterator[None]:
    """Closes all database connections that SQLAlchemy opens in the context, when it ends; stores never close theirs."""
    connections: list[Any] = []

    def add(connection: Any, _: object) -> None:
        connections.append(connection)

    sql.event.listen(sql.Pool, "connect", add)
    try:
        yield
    finally:
        sql.event.remove(sql.Pool, "connect", add)
        for connection in connections:
            connection.close()


def find_programs() -> Path | None:
    """Returns the folder of PostgreSQL's programs, on the PATH or in Debian's folders; None if it is not installed."""
    if program := shutil.which("initdb"):
        return Path(program).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return folders[-1] if folders else None


@contextmanager
def run_server() -> Iterator[PostgresServer]:
    """Runs a server on an empty database while the context is active, and yields it.

    Without PostgreSQL, the test is skipped, or fails if REQUIRED_VARIABLE is set.
    """
    folder = find_programs()
    if folder is None:
        (pytest.fail if os.environ.get(REQUIRED_VARIABLE) else pytest.skip)(NOT_INSTALLED)
    server_folder = Path(tempfile.mkdtemp(prefix="medfact-postgresql-"))
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:  # the server refuses to run as root; Debian's package creates a user
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(server_folder, "postgres", "postgres")
    data, log = server_folder / "data", server_folder / "log"
    server = None
    try:
        initialize = [folder / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(initialize, check=True, capture_output=True, cwd=server_folder, **as_user)
        (data / "pg_hba.conf").write_text("local all locked scram-sha-256\nlocal all all trust\n")
        command = [
            folder / "postgres",
            "-D",
            data,
            "-k",
            server_folder,
            *(word for setting in FAST_SETTINGS for word in ("-c", setting)),
        ]

        def start() -> subprocess.Popen[bytes]:
            with log.open("ab") as output:
                return subprocess.Popen(command, stdout=output, stderr=output, cwd=server_folder, **as_user)

        server = PostgresServer(server_folder, start, start())
        _wait_for(server)
        yield server
    finally:
        if server is not None:
            server.stop(signal.SIGQUIT)  # at once: its data are deleted
        shutil.rmtree(server_folder, ignore_errors=True)


def _wait_for(server: PostgresServer) -> None:
    """Waits until a server accepts connections; fails the test if it does not."""
    import psycopg

    for _ in range(10 * HANG_SECONDS):
        try:
            psycopg.connect(host=str(server.folder), user=USER, dbname="postgres").close()
            return
        except psycopg.OperationalError:
            if server.process.poll() is not None:
                break
            time.sleep(0.1)
    pytest.fail(f"PostgreSQL did not start: {(server.folder / 'log').read_text(errors='replace')[-2000:]}")
