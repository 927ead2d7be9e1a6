"""A PostgreSQL server of the tests' own: in a temporary folder, on a socket in it, and gone with them."""

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
REQUIRED_VARIABLE = "MEDFACT_TESTS_NEED_POSTGRESQL"
"""Set in the environment where tests of PostgreSQL must not be left out."""

NOT_INSTALLED = "PostgreSQL is not installed here: install it (on Debian: apt-get install postgresql) to test the store on it."
FAST_SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200")
"""Nothing that these tests write has to survive a power cut."""


@dataclass
class PostgresServer:
    """A running server. A schema in its one database is made sooner than a database, and is as empty."""

    folder: Path
    start: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, user: str = USER, database: str = "postgres") -> str:
        return f"postgresql+psycopg://{user}@/{database}?host={self.folder}"

    def create_schema(self) -> str:
        """The URL of what is as good as a new database, without tables."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}&options=-csearch_path%3D{name}"

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends the server with all its connections, as a restart does; what was written is kept."""
        self.process.send_signal(how)
        self.process.wait(timeout=30)

    def start_again(self) -> None:
        """Starts it again, and waits until it answers."""
        self.process = self.start()
        _wait_for(self)

    def execute(self, command: str) -> None:
        """Runs a command as the server's own user."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user=USER, dbname="postgres", autocommit=True) as connection:
            connection.execute(command)


@contextmanager
def close_connections() -> Iterator[None]:
    """Closes what connections to databases were made meanwhile: stores are dropped, and never closed."""
    connections: list[Any] = []

    def keep(connection: Any, _: object) -> None:
        connections.append(connection)

    sql.event.listen(sql.Pool, "connect", keep)
    try:
        yield
    finally:
        sql.event.remove(sql.Pool, "connect", keep)
        for connection in connections:
            connection.close()


def find_programs() -> Path | None:
    """The folder of the server's programs: on the path, or where Debian keeps the newest of them."""
    if program := shutil.which("initdb"):
        return Path(program).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return folders[-1] if folders else None


@contextmanager
def run_server() -> Iterator[PostgresServer]:
    """A server for as long as this lasts. Without an installation, tests are skipped, or fail if they are needed."""
    folder = find_programs()
    if folder is None:
        (pytest.fail if os.environ.get(REQUIRED_VARIABLE) else pytest.skip)(NOT_INSTALLED)
    place = Path(tempfile.mkdtemp(prefix="medfact-postgresql-"))
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:  # as which it refuses to run; Debian's package makes a user for it
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(place, "postgres", "postgres")
    data, log = place / "data", place / "log"
    server = None
    try:
        making = [folder / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(making, check=True, capture_output=True, cwd=place, **as_user)
        (data / "pg_hba.conf").write_text("local all locked scram-sha-256\nlocal all all trust\n")
        command = [
            folder / "postgres",
            "-D",
            data,
            "-k",
            place,
            *(word for setting in FAST_SETTINGS for word in ("-c", setting)),
        ]

        def start() -> subprocess.Popen[bytes]:
            with log.open("ab") as output:
                return subprocess.Popen(command, stdout=output, stderr=output, cwd=place, **as_user)

        server = PostgresServer(place, start, start())
        _wait_for(server)
        yield server
    finally:
        if server is not None:
            server.stop(signal.SIGQUIT)  # at once: nothing of it is kept
        shutil.rmtree(place, ignore_errors=True)


def _wait_for(server: PostgresServer) -> None:
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
