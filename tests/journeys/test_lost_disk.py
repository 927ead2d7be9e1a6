"""A Space with a mounted bucket: killed at once, it comes back with an empty disk, and has its runs."""

from __future__ import annotations

import os
import re
import secrets
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from browser import serve_app
from strangers import open_store, wait_for_run_end
from visitors import Visitor
from waiting import wait_until

from medfact.store import Verdict
from medfact.web.visitors import owner_of_cookie


def complete_in(bucket: Path, run: str) -> bool:
    """Whether a copy has a run that is complete."""
    for copy in bucket.glob("medfact-*.db"):
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as database:
            if database.execute("SELECT 1 FROM runs WHERE run = ? AND state = 'complete'", [run]).fetchone():
                return True
    return False


def process_at(url: str) -> int:
    port = int(url.rstrip("/").rpartition(":")[2])
    return next(
        one.pid for one in psutil.net_connections("tcp") if one.laddr.port == port and one.status == "LISTEN" and one.pid
    )


def test_killed_at_once_and_with_a_new_disk_it_has_the_runs_that_ended(tmp_path: Path) -> None:
    bucket, cookie = tmp_path / "bucket", f"medfact-visitor={secrets.token_hex(16)}"
    disks = [tmp_path / name for name in ("first", "second", "third")]
    for folder in (bucket, *disks):
        folder.mkdir()
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1", "MEDFACT_BUCKET": str(bucket)}
    with serve_app(disks[0], **space) as url, Visitor(url, cookie=cookie) as visitor:
        (run,) = visitor.evaluate("baseline:random")
        wait_for_run_end(disks[0], run)
        wait_until(lambda: complete_in(bucket, run))
        os.kill(process_at(url), signal.SIGKILL)
    with serve_app(disks[1], **space) as url, Visitor(url, cookie=cookie) as visitor:
        shown = visitor.fetch_page("runs")["fragments"]
        assert run in shown["runs"]
        assert "no lasting storage" not in shown["notice"]
        (later,) = visitor.evaluate("baseline:always-true")
        wait_for_run_end(disks[1], later)
    assert complete_in(bucket, later), "the last copy is made when the server ends"
    with serve_app(disks[2], **space) as url, Visitor(url, cookie=cookie) as visitor:
        assert {run, later} <= {name for name in (run, later) if name in visitor.fetch_page("runs")["fragments"]["runs"]}
    assert "Traceback" not in "".join((disk / "log.txt").read_text() for disk in disks)


def test_a_space_without_a_bucket_says_that_runs_will_be_gone(tmp_path: Path) -> None:
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1"}
    with serve_app(tmp_path, **space) as url, Visitor(url, cookie=f"medfact-visitor={secrets.token_hex(16)}") as visitor:
        (run,) = visitor.evaluate("baseline:random")
        wait_for_run_end(tmp_path, run)
        assert "no lasting storage" in visitor.fetch_page("runs")["fragments"]["notice"]


def test_an_invitation_opens_after_a_restart_with_a_new_disk(
    tmp_path: Path, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, disks = tmp_path / "bucket", [tmp_path / name for name in ("first", "second")]
    for folder in (bucket, *disks):
        folder.mkdir()
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1", "MEDFACT_BUCKET": str(bucket)}
    monkeypatch.setenv("MEDFACT_HOME", str(disks[0]))
    with serve_app(disks[0], **space) as url:
        invited = medfact("invite", "Dr Ada", "--data", "clinical-core", "--address", url)
        assert invited.code == 0, invited.err
        (token,) = re.findall(r"review\?invited=([0-9a-f.]+)", invited.out)
        wait_until(lambda: bool(list(bucket.glob("medfact-*.json"))))
        os.kill(process_at(url), signal.SIGKILL)
    with serve_app(disks[1], **space) as url, Visitor(url, cookie=f"medfact-visitor={secrets.token_hex(16)}") as visitor:
        question = {"page": "review", "address": f"?invited={token}", "show": {}}
        shown = visitor.http.post("/updates", json=question).text
        assert "no invitation of this server" not in shown
        assert "Dr Ada" in shown


def holding(bucket: Path, words: bytes) -> list[str]:
    return [copy.name for copy in bucket.glob("medfact-*.db") if words in copy.read_bytes()]


def test_what_was_erased_is_in_no_copy(tmp_path: Path) -> None:
    """A visitor erases a comment while a run of somebody else's goes on; the copies of before go."""
    bucket, disk, words = tmp_path / "bucket", tmp_path / "disk", b"a comment that somebody erased"
    for folder in (bucket, disk):
        folder.mkdir()
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1", "MEDFACT_BUCKET": str(bucket)}
    cookie = secrets.token_hex(16)
    open_store(disk, owner_of_cookie(cookie)).verdicts.record([Verdict("c", "fact", "true", comment=words.decode())])
    with serve_app(disk, **space) as url, Visitor(url, cookie=f"medfact-visitor={cookie}") as visitor:
        wait_until(lambda: bool(holding(bucket, words)))
        visitor.press_button("erase", "verdicts", page_name="review", fields={"sure": "yes"})
        wait_until(lambda: not holding(bucket, words))
        assert len(list(bucket.glob("medfact-*.db"))) == 1
