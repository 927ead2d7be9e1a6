"""The page Review in a real browser: facts judged by keyboard alone, undone, reloaded, by several people. Needs Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import open_checked_page, serve_app
from pages import HOSTILE, SLOW_FETCH_SCRIPT
from playwright.sync_api import Browser, Page, expect

from medfact.store import Store

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of a browser of its own."""
    with open_checked_page(browser, address) as opened:
        yield opened


def open_review(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}review")
    box = page.get_by_label("Your name or initials")
    box.fill(name)
    box.press("Enter")  # out of the field
    expect(page.locator("#fact")).to_contain_text(f"reviewed by {name}")


def fold(page: Page, text: str) -> None:
    """Opens what is folded, or folds it."""
    page.locator("summary", has_text=text).first.click()


def test_twenty_facts_by_keyboard_alone(page: Page, address: str, app_home: Path) -> None:
    """Ten facts take twenty keys, and one more goes on."""
    open_review(page, address, "ada")
    note = page.locator("#fact .mf-packet")
    for number in range(1, 21):
        expect(note).to_contain_text(f"Fact {(number - 1) % 10 + 1} of 10")
        expect(page.locator("#fact .mf-badge")).to_have_count(0)
        expect(page.locator("#fact .mf-source")).to_have_count(0)
        page.keyboard.press("1" if number % 3 else "2")
        page.keyboard.press("s")
        expect(page.locator("#fact")).to_contain_text(f"Fact {number % 10 + 1} of 10" if number % 10 else "Thank you, ada")
        if number == 10:
            expect(page.locator("#fact")).to_contain_text("10 facts of this packet reviewed: 7 true, 3 false")
            page.keyboard.press("n")
    expect(page.locator("#fact")).to_contain_text("20 facts here are reviewed by ada")
    page.keyboard.press("u")
    expect(note).to_contain_text("Fact 10 of 10")
    expect(note).to_contain_text("19 reviewed by ada")
    page.keyboard.press("3")
    fold(page, "Why, a comment")
    page.locator("textarea[name=comment]").fill("It depends.")
    page.reload()
    expect(note).to_contain_text("Fact 10 of 10")
    expect(page.locator("input[value=depends]")).to_be_checked()
    expect(page.locator("textarea[name=comment]")).to_have_value("It depends.")
    page.keyboard.press("s")
    expect(page.locator("#fact")).to_contain_text("20 facts here are reviewed by ada")
    page.keyboard.press("n")
    expect(note).to_contain_text("Fact 1 of 10")
    page.keyboard.press("p")
    expect(note).to_contain_text("already reviewed")
    expect(page.locator("#fact h2 .mf-badge")).to_have_count(1)
    page.keyboard.press("n")
    expect(note).to_contain_text("Fact 1 of 10")
    page.keyboard.press("j")
    expect(page.locator("input[name=number]")).to_be_focused()
    log = [one for one in Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts.log() if one.reviewer == "ada"]
    assert [one.verdict for one in log].count("withdrawn") == 1
    assert len(log) == 22
    assert log[-1].comment == "It depends."
    given = [one for one in log if one.verdict != "withdrawn"]
    assert all(one.queue == "random" and not one.bulk for one in given)
    assert [one.blind for one in given] == [True] * 20 + [False], "what was judged before may have been seen with its label"
    assert all(one.seconds is not None and 0 < one.seconds < 60 for one in log if one.verdict != "withdrawn")


