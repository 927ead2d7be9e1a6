"""The app in a browser: fixtures and actions of the tests of its pages. `conftest.py` imports the fixtures."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sqlite3
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import yaml
from forked_app import can_be_forked, fork_app
from hosts import AS_HOST, COOKIE, TOKEN
from installed import ROOT, app_command
from waiting import HANG_SECONDS

from medfact.limits import FILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page


def type_pair_count(page: Page, pairs: int) -> None:
    """Types the number of pairs, and once more if the box was still being built and restored its old number.

    The sentence next to the button shows the number that the server has received.
    """
    from playwright.sync_api import expect

    box, sentence = page.locator("#pairs input[type=number]"), page.locator("#go")
    for timeout in (2_000, 4_000, 8_000, 30_000):
        box.fill(str(pairs))
        box.press("Tab")
        try:
            expect(sentence).to_contain_text(re.compile(rf"(?<![\d,]){pairs:,} true"), timeout=timeout)
            return
        except AssertionError:
            if timeout == 30_000:
                raise


def find_chromium() -> str:
    """Returns the path of Chromium; prefers the build without a window, which needs half of the processor time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    assert program, "The browser tests need Chromium: apt-get install chromium-headless-shell"
    return program


@pytest.fixture(scope="module")
def app_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the database, the uploads and the log."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def address(app_home: Path) -> Iterator[str]:
    """URL of the app, started on a free port."""
    with serve_app(app_home) as url:
        yield url
    assert "Traceback" not in (app_home / "log.txt").read_text()


def module_folder_fixture() -> Any:
    """Returns a module fixture: an empty folder."""

    @pytest.fixture(scope="module")
    def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("module")

    return folder


def app_fixture(home: str, *, is_watched: bool = False, **environment: str) -> Any:
    """Returns a module fixture: the URL of an app in the folder of the fixture `home`, with these environment variables.

    is_watched: the fixture fails if the app has logged a traceback.
    """

    @pytest.fixture(scope="module")
    def app(request: pytest.FixtureRequest) -> Iterator[str]:
        folder = request.getfixturevalue(home)
        with serve_app(folder, **environment) as url:
            yield url
        assert not is_watched or "Traceback" not in (folder / "log.txt").read_text()

    return app


def disable_rate_limits(home: Path, **limits: Any) -> dict[str, str]:
    """Writes limits without request rates; returns the variables of a public server with them. limits: other changes."""
    defaults = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    file = home / "limits.yaml"
    file.write_text(
        yaml.safe_dump(defaults | {"rates": {}} | {name: defaults[name] | values for name, values in limits.items()})
    )
    return {"MEDFACT_PUBLIC": "1", "MEDFACT_LIMITS": str(file)}


@cache
def demonstration_database() -> Path:
    """Returns the path of a database in which the bundled model has answered the demonstration.

    An app without it runs the demonstration itself, which takes longer than most tests.
    """
    from medfact.runs.run import answer
    from medfact.runs.start import start
    from medfact.store import Store
    from medfact.web.services import DEMONSTRATION, DEMONSTRATION_OWNER

    folder = Path(tempfile.mkdtemp(prefix="medfact-demonstration-"))
    store = Store(f"sqlite:///{folder / 'working.db'}", DEMONSTRATION_OWNER)
    list(answer(start(DEMONSTRATION, store), store))
    with closing(sqlite3.connect(folder / "working.db")) as connection:
        connection.execute("VACUUM INTO ?", [str(folder / "medfact.db")])  # one file, without a write-ahead log
    return folder / "medfact.db"


