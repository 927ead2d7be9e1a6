"""The frame of every page: the name leads home, the current page is marked, colours are switched. Needs Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from medfact.web.pages.every import PAGES

pytestmark = pytest.mark.browser


def test_six_stops_of_the_tab_key_lead_to_the_first_button(browser: Browser, address: str) -> None:
    page = browser.new_context().new_page()
    page.goto(address)
    button = page.get_by_role("link", name="Test a model")
    expect(button).to_be_visible()
    for _ in range(6):
        page.keyboard.press("Tab")
        if button.evaluate("(button) => button === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{address}evaluate")
    page.context.close()


def test_the_name_leads_home_and_the_page_is_marked(page: Page, address: str) -> None:
    for name, one in PAGES.items():
        page.goto(f"{address}{one.link}")
        current = page.locator(".mf-frame [aria-current=page]")
        shown = PAGES[one.under or name]
        if shown.is_listed:
            expect(current).to_have_text("medfact" if name == "home" else shown.title)
        else:
            expect(current).to_have_count(0)
        if one.tab:
            expect(page.locator(".mf-pages [aria-current=page]")).to_have_text(one.tab)
        for other, title in (("tour", "Tour"), ("game", "Game"), ("docs", "Docs")):
            link = page.get_by_label("More").get_by_role("link", name=title, exact=True)
            expect(link).to_have_attribute("href", other)
    page.get_by_role("link", name="medfact", exact=True).click()
    expect(page).to_have_url(address)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_switched_and_stay(browser: Browser, address: str, scheme: str) -> None:
    page = browser.new_context(color_scheme=scheme).new_page()  # type: ignore[arg-type]
    other = "light" if scheme == "dark" else "dark"
    is_dark = re.compile(r"\bdark\b")

    def shown(colours: str) -> None:
        body = expect(page.locator("body"))
        (body.to_have_class if colours == "dark" else body.not_to_have_class)(is_dark)

    page.goto(address)
    shown(scheme)
    page.get_by_role("button", name="Light or dark colours").click()
    shown(other)
    page.goto(f"{address}docs")
    expect(page.locator("#docs h2").first).to_be_visible()
    shown(other)
    page.get_by_role("button", name="Light or dark colours").click()
    shown(scheme)
    page.context.close()
