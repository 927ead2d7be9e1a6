"""A page is told once: from its declaration follow its address, its place in the navigation, its fragments and its buttons."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import serve_app
from markupsafe import Markup, escape
from waiting import HANG_SECONDS

from medfact.errors import Mistake
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages.every import PAGES, declared_in

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = os.pathsep.join(map(str, (Path(__file__).parent, ROOT / "tests" / "helpers")))


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


SERVER = """
import test_new_page
from medfact.web.app import serve
from medfact.web.pages.every import PAGES
PAGES[test_new_page.PAGE.name] = test_new_page.PAGE
raise SystemExit(serve())
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr("browser.app_command", lambda: ([sys.executable, "-c", SERVER], ROOT))
    with (
        serve_app(tmp_path, PYTHONPATH=FOLDERS) as url,
        httpx.Client(base_url=url, timeout=HANG_SECONDS) as client,
    ):
        yield client


def asked(site: httpx.Client, **question: object) -> dict[str, Any]:
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
    assert shown["show"] == {"word": "gout", "page": 0}, "no address tells a field that is not named for it"
    assert (shown["query"], shown["title"]) == ("?word=gout", "Notes · medfact")
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
    main = {"home", "evaluate", "facts", "review", "studio", "write", "curate", "runs"}
    assert {*PAGES} >= main | {"tour", "game", "docs", "agents", "partners"}
