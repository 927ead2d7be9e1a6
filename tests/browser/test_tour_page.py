"""The tour, its card and published runs in a real browser: by keyboard, on a phone, in the dark. Needs Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import open_checked_page
from playwright.sync_api import Browser, Page, expect

from medfact.spec import LOCAL_OWNER
from medfact.store import Store

pytestmark = pytest.mark.browser

LOOKS = {"dark": ("dark", 1280), "phone": ("light", 390)}


def store_of(app_home: Path) -> Store:
    return Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)


def violations(page: Page) -> list[tuple[str, list[str]]]:
    expect(page.locator("p.loading")).to_have_count(0)  # a part of the page library is still on its way
    found = Axe().run(page).response["violations"]
    return [(problem["id"], [node["html"][:200] for node in problem["nodes"]]) for problem in found]


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.fixture(params=LOOKS)
def opened(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Page]:
    scheme, width = LOOKS[request.param]
    with open_checked_page(browser, address, width, 844, color_scheme=scheme, reduced_motion="reduce") as page:
        yield page


def test_a_visitor_goes_through_by_keyboard_alone(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-key=tour-open]")).to_be_visible()
    page.keyboard.press("o")
    tour = page.locator(".mf-tour")
    expect(tour.locator(".mf-tour-said li")).to_have_count(1, timeout=120_000)  # once the model has answered
    expect(tour).to_be_focused()
    titles = ["1. Asked plainly", "2. Said backwards", "3. As a patient's case", "4. Denied", "5. A false partner"]
    for number, title in enumerate(titles, 1):
        expect(tour.locator("h1")).to_have_text(title)
        expect(page).to_have_url(re.compile(r"tour$" if number == 1 else rf"tour\?step={number}$"))
        expect(tour.locator(".mf-tour-said li")).to_have_count(number)
        page.keyboard.press("ArrowRight")
    expect(tour.locator("h1")).to_have_text("Which of two models knows more?")
    page.keyboard.press("ArrowLeft")
    expect(tour.locator("h1")).to_have_text(titles[4])
    page.keyboard.press("Tab")
    assert tour.evaluate("(tour) => tour.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(page.locator("#hero h1")).to_contain_text("Does a language model know")
    assert page.url == address
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_the_buttons_keep_the_focus_and_the_browser_goes_back_and_forth(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("[data-key=tour-open]").click()
    heading = page.locator(".mf-tour h1")
    following = page.locator("[data-key=tour-next]")
    for step in (2, 3):
        following.focus()
        page.keyboard.press("Enter")
        expect(heading).to_contain_text(f"{step}.")
        expect(following).to_be_focused()
    for _ in range(2):
        page.go_back()
    expect(heading).to_contain_text("1.")
    page.go_back()
    expect(page.locator("#hero h1")).to_contain_text("Does a language model know")
    for step in (1, 2, 3):
        page.go_forward()
        expect(heading).to_contain_text(f"{step}.")


def test_the_tour_looks_right_and_axe_finds_nothing(opened: Page, address: str) -> None:
    for step in (1, 4, 5, 6):
        opened.goto(f"{address}tour?step={step}")
        expect(opened.locator(".mf-tour h1")).to_be_visible(timeout=120_000)
        assert fits(opened)
        assert violations(opened) == []
    moving = "document.querySelector('.mf-now') && getComputedStyle(document.querySelector('.mf-now')).animationName"
    opened.goto(f"{address}tour?step=2")
    expect(opened.locator(".mf-now")).to_be_visible()
    assert opened.evaluate(moving) == "none"  # who wants no motion sees none


def test_two_models_are_asked_live_and_their_card_can_be_posted(
    opened: Page, browser: Browser, address: str, app_home: Path
) -> None:
    opened.goto(f"{address}tour?step=6")
    opened.get_by_role("button", name="Ask both models").click()
    card = opened.locator(".mf-posted img")
    expect(card).to_be_visible(timeout=180_000)
    expect(opened).to_have_url(re.compile(r"step=6&pair=[0-9a-f]{32},[0-9a-f]{32}$"))
    assert opened.evaluate("[...document.querySelectorAll('.mf-posted img')].every((one) => one.alt.length > 100)")
    expect(opened.locator(".mf-scores tbody tr")).to_have_count(2)
    expect(opened.locator(".mf-tour-told")).to_contain_text("over 80 facts that both answered")
    words = card.get_attribute("alt") or ""
    assert (opened.locator(".mf-tour-told").text_content() or "") in words
    assert "Not a measure of clinical competence." in words
    opened.wait_for_function("document.querySelector('.mf-posted img').naturalWidth === 1200")
    assert fits(opened)
    assert violations(opened) == []
    runs = opened.url.rpartition("=")[2].split(",")
    assert {store_of(app_home).run(run).model for run in runs} == {"medfact-tiny", "medfact-tiny-narrow"}
    with opened.expect_download() as saved:
        opened.get_by_role("link", name="SVG").click()
    assert re.fullmatch(r"medfact-[\w-]+-card\.svg", saved.value.suggested_filename)
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Save the card").click()
    assert saved.value.suggested_filename == "medfact-card.png"
    assert Path(saved.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    opened.keyboard.press("Escape")
    expect(opened.locator(".mf-tour")).to_have_count(0)
    assert opened.evaluate("localStorage.length") == 0
    stranger = browser.new_context().new_page()
    stranger.goto(f"{address}tour?step=6&pair={','.join(runs)}")
    expect(stranger.locator(".mf-posted img")).to_be_visible()
    stranger.context.close()
