"""The host of a server is whoever brings the token that it printed. From which machine a request seems to come says nothing."""

from __future__ import annotations

import json
import re
import secrets
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from browser import app_fixture, module_folder_fixture, serve_app
from hosts import AS_HOST, COOKIE, TOKEN
from programs import ApiClient
from strangers import open_store, wait_for_run_end
from tunnels import open_tunnel
from visitors import Visitor

from medfact.runs.start import start
from medfact.spec import RunSpec

NAME = "medfact.example"


home = module_folder_fixture()


laptop = app_fixture("home", MEDFACT_HOSTS=NAME)


@pytest.fixture
def run(home: Path, laptop: str) -> str:
    """A run of the command line's."""
    made = start(RunSpec("baseline:random", limit=4, shots=0), open_store(home))
    open_store(home).set_state(made, "stopped")
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


WAYS: list[dict[str, str]] = [
    {},
    {"Host": "localhost:PORT"},
    {"Host": "127.0.0.1"},
    {"Host": "[::1]:PORT"},
    {"Host": "localhost:PORT", "Origin": "http://localhost:PORT", "Referer": "http://localhost:PORT/runs"},
    {"Host": NAME},
    {"Host": "192.168.1.7"},
    {"Referer": f"https://{NAME}/runs"},
    {"http": "1.0"},
    *({header: "8.8.8.8"} for header in ("X_Forwarded_For", "X_Real_IP", "Forwarded", "Via")),
    {"X_Forwarded_Host": NAME},
    {"X_Forwarded_Proto": "https"},
]
"""How a browser of this machine asks, and how proxies and tunnels do."""

WRONG = ["", "x", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "é", "None", "0" * 32]


@pytest.mark.parametrize("headers", WAYS, ids=str)
def test_the_token_makes_the_host_and_the_network_does_not(headers: dict[str, str], laptop: str, home: Path, run: str) -> None:
    told = asked(laptop, {"page": "runs"}, **headers)
    for name, page in (("delete", "runs"), ("save", "runs"), ("delete", "write"), ("stop", "write")):
        press = {"name": name, "about": run, "fields": {"name": "mine now"}}
        told += asked(laptop, {"page": page, "action": press}, **headers)
    for name in ("stop", "resume"):
        told += asked(laptop, {"page": "evaluate", "show": {"run": run}, "action": {"name": name}}, **headers)
    assert "mine now" not in told
    assert 'data-key="delete-' not in told
    assert "Did you start this server? Open the address that it printed" in told
    record = open_store(home).run(run)
    assert (record.state, record.name, record.deleted_at) == ("stopped", None, None)
    assert run in asked(laptop, {"page": "runs"}, **headers, **AS_HOST)
    cookie = f"medfact-visitor={secrets.token_hex(16)}; {COOKIE}={TOKEN}"
    as_host = asked(laptop, {"page": "runs"}, **{**headers, "Cookie": cookie})
    assert run in as_host
    assert "Did you start this server?" not in as_host


@pytest.mark.parametrize("token", WRONG)
def test_another_token_is_none(token: str, laptop: str, run: str) -> None:
    encoded = token.encode().decode("latin-1")
    for kind in ("Bearer ", "bearer ", "Basic ", ""):
        assert run not in asked(laptop, {"page": "runs"}, Authorization=f"{kind}{encoded}")
    assert run not in asked(laptop, {"page": "runs"}, Authorization=f"Basic {TOKEN}")
    for name in (COOKIE, "medfact-host", "token"):
        assert run not in asked(laptop, {"page": "runs"}, Cookie=f"medfact-visitor={'0' * 32}; {name}={encoded}")


