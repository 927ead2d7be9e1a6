"""A server whose disk is full or whose database is damaged says so, in words of its own; and what it keeps is private."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from browser import serve_app
from small_disk import fill_disk, mount_small_disk
from strangers import TABLE, wait_for_run_end
from visitors import Visitor
from waiting import wait_until

from medfact.errors import StoreError
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.table_formats import linked_endings
from medfact.web.health import trouble_with

SECRET = "patient-of-room-12"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes, on which a server can begin."""
    with mount_small_disk(tmp_path / "disk", 12) as disk:
        yield disk


def health(url: str) -> tuple[int, str]:
    answer = httpx.get(f"{url}healthz", timeout=60)
    return answer.status_code, answer.text


def test_a_full_disk_is_said_and_then_forgotten(disk: Path) -> None:
    with serve_app(disk, TMPDIR=str(disk)) as url, Visitor(url) as visitor:
        (run,) = visitor.evaluate("baseline:random")
        wait_for_run_end(disk, run)
        wait_until(lambda: health(url) == (200, "ok"))
        file = {"files": ("facts.csv", TABLE * 3_000)}
        held = fill_disk(disk)
        full = visitor.http.post("/gradio_api/upload", files=file)
        assert (full.status_code, "The server's disk is full." in full.text) == (507, True)
        wait_until(lambda: health(url) == (503, "The server's disk is full."))
        for address in (f"/export/{run}", *(f"/download/{run}/answers.{kind}" for kind in linked_endings())):
            answer = visitor.http.get(address)
            assert (answer.status_code, str(disk) in answer.text) in {(507, False), (503, False), (200, False)}, address
        said = visitor.http.post("/updates", json={"page": "studio", "show": {"of": "x"}, "action": {"name": "save"}})
        assert said.status_code < 500
        held.unlink()
        wait_until(lambda: health(url) == (200, "ok"))
        assert visitor.http.post("/gradio_api/upload", files=file).status_code == 200
        left = [path for path in (disk / "uploads").iterdir() if path.is_file()]
        assert left == [], "half a file stays behind"
    assert "Traceback" not in (disk / "log.txt").read_text()


def test_a_place_that_takes_no_file_is_said(tmp_path: Path) -> None:
    assert trouble_with(tmp_path) == ""
    assert trouble_with(tmp_path / "gone") == "The server cannot write to its disk."
    assert list(tmp_path.iterdir()) == [], "what was tried is away again"


def damaged_text(file: Path) -> None:
    """Bytes that are no text, in the middle of one."""
    content = file.read_bytes()
    file.write_bytes(content.replace(SECRET.encode(), SECRET[:-1].encode() + b"\xff"))


def damaged_pages(file: Path) -> None:
    """Everything after the first page, which names the tables."""
    content = bytearray(file.read_bytes())
    content[4096:] = (SECRET.encode() * 20_000)[: len(content) - 4096]
    file.write_bytes(content)


def damaged_schema(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content.replace(b"CREATE TABLE events", b"CREATE TABEL " + SECRET.encode()[:6], 1))


def replaced(file: Path) -> None:
    file.write_bytes(SECRET.encode() * 1_000)


DAMAGES = [damaged_text, damaged_pages, damaged_schema, replaced]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_quoted_to_nobody(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    with serve_app(tmp_path) as url, Visitor(url) as visitor:
        file = tmp_path / "medfact.db"
        store = Store(f"sqlite:///{file}", "demonstration")
        run = start(RunSpec(model="baseline:random", limit=4, shots=0), store)
        store.describe(run, name=SECRET, note=SECRET)
        with store.database.writing() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        store.database.engine.dispose()
        whole = tmp_path / "whole.db"
        shutil.copy(file, whole)
        damage(whole)
        for beside in tmp_path.glob("medfact.db-*"):
            beside.unlink()
        os.replace(whole, file)
        wait_until(lambda: health(url)[0] == 503)
        told = health(url)[1] + visitor.http.get("/runs").text
        for page in ("evaluate", "runs", "facts"):
            told += visitor.http.post("/updates", json={"page": page, "show": {"run": run, "runs": run}}).text
        assert SECRET[:12] not in told
        assert "CREATE" not in told
        assert str(tmp_path) not in told


def test_a_record_that_is_none_is_quoted_to_nobody(tmp_path: Path) -> None:
    with serve_app(tmp_path) as url:
        store = Store(f"sqlite:///{tmp_path / 'medfact.db'}", "demonstration")
        run = start(RunSpec(model="baseline:random", limit=4, shots=0), store)
        for spec in (SECRET, json.dumps({SECRET: 1}), "null", '{"model": 5, "service": {"in_flight": "' + SECRET + '"}}'):
            store._update(run, spec=spec)
            time.sleep(1.1)
            code, text = health(url)
            assert code in {200, 503}
            assert SECRET not in text


def test_what_the_causes_say_to_strangers_is_of_our_own_making(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError) as told:
        Store(f"sqlite:///{file}")
    assert told.value.public.startswith("The database cannot be used: its file is damaged.")


# ------------------------------------------------------------------------- what is private


def others_may(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) & 0o077


def test_nobody_else_on_the_machine_reads_what_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with serve_app(home, is_new=True) as url, Visitor(url) as visitor:
        path = visitor.upload("facts.csv", TABLE)
        (run,) = visitor.evaluate("baseline:random", source={"facts": path, "columns": []})
        wait_for_run_end(home, run)
        kept = [one for one in home.rglob("*") if one.name != "log.txt" and not one.is_socket()]
        assert {"medfact.db", "medfact.db-wal", "medfact.db-shm", "uploads", "facts.csv"} <= {one.name for one in kept}
        assert [one for one in kept if one.is_file() and others_may(one)] == []
        assert others_may(home / "uploads") == 0


def test_a_new_folder_for_a_database_is_ones_own(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path / 'new' / 'x.db'}")
    assert others_may(tmp_path / "new") == 0
