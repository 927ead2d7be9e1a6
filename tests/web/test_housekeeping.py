"""A public server keeps its disk under its quota: uploads go first, then the runs that visitors abandoned longest ago."""

from __future__ import annotations

import gzip
import io
import os
import re
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from medfact.exchange.transfer import export_run, import_run
from medfact.reviews.verdicts import TRUE
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import RUNNING, Ended, Store, Verdict, home, is_lasting, schema
from medfact.store.entities import IMPORTED
from medfact.store.recording import add_event
from medfact.web import housekeeping
from medfact.web.housekeeping import Housekeeping, holdings, largest_first
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
    used = (store.disk.used_bytes() or 0) / 1e6
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
    assert all(item.answer is not None for item in store.answers.asked(young)), "what it shares with erased runs is still there"


def test_room_that_erased_runs_leave_is_used_again(store: Store) -> None:
    runs = [asked(store, ADA, 60) for _ in range(2)]
    before = store.disk.used_bytes() or 0
    store.disk.erase(runs)
    assert (store.disk.used_bytes() or 0) < before
    assert store.disk.spare_bytes() > 0
    pages = store.disk._pragma("page_count")
    asked(store, ADA, 30)
    assert store.disk._pragma("page_count") == pages


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


def test_what_a_space_keeps_lasts_where_its_host_has_named_a_bucket_or_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_lasting(), "one's own machine"
    monkeypatch.setenv("SPACE_ID", "somebody/medfact")
    assert not is_lasting(), "its disk is lost, whatever folder of it is named"
    for name in ("MEDFACT_BUCKET", "MEDFACT_DATABASE_URL"):
        with monkeypatch.context() as given:
            given.setenv(name, "/somewhere")
            assert is_lasting()


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


def brought(store: Store, owner: str, at: str) -> str:
    """A run from a file of another machine whose times are all these; the file says that it arrived there, too."""
    elsewhere = Store(f"sqlite:///{home() / f'{owner}-{at}.db'}", "grace")
    made, packed = asked(elsewhere, "grace"), io.BytesIO()
    with elsewhere.database.writing() as connection:
        add_event(connection, made, IMPORTED, "from a file")
    export_run(elsewhere, made, packed)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", at, gzip.decompress(packed.getvalue()).decode())
    return import_run(store.of(owner), io.BytesIO(gzip.compress(text.encode())), "run.jsonl.gz")


@pytest.mark.parametrize(
    "at", ["9999-12-31T23:59:59.000+00:00", "2026-01-01T00:00:00.000+00:00", "0001-01-01T00:00:00.000+00:00"]
)
def test_the_age_of_a_run_from_a_file_counts_from_its_arrival(
    at: str, store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own times keep it no longer, and no shorter."""
    with_limits(monkeypatch, tmp_path, "in_all: {run_days: 30}")
    run, keeper = brought(store, ADA, at), Housekeeping(store, uploads)
    assert keeper.clean() == []
    for days, gone in ((29, []), (31, [run])):
        arrived = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
        with store.database.writing() as connection:
            event = schema.events
            last = sql.select(sql.func.max(event.c.number)).where(event.c.run == run).scalar_subquery()
            connection.execute(event.update().where(event.c.number == last).values(at=arrived))
        assert keeper.clean() == gone


def test_of_many_visitors_the_one_who_holds_most_gives_way_first(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However old the others' runs are; and what a visitor has said goes after the runs, of those without a name alone."""
    old = asked(store, BEN)
    many = [asked(store, ADA) for _ in range(4)]
    for run, at in zip([old, *many], range(2020, 2025), strict=True):
        backdated(store, run, f"{at}-01-01T00:00:00.000+00:00")
    talker, known = "c" * 32, "hf-1"
    for owner in (talker, known):
        store.of(owner).verdicts.record([Verdict("c", f"fact {n}", TRUE, comment="x" * 15_000) for n in range(3)])
    monkeypatch.setattr(housekeeping, "ERASED_AT_ONCE", 1)
    keeper, gone = Housekeeping(store, uploads), []
    while left(store):
        with_limits(monkeypatch, tmp_path, f"in_all: {{disk_megabytes: {(store.disk.used_bytes() or 0) / 1e6 - 0.0001}}}")
        gone += keeper.clean()
    assert gone[:3] == many[:3], "until Ada holds no more than Ben"
    assert set(gone) == {old, *many}
    with_limits(monkeypatch, tmp_path, "in_all: {disk_megabytes: 0}")
    keeper.clean()
    assert set(store.contributions.bytes()) == {known}


def test_what_gives_way_is_the_largest_then() -> None:
    """Ben and Ada take turns once they hold as much as each other; Eve has no run, and her words go when she holds most."""
    runs = [Ended(name, owner, 1, "", False) for name, owner in (("a1", ADA), ("a2", ADA), ("a3", ADA), ("b1", BEN))]
    sizes = {"a1": 10.0, "a2": 10.0, "a3": 10.0, "b1": 18.0}
    eve = "e" * 32
    found = holdings(runs, sizes, {eve: 15.0, "hf-1": 99.0}, frozenset(sizes), [eve])
    assert [(one.run, one.size) for one in largest_first(found)] == [("a1", 10), ("a2", 10), ("b1", 18), ("", 15), ("a3", 10)]