def test_the_printed_address_makes_a_browser_the_hosts_and_leaves_no_token_in_it(laptop: str, home: Path, run: str) -> None:
    (printed,) = re.findall(r"medfact is ready: (\S+)", (home / "log.txt").read_text())
    assert printed == f"{laptop}?token={TOKEN}"
    with httpx.Client(base_url=laptop) as browser:
        opened = browser.get(printed)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        set_cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in set_cookie
        assert "samesite=lax" in set_cookie
        assert opened.headers["referrer-policy"] == "no-referrer"
        assert opened.headers["cache-control"] == "no-store"
        page = browser.get("/")
        assert page.status_code == 200
        assert TOKEN not in page.text
        answer = browser.post("/updates", json={"page": "runs"}).text
        assert run in answer
        assert TOKEN not in answer
    with httpx.Client(base_url=laptop) as browser:
        deep = browser.get(f"/runs?of=own&token={TOKEN}&x=1,2")
        assert deep.headers["location"] == "/runs?of=own&x=1,2"
        assert run in browser.post("/updates", json={"page": "runs"}).text
    with httpx.Client(base_url=laptop) as browser:
        for path in ("/?token=wrong", "/?token=", f"/?token=wrong&token={TOKEN}x"):
            assert browser.get(path).headers["location"] == "/"
        assert COOKIE not in browser.cookies
        browser.get("/")
        assert run not in browser.post("/updates", json={"page": "runs"}).text
        for elsewhere in (f"//evil.example/?token={TOKEN}", f"/\\evil.example?token={TOKEN}", f"/nothing?token={TOKEN}"):
            refused = httpx.get(laptop.rstrip("/") + elsewhere)
            assert (refused.status_code, refused.headers.get("location")) == (404, None)


def test_the_token_is_in_no_file_and_printed_once(laptop: str, home: Path, run: str) -> None:
    with Visitor(laptop) as host, ApiClient(laptop) as program:
        assert run in str(host.fetch_page("runs"))
        host.evaluate("baseline:random")
        wait_for_run_end(home, program.call("evaluate", model="baseline:random", limit=4)["run"])
    with closing(sqlite3.connect(home / "medfact.db")) as connection:
        assert TOKEN not in "\n".join(connection.iterdump())
    assert (home / "log.txt").read_text().count(TOKEN) == 1


def test_through_a_tunnel_a_stranger_is_a_stranger_and_the_host_is_the_host(laptop: str, run: str) -> None:
    with open_tunnel(laptop) as there:
        with Visitor(there, as_host=False) as stranger:
            assert run not in str(stranger.fetch_page("runs"))
        with Visitor(there) as host:
            assert run in str(host.fetch_page("runs"))


def test_a_program_of_the_host_has_runs_of_the_command_line(laptop: str, home: Path) -> None:
    with ApiClient(laptop) as host, ApiClient(laptop, as_host=False) as stranger:
        mine, theirs = (one.call("evaluate", model="baseline:random", limit=4)["run"] for one in (host, stranger))
    assert open_store(home).run(mine).owner == "local"
    assert open_store(home).run(theirs).owner.startswith("caller-")


def test_behind_a_proxy_the_token_counts_and_on_a_public_server_nothing_does(tmp_path: Path) -> None:
    run = start(RunSpec("baseline:random", limit=4, shots=0), open_store(tmp_path))
    with serve_app(tmp_path, MEDFACT_PROXY="1") as url:
        assert run not in asked(url, {"page": "runs"}, X_Forwarded_For="8.8.8.8")
        assert run in asked(url, {"page": "runs"}, X_Forwarded_For="8.8.8.8", **AS_HOST)
    with serve_app(tmp_path, MEDFACT_PUBLIC="1") as url:
        cookie = f"medfact-visitor={secrets.token_hex(16)}; {COOKIE}={TOKEN}"
        told = asked(url, {"page": "runs"}, **AS_HOST) + asked(url, {"page": "runs"}, Cookie=cookie)
        assert run not in told
        assert "Did you start this server?" not in told
        opened = httpx.get(f"{url}?token={TOKEN}")
        assert (opened.status_code, COOKIE in opened.headers.get("set-cookie", "")) == (200, False)
        assert TOKEN not in (tmp_path / "log.txt").read_text()


def test_a_tunnel_opens_no_server_for_invited_guests(tmp_path: Path) -> None:
    with serve_app(tmp_path, MEDFACT_INVITED_ONLY="1") as url, open_tunnel(url) as there:
        for address in (url, there):
            with Visitor(address, as_host=False) as guest:
                assert guest.http.get("/runs").status_code == 403
                assert guest.http.post("/updates", json={"page": "runs"}).status_code == 403
            with Visitor(address) as host:
                assert host.http.get("/runs").status_code == 200


@pytest.mark.parametrize(("name", "value"), [("MEDFACT_TOKEN", "short"), ("MEDFACT_TOKEN", "a token with spaces")])
def test_what_cannot_be_a_token_is_said(
    name: str, value: str, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from medfact.web import host

    monkeypatch.setenv(name, value)
    host.token.cache_clear()
    ended = medfact("app", "--port", 0)
    assert ended.code == 2
    assert "MEDFACT_TOKEN is no token. Set it to 8 to 200 letters" in ended.err
    assert value not in ended.err
