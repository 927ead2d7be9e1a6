"""A page is told once: from its declaration follow its address, its place in the navigation, its fragments and its buttons."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from markupsafe import Markup, escape
from waiting import HANG_SECONDS

from medfact.errors import Mistake
from medfact.web.app import create_app
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages.every import PAGES, declared_in


class NotesShow(Show):
    """word: what is looked at."""

    word: str = ""
    page: int = 0


def view(visitor: Visitor, show: NotesShow) -> View:
    return View({"note": Markup(f"<p>{escape(show.word or 'nothing yet')}</p>")}, show)


def note(visitor: Visitor, show: NotesShow, action: Action) -> tuple[NotesShow, Message]:
    if not action.about:
        raise Mistake("There is nothing to note.", "Say something.")
    return show.model_copy(update={"word": action.about}), Message("Noted.", "good")


PAGE = Page(
    "notes",
    "Notes",
    ("note", "said"),
    NotesShow,
    view,
    {"note": note},
    address=("word",),
    stops=("word",),
    introduction="# Notes\nOf a visitor.",
)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[httpx.Client]:
    monkeypatch.setitem(PAGES, PAGE.name, PAGE)
    server = uvicorn.Server(uvicorn.Config(create_app(f"sqlite:///{tmp_path / 'x.db'}"), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    ready = threading.Event()
    while not server.started:
        assert thread.is_alive()
        ready.wait(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=HANG_SECONDS) as client:
        yield client
    server.should_exit = True
    thread.join()


def asked(site: httpx.Client, **question: object) -> dict[str, dict[str, str]]:
    answer = site.post("/updates", json={"page": "notes", **question})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_page_that_is_declared_is_on_the_site(site: httpx.Client) -> None:
    """Route, navigation, what the guard lets through, fragments, address, back button and buttons."""
    page = site.get("/notes")
    assert page.status_code == 200
    assert 'name=\\"note\\"' in page.text, "the places of its parts"
    assert "Notes" in site.get("/").text, "the navigation"
    assert site.get("/note").status_code == 404
    shown = asked(site, address="?word=gout&page=3")
    assert (shown["show"], shown["query"], shown["title"]) == ({"word": "gout"}, "?word=gout", "Notes · medfact") or (
        shown["show"]["page"] == 0  # which no address tells
    )
    assert shown["fragments"] == {"note": "<p>gout</p>"}
    assert shown["stop"] == {"word": "gout"}
    assert asked(site, show={"word": "<b>"})["fragments"] == {"note": "<p>&lt;b&gt;</p>"}
    pressed = asked(site, action={"name": "note", "about": "ague"})
    assert (pressed["show"]["word"], pressed["fragments"]["note"]) == ("ague", "<p>ague</p>")
    assert "Noted." in pressed["fragments"]["said"]
    assert "There is nothing to note." in asked(site, action={"name": "note", "about": ""})["fragments"]["said"]


def test_a_file_in_the_folder_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "more_pages"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "notes.py").write_text("from test_new_page import PAGE as PAGE\n")
    (package / "helper.py").write_text("PAGE = 'no page'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "test_new_page", sys.modules[__name__])
    assert declared_in([str(package)], "more_pages") == {"notes": PAGE}
    assert [*PAGES] == ["evaluate", "facts", "review", "studio", "write", "runs", "compare", "gallery"]
