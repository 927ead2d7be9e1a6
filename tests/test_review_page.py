"""The page Review in a real browser: facts judged by keyboard alone, undone, reloaded, by several people. Needs Chromium."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from test_page import HOSTILE

from medfact.store import Store

pytestmark = pytest.mark.browser


def open_review(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}review")
    box = page.get_by_label("Your name or initials")
    box.fill(name)
    box.press("Tab")
    expect(page.locator("#fact")).to_contain_text(f"reviewed by {name}")
    page.locator("#fact h2").click()  # out of every field


def where(page: Page) -> str:
    return page.locator("#fact .mf-note").first.inner_text()


def test_twenty_facts_by_keyboard_alone(page: Page, address: str, app_home: Path) -> None:
    open_review(page, address, "ada")
    seconds = []
    for number in range(1, 21):
        expect(page.locator("#fact .mf-note").first).to_contain_text(f"Fact {number} of")
        expect(page.locator("#fact .mf-badge")).to_have_count(0)
        expect(page.locator("#fact .mf-source")).to_have_count(0)
        page.keyboard.press("1" if number % 3 else "2")
        begun = time.monotonic()
        page.keyboard.press("s")
        expect(page.locator("#fact .mf-note").first).to_contain_text(f"Fact {number + 1} of")
        seconds.append(time.monotonic() - begun)
    assert sorted(seconds)[10] < 0.5, seconds
    expect(page.locator("#fact .mf-note").first).to_contain_text("20 reviewed by ada")
    page.keyboard.press("u")
    expect(page.locator("#fact .mf-note").first).to_contain_text("Fact 20 of")
    expect(page.locator("#fact .mf-note").first).to_contain_text("19 reviewed by ada")
    page.keyboard.press("3")
    page.locator("textarea[name=comment]").fill("It depends.")
    page.reload()
    expect(page.locator("#fact .mf-note").first).to_contain_text("Fact 20 of")
    expect(page.locator("input[value=depends]")).to_be_checked()
    expect(page.locator("textarea[name=comment]")).to_have_value("It depends.")
    page.locator("#fact h2").click()
    page.keyboard.press("s")
    expect(page.locator("#fact .mf-note").first).to_contain_text("20 reviewed by ada")
    page.keyboard.press("p")
    expect(page.locator("#fact .mf-note").first).to_contain_text("already reviewed")
    expect(page.locator("#fact h2 .mf-badge")).to_have_count(1)
    page.keyboard.press("n")
    expect(page.locator("#fact .mf-note").first).to_contain_text("Fact 21 of")
    log = [one for one in Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts() if one.reviewer == "ada"]
    assert [one.verdict for one in log].count("withdrawn") == 1
    assert len(log) == 22
    assert log[-1].comment == "It depends."
    assert all(one.blind and one.queue == "random" and not one.bulk for one in log if one.verdict != "withdrawn")
    assert all(one.seconds is not None and 0 < one.seconds < 60 for one in log if one.verdict != "withdrawn")


def test_exceptions_reasons_and_hostile_words_are_kept_as_text(page: Page, address: str, app_home: Path) -> None:
    open_review(page, address, "ben")
    page.keyboard.press("1")
    page.locator("#fact select[name^=of-]").first.select_option("otherwise, unclear")
    page.locator("#fact input[name^=wording-]").first.fill(HOSTILE[1])
    page.get_by_label("too absolute").check()
    page.locator("textarea[name=comment]").fill(f"{HOSTILE[3]} {HOSTILE[2]}")
    page.get_by_role("button", name="Save and next").click()
    expect(page.locator("#fact .mf-note").first).to_contain_text("1 reviewed by ben")
    page.locator("#fact h2").click()
    page.keyboard.press("p")
    expect(page.locator("#fact select[name^=of-]").first).to_have_value("otherwise, unclear")
    expect(page.locator("#fact input[name^=wording-]").first).to_have_value(HOSTILE[1])
    expect(page.get_by_label("too absolute")).to_be_checked()
    expect(page.locator("textarea[name=comment]")).to_have_value(f"{HOSTILE[3]} {HOSTILE[2]}")
    fact, statement = (one for one in Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts() if one.reviewer == "ben")
    assert (fact.verdict, fact.reasons) == ("true", ("absolute",))
    assert (statement.verdict, statement.wording) == ("otherwise, unclear", HOSTILE[1])


def test_a_second_reviewer_sees_nothing_of_the_first(page: Page, address: str) -> None:
    open_review(page, address, "cleo")
    page.keyboard.press("2")
    page.keyboard.press("s")
    expect(page.locator("#fact .mf-note").first).to_contain_text("1 reviewed by cleo")
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    open_review(other, address, "cleo")  # the same name in another browser
    expect(other.locator("#fact .mf-note").first).to_contain_text("Fact 1 of")
    expect(other.locator("#fact .mf-note").first).to_contain_text("0 reviewed by cleo")
    expect(other.locator("#fact input[name=verdict]:checked")).to_have_count(0)
    other.context.close()


def test_without_a_name_or_a_verdict_nothing_is_kept(page: Page, address: str) -> None:
    page.goto(f"{address}review?place=999999999&relation=nonsense&data=<b>")
    expect(page.locator("#fact")).to_contain_text("No fact matches")
    page.goto(f"{address}review")
    expect(page.locator("#fact h2")).to_be_visible()
    page.get_by_role("button", name="Save and next").click()
    expect(page.locator("#said")).to_contain_text("Say who you are first")
    open_review(page, address, "dora")
    page.keyboard.press("s")
    expect(page.locator("#said")).to_contain_text("Say first whether the fact is true")
    page.locator("input[name=number]").fill("100000")
    page.get_by_role("button", name="Go").click()
    expect(page.locator("#said")).to_contain_text("There is no fact of that number")
