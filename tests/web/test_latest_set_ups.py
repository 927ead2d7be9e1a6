"""What visitors have chosen last is told at once and written together."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from waiting import wait_until

from medfact.errors import StoreError
from medfact.store import Store
from medfact.store.contributions import SetUps
from medfact.web.latest_set_ups import LatestSetUps


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path / 'medfact.db'}")


def written(store: Store) -> dict[str, str]:
    with sqlite3.connect(str(store.database.file)) as database:
        rows = database.execute("SELECT owner, content FROM log WHERE kind = 'set-up'")
        return {owner: json.loads(content)["chosen"] for owner, content in rows}


def test_what_was_chosen_last_counts_and_is_written_without_being_asked(store: Store) -> None:
    kept = LatestSetUps(store)
    for pairs in range(5):
        kept.keep("ada", f'{{"pairs": {pairs}}}')
        assert kept.last("ada") == f'{{"pairs": {pairs}}}'
    kept.keep("bob", "{}")
    wait_until(lambda: written(store) == {"ada": '{"pairs": 4}', "bob": "{}"})
    assert kept.last("ada") == '{"pairs": 4}'
    assert kept.last("cyd") == ""


def test_a_server_that_ends_has_written_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.web.latest_set_ups._TOGETHER_SECONDS", 3_600)
    kept = LatestSetUps(store)
    kept.keep("ada", "1")
    assert written(store) == {}
    kept.close()
    assert written(store) == {"ada": "1"}


def test_what_cannot_be_written_now_is_told_and_written_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, real = LatestSetUps(store), SetUps.keep_all
    tried: list[int] = []

    def full(*_: object) -> None:
        tried.append(1)
        raise StoreError("The disk is full.", "", "")

    monkeypatch.setattr(SetUps, "keep_all", full)
    kept.keep("ada", "1")
    wait_until(lambda: bool(tried))
    assert kept.last("ada") == "1"
    assert written(store) == {}
    monkeypatch.setattr(SetUps, "keep_all", real)
    kept.keep("bob", "2")
    wait_until(lambda: written(store) == {"ada": "1", "bob": "2"})


def test_what_is_never_written_does_not_fill_the_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.web.latest_set_ups.MOST_SET_UPS", 2)
    monkeypatch.setattr("medfact.web.latest_set_ups._TOGETHER_SECONDS", 3_600)
    kept = LatestSetUps(store)
    for owner in ("ada", "bob", "cyd"):
        kept.keep(owner, owner)
    assert [kept.last(owner) for owner in ("ada", "bob", "cyd")] == ["", "bob", "cyd"]
    kept.close()
