"""What every test finds: a home of its own, a small facts file, a store on disk, and the command line in this process."""

import argparse
import json
import logging
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # before the hub’s library is imported: it would tell the hub that it is used

import postgres
import public_names
import pytest
from browser import address, app_home, browser, page
from certificates import share_certificates
from hypothesis import settings
from small_facts import make_fact_rows, write_csv

from medfact import cli, limits
from medfact.cli import commands
from medfact.store import Store

settings.register_profile("untimed", deadline=None)  # a slow machine is not a wrong answer
settings.load_profile("untimed")

public_names.watch_network()
share_certificates()

__all__ = ["address", "app_home", "browser", "page"]

SLOW = frozenset((Path(__file__).with_name("slow.txt")).read_text(encoding="utf-8").split())
"""Test files, and tests of files (`FILE::NAME`), that take long."""

ON_POSTGRESQL = frozenset((Path(__file__).with_name("postgresql.txt")).read_text(encoding="utf-8").split())
"""Tests that run with a PostgreSQL server as well as with SQLite."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        file, _, name = item.nodeid.partition("::")
        if file in SLOW or f"{file}::{name.partition('[')[0]}" in SLOW:
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing that a test does reaches the person's own database."""
    folder = tmp_path / "home"
    monkeypatch.setenv("MEDFACT_HOME", str(folder))
    monkeypatch.delenv("MEDFACT_DATABASE_URL", raising=False)
    return folder


@pytest.fixture(autouse=True)
def unconfigured_log() -> Iterator[None]:
    """A command that a test runs in this process configures the log of no other test."""
    yield
    logger = logging.getLogger("medfact")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


@pytest.fixture(autouse=True)
def not_restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that serves visitors in this process restricts no other test."""
    monkeypatch.setattr(limits, "_restricted_by_default", False)


@pytest.fixture(autouse=True)
def nothing_public() -> Iterator[None]:
    """Nothing that a test does asks for a public name or address, not even in vain: it may take half a minute to fail."""
    yield
    found = public_names.public_contacts.copy()
    public_names.public_contacts.clear()
    assert found == []


@pytest.fixture
def facts_file(tmp_path: Path) -> Path:
    """14 diseases; each has two symptoms and one drug: 42 positive facts of two relations."""
    return write_csv(tmp_path / "facts.csv", make_fact_rows())


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables and no rows, in one file: a copy takes less time than to create them."""
    file = tmp_path_factory.mktemp("empty") / "empty.db"
    Store(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file


@pytest.fixture
def store(url: str, empty_database: Path) -> Store:
    """A store on a new database of the test's own."""
    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).exists():
        shutil.copy(empty_database, file)
    return Store(url)


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.PostgresServer]:
    """PostgreSQL, started when the first test wants it."""
    with postgres.run_server() as server:
        yield server


@pytest.fixture
def connected() -> Iterator[None]:
    """Lets a test open what databases it likes on a server, and closes them all."""
    with postgres.close_connections():
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of what must be the same on every database use SQLite, and a few of them (`postgresql.txt`) PostgreSQL, too."""
    if "fresh" in metafunc.fixturenames:
        name = metafunc.definition.nodeid
        metafunc.parametrize("fresh", ["sqlite", *["postgresql"] * (name in ON_POSTGRESQL)], indirect=True)


@pytest.fixture
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Gives the URL of a new, empty database at each call."""
    if request.param == "postgresql":
        request.getfixturevalue("connected")
        return request.getfixturevalue("server").create_schema  # type: ignore[no-any-return]
    numbers = count()
    return lambda: f"sqlite:///{tmp_path / f'{next(numbers)}.db'}"


@pytest.fixture
def either_url(fresh: Callable[[], str]) -> str:
    """A new database."""
    return fresh()


@dataclass(frozen=True)
class Outcome:
    """What one command gave: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON lines that it printed."""
        return [json.loads(line) for line in self.out.splitlines()]


@cache
def parser_of(program: str, declared: tuple[commands.Command, ...]) -> argparse.ArgumentParser:
    """The parser of a program's commands, which is made of nothing but these: it takes longer to make than many a command."""
    return commands.parser()


@pytest.fixture
def medfact(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs `python -m medfact ARGUMENTS` in this process."""
    monkeypatch.setattr(cli, "parser", lambda: parser_of(sys.argv[0], commands.COMMANDS))

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call


@pytest.fixture(autouse=True)
def no_kept_figures() -> None:
    """Figures are computed anew in each test: some set other constants."""
    if (report := sys.modules.get("medfact.results.report")) is not None:
        report._figures.cache_clear()