def test_a_packet_on_a_phone_takes_thirty_taps_and_no_scrolling_back(browser: Browser, address: str, app_home: Path) -> None:
    """Two taps a fact; a sentence is marked with one tap more; after each fact the next one is up from its beginning. The end
    shows the ten labels, and two taps make a link that opens them on a colleague's phone.
    """
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(f"{address}review")
    expect(page.locator("#fact h1")).to_have_text("10 facts, about 3 minutes")
    expect(page.locator("#fact h2")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollHeight") <= 2000
    page.get_by_label("Your name").fill("tia")
    page.keyboard.press("Enter")
    taps = 0
    for number in range(1, 11):
        expect(page.locator("#fact .mf-packet")).to_contain_text(f"Fact {number} of 10")
        expect(page.locator("#fact h2")).to_be_in_viewport(ratio=1)
        save = page.get_by_role("button", name="Save and next")
        expect(save).to_be_in_viewport(ratio=1)
        page.locator(".mf-check", has_text="true").first.tap()
        taps += 1
        last = page.locator(".mf-review-sentences > li").last
        last.scroll_into_view_if_needed()  # whoever reads all sentences is at the foot of the page
        expect(save).to_be_in_viewport(ratio=1)
        if number == 2:
            last.locator("summary").tap()
            last.locator("select").select_option("unclear")
            taps += 2
        save.tap()
        taps += 1
    expect(page.locator("#fact h1")).to_have_text("Thank you, tia")
    expect(page.locator("#fact h1")).to_be_in_viewport(ratio=1)
    expect(page.locator("#fact")).to_contain_text("10 true. 1 sentence marked.")
    assert taps <= 30
    rows = page.locator(".mf-outcome > li")
    expect(rows).to_have_count(10)
    false = rows.filter(has_text="FALSE (test statement)").count()
    expect(page.locator("#fact")).to_contain_text(f"You and the labels differ on {false}:")
    rows.last.get_by_role("button", name="Look again at fact 10").tap()
    expect(page.locator("#fact h1")).to_be_in_viewport(ratio=1)
    expect(page.locator("#fact .mf-packet")).to_contain_text("Fact 10 of 10")
    page.get_by_role("button", name="End of this packet").tap()
    page.get_by_label("Their name or initials").fill("Dr C")
    page.get_by_role("button", name="Make the link").tap()
    expect(page.get_by_role("img", name="QR code of the link to 10 facts for Dr C")).to_be_visible()
    link = page.locator("#asked").inner_text()
    assert re.fullmatch(rf"{address}review\?invited=[0-9a-f]{{32}}\.[0-9a-f]{{32}}", link), "nothing else of this server"
    other = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    other.goto(link)
    expect(other.locator("#fact .mf-packet")).to_contain_text("Fact 1 of 10 0 reviewed by Dr C")
    expect(other.locator("#fact .mf-badge")).to_have_count(0)
    other.context.close()
    page.get_by_role("button", name="Ten more").tap()
    expect(page.locator("#fact .mf-packet")).to_contain_text("Fact 1 of 10")
    phone.close()
    log = [one for one in Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts.log() if one.reviewer == "tia"]
    assert [one.verdict for one in log] == ["true", "true", "unclear", *["true"] * 8]


def test_exceptions_reasons_and_hostile_words_are_kept_as_text(page: Page, address: str, app_home: Path) -> None:
    open_review(page, address, "ben")
    page.keyboard.press("1")
    page.locator(".mf-review-sentences summary").first.click()
    page.locator("#fact select[name^=of-]").first.select_option("otherwise, unclear")
    page.locator("#fact input[name^=wording-]").first.fill(HOSTILE[1])
    fold(page, "Why, a comment")
    page.get_by_label("too absolute").check()
    page.locator("textarea[name=comment]").fill(f"{HOSTILE[3]} {HOSTILE[2]}")
    page.get_by_role("button", name="Save and next").click()
    expect(page.locator("#fact .mf-packet")).to_contain_text("1 reviewed by ben")
    page.locator("#fact h2").click()
    page.keyboard.press("p")
    expect(page.locator("#fact select[name^=of-]").first).to_have_value("otherwise, unclear")
    expect(page.locator("#fact input[name^=wording-]").first).to_have_value(HOSTILE[1])
    expect(page.get_by_label("too absolute")).to_be_checked()
    expect(page.locator("textarea[name=comment]")).to_have_value(f"{HOSTILE[3]} {HOSTILE[2]}")
    fact, statement = (one for one in Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts.log() if one.reviewer == "ben")
    assert (fact.verdict, fact.reasons) == ("true", ("absolute",))
    assert (statement.verdict, statement.wording) == ("otherwise, unclear", HOSTILE[1])


def test_a_second_reviewer_sees_nothing_of_the_first(page: Page, address: str) -> None:
    open_review(page, address, "cleo")
    page.keyboard.press("2")
    page.keyboard.press("s")
    expect(page.locator("#fact .mf-packet")).to_contain_text("1 reviewed by cleo")
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    open_review(other, address, "cleo")  # the same name in another browser
    expect(other.locator("#fact .mf-packet")).to_contain_text("Fact 1 of")
    expect(other.locator("#fact .mf-packet")).to_contain_text("0 reviewed by cleo")
    expect(other.locator("#fact input[name=verdict]:checked")).to_have_count(0)
    other.context.close()


def test_two_reviewers_and_the_adjudicator_who_sees_both(browser: Browser, tmp_path: Path) -> None:
    """The adjudicator sees what both said, with comments, decides, and the fact leaves the queue; nobody else sees it."""
    with serve_app(tmp_path, MEDFACT_ADJUDICATORS="Dora, emil") as address:
        for name, key, words in (("ada", "1", "Surely."), ("ben", "2", f"Never. {HOSTILE[1]}")):
            one = browser.new_context().new_page()
            open_review(one, address, name)
            expect(one.get_by_label("Adjudicate")).to_have_count(0)
            one.keyboard.press(key)
            fold(one, "Why, a comment")
            one.locator("textarea[name=comment]").fill(words)
            one.get_by_role("button", name="Save and next").click()
            expect(one.locator("#fact .mf-packet")).to_contain_text(f"1 reviewed by {name}")
            one.goto(f"{address}review?adjudicating=true&queue=disputed")  # as if it were allowed
            expect(one.locator("#fact h2")).to_be_visible()
            expect(one.locator(".mf-others")).to_have_count(0)
            one.context.close()
        page = browser.new_context().new_page()
        open_review(page, address, "dora")
        fold(page, "What you review")
        page.get_by_label("Adjudicate").check()
        page.get_by_label("Queue").select_option("disputed")
        expect(page.locator("#fact .mf-packet")).to_contain_text("Fact 1 of 1")
        others = page.locator(".mf-others")
        expect(others).to_contain_text("ada: true")
        expect(others).to_contain_text("Surely.")
        expect(others).to_contain_text("ben: false")
        expect(others).to_contain_text(HOSTILE[1])
        page.locator("#fact h2").click()
        page.keyboard.press("1")
        page.keyboard.press("s")
        expect(page.locator("#fact")).to_contain_text("an adjudicator has decided")
        page.context.close()
    last = Store(f"sqlite:///{tmp_path / 'medfact.db'}").verdicts.log()[-1]
    assert (last.reviewer, last.role, last.queue, last.verdict) == ("dora", "adjudicator", "disputed", "true")


def test_all_fine_in_one_key_is_recorded_as_bulk(page: Page, address: str, app_home: Path) -> None:
    open_review(page, address, "fay")
    for number in range(1, 11):
        expect(page.locator("#fact .mf-packet")).to_contain_text(f"Fact {number} of 10")
        page.keyboard.press("2" if number == 2 else "a")
        if number == 2:
            page.keyboard.press("a")
            expect(page.locator("#said")).to_contain_text("You ticked another verdict than true")
            page.keyboard.press("s")
    expect(page.locator("#fact")).to_contain_text("10 facts of this packet reviewed: 9 true, 1 false")
    log = [one for one in Store(f"sqlite:///{app_home / 'medfact.db'}").verdicts.log() if one.reviewer == "fay"]
    assert [one.verdict for one in log] == ["true", "false", *["true"] * 8]
    assert [one.bulk for one in log] == [True, False, *[True] * 8]


def test_what_a_run_asked_can_be_reviewed_and_changes_its_scores_on_the_page(browser: Browser, tmp_path: Path) -> None:
    """The demonstration's statements: one fact is held false, so that eight labels are flipped. Nobody else has reviewed."""
    with serve_app(tmp_path) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        shown = page.locator("a[href*='evaluate?run=']").first
        expect(shown).to_be_visible(timeout=120_000)
        results = f"{address}{str(shown.get_attribute('href')).removeprefix('./')}"
        page.goto(results.replace("evaluate?", "review?"))
        expect(page.locator("[data-set=data]")).to_have_value("run")
        box = page.get_by_label("Your name or initials")
        box.fill("gus")
        box.press("Enter")
        expect(page.locator("#fact")).to_contain_text("0 reviewed by gus")
        fold(page, "What you review")
        page.get_by_label("Show labels").check()
        badge = page.locator("#fact h2 .mf-badge")
        expect(badge).to_be_visible()
        held_true = badge.inner_text() == "true"
        page.locator("#fact h2").click()
        page.keyboard.press("2" if held_true else "1")
        page.keyboard.press("s")
        expect(page.locator("#fact .mf-packet")).to_contain_text("1 reviewed by gus")
        page.goto(results)
        section = page.locator("#tab")
        expect(section).to_contain_text("Reviewers call 1 of 1 fact wrong and disagree about 0.")
        expect(section).to_contain_text("wrong labels flipped, unclear facts dropped")
        expect(section).to_contain_text("no item was judged by two reviewers")
        page.context.close()


def test_what_is_ticked_while_the_name_is_on_its_way_stays_ticked(page: Page, address: str) -> None:
    page.goto(f"{address}review")
    page.get_by_label("Your name or initials").fill("quick")
    page.evaluate(SLOW_FETCH_SCRIPT)
    page.keyboard.press("Enter")
    page.locator(".mf-verdicts input").first.check()
    expect(page.locator(".mf-packet")).to_contain_text("reviewed by quick")
    expect(page.locator(".mf-verdicts input").first).to_be_checked()


def test_a_verdict_before_a_name_is_not_lost(page: Page, address: str) -> None:
    page.goto(f"{address}review")
    page.locator("[data-key^=verdict-true]").check()
    page.locator("[data-key=judge]").click()
    expect(page.get_by_text("Say who you are first")).to_be_visible()
    expect(page.locator("[data-key^=verdict-true]")).to_be_checked()
