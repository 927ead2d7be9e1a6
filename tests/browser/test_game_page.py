"""“Beat the model” in a real browser: one sentence at a time, by keyboard alone, by thumb, with and without the clock. Needs
Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import open_checked_page
from playwright.sync_api import Browser, Page, expect

from medfact.store import Store
from medfact.web.visitors import owner_of_cookie

pytestmark = pytest.mark.browser

UP = "#game .mf-question:visible"
"""The sentence that is asked."""


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The game, open."""
    with open_checked_page(browser, address) as opened:
        opened.goto(f"{address}game")
        expect(opened.locator("#game-start")).to_be_visible(timeout=120_000)  # once the model has answered
        yield opened


def log_of(page: Page, app_home: Path) -> list[str]:
    cookie = next(one["value"] for one in page.context.cookies() if one["name"] == "medfact-visitor")
    log = Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts.log(owners=[owner_of_cookie(cookie)])
    return [one.verdict for one in log if one.queue == "game"]


def test_eight_sentences_by_keyboard_alone(page: Page, address: str, app_home: Path) -> None:
    page.keyboard.press("b")
    game = page.locator("#game")
    expect(game.locator(".mf-badge")).to_have_count(0)
    for number in range(8):
        expect(page.locator(UP)).to_have_count(1)
        expect(page.locator(UP)).to_contain_text(f"{number + 1} of 8")
        page.keyboard.press("n")  # a slip, which starts nothing anew
        page.keyboard.press("t" if number % 2 else "f")
    expect(game).to_contain_text("of 8 right")  # the last answer ends it
    assert sorted(log_of(page, app_home)) == ["false"] * 4 + ["true"] * 4
    expect(game.locator(".mf-answers tbody tr")).to_have_count(8)
    expect(game.locator(".mf-answers")).to_contain_text("FALSE (test statement)")
    expect(game).to_contain_text("One fact says nothing about others")
    game.get_by_role("button", name="Go on: the next fact").click()
    expect(page.locator(UP)).to_contain_text("1 of 8")
    page.go_back()
    expect(game).to_contain_text("of 8 right")
    page.go_forward()
    expect(page.locator(UP)).to_contain_text("1 of 8")
    page.reload()
    expect(page.locator(UP)).to_contain_text("1 of 8")
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    other.goto(f"{address}game")
    other.locator("#game-start").click()
    expect(other.locator(UP)).to_contain_text("1 of 8")
    assert log_of(other, app_home) == []
    other.context.close()


def test_when_time_is_over_what_is_answered_counts(page: Page, app_home: Path) -> None:
    page.get_by_role("button", name="Start", exact=True).click()
    game = page.locator("#game")
    expect(page.locator(UP)).to_contain_text("1 of 8")
    page.keyboard.press("t")
    expect(game.locator("[data-left]")).not_to_have_text("20")
    expect(game).to_contain_text("7 sentences without an answer: counted as wrong", timeout=40_000)
    assert sorted(log_of(page, app_home)) == ["cannot"] * 7 + ["true"]


def test_without_the_clock_a_half_played_game_goes_on_and_is_finished_early(page: Page, app_home: Path) -> None:
    page.get_by_role("button", name="without a clock").click()
    for number in range(3):
        expect(page.locator(UP)).to_contain_text(f"{number + 1} of 8")
        page.keyboard.press("f")
    expect(page.locator(UP)).to_contain_text("4 of 8")
    page.reload()
    expect(page.locator(UP)).to_contain_text("4 of 8")
    expect(page.locator("#game [data-left]")).to_have_count(0)
    page.get_by_role("button", name="Finish now").click()
    expect(page.locator("#game")).to_contain_text("5 sentences without an answer")
    assert sorted(log_of(page, app_home)) == ["cannot"] * 5 + ["false"] * 3
    page.get_by_role("link", name="Do you still think you are right?").click()
    expect(page.locator("#fact .mf-packet")).to_contain_text("Fact 1 of")
    expect(page.locator("#fact h2 b").first).to_be_visible()


def test_on_a_phone_the_buttons_lie_under_the_thumb(browser: Browser, address: str) -> None:
    """Nobody scrolls: sentence, clock and both buttons are in the window throughout, and the buttons keep their place."""
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(f"{address}game")
    page.locator("#game-start").tap(timeout=120_000)
    places = set()
    for number in range(8):
        expect(page.locator(UP)).to_contain_text(f"{number + 1} of 8")
        true = page.locator(UP).get_by_role("button", name="True")
        for part in (page.locator(f"{UP} .mf-sentence"), page.locator("[data-left]"), true):
            expect(part).to_be_in_viewport(ratio=1)
        box = true.bounding_box()
        assert box is not None
        assert box["height"] >= 64
        assert box["width"] >= 160
        assert box["y"] >= 844 * 2 / 3
        places.add((box["x"], box["y"]))
        true.tap()
    assert len(places) == 1
    expect(page.locator("#game")).to_contain_text("of 8 right")
    phone.close()
