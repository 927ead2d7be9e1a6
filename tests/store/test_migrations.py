"""The tables of a database: created, migrated, and left alone where another version made them."""

import gzip
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from databases import begin_transaction, describe_schema

import medfact
import medfact.store.database
from medfact.errors import StoreError
from medfact.store import Store, migrations
from medfact.store.engine import open_engine

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"

REFUSED = "was made by a development version before 1.0: choose another database, or move this one away."


class PowerCut(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[migrations.Migration]:
    """The migrations of this medfact, to which a test may add."""
    copied = [*migrations.MIGRATIONS]
    monkeypatch.setattr(migrations, "MIGRATIONS", copied)
    return copied


def add_mood(connection: sql.Connection) -> None:
    connection.execute(sql.text("ALTER TABLE runs ADD COLUMN mood TEXT"))
    connection.execute(sql.text("UPDATE runs SET mood = 'calm'"))


def columns_of(url: str, table: str) -> set[str]:
    return {name for name, *_ in describe_schema(url)[table]["columns"]}


# ------------------------------------------------------------------------- migrations


def test_a_migration_is_applied_once(either_url: str, steps: list[migrations.Migration]) -> None:
    Store(either_url)
    assert describe_schema(either_url)["version"] == [1]
    applied = []

    @migrations.migration
    def counted(connection: sql.Connection) -> None:
        add_mood(connection)
        applied.append(connection)

    assert steps == [counted]
    for _ in range(2):
        Store(either_url)
        assert (describe_schema(either_url)["version"], len(applied)) == ([1, 2], 1)
    assert "mood" in columns_of(either_url, "runs")


def test_a_new_database_needs_no_migration(either_url: str, steps: list[migrations.Migration]) -> None:
    def never(_: sql.Connection) -> None:
        raise AssertionError("its tables are the newest")

    steps.append(never)
    Store(either_url)
    assert describe_schema(either_url)["version"] == [2]


def test_migrations_are_applied_all_or_none(either_url: str, steps: list[migrations.Migration]) -> None:
    """A power cut in the second leaves the database as it was before the first."""
    Store(either_url)
    before = describe_schema(either_url)

    def cut(connection: sql.Connection) -> None:
        connection.execute(sql.text("CREATE TABLE moods (mood TEXT)"))
        raise PowerCut

    steps += [add_mood, cut]
    with pytest.raises(PowerCut):
        Store(either_url)
    assert describe_schema(either_url) == before
    steps[1] = lambda connection: connection.execute(sql.text("CREATE TABLE moods (mood TEXT)"))
    Store(either_url)
    assert describe_schema(either_url)["version"] == [1, 2, 3]


def test_two_that_open_it_at_once_apply_it_once(
    either_url: str, steps: list[migrations.Migration], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page and the command line do after an update."""
    Store(either_url)
    steps.append(add_mood)
    opened_twice_at_once(monkeypatch, either_url, "ALTER TABLE")
    assert describe_schema(either_url)["version"] == [1, 2]


# ------------------------------------------------------------------------- databases of other versions


def test_a_database_of_a_development_version_is_refused_and_not_changed(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    """Made by the commit before: at every door one sentence, and not a byte is written."""
    file = tmp_path / "medfact.db"
    file.write_bytes(gzip.decompress((DATA / "development.db.gz").read_bytes()))
    file.chmod(0o640)
    before, url = hashlib.sha256(file.read_bytes()).hexdigest(), f"sqlite:///{file}"
    for command in (
        ("runs",),
        ("run", "--model", "baseline:random", "--limit", 1),
        ("import", DATA / "development_run.jsonl.gz"),
    ):
        done = medfact(*command, "--db", url)
        assert (done.code, done.out, done.err) == (2, "", f"medfact: {url} {REFUSED}\n")
    home = os.environ | {"MEDFACT_HOME": str(tmp_path)}
    served = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=home, capture_output=True, text=True, timeout=120)
    assert served.returncode == 2, served.stderr
    assert served.stderr.count("\n") == 1
    assert REFUSED in served.stderr
    with pytest.raises(StoreError, match=REFUSED):
        sys.modules["medfact"].evaluate("baseline:random", limit=1, db=url)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("number", [1, 23])
def test_it_is_known_by_its_table_whatever_its_number(number: int, either_url: str) -> None:
    with begin_transaction(either_url) as connection:
        connection.execute(sql.text("CREATE TABLE schema_version (version INTEGER)"))
        connection.execute(sql.text(f"INSERT INTO schema_version VALUES ({number})"))
    with pytest.raises(StoreError, match=REFUSED):
        Store(either_url)
    with begin_transaction(either_url) as connection:
        assert sql.inspect(connection).get_table_names() == ["schema_version"]


# ------------------------------------------------------------------------- broken off, or twice at once


def opened_with(monkeypatch: pytest.MonkeyPatch, url: str, before: Callable[[int, str], None]) -> Store:
    """Opens a store, where `before` is told the number (from 0) and the text of every command that the database gets."""
    counted = iter(range(10_000))

    def listened(at: str) -> sql.Engine:
        engine = open_engine(at)

        @sql.event.listens_for(engine, "before_cursor_execute")
        def _(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            before(next(counted), statement)

        return engine

    with monkeypatch.context() as patched:
        patched.setattr(medfact.store.database, "open_engine", listened)
        return Store(url)


def test_a_new_database_whose_creation_is_broken_off_can_be_created(
    fresh: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any command in SQLite, before some in PostgreSQL, which takes longer."""
    whole, seen = fresh(), list[str]()
    opened_with(monkeypatch, whole, lambda _, statement: seen.append(statement))

    def cut(number: int, _: str) -> None:
        if number == place:
            raise PowerCut

    for place in range(len(seen)) if whole.startswith("sqlite") else range(2, len(seen), 19):
        url = fresh()
        with pytest.raises(PowerCut):
            opened_with(monkeypatch, url, cut)
        assert Store(url).runs() == [], seen[place]
        assert describe_schema(url) == describe_schema(whole), seen[place]


def opened_twice_at_once(monkeypatch: pytest.MonkeyPatch, url: str, first_word: str) -> None:
    """Opens a database, and from another thread once more just before the first command that begins so.

    The second waits for the first, or the first for the second; both must succeed.
    """
    wrong: list[BaseException] = []

    def second() -> None:
        try:
            Store(url)
        except BaseException as error:
            wrong.append(error)

    other = threading.Thread(target=second)

    def before(_: int, statement: str) -> None:
        if statement.lstrip().startswith(first_word) and other.ident is None:
            other.start()
            other.join(timeout=0.5)

    opened_with(monkeypatch, url, before)
    assert other.ident is not None
    other.join(timeout=60)
    assert wrong == []


def test_two_that_create_one_at_once_both_can(either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_twice_at_once(monkeypatch, either_url, "CREATE TABLE")
    assert describe_schema(either_url)["version"] == [1]
    assert Store(either_url).runs() == []


def test_two_processes_that_create_one_at_once_both_can(either_url: str) -> None:
    script = f"from medfact.store import Store; print(Store({either_url!r}).runs())"
    made = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) for _ in range(2)]
    assert [(process.communicate(timeout=60)[0], process.returncode) for process in made] == [(b"[]\n", 0)] * 2
    assert describe_schema(either_url)["version"] == [1]
