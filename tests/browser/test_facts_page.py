"""The page Facts in a real browser: a line a fact, one open; the address and the history hold what is looked at. Needs
Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import open_checked_page
from pages import upload_file, write_facts
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The list of facts."""
    with open_checked_page(browser, address, height=800) as opened:
        opened.goto(f"{address}facts")
        expect(opened.locator(".mf-fact")).to_have_count(20)
        yield opened


def search(page: Page, words: str) -> None:
    page.get_by_role("searchbox", name="Search").fill(words)


def test_a_click_opens_one_and_arrows_move(page: Page) -> None:
    lines = page.locator(".mf-fact > button")
    lines.nth(3).click()
    opened = page.locator(".mf-fact-opened")
    expect(opened).to_have_count(1)
    assert opened.locator(".mf-variant:not(.mf-head)").count() == 8
    marks = opened.locator(".mf-variant .mf-badge").all_inner_texts()
    assert sorted(marks) == ["FALSE (test statement)"] * 8 + ["true"] * 8
    expect(lines.nth(3)).to_be_focused()
    expect(lines.nth(3)).to_be_in_viewport()
    page.keyboard.press("ArrowDown")
    expect(lines.nth(4)).to_be_focused()
    page.keyboard.press("Enter")
    expect(lines.nth(4)).to_have_attribute("aria-expanded", "true")
    expect(opened).to_have_count(1)
    expect(lines.nth(4)).to_be_in_viewport()
    opened.locator("summary").focus()
    page.keyboard.press("ArrowDown")  # what is within the open one is no line
    expect(opened.locator("summary")).to_be_focused()
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    expect(lines.nth(4)).to_be_focused()


def test_search_filter_and_open_fact_survive_reload_back_and_another_page(page: Page, address: str) -> None:
    where = page.locator("#cards .mf-where").first
    expect(where).to_have_text("facts 1 to 20 of 2,512")
    page.locator("[data-set=relation]").select_option("symptoms")
    expect(where).not_to_have_text(re.compile("of 2,512"))
    every = where.inner_text()
    page.get_by_role("searchbox", name="Search").press_sequentially("asthma ", delay=250)  # several looks, one step back
    expect(page).to_have_url(re.compile("search=asthma"))
    expect(page.locator(".mf-fact").first).to_contain_text("asthma")
    line = page.locator(".mf-fact > button").first
    line.click()
    expect(page.locator(".mf-fact-opened")).to_be_visible()
    for again in (page.reload, lambda: (page.goto(f"{address}review"), page.go_back())):
        again()
        expect(page.locator(".mf-fact-opened")).to_be_visible()
        expect(page.get_by_role("searchbox", name="Search")).to_have_value(re.compile("asthma"))
        expect(page.locator("[data-set=relation]")).to_have_value("symptoms")
    page.go_back()
    expect(page.locator(".mf-fact-opened")).to_have_count(0)
    expect(page.locator(".mf-fact").first).to_contain_text("asthma")
    page.get_by_role("searchbox", name="Search").focus()
    page.go_back()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("")
    expect(where).to_have_text(every)
    page.go_back()
    expect(where).to_have_text("facts 1 to 20 of 2,512")


def test_how_a_false_partner_was_drawn_can_be_opened_and_the_partner_rejected(page: Page) -> None:
    search(page, "asthma")
    line = page.locator(".mf-fact > button").first
    expect(line).to_contain_text("asthma")
    line.click()
    partner = line.locator(".mf-partner b")
    name, opened = partner.inner_text(), page.locator(".mf-fact-opened")
    opened.locator(".mf-explanation summary").click()
    expect(opened.locator(".mf-explanation")).to_contain_text("are safe to call false")
    opened.get_by_label(f"Could “{name}” be true?").select_option("it is true")
    opened.get_by_role("button", name="Draw another").click()
    expect(partner).not_to_have_text(name)
    expect(page.locator("#rejected")).to_contain_text("rejected (1)")
    expect(page.locator("#rejected li")).to_contain_text("(it is true)")
    page.locator("#said").get_by_role("button", name="Undo").click()
    expect(partner).to_have_text(name)
    page.get_by_label("Specialty").select_option("cardiology")
    expect(page.locator("#cards")).to_contain_text("No fact matches")


