"""The form of Evaluate in a browser: it shows what was chosen last, and the back button leads to it. Needs Chromium."""

from __future__ import annotations

import re

import pytest
from browser import choose_pairs
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def choose(page: Page) -> None:
    """The form filled in: another model, 10 pairs, and a service's address."""
    page.locator("#models label", has_text="a coin").locator("input").check()
    page.locator("#models label", has_text="medfact-tiny").first.locator("input").uncheck()
    page.locator("#method button").first.click()
    choose_pairs(page, 10)
    page.locator("#service button").first.click()
    page.locator("#service-address").locator("textarea, input").first.fill("https://models.example/v1")
    page.locator("#service-address").locator("textarea, input").first.press("Tab")


def is_as_chosen(page: Page) -> None:
    expect(page.locator("#models label", has_text="a coin").locator("input")).to_be_checked()
    expect(page.locator("#models label", has_text="medfact-tiny").first.locator("input")).not_to_be_checked()
    expect(page.locator("#go")).to_contain_text(re.compile(r"(?<!\d)10 pairs"))


def test_the_form_survives_leaving_and_loading_the_page(page: Page, address: str) -> None:
    choose(page)
    is_as_chosen(page)
    page.reload()
    is_as_chosen(page)
    page.goto(f"{address}facts")
    expect(page.locator("#cards")).to_contain_text("facts 1 to 20")
    page.goto(f"{address}evaluate")
    is_as_chosen(page)
    page.locator("#method button").first.click()
    expect(page.locator("#pairs input[type=number]")).to_have_value("10")
    page.locator("#service button").first.click()
    expect(page.locator("#service-address").locator("textarea, input").first).to_have_value("https://models.example/v1")


def test_back_leads_to_the_form_and_forward_to_the_run(page: Page, address: str) -> None:
    choose(page)
    page.locator("#service-address").locator("textarea, input").first.fill("")
    page.locator("#evaluate").click()
    expect(page).to_have_url(re.compile(r"\?run=[0-9a-f]{32}$"))
    of_run = page.url
    expect(page.locator(".mf-folded")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(f"{address}evaluate")
    expect(page.locator(".mf-folded")).to_have_count(0)
    is_as_chosen(page)
    page.go_forward()
    expect(page).to_have_url(of_run)
    expect(page.locator(".mf-folded")).to_be_visible()
    expect(page.locator("#progress")).to_contain_text("160 of 160 statements")
    page.locator("[data-key=unfold]").click()
    expect(page.locator("#models")).to_be_visible()
    page.locator("#evaluate").click()
    expect(page.locator(".mf-folded")).to_be_visible()
    expect(page).not_to_have_url(of_run)
    page.go_back()
    expect(page).to_have_url(f"{address}evaluate")
    expect(page.locator("#models")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(of_run)
    expect(page.locator(".mf-folded")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(f"{address}evaluate")
    page.reload()
    expect(page.locator("#models")).to_be_visible()
    is_as_chosen(page)
