"""Copies of the database in a folder that outlives the disk: what is torn replaces nothing, and no server removes another's."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from medfact.errors import Mistake
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store, bucket
from medfact.store.bucket import Copies, copies_of


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    folder = tmp_path / "bucket"
    folder.mkdir()
    return folder


class Server:
    """A server with a disk of its own, as it is after it has started."""

    def __init__(self, disk: Path, mounted: Path) -> None:
        disk.mkdir(exist_ok=True)
        self.copies = Copies(mounted, disk / "medfact.db")
        self.copies.read_in()
        self.store = Store(f"sqlite:///{disk / 'medfact.db'}")

    def run(self) -> str:
        return start(RunSpec(model="baseline:random", limit=2, shots=0), self.store)

    def runs(self) -> set[str]:
        return {run.run for run in self.store.runs()}

    def names(self) -> set[str]:
        return {copy.name for copy in self.copies.there() if copy.server == self.copies.server}


def test_a_server_with_an_empty_disk_has_what_was_copied(tmp_path: Path, mounted: Path) -> None:
    first = Server(tmp_path / "first", mounted)
    run = first.run()
    first.copies.write_out()
    lost = first.run()
    second = Server(tmp_path / "second", mounted)
    assert second.runs() == {run}
    assert lost in first.runs(), "it was recorded after the copy"
    assert (tmp_path / "second/medfact.db").stat().st_mode & 0o777 == 0o600


def test_a_database_that_is_there_is_not_replaced(tmp_path: Path, mounted: Path) -> None:
    Server(tmp_path / "other", mounted).copies.write_out()
    own = Server(tmp_path / "own", tmp_path)
    run = own.run()
    assert Server(tmp_path / "own", mounted).runs() == {run}


@pytest.mark.parametrize("torn", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: whole[:-1] + b"\1"])
def test_a_torn_copy_is_passed_over_and_the_one_before_is_read(tmp_path: Path, mounted: Path, torn) -> None:  # type: ignore[no-untyped-def]
    first = Server(tmp_path / "first", mounted)
    run = first.run()
    first.copies.write_out()
    first.run()
    newest = mounted / first.copies.write_out()
    newest.write_bytes(torn(newest.read_bytes()))
    second = Server(tmp_path / "second", mounted)
    assert second.runs() == {run}
    second.copies.write_out()
    assert newest.exists(), "another server may be writing it just now"


def test_what_was_torn_long_ago_goes_with_the_next_copy(tmp_path: Path, mounted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Server(tmp_path / "first", mounted)
    first.copies.write_out()
    torn = mounted / first.copies.write_out()
    torn.write_bytes(b"")
    monkeypatch.setattr(bucket, "TORN_FOR_GOOD", timedelta(0))
    second = Server(tmp_path / "second", mounted)
    second.copies.write_out()
    assert not torn.exists()
    assert second.names() == {path.name for path in mounted.iterdir()}, "the copies that it came from have gone, too"


def test_where_no_copy_is_whole_the_database_begins_empty_and_that_is_said(
    tmp_path: Path, mounted: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = Server(tmp_path / "first", mounted)
    first.run()
    (mounted / first.copies.write_out()).write_bytes(b"SQLite format 3\0")
    second = Server(tmp_path / "second", mounted)
    assert second.runs() == set()
    assert "None of the 1 copies" in caplog.text


def test_a_copy_that_cannot_be_written_leaves_those_before(
    tmp_path: Path, mounted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path / "disk", mounted)
    run = server.run()
    server.copies.write_out()
    before = server.names()

    def broken_off(source, target) -> str:  # type: ignore[no-untyped-def]
        target.write(source.read(1_000))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(bucket, "_copied", broken_off)
        with pytest.raises(OSError, match="No space"):
            server.copies.write_out()
    assert {path.name for path in mounted.iterdir()} == before
    assert Server(tmp_path / "second", mounted).runs() == {run}


def test_a_server_leaves_two_copies_of_its_own(tmp_path: Path, mounted: Path) -> None:
    server = Server(tmp_path / "disk", mounted)
    names = [server.copies.write_out() for _ in range(5)]
    assert server.names() == set(names[-2:])
    again = Server(tmp_path / "disk", mounted)
    assert again.copies.server == server.copies.server, "its disk is not lost, so its copies are still its own"


def test_two_servers_on_one_bucket_do_not_remove_what_the_other_has_alone(
    tmp_path: Path, mounted: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A duplicated Space starts from what the first has written; then each goes its own way."""
    first = Server(tmp_path / "first", mounted)
    first.run()
    first.copies.write_out()
    second = Server(tmp_path / "second", mounted)
    of_first, of_second = first.run(), second.run()
    for server in (first, second, first, second, second, second):
        server.copies.write_out()
    said = caplog.text
    assert said.count(f"Another server ({first.copies.server})") == 1
    assert said.count(f"Another server ({second.copies.server})") == 1
    found = {run for path in mounted.iterdir() for run in runs_in(path)}
    assert {of_first, of_second} <= found