def test_a_file_of_ones_own_is_brought_here(page: Page, tmp_path: Path) -> None:
    rows = [(f"disease {n}", "symptoms", f"sign {n}") for n in range(12)]
    upload_file(page, write_facts(tmp_path / "own.csv", rows, ("head", "relation", "tail")))
    expect(page.locator("#said")).to_contain_text("own.csv: 12 true facts read")
    expect(page.locator(".mf-fact")).to_have_count(12)
    page.reload()
    expect(page.locator(".mf-fact")).to_have_count(12)
    expect(page.locator(".mf-in-use")).to_contain_text("own.csv")
    page.get_by_role("button", name="Use the bundled facts instead").click()
    expect(page.locator(".mf-fact")).to_have_count(20)


IN_THE_FRAME = """(least) => [...document.querySelectorAll('.mf-frame :is(a, button):not([hidden]), .mf-pages a:not([hidden])')]
    .map((control) => [control.textContent, control.getBoundingClientRect()])
    .filter(([, box]) => box.height < least || box.width < least).map(([text, box]) => `${text} ${box.width} ${box.height}`)"""

SMALL = """(least) => [...document.querySelectorAll('mf-part:not([name=frame]) *, #upload')]
    .filter((one) => one.matches('button, select, summary, textarea, input'))
    .filter((one) => one.checkVisibility() && one.type !== 'hidden')
    .filter((one) => !one.matches('.mf-link') || one.closest('td, th')) // one within a sentence is as high as its line
    .filter((one) => {
        const ticked = one.matches('[type=radio], [type=checkbox]');
        const hit = ticked ? one.closest('label') : one;
        return hit.getBoundingClientRect().height < least - 0.5 || (ticked && one.getBoundingClientRect().height < 23.5); })
    .map((one) => `${one.getBoundingClientRect().height} ${one.outerHTML.slice(0, 120)}`)"""
"""Controls that are lower than so many pixels; a box to tick is hit by its label, too."""

READY = {
    "facts": ".mf-fact",
    "review": "#fact h2",
    "studio": "#relation h2",
    "write": "#form select",
    "game": "#game button",
    "": "#hero h1",
    "evaluate": "#evaluate",
    "tour": ".mf-tour h1",
    "runs": "#runs > *",
    "docs": "#docs h2",
}


@pytest.mark.parametrize("least", [24, 44])
def test_controls_are_large_enough_to_hit(browser: Browser, address: str, least: int) -> None:
    touch = least == 44
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 800}
    context = browser.new_context(viewport=size, has_touch=touch, is_mobile=touch)  # type: ignore[arg-type]
    opened = context.new_page()
    for path, ready in READY.items():
        opened.goto(address + path)
        expect(opened.locator(ready).first).to_be_visible(timeout=120_000)
        if path == "facts":
            opened.locator(".mf-fact > button").first.click()
            expect(opened.locator(".mf-fact-opened")).to_be_visible()
        opened.evaluate("document.querySelectorAll('mf-part details').forEach((one) => (one.open = true))")
        assert opened.evaluate(SMALL, least) == [], path
        assert path not in ("", "facts") or opened.evaluate(IN_THE_FRAME, least) == [], path
    opened.goto(address)
    opened.locator("[data-key=demonstration]").click()
    for name in ("Summary", "Facts", "Confidence", "Groups", "Statistics"):
        opened.get_by_role("tab", name=name, exact=True).click()
        expect(opened.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")
        opened.evaluate("document.querySelectorAll('#tab details').forEach((one) => (one.open = true))")
        assert opened.evaluate(SMALL, least) == [], name
    context.close()
