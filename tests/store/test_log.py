"""The log: kinds of events, what is read again, and what is erased with a run or for a person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from recorded import complete_run

from medfact.errors import StoreError
from medfact.spec import RunSpec
from medfact.store import Store, schema
from medfact.store.log import Kind, Log


@dataclass(frozen=True)
class Bookmark:
    """A fact that a person wants to find again: a kind of event that no table and no migration knows."""

    fact_id: str
    note: str
    pages: tuple[int, ...] = ()
    reader: str = ""
    number: int = 0
    owner: str = ""
    marked_at: str = ""


BOOKMARKS = Kind("bookmark", Bookmark, subject="fact_id", person="reader", at="marked_at")


def log_of(store: Store) -> Log:
    return Log(store.database, store.owner)


def test_a_kind_of_event_is_one_class(store: Store) -> None:
    log = log_of(store.of("ada"))
    log.add(BOOKMARKS, Bookmark("f1", "odd", (1, 2), "Ada"), Bookmark("f2", "true?"))
    log_of(store.of("bob")).add(BOOKMARKS, Bookmark("f1", "mine"))
    first, second, other = log.of(BOOKMARKS)
    assert (first.fact_id, first.note, first.pages, first.reader, first.owner) == ("f1", "odd", (1, 2), "Ada", "ada")
    assert first.number < second.number < other.number
    assert first.marked_at.endswith("+00:00")
    row = schema.log.c
    assert [one.note for one in log.of(BOOKMARKS, row.subject == "f1")] == ["odd", "mine"]
    assert [one.note for one in log.of(BOOKMARKS, row.person == "Ada")] == ["odd"]
    log.add(BOOKMARKS, Bookmark("f1", "clear"), replacing=(row.subject == "f1", row.owner == "ada"))
    assert [(one.owner, one.note) for one in log.of(BOOKMARKS)] == [("ada", "true?"), ("bob", "mine"), ("ada", "clear")]
    assert log.erase(BOOKMARKS, row.owner == "ada") == 2
    assert [one.owner for one in log.of(BOOKMARKS)] == ["bob"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(note=some.text(), pages=some.lists(some.integers(-(2**40), 2**40)))
def test_what_is_said_is_read_as_it_can_be_stored(store: Store, note: str, pages: list[int]) -> None:
    log = log_of(store)
    log.add(BOOKMARKS, Bookmark("f1", note, tuple(pages)), replacing=(sql.true(),))
    (read,) = log.of(BOOKMARKS)
    assert (read.note, read.pages) == (schema.storable(note), tuple(pages))


def test_events_of_a_run_are_erased_with_it(store: Store) -> None:
    runs = [complete_run(RunSpec(model="baseline:random", limit=2, shots=0, seed=seed), store) for seed in (1, 2)]
    log = log_of(store)
    for run in runs:
        log.add(BOOKMARKS, Bookmark("f1", run), run=run)
    log.add(BOOKMARKS, Bookmark("f1", "of no run"))
    store.disk.erase(runs[:1])
    assert [one.note for one in log.of(BOOKMARKS)] == [runs[1], "of no run"]


def test_a_database_from_before_the_log_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'before.db'}"
    engine = sql.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sql.text("CREATE TABLE migrations (number INTEGER PRIMARY KEY)"))
        connection.execute(sql.text("CREATE TABLE rejections (owner TEXT)"))
    engine.dispose()
    with pytest.raises(StoreError, match="made by a development version before"):
        Store(url)
