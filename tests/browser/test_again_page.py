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


def test_the_game_takes_no_letters_where_they_are_off(game: Page, address: str) -> None:
    switch_keys(game, address, on=False)
    game.locator("[data-key=game-start-calm]").click()
    up = game.locator("#game [data-question]:visible")
    expect(up).to_contain_text("1 of 8")
    game.keyboard.press("t")
    expect(up).to_contain_text("1 of 8")
    up.get_by_role("button", name="True").click()
    expect(up).to_contain_text("2 of 8")


def keys_on(page: Page, ready: str, kind: str = "hotkey") -> set[str]:
    """The single keys that do something on a page."""
    expect(page.locator(ready).first).to_be_visible()
    return set(page.evaluate(f"[...document.querySelectorAll('[data-{kind}]')].map((node) => node.dataset.{kind})"))


def test_docs_explain_every_single_key(game: Page, address: str) -> None:
    used = keys_on(game, "#game-start")
    game.locator("[data-key=game-start-calm]").click()
    used |= keys_on(game, "#game [data-answer]", "answer")
    for path, ready in (("", "#hero h1"), ("review", "[data-hotkey='1']")):
        game.goto(f"{address}{path}")
        used |= keys_on(game, ready)
    game.goto(f"{address}docs")
    expect(game.locator("[data-keys]")).to_be_visible()
    told = set(game.locator("#docs kbd").all_inner_texts())
    digits = {str(number) for number in range(int(min(told & set("123456789"))), int(max(told & set("123456789"))) + 1)}
    assert used >= {"b", "n", "o", "t", "f", "1", "s", "a", "p", "u", "j"}
    assert used - told - digits == set()
    assert digits <= used
