"""A published run in a frame of another site, and as a static Space: each in Chromium, on two origins of loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import collect_page_errors
from playwright.sync_api import Browser, Page, expect
from recorded import complete_run

from medfact.spec import RunSpec
from medfact.store import Store

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """A folder, served by a plain server at another port: another origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def runs(app_home: Path) -> tuple[str, str]:
    """A run that is published, and one that is not."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}")
    made = [
        complete_run(RunSpec(model=f"baseline:{name}", limit=12, shots=0), store) for name in ("negation-cue", "always-true")
    ]
    store.publications.publish(made[0], "<b>the first</b>")
    return made[0], made[1]


@pytest.fixture
def framed(browser: Browser, tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """Opens a page of another site that shows an address in a frame."""
    opened: list[Page] = []
    with site(tmp_path) as other:

        def show(address: str) -> Page:
            (tmp_path / "index.html").write_text(f'<h1>elsewhere</h1><iframe src="{address}" width="480" height="320">')
            page = browser.new_context(color_scheme="dark" if "dark" in address else "light").new_page()
            page.set_default_timeout(60_000)
            expect.set_options(timeout=60_000)
            opened.append(page)
            page.goto(other, wait_until="commit")
            return page

        yield show
    for page in opened:
        page.context.close()


def test_a_published_run_shows_in_a_frame_of_another_site(
    runs: tuple[str, str], address: str, framed: Callable[[str], Page]
) -> None:
    page = framed(f"{address}embed/{runs[0]}")
    inside = page.frame_locator("iframe")
    expect(inside.locator("h1")).to_have_text("<b>the first</b>")
    expect(inside.locator("#verdict")).to_contain_text("masters 50% of 24 facts")
    expect(inside.locator(".bar s").first).to_be_attached()
    assert inside.locator("form, script, input, button").count() == 0
    link = inside.get_by_role("link", name="medfact")
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener")
    with page.context.expect_page() as led:
        link.click()
    expect(led.value).to_have_url(f"{address}evaluate?run={runs[0]}")
    led.value.close()
    cookies = [one for one in page.context.cookies() if one["path"] == "/embed"]
    assert cookies == []


@pytest.mark.parametrize("path", ["evaluate?run={run}", "embed/{other}"])
def test_nothing_else_does(runs: tuple[str, str], address: str, framed: Callable[[str], Page], path: str) -> None:
    """`test_its_headers_and_no_cookie` looks at the other addresses."""
    asked = f"{address}{path.format(run=runs[0], other=runs[1])}"
    page = framed(asked)
    page.wait_for_load_state("load")
    (inside,) = page.frames[1:]
    assert asked not in inside.url
    assert inside.url.startswith("chrome-error:")


def test_its_headers_and_no_cookie(runs: tuple[str, str], address: str) -> None:
    url = f"{address}embed/{runs[0]}"
    plain = httpx.get(url)
    assert "frame-ancestors *" in plain.headers["content-security-policy"]
    assert "x-frame-options" not in plain.headers
    assert "set-cookie" not in plain.headers
    cookie = httpx.get(address).headers["set-cookie"].partition(";")[0]
    known = httpx.get(url, headers={"cookie": cookie})
    assert known.content == plain.content
    assert {httpx.request(method, url).status_code for method in ("POST", "PUT", "DELETE")} <= {404, 405}
    for path in (
        "",
        "evaluate",
        "runs",
        "docs",
        "healthz",
        f"download/{runs[0]}/card.txt",
        f"embed/{runs[1]}",
        f"embed/{runs[0]}x",
        f"download/{runs[0]}/report.html",
        "nothing",
    ):
        answer_ = httpx.get(f"{address}{path}")
        assert "frame-ancestors 'self'" in answer_.headers["content-security-policy"], path
        if "embed" in path:
            assert answer_.status_code == 404
            assert "set-cookie" not in answer_.headers


def test_colours_follow_the_visitors(browser: Browser, runs: tuple[str, str], address: str) -> None:
    papers = []
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme).new_page()  # type: ignore[arg-type]
        page.goto(f"{address}embed/{runs[0]}")
        papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.context.close()
    assert papers == ["rgb(255, 255, 255)", "rgb(17, 24, 39)"]


def test_the_share_menu_has_the_snippet(browser: Browser, runs: tuple[str, str], address: str, tmp_path: Path) -> None:
    page = browser.new_context().new_page()
    trouble = collect_page_errors(page, address)
    page.goto(f"{address}evaluate?run={runs[0]}")
    page.locator("[data-key=share]").click()
    expect(page.locator(".mf-menu[open]")).to_contain_text("To show it on another site, paste this there.")
    snippet = page.locator("#embed").inner_text()
    assert f'src="{address}embed/{runs[0]}"' in snippet
    (tmp_path / "index.html").write_text(snippet)
    with site(tmp_path) as other:
        elsewhere = page.context.new_page()
        elsewhere.goto(other)
        expect(elsewhere.frame_locator("iframe").locator("#verdict")).to_be_visible()
    page.goto(f"{address}runs?of=published")
    expect(page.locator("#runs")).to_contain_text("<b>the first</b>")
    page.goto(f"{address}evaluate?run={runs[1]}")
    expect(page.locator("[data-key=copy-link]")).to_have_text("Share")
    assert page.locator("#embed").count() == 0
    page.context.close()
    assert trouble == []


def test_withdrawn_it_is_gone(runs: tuple[str, str], address: str, app_home: Path) -> None:
    store = Store(f"sqlite:///{app_home / 'medfact.db'}")
    store.publications.publish(runs[1], "for a while")
    assert httpx.get(f"{address}embed/{runs[1]}").status_code == 200
    store.publications.withdraw(runs[1])
    assert httpx.get(f"{address}embed/{runs[1]}").status_code == 404


# ------------------------------------------------------------------------------------------------ a static Space


@pytest.mark.parametrize("way", ["file", "server"])
def test_a_static_space_asks_nobody_else(
    browser: Browser, runs: tuple[str, str], app_home: Path, tmp_path: Path, medfact: Callable[..., Any], way: str
) -> None:
    folder = tmp_path / "space"
    done = medfact("publish", runs[0], "--static", folder, "--db", f"sqlite:///{app_home / 'medfact.db'}")
    assert done.code == 0, done.err
    with site(folder) as served:
        begin = f"{folder.as_uri()}/" if way == "file" else served
        page = browser.new_context(offline=way == "file").new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        trouble = collect_page_errors(page, begin)
        page.goto(f"{begin}index.html")
        expect(page.locator("h1")).to_contain_text("true unless denied")
        links = page.locator("a[href$='.csv'], a[href$='.svg']").evaluate_all("(all) => all.map((one) => one.href)")
        assert links == [f"{begin}answers.csv", f"{begin}card.svg"]
        assert page.locator("script").count() == 0
        page.context.close()
    assert [url for url in asked if not url.startswith(begin)] == []
    assert trouble == []
