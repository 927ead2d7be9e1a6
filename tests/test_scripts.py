"""The scripts at the top of every page: put there once, compressed, and never an old one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.testclient import TestClient

from medfact.web import scripts

PAGE = "<!doctype html><html><head><title>é</title></head><body><p>&lt;head&gt; <head></p></body></html>"


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.add_middleware(scripts.WithScripts)

    app.get(scripts.ADDRESS)(scripts.script)
    app.get(scripts.LIBRARY_ADDRESS)(scripts.of_library)

    @app.get("/html")
    def html() -> Response:
        return HTMLResponse(PAGE)

    @app.get("/headless")
    def headless() -> Response:
        return HTMLResponse("nothing here")

    @app.get("/packed")
    def packed() -> Response:
        return HTMLResponse(gzip.compress(PAGE.encode()), headers={"content-encoding": "gzip"})

    @app.get("/json")
    def json() -> dict[str, str]:
        return {"page": "<head>"}

    @app.get("/pieces")
    def pieces() -> Response:
        return StreamingResponse(iter([PAGE[:30], PAGE[30:]]), media_type="text/html")

    return TestClient(app)


def test_a_page_begins_with_the_scripts(client: TestClient) -> None:
    said = client.get("/html")
    assert said.text == PAGE.replace("<head>", f"<head>{scripts.TOP.decode()}", 1)
    assert int(said.headers["content-length"]) == len(said.content)
    assert said.text.index("clocks.js") < said.text.index("medfact.js") < said.text.index("runs.js")


@pytest.mark.parametrize("where", ["/headless", "/packed", "/json", "/pieces"])
def test_everything_else_goes_through_as_it_is(client: TestClient, where: str) -> None:
    said = client.get(where)
    assert "clocks.js" not in said.text
    assert said.text in {PAGE, "nothing here", '{"page":"<head>"}'}


@pytest.mark.parametrize("name", scripts.FILES)
def test_a_script_comes_packed_and_whole(client: TestClient, name: str) -> None:
    content = scripts.FILES[name].read_bytes()
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
    assert client.get("/page/runs.js").headers["etag"] != first.headers["etag"]


def test_no_other_file_is_served(client: TestClient) -> None:
    for name in ("app", "..%2Fpage%2Fmedfact", "medfact.css", str(Path(__file__).with_suffix(""))):
        assert client.get(f"/page/{name}.js").status_code == 404


def test_the_page_librarys_files_are_sent_whole_and_for_good(client: TestClient) -> None:
    assert len(scripts.LIBRARY) > 100
    for name in sorted(scripts.LIBRARY)[::40]:
        said = client.get(f"/assets/{name}")
        assert said.content == scripts.LIBRARY[name].read_bytes(), name
        assert "immutable" in said.headers["cache-control"]
    kinds = {name.rpartition(".")[2]: client.get(f"/assets/{name}").headers["content-type"] for name in scripts.LIBRARY}
    assert kinds["js"].startswith("text/javascript")
    assert kinds["css"].startswith("text/css")
    assert client.get("/assets/..%2Findex.html").status_code == 404
    assert client.get("/assets/nothing.js").status_code == 404
