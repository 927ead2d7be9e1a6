"""“Beat the model” in a real browser: by keyboard alone, against the clock and without it. Needs Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from medfact.store import Store

pytestmark = pytest.mark.browser


def log_of(page: Page, app_home: Path) -> list[str]:
    owner = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "medfact-visitor")
    log = Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts.log(owners=[owner])
    return [one.verdict for one in log if one.queue == "game"]


@pytest.fixture
def page(page: Page, address: str) -> Page:
    """The game, once the model has answered."""
    page.goto(f"{address}game")
    expect(page.locator("#game-start")).to_be_visible(timeout=120_000)
    return page


def test_it_is_near_from_the_first_screen(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-key=game-open]")).to_be_in_viewport(ratio=1)
    page.keyboard.press("b")
    expect(page.locator("#game")).to_contain_text("Eight sentences about one fact, 20 seconds")


def test_eight_sentences_by_keyboard_alone(page: Page, address: str, app_home: Path) -> None:
    page.keyboard.press("b")
    game = page.locator("#game")
    expect(game.get_by_role("radiogroup")).to_have_count(8)
    expect(game.locator(".mf-badge")).to_have_count(0)
    for number in range(8):
        page.keyboard.press("t" if number % 2 else "f")
        expect(game.locator("input:checked")).to_have_count(number + 1)
        page.keyboard.press("n")  # a slip, which starts nothing anew
    expect(game.locator("[data-left]")).to_be_visible()
    page.keyboard.press("Enter")
    expect(game).to_contain_text("of 8 right")
    assert sorted(log_of(page, app_home)) == ["false"] * 4 + ["true"] * 4
    expect(game.locator(".mf-answers tbody tr")).to_have_count(8)
    expect(game.locator(".mf-answers")).to_contain_text("FALSE (test statement)")
    expect(game).to_contain_text("a coin, on average")
    expect(game).to_contain_text("One fact says nothing about others")
    game.get_by_text("How many facts are still standing?").click()
    expect(game).to_contain_text("of 1")
    expect(game.get_by_role("button", name="Go on: 16 sentences")).to_be_visible()
    game.get_by_role("button", name="no clock").click()
    expect(game.get_by_role("radiogroup")).to_have_count(16)
    page.reload()
    expect(game.get_by_role("radiogroup")).to_have_count(16)
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    other.goto(f"{address}game")
    other.locator("#game-start").click()
    expect(other.locator("#game").get_by_role("radiogroup")).to_have_count(8)
    assert log_of(other, app_home) == []
    other.context.close()


def test_when_time_is_over_what_is_answered_counts(page: Page, app_home: Path) -> None:
    page.get_by_role("button", name="Start", exact=True).click()
    game = page.locator("#game")
    expect(game.get_by_role("radiogroup")).to_have_count(8)
    page.keyboard.press("t")
    expect(game.locator("[data-left]")).not_to_have_text("20")
    expect(game).to_contain_text("7 sentences without an answer: counted as wrong", timeout=40_000)
    assert sorted(log_of(page, app_home)) == ["cannot"] * 7 + ["true"]


def test_without_the_clock_nothing_runs_out(page: Page, app_home: Path) -> None:
    page.locator("[data-key=game-start-calm]").click()
    game = page.locator("#game")
    expect(game.get_by_role("radiogroup")).to_have_count(8)
    expect(game.locator("[data-left]")).to_have_count(0)
    for group in game.get_by_role("radiogroup").all():
        group.get_by_label("True", exact=True).check()
    game.get_by_role("button", name="Done").click()
    expect(game).to_contain_text("of 8 right")
    link = game.get_by_role("link", name="Do you still think you are right?")
    expect(link).to_be_visible()
    link.click()
    expect(page.locator("#fact .mf-note").first).to_contain_text("Fact 1 of 1")
