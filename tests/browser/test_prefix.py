"""The page behind a reverse proxy that serves it under a path prefix, which it strips, in a real browser."""

from __future__ import annotations

import csv
import io
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from browser import choose_models, collect_page_errors, serve_app
from pages import upload_file
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

PREFIX = "/tools/medfact"
HOPS = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}
"""Headers that belong to one connection alone."""


@contextmanager
def proxied(behind: str) -> Iterator[str]:
    """A proxy on loopback that takes the prefix away, and answers nothing outside it."""
    client = httpx.Client(timeout=120)

    def forward(request: Request, body: bytes) -> Response:
        path = request.scope["raw_path"].decode().removeprefix(PREFIX) or "/"
        headers = {name: value for name, value in request.headers.items() if name not in HOPS}
        headers |= {"host": request.headers["host"], "x-forwarded-host": request.headers["host"], "x-forwarded-for": "8.8.8.8"}
        query = f"?{request.url.query}" if request.url.query else ""
        url = behind.rstrip("/") + path + query
        with client.stream(request.method, url, headers=headers, content=body) as answer:
            content = b"".join(answer.iter_raw())
            made = Response(content, answer.status_code)
            made.raw_headers = [(name, value) for name, value in answer.headers.raw if name.decode().lower() not in HOPS] + [
                (b"content-length", str(len(content)).encode())
            ]
            return made

    async def inside(request: Request) -> Response:
        if "heartbeat" in request.url.path:  # it never ends
            return PlainTextResponse("", status_code=204)
        import anyio

        return await anyio.to_thread.run_sync(forward, request, await request.body())

    methods = ["GET", "POST", "HEAD"]
    app = Starlette(routes=[Route(PREFIX + "/{path:path}", inside, methods=methods)])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", proxy_headers=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}{PREFIX}/"
    finally:
        server.should_exit = True
        thread.join(20)
        client.close()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("proxied")
    with serve_app(home, GRADIO_ROOT_PATH=PREFIX) as behind, proxied(behind) as url:
        yield url
    assert "Traceback" not in (home / "log.txt").read_text()


@pytest.fixture
def page(browser: Browser, front: str) -> Iterator[Page]:
    """Whatever it asks for outside the prefix is trouble: the proxy answers 404 there, and the console says so."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    trouble = collect_page_errors(opened, front)
    opened.on("response", lambda answer: trouble.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    opened.goto(f"{front}evaluate")
    expect(opened.locator("#models input").first).to_be_visible()
    yield opened
    context.close()
    # a browser looks for its icon at the root by itself; every other answer is heard above, with its address
    assert [one for one in trouble if not one.startswith("Failed to load resource")] == []


@pytest.mark.browser
def test_one_evaluates_uploads_and_downloads_under_a_prefix(page: Page, front: str, tmp_path: Path) -> None:
    rows = [f"disease {n},symptoms,sign {n}" for n in range(14)]
    (tmp_path / "own.csv").write_text("\n".join(["head,relation,tail", *rows]) + "\n")
    upload_file(page, tmp_path / "own.csv")
    expect(page.locator("mf-part[name=facts-said]")).to_contain_text("14 true facts read")
    choose_models(page, "a coin")
    page.locator("#evaluate").click()
    expect(page).to_have_url(re.compile(r"run=[0-9a-f]{32}"))
    expect(page.locator("#progress")).to_contain_text("complete")
    run = page.url.partition("run=")[2][:32]
    assert page.url.startswith(f"{front}evaluate?run={run}")
    page.goto(f"{front}runs")
    expect(page.locator("#runs .mf-line").first).to_be_visible()
    with page.expect_download() as download:
        page.locator("[data-key^=menu-]").first.click()
        page.get_by_role("link", name="Export").first.click()
    assert Path(download.value.path()).read_bytes()[:2] == b"\x1f\x8b"
    answers = page.request.get(f"{front}download/{run}/answers.csv")
    assert {row["run"] for row in csv.DictReader(io.StringIO(answers.text()))} == {run}


@pytest.mark.browser
def test_every_page_opens_and_its_links_stay_under_the_prefix(page: Page, front: str) -> None:
    for where in (
        "facts",
        "review",
        "studio",
        "write",
        "runs",
        "evaluate",
        "tour",
        "game",
        "docs",
        "facts/",
        "docs/",
    ):
        page.goto(f"{front}{where}")
        expect(page.locator("mf-part").last).to_be_attached()
        page.wait_for_function("() => [...document.querySelectorAll('mf-part')].some((part) => part.children.length)")
        links = page.evaluate("[...document.querySelectorAll('a[href]')].map((link) => link.href)")
        assert links
        server = front.partition("/tools")[0]
        assert [link for link in links if link.startswith(server) and not link.startswith(front.rstrip("/"))] == [], where
