"""What a first visitor sees is reached again from every page; and single keys can be switched off."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.fixture
def game(page: Page, address: str) -> Page:
    """The page of the game, once the model has answered."""
    page.goto(f"{address}game")
    expect(page.locator("#game-start")).to_be_visible(timeout=120_000)
    return page


def switch_keys(page: Page, address: str, on: bool) -> None:
    """Switches single keys on or off, and comes back."""
    before = page.url
    page.goto(f"{address}docs")
    page.locator("[data-keys]").set_checked(on)
    page.goto(before)


def test_single_keys_are_switched_off_for_all_pages_and_kept(game: Page, address: str) -> None:
    assert game.locator("#game-start kbd").is_visible()
    switch_keys(game, address, on=False)
    expect(game.locator("#game-start kbd")).to_be_hidden()
    for key in "bn":
        game.keyboard.press(key)
    game.reload()  # it is kept; and whatever a key had begun would be drawn by now
    expect(game.locator("#game-start")).to_be_visible()
    game.locator("body").press("b")
    game.goto(f"{address}tour")
    expect(game.get_by_role("heading", name="Asked plainly")).to_be_visible()
    game.keyboard.press("ArrowRight")  # no letter
    expect(game.get_by_role("heading", name="Said backwards")).to_be_visible()


def test_the_review_takes_no_keys_where_they_are_off(page: Page, address: str) -> None:
    page.goto(f"{address}review")
    first = page.locator("[data-hotkey='1']")
    expect(first).to_be_visible()
    switch_keys(page, address, on=False)
    page.locator("#fact h2").click()
    for key in ("1", "n", "j", "a", "s"):
        page.keyboard.press(key)
    page.reload()
    expect(first).not_to_be_checked()
    expect(page.locator("#fact")).to_contain_text("0 reviewed by you")
    switch_keys(page, address, on=True)
    page.locator("#fact h2").click()
    page.keyboard.press("1")
    expect(first).to_be_checked()
