"""Whom the server believes: what proxies write, what pages of other origins send, and what comes twice."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from pathlib import Path

import httpx
import pytest
from browser import app_fixture, module_folder_fixture
from raw_http import connect, receive_all, request_head
from strangers import TABLE
from visitors import Visitor

from medfact.web.guard import is_own_page, own_places

USER = "X-Forwarded-User"
NAMED = "medfact.example.org, medfact.example.net:8443"


home = module_folder_fixture()


plain = app_fixture("home", is_watched=True, MEDFACT_HOSTS=NAMED)
"""The app without a proxy."""


proxied = app_fixture(
    "app_home", is_watched=True, MEDFACT_HOSTS=NAMED, MEDFACT_PROXY="1", MEDFACT_PUBLIC="1", MEDFACT_USER_HEADER=USER
)
"""The app behind a proxy at which people sign in."""


# ------------------------------------------------------------------------- what proxies write

FORGED = [
    {"X-Forwarded-Host": "evil.example"},
    {"X-Forwarded-Host": "evil.example, medfact.example.org"},
    {"X-Gradio-Server": "http://evil.example"},
    {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"},
    {"Forwarded": "host=evil.example"},
    {"X-Forwarded-Proto": "evil.example"},
    {"X-Forwarded-Prefix": "/evil.example"},
    {"X-Original-Host": "evil.example"},
    {"X-Forwarded-Server": "evil.example"},
]


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        *((headers, "config") for headers in FORGED),
        *(
            (FORGED[number], address)
            for number, address in enumerate(["", "facts", "facts/", "runs", "theme.css", "manifest.json"])
        ),
    ],
    ids=str,
)
def test_no_page_names_a_host_that_a_request_claims(plain: str, proxied: str, headers: dict[str, str], address: str) -> None:
    """Behind a proxy, too, it must be one of this server's names."""
    for url in (plain, proxied):
        made = httpx.get(url + address, headers=headers)
        assert "evil.example" not in made.text + str(made.headers)
    assert "evil.example" not in httpx.get(plain + address).text, "nor does it remember one"


def test_without_a_proxy_nothing_is_believed_of_the_schemes_and_names(plain: str) -> None:
    claimed = {"X-Forwarded-Host": "medfact.example.org", "X-Forwarded-Proto": "https"}
    assert httpx.get(f"{plain}config", headers=claimed).json()["root"] == plain.rstrip("/")


def test_behind_a_proxy_the_page_has_the_name_that_the_proxy_was_asked_for(proxied: str) -> None:
    written = {"X-Forwarded-Host": "medfact.example.org", "X-Forwarded-Proto": "https"}
    assert httpx.get(f"{proxied}config", headers=written).json()["root"] == "https://medfact.example.org"


# ------------------------------------------------------------------------- what comes twice


@pytest.mark.parametrize("first", ["dora", ""])
def test_who_has_signed_in_is_said_once(proxied: str, first: str) -> None:
    """A proxy that adds its header to one that a visitor sent: the first must not count, nor the last."""
    for names in ((USER, USER), (USER, USER.lower()), (USER.upper(), USER)):
        with connect(proxied) as connection:
            lines = [f"{name}: {value}" for name, value in zip(names, (first, "ada"), strict=True)]
            connection.sendall(request_head(proxied, *lines, "Connection: close", path="/runs"))
            said = receive_all(connection)
            assert said.startswith(b"HTTP/1.1 400 ")
            assert b"came twice" in said
    assert httpx.get(f"{proxied}runs", headers={USER: "ada"}).status_code == 200


@pytest.mark.parametrize("name", ["Host", "Origin", "Sec-Fetch-Site"])
def test_no_header_that_decides_comes_twice(plain: str, name: str) -> None:
    host = plain.partition("://")[2].rstrip("/")
    fine = {"Host": host, "Origin": plain.rstrip("/"), "Sec-Fetch-Site": "same-origin"}[name]
    for other in ("evil.example", fine):
        with connect(plain) as connection:
            lines = [f"{name}: {other}", *([] if name == "Host" else [f"{name}: {fine}"])]
            body = ("Content-Type: application/json", "Content-Length: 2", "Connection: close")
            connection.sendall(request_head(plain, *lines, *body, method="POST", path="/updates") + b"{}")
            assert receive_all(connection).startswith(b"HTTP/1.1 400 ")


