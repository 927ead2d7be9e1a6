"""Sending a run to the Hub: to a real HTTP server on this machine that takes what the Hub's library sends it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from recorded import complete_run
from small_facts import make_fact_rows, write_csv

from medfact.spec import RunSpec
from medfact.store import Store

TOKEN = "hf_" + "x" * 30


class Hub(ThreadingHTTPServer):
    """Takes a data set: `files` are what was committed, `asked` the requests. refuses: the status of every answer instead."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.made: dict[str, Any] = {}
        self.tokens: set[str | None] = set()
        self.refuses = 0


class Answering(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append(("POST", self.path))
        self.server.tokens.add(self.headers.get("authorization"))
        if self.server.refuses:
            self._say(self.server.refuses, {"error": "no"})
        elif self.path == "/api/repos/create":
            self.server.made = json.loads(body)
            self._say(200, {"url": f"http://127.0.0.1:{self.server.server_port}/datasets/me/results"})
        elif self.path == "/api/validate-yaml":
            yaml.safe_load(json.loads(body)["content"].split("---\n")[1])
            self._say(200, {"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            known = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]
            self._say(200, {"files": known})
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            self._say(200, {"commitUrl": "http://127.0.0.1/datasets/me/results/commit/1", "commitOid": "1" * 40})
        else:
            self._say(404, {"error": "not found"})

    def do_HEAD(self) -> None:
        self.server.asked.append(("HEAD", self.path))
        there = self.path.rpartition("/main/")[2] in self.server.files
        self.send_response(200 if there else 404)
        if there:
            self.send_header("ETag", '"1"')
            self.send_header("X-Repo-Commit", "1" * 40)
        else:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _say(self, status: int, content: dict[str, Any]) -> None:
        said = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    served = Hub()
    threading.Thread(target=served.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{served.server_port}")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-token"))
    yield served
    served.shutdown()


def asked(store: Store, **spec: Any) -> str:
    return complete_run(RunSpec(**{"model": "baseline:negation-cue", "limit": 10, "shots": 0, **spec}), store)


def test_without_yes_nothing_is_sent(hub: Hub, store: Store, medfact: Callable[..., Any], url: str) -> None:
    run = asked(store)
    done = medfact("push", run, "--to", "me/results", "--db", url)
    assert done.code == 0
    assert "me/results" in done.err
    assert "nothing was sent" in done.err
    listed = {row["file"]: row["bytes"] for row in done.rows}
    assert {"README.md", f"runs/{run}/scores.csv", f"runs/{run}/answers.parquet", f"runs/{run}/report.html"} <= set(listed)
    assert min(listed.values()) > 0
    assert hub.asked == []


def test_with_yes_the_data_set_has_the_run(
    hub: Hub, store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    run = asked(store)
    listed = {row["file"] for row in medfact("push", run, "--to", "me/results", "--db", url).rows}
    done = medfact("push", run, "--to", "me/results", "--yes", "--private", "--db", url)
    assert done.code == 0, done.err
    assert TOKEN not in done.err + done.out
    assert (hub.made["type"], hub.made["organization"], hub.made["name"]) == ("dataset", "me", "results")
    assert hub.made.get("visibility", "private" if hub.made.get("private") else None) == "private"
    assert set(hub.files) == listed
    assert hub.tokens == {f"Bearer {TOKEN}"}
    assert TOKEN.encode() not in b"".join(hub.files.values())
    (tmp_path / "answers.parquet").write_bytes(hub.files[f"runs/{run}/answers.parquet"])
    assert len(pd.read_parquet(tmp_path / "answers.parquet")) == store.run(run).statements
    front = yaml.safe_load(hub.files["README.md"].decode().split("---\n")[1])
    assert {one["config_name"] for one in front["configs"]} == {"scores", "answers"}


def test_a_page_that_is_there_stays(hub: Hub, store: Store, medfact: Callable[..., Any], url: str) -> None:
    hub.files["README.md"] = b"somebody's own page"
    assert medfact("push", asked(store), "--to", "me/results", "--yes", "--db", url).code == 0
    assert hub.files["README.md"] == b"somebody's own page"
    assert len(hub.files) > 1


def test_nothing_of_a_file_of_ones_own_goes_unasked(
    hub: Hub, store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    rows = [{**row, "relation": "symptoms"} for row in make_fact_rows()]
    file = write_csv(tmp_path / "secret-name.csv", rows)
    run = asked(store, facts=str(file))
    done = medfact("push", run, "--to", "me/results", "--yes", "--db", url)
    assert done.code == 0, done.err
    assert "--with-facts" in done.err
    sent = b"".join(hub.files.values())
    for secret in (b"disease0", b"sign0", b"drug0", b"secret-name", b"symptoms", str(tmp_path).encode()):
        assert secret not in sent, secret
    assert set(hub.files) == {"README.md", f"runs/{run}/README.md", f"runs/{run}/scores.csv"}
    assert b"average_accuracy" in hub.files[f"runs/{run}/scores.csv"]
    assert medfact("push", run, "--to", "me/results", "--yes", "--with-facts", "--db", url).code == 0
    assert b"disease0" in hub.files[f"runs/{run}/report.html"]
    assert str(tmp_path).encode() not in b"".join(hub.files.values())


@pytest.mark.parametrize(("status", "said"), [(401, "token"), (403, "me/results"), (500, "HTTP 500")])
def test_a_refusal_is_one_line(hub: Hub, store: Store, medfact: Callable[..., Any], url: str, status: int, said: str) -> None:
    hub.refuses = status
    done = medfact("push", asked(store), "--to", "me/results", "--yes", "--db", url)
    assert (done.code, done.err.count("\n"), done.out) == (2, 1, "")
    assert said in done.err
    assert TOKEN not in done.err


@pytest.mark.parametrize("what", ["no token", "unreachable", "bad name"])
def test_what_is_amiss_here_is_one_line(
    hub: Hub, store: Store, medfact: Callable[..., Any], url: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    to, said = "me/results", {"no token": "HF_TOKEN", "unreachable": "cannot be reached", "bad name": "OWNER/NAME"}[what]
    if what == "no token":
        monkeypatch.delenv("HF_TOKEN")
    elif what == "unreachable":
        hub.server_close()
        hub.shutdown()
    else:
        to = "https://huggingface.co/datasets/me/results"
    done = medfact("push", asked(store), "--to", to, "--yes", "--db", url)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert hub.asked == []
