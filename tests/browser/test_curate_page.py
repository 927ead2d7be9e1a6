"""The page From documents in a real browser: keyboard, phone, dark mode, and the facts as a file. Needs Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import open_checked_page
from pages import accessibility_violations
from playwright.sync_api import Browser, Page, expect

from medfact.datasets import load_file
from medfact.store import Candidate, Store

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
SAID = "Gout is treated with colchicine."
PROPOSALS = [
    Candidate("gout", "therapeutic drugs", "colchicine", SAID, "Gout", "Ward notes", "page 1"),
    Candidate(
        "gout", "therapeutic drugs", "lithium", f"Gout {HOSTILE} is not treated with lithium.", HOSTILE, HOSTILE, HOSTILE, "not"
    ),
    Candidate("gout", "therapeutic drugs", "asprin", "Aspirin may help in gout.", "Gout", "Ward notes", "page 2"),
    Candidate("gout", "therapeutic drugs", "insulin", SAID, "Gout", "Ward notes", "page 1", control=True),
]


DRAW_NAVIGATION_LATE = """() => {
  const frame = document.querySelector("mf-part[name=frame]"), late = frame.cloneNode(true);
  late.querySelector("[data-work]").hidden = true;
  frame.replaceWith(late);
}"""
"""Draws the navigation as a slow browser does: after the server's first answer, which says which tabs have work."""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of a browser of its own."""
    with open_checked_page(browser, address) as opened:
        yield opened


def test_proposals_are_decided_by_keyboard_and_become_a_file(page: Page, address: str, app_home: Path, tmp_path: Path) -> None:
    store = Store(f"sqlite:///{app_home / 'medfact.db'}")
    curation = store.curations.begin("ward notes", "notes.csv", PROPOSALS, 1, {})
    page.goto(f"{address}facts")
    tab = page.get_by_role("navigation", name="Facts").get_by_role("link", name="From documents")
    expect(tab).to_be_visible()
    page.evaluate(DRAW_NAVIGATION_LATE)
    tab.click()
    card = page.locator("#proposal")
    name = page.get_by_label("Your name or initials")
    name.fill("ada")
    name.press("Enter")  # out of the field
    expect(card).to_contain_text("decided by ada")
    page.set_viewport_size({"width": 390, "height": 800})
    for dark in (False, True):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
        assert accessibility_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(button.bounding_box()["height"] >= 24 for button in card.locator("button:visible").all())  # type: ignore[index]
    expect(card.locator("mark.mf-of-tail").first).to_have_text("colchicine")
    page.keyboard.press("a")
    expect(card).to_contain_text("2 of 4")
    expect(card).to_contain_text("It may deny: “not”")
    expect(card).to_contain_text(HOSTILE)
    expect(card.locator("img")).to_have_count(0)
    page.keyboard.press("a")
    expect(card).to_contain_text("3 of 4")
    page.keyboard.press("u")
    expect(card).to_contain_text("2 of 4")
    page.keyboard.press("r")
    expect(card).to_contain_text("3 of 4")
    page.keyboard.press("m")
    mended = card.locator("input[name=tail]")
    expect(mended).to_be_focused()
    mended.fill("aspirin")
    mended.press("Enter")
    expect(card).to_contain_text("4 of 4")
    page.reload()
    expect(card).to_contain_text("4 of 4")
    page.keyboard.press("r")
    expect(card).to_contain_text("2 facts where all who checked it accept the same fact")
    expect(card).to_contain_text("ada: accepts 66.7%")
    assert accessibility_violations(page) == []
    with page.expect_download() as given:
        card.get_by_role("link", name="CSV").first.click()
    file = tmp_path / "facts.csv"
    given.value.save_as(file)
    assert [fact.tail for fact in load_file(file).facts] == ["colchicine", "aspirin"]
    log = store.curations.log(curation.curation)
    assert [one.decision for one in log] == ["accepted", "accepted", "withdrawn", "refused", "mended", "refused"]
    assert all(one.seconds is None or one.seconds < 600 for one in log)