# ------------------------------------------------------------------------- pages of other origins


def other_port(url: str) -> str:
    return f"http://127.0.0.1:{int(url.rstrip('/').rpartition(':')[2]) - 1}"


def test_a_page_at_another_port_is_anothers(plain: str) -> None:
    """Of the same host, under its number or under a name of this server."""
    name, port = "medfact.example.org", plain.rstrip("/").rpartition(":")[2]
    tried = {
        "127.0.0.1:" + port: [other_port(plain), "http://127.0.0.1", "https://127.0.0.1:1", f"http://localhost:{port}"],
        name: [f"https://{name}:8443", f"http://{name}:{port}", "https://medfact.example.net", f"https://x.{name}", "null", ""],
        f"{name}:{port}": [f"http://{name}:{int(port) - 1}"],
    }
    for host, origins in tried.items():
        for origin in origins:
            headers = {"Host": host, "Origin": origin}
            assert httpx.post(f"{plain}updates", headers=headers, json={"page": "runs"}).status_code == 403, headers
            assert httpx.post(f"{plain}gradio_api/upload", headers=headers, json={}).status_code == 403, headers
    own = [("127.0.0.1:" + port, plain.rstrip("/")), (f"{name}:{port}", f"http://{name}:{port}"), (name, f"https://{name}")]
    rewritten = [("127.0.0.1:" + port, f"https://{name}"), ("127.0.0.1", "https://medfact.example.net:8443")]
    for host, origin in own + rewritten:
        headers = {"Host": host, "Origin": origin}
        assert httpx.post(f"{plain}updates", headers=headers, json={"page": "runs"}).status_code == 200, headers


def test_an_origin_that_fits_does_not_make_up_for_a_browser_that_says_otherwise(plain: str) -> None:
    for site in ("cross-site", "same-site"):
        headers = {"Origin": plain.rstrip("/"), "Sec-Fetch-Site": site}
        assert httpx.post(f"{plain}updates", headers=headers, json={"page": "runs"}).status_code == 403


# ------------------------------------------------------------------------- ranges, and forms without a file


@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=0-1,3-4", "bytes=0-1", "bytes=-5", "bytes=5-", "bytes=9-1", "bytes=--", "bytes=1-2-3", "lines=1-2",
        "bytes=0-" + "9" * 40, "-",
    ],
)  # fmt: skip
def test_a_part_of_a_file_is_asked_in_vain(plain: str, wanted: str) -> None:
    """The whole comes, which is right for any range; and nothing of the request with it."""
    with Visitor(plain) as visitor:
        path = visitor.upload("facts.csv", TABLE)
        mark = f"mark-{secrets.token_hex(4)}"
        got = visitor.http.get(f"/gradio_api/file={path}", headers={"Range": wanted, "If-Range": "x", "X-Mark": mark})
        assert (got.status_code, got.content) == (200, TABLE)
        assert mark not in str(got.headers)
        assert visitor.http.get("/page/medfact.js", headers={"Range": wanted}).status_code == 200
        assert visitor.http.get("/favicon.ico", headers={"Range": wanted}).status_code == 200


