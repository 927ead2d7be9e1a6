"""Whoever asks from this very machine sees the command line's runs. Who comes through a proxy on it does not."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import served
from strangers import store_of

from medfact.runs.start import start
from medfact.spec import RunSpec

NAME = "medfact.example"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laptop")


@pytest.fixture(scope="module")
def laptop(home: Path) -> Iterator[str]:
    with served(home, MEDFACT_HOSTS=NAME) as url:
        yield url


@pytest.fixture
def run(home: Path, laptop: str) -> str:
    """A run of the command line's."""
    made = start(RunSpec("baseline:random", limit=4, shots=0), store_of(home))
    store_of(home).set_state(made, "stopped")
    return made


def asked(laptop: str, question: dict[str, Any], http: str = "1.1", **headers: str) -> str:
    """What the app answers to a request, written out as it comes over the wire."""
    to = urlsplit(laptop)
    body = json.dumps(question)
    sent = {"Host": to.netloc, "Cookie": f"medfact-visitor={secrets.token_hex(16)}", "Content-Type": "application/json"}
    sent |= {"Content-Length": str(len(body)), "Connection": "close"}
    sent |= {name.replace("_", "-"): value.replace("PORT", str(to.port)) for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with socket.create_connection((str(to.hostname), to.port or 80), timeout=60) as plain:
        plain.sendall(f"POST /updates HTTP/{http}\r\n{head}\r\n{body}".encode())
        return b"".join(iter(lambda: plain.recv(65_536), b"")).decode()


HERE: list[dict[str, str]] = [
    {},
    {"Host": "localhost:PORT"},
    {"Host": "LOCALHOST."},
    {"Host": "127.0.0.1"},
    {"Host": "127.8.8.8:PORT"},
    {"Host": "[::1]:PORT"},
    {"Host": "localhost:PORT", "Origin": "http://localhost:PORT", "Referer": "http://localhost:PORT/runs"},
]


@pytest.mark.parametrize("headers", HERE, ids=str)
def test_this_machines_browser_sees_the_command_lines_runs(headers: dict[str, str], laptop: str, run: str) -> None:
    assert run in asked(laptop, {"page": "runs"}, **headers)


THROUGH_A_PROXY: list[dict[str, str]] = [
    {"Host": NAME},
    {"Host": f"{NAME}:443"},
    {"Host": "192.168.1.7"},
    {"Host": "10.0.0.1:PORT"},
    {"Host": "[fe80::1]"},
    {"Origin": f"https://{NAME}"},
    {"Origin": f"https://{NAME}", "Referer": f"https://{NAME}/runs"},
    {"Referer": f"https://{NAME}/runs"},
    {"http": "1.0"},
    *({header: "8.8.8.8"} for header in ("X_Forwarded_For", "X_Real_IP", "Forwarded", "Via")),
    {"X_Forwarded_Host": NAME},
    {"X_Forwarded_Proto": "https"},
]
"""Proxies that pass the name on, or put this machine's own in its place, and tell little or nothing of themselves."""


@pytest.mark.parametrize("headers", THROUGH_A_PROXY, ids=str)
def test_behind_a_proxy_nobody_is_the_host(headers: dict[str, str], laptop: str, home: Path, run: str) -> None:
    told = asked(laptop, {"page": "runs"}, **headers)
    for name, page in (("delete", "runs"), ("save", "runs"), ("delete", "write"), ("stop", "write")):
        press = {"name": name, "about": run, "fields": {"name": "mine now"}}
        told += asked(laptop, {"page": page, "action": press}, **headers)
    for name in ("stop", "resume"):
        told += asked(laptop, {"page": "evaluate", "show": {"run": run}, "action": {"name": name}}, **headers)
    assert "mine now" not in told
    assert 'data-key="delete-' not in told
    record = store_of(home).run(run)
    assert (record.state, record.name, record.deleted_at) == ("stopped", None, None)


def test_where_every_request_comes_through_a_proxy_nobody_is_the_host(tmp_path: Path) -> None:
    run = start(RunSpec("baseline:random", limit=4, shots=0), store_of(tmp_path))
    with served(tmp_path, MEDFACT_PROXY="1") as url:
        assert run not in asked(url, {"page": "runs"})
