"""A public server keeps its disk under its quota: uploads go first, then the runs that visitors abandoned longest ago."""

from __future__ import annotations

import io
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import RUNNING, Store, home, is_lasting
from medfact.web import housekeeping
from medfact.web.housekeeping import Housekeeping
from medfact.web.uploads import Uploads

ADA, BEN = "a" * 32, "b" * 32


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads")


def with_limits(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    file = folder / f"limits-{time.monotonic_ns()}.yaml"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    monkeypatch.setenv("MEDFACT_LIMITS", str(file))


def asked(store: Store, owner: str, pairs: int = 20) -> str:
    run = start(RunSpec(model="baseline:random", limit=pairs, shots=0), store.of(owner))
    list(answer(run, store))
    return run


def left(store: Store) -> list[str]:
    return [run.run for run in store.runs()]


def backdated(store: Store, run: str, at: str) -> None:
    store._update(run, finished_at=at)


def uploaded(uploads: Uploads, owner: str, name: str, size: int) -> Path:
    return uploads.put(owner, "facts.csv", io.BytesIO(name.encode() * size))


def test_nothing_goes_while_there_is_room(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_limits(monkeypatch, tmp_path, "in_all: {disk_megabytes: 100, run_days: 30}")
    run, file = asked(store, ADA), uploaded(uploads, ADA, "a", 1_000)
    assert Housekeeping(store, uploads).clean() == []
    assert left(store) == [run]
    assert file.exists()


def test_uploads_go_first_and_then_the_oldest_abandoned_runs(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not the host's own, nor one that was published, nor one that is going on, nor one that ended just now."""
    owners = ["local", "demonstration", BEN, ADA, ADA, ADA, BEN]
    local, demonstration, published, old, older, going, young = (asked(store, owner) for owner in owners)
    for run, at in (
        (local, "2020"),
        (demonstration, "2020"),
        (published, "2020"),
        (older, "2021"),
        (old, "2022"),
        (going, "2020"),
    ):
        backdated(store, run, f"{at}-01-01T00:00:00.000+00:00")
    store.set_state(going, RUNNING)
    file = uploaded(uploads, BEN, "a", 300_000)
    used = (store.used_bytes() or 0) / 1e6
    with_limits(monkeypatch, tmp_path, f"in_all: {{disk_megabytes: {used + 0.1}}}")
    keeper = Housekeeping(store, uploads, kept=lambda: [published])
    assert keeper.clean() == []
    assert not file.exists(), "the upload alone was too much"
    monkeypatch.setattr(housekeeping, "ERASED_AT_ONCE", 1)
    with_limits(monkeypatch, tmp_path, f"in_all: {{disk_megabytes: {used - 0.001}}}")
    assert keeper.clean() == [older]
    with_limits(monkeypatch, tmp_path, "in_all: {disk_megabytes: 0}")
    assert keeper.clean() == [old]
    assert set(left(store)) == {local, demonstration, published, going, young}
    assert all(item.answer is not None for item in store.asked(young)), "what it shares with erased runs is still there"


def test_room_that_erased_runs_leave_is_used_again(store: Store) -> None:
    runs = [asked(store, ADA, 60) for _ in range(2)]
    before = store.used_bytes() or 0
    store.erase(runs)
    assert (store.used_bytes() or 0) < before
    assert store.spare_bytes() > 0
    pages = store._pragma("page_count")
    asked(store, ADA, 30)
    assert store._pragma("page_count") == pages


def test_runs_are_kept_so_many_days(store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_limits(monkeypatch, tmp_path, "in_all: {run_days: 30}")
    old, new = asked(store, ADA), asked(store, ADA)
    backdated(store, old, "2020-01-01T00:00:00.000+00:00")
    assert Housekeeping(store, uploads).clean() == [old]
    assert left(store) == [new]


def test_of_one_visitor_so_many_statements_are_kept(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """20 pairs are 320 statements; the latest run stays however large it is."""
    with_limits(monkeypatch, tmp_path, "visitor: {statements_kept: 700}")
    runs = [asked(store, ADA) for _ in range(4)]
    other = asked(store, BEN)
    assert sorted(Housekeeping(store, uploads).clean()) == sorted(runs[:2])
    with_limits(monkeypatch, tmp_path, "visitor: {statements_kept: 10}")
    assert Housekeeping(store, uploads).clean() == [runs[2]]
    assert set(left(store)) == {runs[3], other}


def test_a_disk_that_is_nearly_full_counts_whatever_the_quota(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_limits(monkeypatch, tmp_path, "in_all: {free_megabytes: 500}")
    run = asked(store, ADA)
    backdated(store, run, "2020-01-01T00:00:00.000+00:00")

    class Usage:
        free = 600_000_000

    monkeypatch.setattr(housekeeping.shutil, "disk_usage", lambda folder: Usage)
    assert Housekeeping(store, uploads).clean() == []
    Usage.free = 400_000_000
    assert Housekeeping(store, uploads).clean() == [run]


def test_uploads_are_kept_so_many_hours(uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file, begun = uploaded(uploads, ADA, "a", 10), uploads.folder / "tmpbegun"
    begun.write_bytes(b"half")
    os.utime(begun, (0, 0))
    uploads.clean()
    assert (file.exists(), begun.exists()) == (True, False)
    with_limits(monkeypatch, tmp_path, "in_all: {upload_hours: 0}")
    uploads.clean()
    assert not file.parent.exists()


def test_models_from_the_hub_give_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Revision:
        def __init__(self, name: str) -> None:
            self.commit_hash = name

    class Repository:
        def __init__(self, name: str, size: int, used: float) -> None:
            self.size_on_disk, self.last_accessed, self.revisions = size, used, [Revision(name)]

    class Cache:
        size_on_disk = 30
        repos = (Repository("new", 10, 3), Repository("old", 10, 1), Repository("older", 10, 0))
        gone: tuple[Any, ...] = ()

        def delete_revisions(self, *names: str) -> Cache:
            Cache.gone = names
            return self

        def execute(self) -> None:
            Cache.gone = (*Cache.gone, "done")

    monkeypatch.setattr("huggingface_hub.scan_cache_dir", Cache)
    housekeeping.tidy_hub(30)
    assert Cache.gone == ()
    housekeeping.tidy_hub(15)
    assert Cache.gone == ("older", "old", "done")


def test_a_space_uses_its_persistent_storage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("medfact.store.engine.SPACE_STORAGE", tmp_path / "data")
    assert is_lasting(), "one's own machine"
    monkeypatch.setenv("SPACE_ID", "somebody/medfact")
    assert is_lasting(), "its host has named a folder"
    monkeypatch.delenv("MEDFACT_HOME")
    assert not is_lasting()
    assert tmp_path not in home().parents
    (tmp_path / "data").mkdir()
    assert is_lasting()
    assert home() == tmp_path / "data" / "medfact"


@pytest.mark.parametrize("error", [RuntimeError("dictionary changed size"), OSError("disk"), KeyError("x")])
def test_nothing_ends_the_housekeeping(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(housekeeping, "EVERY_SECONDS", 0.01)
    rounds, again = [], threading.Event()

    def clean() -> list[str]:
        rounds.append(None)
        if len(rounds) < 3:
            raise error
        again.set()
        return []

    keeper = Housekeeping(store, uploads)
    monkeypatch.setattr(keeper, "clean", clean)
    keeper.begin()
    try:
        assert again.wait(30)
    finally:
        keeper.end()
