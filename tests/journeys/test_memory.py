"""Nothing that a stranger only names is kept: hundreds of long names on every address of the server, and it holds no more."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import httpx
import psutil
import pytest
from browser import app_fixture
from raw_http import connect, find_app_process, receive_all, request_head
from visitors import Visitor
from waiting import wait_until

from medfact.web.guard import is_used
from medfact.web.uploads import plain_name

NAMES, LENGTH = 400, 28_000
"""Kept, they would take 11 MB for each address."""

MOST_BYTES = 8_000_000

FORM = b'--b\r\nContent-Disposition: form-data; name="files"%s\r\n\r\n%s\r\n--b--\r\n'
FORM_TYPE = {"Content-Type": "multipart/form-data; boundary=b"}


url = app_fixture("app_home", is_watched=True)


@pytest.fixture(scope="module")
def app(url: str) -> psutil.Process:
    """The server, once it has made all that it makes after its start: then its memory is the same at four looks in a row."""
    process, seen = find_app_process(url), list[int]()

    def is_settled() -> bool:
        seen.append(process.memory_info().rss >> 20)
        time.sleep(1)
        return len(seen) > 4 and len(set(seen[-4:])) == 1

    httpx.get(url, timeout=60)
    wait_until(is_settled)
    return process


def a_name() -> str:
    return secrets.token_hex(LENGTH // 2)


def holds_what_it_was_asked(app: psutil.Process, asked: Callable[[], object]) -> bool:
    """Whether the server grows by what it is asked each time. What it makes for itself meanwhile, it makes once."""
    for _ in range(20):
        asked()

    def grew() -> bool:
        before = app.memory_info().rss
        for _ in range(NAMES):
            asked()
        return app.memory_info().rss - before >= MOST_BYTES

    return all(grew() for _ in range(3))


ADDRESSES = [
    "/gradio_api/upload_progress?upload_id={}",
    "/gradio_api/heartbeat/{}",
    "/gradio_api/file={}",
    "/gradio_api/info?page={}",
    "/gradio_api/queue/data?session_hash={}",
    "/gradio_api/startup-events?x={}",
    "/?deep_link={}",
    "/?page={}",
    "/config?page={}",
    "/theme.css?v={}",
    "/static/{}",
    "/assets/{}",
    "/page/{}.js",
    "/export/{}",
    "/download/{}/report.html",
    "/download/{}/answers.csv",
    "/download/studio/{}.yaml",
    "/sign-in?to={}",
    "/login/callback?state={}&code=x",
    "/{}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_name_in_an_address_is_kept(url: str, app: psutil.Process, address: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:

        def asked() -> None:
            assert client.get(address.format(a_name())).status_code in {200, 400, 404, 414, 422}

        assert not holds_what_it_was_asked(app, asked)


def test_no_address_takes_a_name_of_sixty_thousand_characters(url: str) -> None:
    for address in ADDRESSES:
        with connect(url) as connection:
            connection.sendall(request_head(url, path=address.format("x" * 60_000)))
            assert receive_all(connection).startswith(b"HTTP/1.1 431 ")


def test_no_name_in_a_view_is_kept(url: str, app: psutil.Process) -> None:
    """Each is of another browser, which presses a button, so that its choice is noted."""
    with httpx.Client(base_url=url, timeout=60) as client:

        def asked() -> None:
            body = {"page": "evaluate", "setup": {"pool": a_name()[:19_000]}, "action": {"name": "drop_file"}}
            cookie = {"cookie": f"medfact-visitor={secrets.token_hex(16)}"}
            assert client.post("/updates", json=body, headers=cookie).status_code == 200

        assert not holds_what_it_was_asked(app, asked)


def test_no_name_of_an_upload_is_kept(url: str, app: psutil.Process) -> None:
    """Neither its id, nor the names of files that were not taken."""
    with Visitor(url) as visitor:

        def asked() -> None:
            name = a_name()
            sent = FORM % (b'; filename="x"', b"1")
            answer = visitor.http.post(f"/gradio_api/upload?upload_id={name}", content=sent, headers=FORM_TYPE)
            assert answer.status_code == 200
            nameless = visitor.http.post(f"/gradio_api/upload?upload_id={name}", content=FORM % (b"", b"1"), headers=FORM_TYPE)
            assert nameless.status_code == 400

        assert not holds_what_it_was_asked(app, asked)


def test_no_stream_of_the_page_library_is_open() -> None:
    for way in ("upload_progress", "heartbeat/abc", "queue/status", "stream/abc", "startup-events", "app_id", "openapi.json"):
        assert not is_used(f"/gradio_api/{way}")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("facts.csv", "facts.csv"),
        ("my facts (2).xlsx", "my facts (2).xlsx"),
        ("Müller, Ärzte.csv", "Müller, Ärzte.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\facts.csv", "facts.csv"),
        ("a\x00b\n.csv", "ab.csv"),
        ("<img src=x>.csv", "img src=x.csv"),
        ("..", ""),
        ("/", ""),
        ("", ""),
        (" . ", ""),
        (".csv", "csv"),
    ],
)
def test_a_files_name_is_made_harmless(name: str, kept: str) -> None:
    assert plain_name(name) == kept


def test_a_long_name_is_shortened_and_keeps_its_ending() -> None:
    made = plain_name("ü" * 5_000 + ".csv" + "x" * 5_000)
    assert len(made.encode()) < 200
    assert plain_name("ü" * 5_000 + ".csv").endswith("ü.csv")