def runs_in(copy: Path) -> set[str]:
    with closing(sqlite3.connect(copy)) as database:
        return {run for (run,) in database.execute("SELECT run FROM runs")}


def test_what_was_erased_is_in_no_later_copy(tmp_path: Path, mounted: Path) -> None:
    server = Server(tmp_path / "disk", mounted)
    with closing(sqlite3.connect(tmp_path / "disk/medfact.db")) as database:
        database.execute("CREATE TABLE said (text)")
        database.execute("INSERT INTO said VALUES (?)", ["what-somebody-erased " * 1_000])
        database.commit()
        database.execute("DELETE FROM said")
        database.commit()
    assert b"what-somebody-erased" not in (mounted / server.copies.write_out()).read_bytes()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_BUCKET", str(tmp_path / "nowhere"))
    with pytest.raises(Mistake, match="no folder that can be written"):
        copies_of(f"sqlite:///{tmp_path / 'medfact.db'}")
    assert copies_of("postgresql+psycopg://somebody@localhost/medfact") is None


def test_on_a_space_the_database_itself_lies_on_no_mounted_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"overlay / overlay rw 0 0\nhf-mount {tmp_path}/data fuse.hf-mount rw 0 0\nproc /proc proc rw 0 0\n")
    known = bucket._file_system
    monkeypatch.setattr(bucket, "_file_system", lambda file: known(file, mounts))
    url = f"sqlite:///{tmp_path}/data/medfact.db"
    assert copies_of(url) is None, "elsewhere one's folders are one's own affair"
    monkeypatch.setenv("SPACE_ID", "somebody/medfact")
    with pytest.raises(Mistake, match=r"fuse\.hf-mount.*MEDFACT_BUCKET"):
        copies_of(url)
    assert copies_of(f"sqlite:///{tmp_path}/medfact.db") is None


def test_a_newer_copy_goes_before_an_older_one_of_whatever_server(tmp_path: Path, mounted: Path) -> None:
    old, new = Server(tmp_path / "old", mounted), Server(tmp_path / "new", mounted)
    old.run()
    old.copies.write_out()
    run = new.run()
    new.copies.write_out()
    newest, _ = new.copies.there()
    assert newest.server == new.copies.server
    assert datetime.now(UTC) - newest.at < timedelta(minutes=5)
    assert Server(tmp_path / "third", mounted).runs() == {run}


def test_an_erasure_leaves_no_older_copy(tmp_path: Path, mounted: Path) -> None:
    server = Server(tmp_path / "disk", mounted)
    for _ in range(3):
        last = server.copies.write_out()
    last = server.copies.write_out(alone=True)
    assert [path.name for path in mounted.glob("*.db")] == [last]


def test_files_beside_the_database_come_back_on_a_new_disk(tmp_path: Path, mounted: Path) -> None:
    """The newest whole ones, readable by this account alone; what is there already stays."""
    disks = [tmp_path / name for name in ("first", "second")]
    beside = [[disk / "a.key", disk / "a.jsonl"] for disk in disks]
    disks[0].mkdir()
    sqlite3.connect(disks[0] / "medfact.db").close()
    copies = Copies(mounted, disks[0] / "medfact.db", beside[0])
    copies.write_out()
    assert list(mounted.glob("*.json")) == [], "there are none yet"
    beside[0][0].write_bytes(b"\x00secret\xff")
    for text in ("one\n", "one\ntwo\n", "one\ntwo\n"):
        beside[0][1].write_text(text)
        copies.write_out()
    newest, *_ = sorted(mounted.glob("*.json"), reverse=True)
    assert len(list(mounted.glob("*.json"))) == 2, "unchanged ones are not written again"
    (mounted / newest.name.replace("medfact-2", "medfact-3")).write_bytes(newest.read_bytes()[:-4])  # a newer one, torn
    again = Copies(mounted, disks[1] / "medfact.db", beside[1])
    again.read_in()
    assert [file.read_bytes() for file in beside[1]] == [b"\x00secret\xff", b"one\ntwo\n"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in beside[1]} == {0o600}
    beside[1][1].write_text("another")
    again.read_in()
    assert beside[1][1].read_text() == "another"
