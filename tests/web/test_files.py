"""The page's script and the plotting library: sent packed, whole, and never an old one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from medfact.web import layout


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.include_router(layout.routes())
    return TestClient(app)


@pytest.mark.parametrize("name", layout.SCRIPTS)
def test_a_script_comes_packed_and_whole(client: TestClient, name: str) -> None:
    content = layout.SCRIPTS[name].read_bytes()
    packed = client.get(f"/page/{name}.js")  # the client unpacks it
    plain = client.get(f"/page/{name}.js", headers={"accept-encoding": "identity"})
    assert packed.content == plain.content == content
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert int(packed.headers["content-length"]) < len(content)


def test_a_script_that_the_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/page/medfact.js")
    assert first.headers["cache-control"] == "no-cache"  # it asks whether there is a newer one
    again = client.get("/page/medfact.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/medfact.js", headers={"if-none-match": '"of another version"'}).status_code == 200


def test_no_other_file_is_served(client: TestClient) -> None:
    for name in ("app", "..%2Fpage%2Fmedfact", "medfact.css", str(Path(__file__).with_suffix(""))):
        assert client.get(f"/page/{name}.js").status_code == 404


def test_the_pages_scripts_are_short() -> None:
    """Under 680 lines: the server draws, the script only puts in place, uploads files, and remembers the way back."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in layout.PAGE.glob("*.js"))
    assert lines < 680