PART = b'--b\r\nContent-Disposition: form-data; name="files"; filename="facts.csv"\r\n\r\n' + TABLE + b"\r\n"
FORMS = {
    "no name of a file": b'--b\r\nContent-Disposition: form-data; name="files"\r\n\r\n' + TABLE + b"\r\n--b--\r\n",
    "an empty name": PART.replace(b"facts.csv", b"") + b"--b--\r\n",
    "a name of dots": PART.replace(b"facts.csv", b"..") + b"--b--\r\n",
    "a name of a folder": PART.replace(b"facts.csv", b"x/") + b"--b--\r\n",
    "no name of a field": PART.replace(b'name="files"; ', b"") + b"--b--\r\n",
    "another field": PART.replace(b'name="files"', b'name="other"') + b"--b--\r\n",
    "no disposition": b"--b\r\n\r\n" + TABLE + b"\r\n--b--\r\n",
    "two files": PART + PART + b"--b--\r\n",
    "no part": b"--b--\r\n",
    "nothing": b"",
    "no end": PART,
    "rubbish": b"\xff" * 1_000,
    "a long head": PART.replace(b"facts.csv", b"x" * 1_000_000) + b"--b--\r\n",
    "many heads": PART.replace(b"\r\n\r\n", b"\r\n" + b"x: y\r\n" * 100_000 + b"\r\n", 1) + b"--b--\r\n",
    "many fields": b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n' * 5_000 + PART + b"--b--\r\n",
}


KINDS = ("multipart/form-data; boundary=b", "multipart/form-data", "text/plain", "application/x-www-form-urlencoded", "")


@pytest.mark.parametrize("form", FORMS)
def test_a_form_without_a_file_is_refused(plain: str, form: str) -> None:
    with Visitor(plain) as visitor:
        for kind in KINDS if form in {"two files", "nothing"} else KINDS[:1]:
            headers = {"Content-Type": kind} if kind else {}
            response = visitor.http.post("/gradio_api/upload?upload_id=abc", content=FORMS[form], headers=headers)
            assert response.status_code == 400, (kind, response.text)


@pytest.mark.parametrize(
    "name", ["facts.csv", "../facts.csv", "C:\\x\\facts.csv", "fäcts (1).csv", "x" * 3_000 + ".csv", "a\tb.csv"]
)
def test_a_file_lies_in_the_folder_of_uploads_alone(plain: str, home: Path, name: str) -> None:
    """And its sender is told where within that, and nothing of the server's folders."""
    with Visitor(plain) as visitor:
        told = visitor.upload(name, TABLE)
        assert re.fullmatch(r"[0-9a-f]{40}/[^/]+\.csv", told)
        path = home / "uploads" / told
        assert path.read_bytes() == TABLE
        assert path.suffix == ".csv"
        assert [one.stat().st_mode & 0o077 for one in (path, path.parent, path.parents[1])] == [0, 0, 0]


def test_names_with_and_without_a_port() -> None:
    from starlette.datastructures import Headers

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEDFACT_HOSTS", NAMED)
        assert own_places() == {"medfact.example.org", "medfact.example.net:8443"}
        assert is_own_page(Headers({"host": "x", "origin": "https://MEDFACT.example.org"}))
        assert not is_own_page(Headers({"host": "x", "origin": "https://medfact.example.net"}))


def test_the_folder_of_uploads_is_made_again_where_it_vanished(plain: str, home: Path) -> None:
    """What lay there is asked for again, and new files are taken."""
    with Visitor(plain) as visitor:
        lost = visitor.upload("lost.csv", TABLE + b"x,symptoms,lost\n")
        shutil.rmtree(home / "uploads")
        assert "Upload it again" in str(visitor.press_button("take_file", lost)["fragments"])
        again = visitor.upload("facts.csv", TABLE)
        assert "14 true facts read" in str(visitor.press_button("take_file", again)["fragments"])
        assert (home / "uploads").stat().st_mode & 0o077 == 0


def test_a_slow_upload_ends(plain: str, home: Path) -> None:
    """Whoever leaves in the middle of a file leaves nothing behind."""
    with Visitor(plain) as visitor:
        visitor.upload("facts.csv", TABLE)
        folder = home / "uploads"
        before = {path.name for path in folder.iterdir()}
        with connect(plain) as connection:
            lines = (f"Cookie: medfact-visitor={visitor.cookie}", "Content-Type: multipart/form-data; boundary=b")
            connection.sendall(
                request_head(plain, *lines, "Content-Length: 1000000", method="POST", path="/gradio_api/upload") + PART
            )
        until = time.monotonic() + 30
        while {path.name for path in folder.iterdir()} != before:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert visitor.upload("facts.csv", TABLE)
