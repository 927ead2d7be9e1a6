"""From an upload to its last card: the page “Are these really false?” by keyboard and by thumb. Needs Chromium."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import open_checked_page
from pages import accessibility_violations, upload_file, write_facts
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser

ROWS = [
    (f"{head} pox", "symptoms", tail)
    for head, tails in {
        "zebra": ("stripes", "hoof pain"),
        "lion": ("mane loss", "roaring"),
        "owl": ("hooting", "night gaze"),
    }.items()
    for tail in tails
]


@pytest.mark.parametrize("look", ["dark", "phone"])
def test_partners_are_read_from_the_upload_to_the_end(browser: Browser, address: str, tmp_path: Path, look: str) -> None:
    is_phone = look == "phone"
    device: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True} if is_phone else {}
    with open_checked_page(browser, address, **device, color_scheme="light" if is_phone else look) as page:
        page.goto(f"{address}evaluate")
        upload_file(page, write_facts(tmp_path / f"{look}.csv", ROWS, ("head", "relation", "tail")))
        expect(page.locator(".mf-unchecked")).to_contain_text("Nobody has checked 6 of 6 false facts.")
        both = page.locator(".mf-preview .mf-variant:not(.mf-head)")
        expect(both).to_have_count(8)
        true, false = (both.first.get_by_role("cell").nth(place).bounding_box() for place in (0, 1))
        assert true is not None
        assert false is not None
        assert (false["y"] > true["y"]) is is_phone
        assert (false["x"] > true["x"]) is not is_phone
        expect(both.first).to_contain_text("PRESUMED FALSE (test statement)")
        page.get_by_role("link", name="Are these really false?").click()
        count, sentence = page.locator(".mf-packet b"), page.locator(".mf-partner-card .mf-sentence")
        expect(count).to_have_text("1 of 6")
        assert accessibility_violations(page) == []

        def say(button: str, key: str, then: str) -> None:
            if is_phone:
                page.get_by_role("button", name=button).tap()
            else:
                page.keyboard.press(key)
            expect(count).to_have_text(then)

        say("False, keep it", "f", "2 of 6")
        doubted = sentence.inner_text()
        say("No, this can be true", "ArrowRight", "3 of 7")
        expect(sentence).not_to_have_text(doubted)
        page.reload()
        expect(count).to_have_text("3 of 7")
        say("Back", "u", "2 of 6")
        expect(sentence).to_have_text(doubted)
        say("No, this can be true", "t", "3 of 7")
        page.get_by_role("link", name="Leave").click()
        expect(page.locator(".mf-unchecked")).to_contain_text("Nobody has checked 5 of 6 false facts.")
        page.go_back()
        expect(count).to_have_text("3 of 7")
        for number in range(4, 8):
            say("False, keep it", "ArrowLeft", f"{number} of 7")
        if is_phone:
            page.get_by_role("button", name="False, keep it").tap()
        else:
            page.keyboard.press("F")
        expect(page.locator("#partners")).to_contain_text(re.compile(r"6 kept as false, 1 rejected: 1 of them drawn anew\."))
        assert accessibility_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]
        page.get_by_role("link", name="Go on to Evaluate").click()
        expect(page.locator(".mf-preview .mf-badge").first).to_be_visible()
        expect(page.locator(".mf-unchecked")).to_have_count(0)
