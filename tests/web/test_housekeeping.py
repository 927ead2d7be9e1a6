"""A public server erases what is too old, and nothing else, whatever its clock says."""

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
from recorded import complete_run

from medfact.exchange.transfer import export_run, import_run
from medfact.reviews.verdicts import TRUE
from medfact.spec import RunSpec
from medfact.store import RUNNING, Store, Verdict, home, is_lasting, schema
from medfact.store.entities import IMPORTED
from medfact.store.recording import add_event
from medfact.web import housekeeping
from medfact.web.housekeeping import CLOCK_JUMPED, JUMP_SECONDS, Housekeeping
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
    return complete_run(RunSpec(model="baseline:random", limit=pairs, shots=0), store.of(owner))


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


def test_a_full_server_erases_nothing_that_is_young(
    store: Store, uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither runs nor uploads nor verdicts; and of what is old, only what visitors have and nobody asks or shows."""
    local, published, going, old, young = (asked(store, owner) for owner in ("local", BEN, ADA, ADA, BEN))
    for run in (local, published, going, old):
        backdated(store, run, "2020-01-01T00:00:00.000+00:00")
    store.set_state(going, RUNNING)
    file = uploaded(uploads, BEN, "a", 300_000)
    store.of("invited-1").verdicts.record([Verdict("c", "fact", TRUE)])
    store.of(BEN).verdicts.record([Verdict("c", "fact", TRUE)])
    with_limits(monkeypatch, tmp_path, "in_all: {disk_megabytes: 0, run_days: 30}")
    assert Housekeeping(store, uploads, kept=lambda: [published]).clean() == [old]
    assert set(left(store)) == {local, published, going, young}
    assert set(store.contributions.bytes()) == {"invited-1", BEN}
    assert file.exists()
    assert all(item.answer is not None for item in store.answers.asked(young)), "what it shares with erased runs is still there"


class Clock:
    """The clocks of this machine, ahead by so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        self.running = 0.0
        wall, steady = time.time, time.monotonic
        clock = self

        class Times(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:
                return datetime.fromtimestamp(wall() + clock.ahead, tz)

        for module in ("medfact.web.housekeeping", "medfact.store.lookup"):
            monkeypatch.setattr(f"{module}.datetime", Times)
        monkeypatch.setattr(housekeeping.time, "time", lambda: wall() + self.ahead)
        monkeypatch.setattr(housekeeping.time, "monotonic", lambda: steady() + self.running)


DAYS = 24 * 3_600.0


def test_a_clock_that_jumps_ahead_erases_nothing_until_it_is_back(
    store: Store,
    uploads: Uploads,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with_limits(monkeypatch, tmp_path, "in_all: {run_days: 30, upload_hours: 24}")
    run, file, clock = asked(store, ADA), uploaded(uploads, ADA, "a", 1_000), Clock(monkeypatch)
    old = asked(store, BEN)
    keeper = Housekeeping(store, uploads)
    clock.ahead = 40 * DAYS
    for _ in range(3):
        clock.running += 10 * DAYS
        assert keeper.clean() == []
        assert file.exists()
    assert caplog.messages == [CLOCK_JUMPED], "logged once"
    clock.ahead = 0.0
    backdated(store, old, "2020-01-01T00:00:00.000+00:00")
    assert keeper.clean() == [old], "what is old by the right clock"
    assert left(store) == [run]


def test_a_server_that_starts_with_a_clock_ahead_erases_nothing_on_its_first_day(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_limits(monkeypatch, tmp_path, "in_all: {run_days: 30, upload_hours: 24}")
    run, clock = asked(store, ADA), Clock(monkeypatch)
    deleted = asked(store, ADA)
    store.delete(deleted)
    file = uploaded(Uploads(tmp_path / "uploads"), ADA, "a", 1_000)
    clock.ahead = 40 * DAYS
    keeper = Housekeeping(store, uploads := Uploads(tmp_path / "uploads"))
    assert (store.purge(), keeper.clean(), file.exists()) == (0, [], True)
    clock.ahead += JUMP_SECONDS / 2
    clock.running += JUMP_SECONDS / 2
    assert (keeper.clean(), file.exists()) == ([], True)
    clock.ahead += JUMP_SECONDS / 2 + 60
    clock.running += JUMP_SECONDS / 2 + 60
    assert set(keeper.clean()) == {run, deleted}, "after a day of running the clock is believed"
    assert not uploads.has(ADA, str(file))


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
