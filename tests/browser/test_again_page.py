"""What a first visitor saw can be seen again after runs, from every page; and single keys can be switched off."""

import re
from collections.abc import Iterator

import pytest
from browser import choose_models, choose_pairs, trouble_of
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

EVERY_PAGE = ("", "facts", "review", "studio", "write", "runs", "compare", "gallery")


@pytest.fixture
def visitor(browser: Browser, address: str) -> Iterator[Page]:
    """A page of a browser whose visitor has run a model, so that the first page shows that run."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    trouble = trouble_of(page, address)
    page.goto(address)
    expect(page.locator("#game-start")).to_be_visible(timeout=120_000)  # the demonstration is complete
    choose_models(page, "a coin")
    page.locator("#method").get_by_role("button").first.click()
    choose_pairs(page, 10)
    page.locator("#evaluate").click()
    expect(page.locator("#progress")).to_contain_text(re.compile(r"a coin[\s\S]*complete"), timeout=120_000)
    page.goto(address)
    expect(page.locator("#progress")).to_contain_text("a coin")
    expect(page.locator("#hero")).to_be_empty()
    yield page
    context.close()
    assert trouble == []


def keys(page: Page, on: bool) -> None:
    """Switches single keys on or off."""
    box = page.locator("[data-keys]")
    if not box.is_visible():
        page.locator("[data-key=help-keys]").click()
    box.set_checked(on)


def test_story_tour_and_game_are_reached_again_from_every_page(visitor: Page, address: str) -> None:
    for path in EVERY_PAGE:
        visitor.goto(f"{address}{path}")
        links = visitor.locator("#help .mf-again a")
        expect(links).to_have_count(3)
        for link in links.all():
            expect(link).to_be_visible()
    links.filter(has_text="what medfact shows").click()
    expect(visitor.get_by_role("heading", name="Does a language model know a medical fact")).to_be_visible()
    expect(visitor.locator("#progress")).to_contain_text("A demonstration, computed by this app")
    expect(visitor).to_have_url(f"{address}?demo=story")
    visitor.reload()
    visitor.locator("[data-key=back-to-runs]").click()
    expect(visitor.locator("#progress")).to_contain_text("a coin")
    visitor.locator("[data-key=again-tour]").click()
    expect(visitor.get_by_role("heading", name="Asked plainly")).to_be_visible()
    visitor.locator("[data-key=tour-close]").click()
    expect(visitor.locator("#progress")).to_contain_text("a coin")
    visitor.locator("[data-key=again-game]").click()
    expect(visitor.locator("#game-start")).to_be_focused()
    visitor.keyboard.press("Enter")
    expect(visitor.locator("#game [role=radiogroup]")).to_have_count(8)


def test_a_run_that_is_started_from_the_story_is_shown(visitor: Page) -> None:
    visitor.locator("[data-key=again-story]").click()
    expect(visitor.locator("#hero h1")).to_be_visible()
    choose_models(visitor, "always says true")
    visitor.locator("#evaluate").click()
    expect(visitor.locator("#progress")).to_contain_text("always says true")
    expect(visitor.locator("#hero")).to_be_empty()
    expect(visitor).to_have_url(re.compile(r"\?run=\w+$"))


def test_the_footer_reaches_the_tour_without_a_run(page: Page) -> None:
    page.locator("[data-key=again-tour]").click()
    expect(page.locator(".mf-tour")).to_be_visible(timeout=120_000)


def test_single_keys_are_switched_off_for_all_pages_and_kept(page: Page, address: str) -> None:
    expect(page.locator("#game-start")).to_be_visible(timeout=120_000)
    assert page.locator("#game-start").get_attribute("tabindex") == "-1"
    expect(page.locator("#game-start kbd")).to_be_visible()
    keys(page, on=False)
    expect(page.locator("#game-start kbd")).to_be_hidden()
    for key in "bno":
        page.keyboard.press(key)
    page.reload()  # it is kept; and whatever a key had begun would be drawn by now
    expect(page.locator("#game-start")).to_be_visible()
    page.locator("body").press("b")
    expect(page.locator("[data-key=tour-open]")).to_have_attribute("tabindex", "0")  # the Tab key reaches what no letter does
    page.locator("#game-start").focus()
    page.keyboard.press("Tab")
    expect(page.locator("[data-key=game-start-calm]")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Asked plainly")).to_be_visible()
    page.keyboard.press("ArrowRight")  # no letter
    expect(page.get_by_role("heading", name="Said backwards")).to_be_visible()
    expect(page.locator("#game")).to_be_empty()


def test_the_review_takes_no_keys_where_they_are_off(page: Page, address: str) -> None:
    page.goto(f"{address}review")
    first = page.locator("[data-hotkey='1']")
    expect(first).to_be_visible()
    keys(page, on=False)
    page.locator("#fact h2").click()
    for key in ("1", "n", "j", "a", "s"):
        page.keyboard.press(key)
    page.reload()
    expect(first).not_to_be_checked()
    expect(page.locator("#fact")).to_contain_text("0 reviewed by you")
    keys(page, on=True)
    page.locator("#fact h2").click()
    page.keyboard.press("1")
    expect(first).to_be_checked()


def test_the_game_takes_no_letters_where_they_are_off(page: Page, address: str) -> None:
    expect(page.locator("#game-start")).to_be_visible(timeout=120_000)
    keys(page, on=False)
    page.locator("[data-key=game-start-calm]").click()
    expect(page.locator("#game [role=radiogroup]")).to_have_count(8)
    page.keyboard.press("t")
    page.locator("#game input[type=radio]").nth(1).check()
    expect(page.locator("#game input[type=radio]:checked")).to_have_count(1)


def test_help_explains_every_single_key(page: Page, address: str) -> None:
    expect(page.locator("#game-start")).to_be_visible(timeout=120_000)
    used: set[str] = set(page.evaluate("[...document.querySelectorAll('[data-hotkey]')].map((node) => node.dataset.hotkey)"))
    page.locator("[data-key=game-start-calm]").click()
    expect(page.locator("#game [data-answer]").first).to_be_visible()
    used |= set(page.evaluate("[...document.querySelectorAll('[data-answer]')].map((node) => node.dataset.answer)"))
    page.goto(f"{address}review")
    expect(page.locator("[data-hotkey='1']")).to_be_visible()
    used |= set(page.evaluate("[...document.querySelectorAll('[data-hotkey]')].map((node) => node.dataset.hotkey)"))
    page.locator("[data-key=help-keys]").click()
    told = set(page.locator("#help kbd").all_inner_texts())
    digits = {str(number) for number in range(int(min(told & set("123456789"))), int(max(told & set("123456789"))) + 1)}
    assert used >= {"b", "n", "o", "t", "f", "1", "s", "a", "p", "u", "j"}
    assert used - told - digits == set()
    assert digits <= used