@contextmanager
def serve_app(home: Path, folder: Path | None = None, *, is_new: bool = False, **more: str) -> Iterator[str]:
    """Runs the app in a process while the context is active, and yields its URL.

    A database that it lacks begins with the demonstration's answers, unless the app is new: then it creates its own.

    folder: its working directory. more: environment variables.
    """
    if not is_new and not (home / "medfact.db").exists() and more.keys().isdisjoint(("MEDFACT_DATABASE_URL", "MEDFACT_BUCKET")):
        shutil.copy(demonstration_database(), home / "medfact.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MEDFACT_HOME": str(home), "GRADIO_SERVER_PORT": str(port), "HF_HUB_OFFLINE": "1"}
    environment["MEDFACT_TOKEN"] = TOKEN
    for name in ("MEDFACT_DATABASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        environment.pop(name, None)
    log = home / "log.txt"
    log.write_text("")
    command, default_folder = app_command()
    working_folder = default_folder if folder is None or folder == ROOT else folder
    start = fork_app if can_be_forked(command, more) else _start_app
    process = start(command, working_folder, environment | more, log)
    url = f"http://127.0.0.1:{port}/"
    try:
        _wait_until_served(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _start_app(command: list[str], folder: Path, environment: dict[str, str], log: Path) -> psutil.Popen:
    command = [str(ROOT / part) if part.endswith(".py") else part for part in command]
    with log.open("w") as output:
        return psutil.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)


def _wait_until_served(url: str, process: psutil.Process, log: Path) -> None:
    for _ in range(10 * HANG_SECONDS):
        assert process.is_running(), log.read_text()
        assert process.status() != psutil.STATUS_ZOMBIE, log.read_text()
        try:
            urllib.request.urlopen(urllib.request.Request(url, headers=AS_HOST), timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium whose windows hold the cookie of the host."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        _add_host_cookie(started)
        yield started
        started.close()


def _add_host_cookie(browser: Browser) -> None:
    """Adds the cookie of the host to each new window of a browser."""
    new_context = browser.new_context

    def open_as_host(**options: Any) -> BrowserContext:
        context = new_context(**options)
        context.add_cookies([{"name": COOKIE, "value": TOKEN, "domain": "127.0.0.1", "path": "/"}])
        return context

    browser.new_context = open_as_host  # type: ignore[method-assign]


def collect_page_errors(opened: Page, address: str) -> list[str]:
    """Returns a list that collects console errors, dialogs, page errors and requests to other hosts from now on."""
    opened.set_default_timeout(60_000)
    trouble: list[str] = []

    def note_error(message: ConsoleMessage) -> None:
        if message.type == "error":
            trouble.append(message.text)

    opened.on("console", note_error)
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    opened.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "data:", "blob:", address.replace("http", "ws")))
            else trouble.append(f"requested another host: {request.url}")
        ),
    )
    return trouble


@contextmanager
def open_checked_page(browser: Browser, address: str, width: int = 1280, height: int = 900, **more: Any) -> Iterator[Page]:
    """Opens a page in a new window; asserts at the end that it had no error, no dialog and no request to another host."""
    context = browser.new_context(viewport={"width": width, "height": height}, **more)
    opened = context.new_page()
    trouble = collect_page_errors(opened, address)
    yield opened
    context.close()
    assert trouble == []


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page with the set-up of an evaluation."""
    from playwright.sync_api import expect

    with open_checked_page(browser, address) as opened:
        opened.goto(f"{address}evaluate")
        expect(opened.locator("#models input").first).to_be_visible()
        yield opened


def open_demonstration(page: Page, address: str) -> None:
    """Opens the results of the demonstration, and waits for its scores."""
    from playwright.sync_api import expect

    page.goto(address)
    page.locator("[data-key=demonstration]").click(timeout=120_000)
    expect(page.locator("#scores tbody tr").first).to_be_visible()


def choose_models(page: Page, *names: str) -> None:
    """Ticks these models and no others, after it has waited for the list."""
    from playwright.sync_api import expect

    boxes = page.locator("#models input[type=checkbox]")
    expect(boxes.first).to_be_visible()
    for box in boxes.all():
        box.set_checked(False)
    expect(page.locator("mf-part[name=go]")).to_contain_text("0 models are chosen")  # the server knows
    for name in names:
        exactly = re.compile(rf"^{re.escape(name)}(?: \(demonstration\))?$")
        page.locator("#models").get_by_role("checkbox", name=exactly).set_checked(True)
