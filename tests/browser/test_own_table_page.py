"""A clinician's own table, by keyboard alone: what may be about patients, the columns, and a relation without sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import open_checked_page
from pages import accessibility_violations, upload_file
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.browser

TABLE = """Krankheit;What;Finding;Patient
measles;typical sign;Koplik spots;Jane Doe
Parkinson disease;typical sign;resting tremor;Jane Doe
psoriasis;typical sign;silvery scales;John Roe
gout;typical sign;podagra;John Roe
"""


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    """Goes to an element with the tabulator, as often as it takes, and presses a key there."""
    expect(wanted).to_be_visible()
    for _ in range(120):
        if wanted.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(wanted).to_be_focused()
    page.keyboard.press(key)


@pytest.mark.parametrize(
    ("width", "more"), [(1280, {"color_scheme": "dark"}), (390, {"has_touch": True})], ids=["desk", "phone"]
)
def test_a_table_is_matched_and_asked_in_own_sentences(
    browser: Browser, address: str, tmp_path: Path, width: int, more: dict[str, object]
) -> None:
    (tmp_path / "ward.csv").write_text(TABLE)
    with open_checked_page(browser, address, width, 900, **more) as page:
        page.goto(f"{address}evaluate")
        expect(page.locator("#models input").first).to_be_visible()
        upload_file(page, tmp_path / "ward.csv")
        expect(page.locator("#personal-heading")).to_have_text("Is ward.csv about patients?")
        assert "Jane Doe" not in page.content()
        assert "Koplik spots" not in page.content()
        expect(page.locator("#evaluate")).to_have_text("Evaluate 1 model")
        assert accessibility_violations(page) == []
        page.reload()
        press(page, page.get_by_role("button", name="Leave this column out"))
        expect(page.locator("#map-head")).to_have_value("Krankheit")
        expect(page.locator(".mf-matching tbody tr")).to_have_count(3)
        assert "Jane Doe" not in page.content()
        card = page.get_by_role("region", name="relation typical sign")
        expect(card.locator(".mf-readings").first.get_by_role("button")).to_have_count(3)
        press(page, card.get_by_role("button", name="Write your own sentences"))
        plain = card.get_by_label("plainly")
        expect(plain).to_have_value("[Y] is a typical sign of [X].")
        expect(card).to_contain_text("Koplik spots are not a typical sign of measles.")
        plain.fill("[Y] goes with [X].")
        expect(card).to_contain_text("it cannot be denied by one word")
        page.reload()
        expect(plain).to_have_value("[Y] goes with [X].")
        assert accessibility_violations(page) == []
        press(page, card.get_by_role("button", name="Use these sentences"))
        expect(page.locator("#facts-said")).to_contain_text("cannot be used")
        plain.fill("[X] has the typical sign [Y].")
        expect(card).to_contain_text("Measles does not have the typical sign Koplik spots.")
        press(page, card.get_by_role("button", name="Use these sentences"))
        expect(page.locator(".mf-in-use").first).to_contain_text("4 of 4 true facts can be asked")
        expect(page.locator(".mf-unknown")).to_have_count(0)
        page.goto(f"{address}runs")
        page.go_back()
        expect(page.locator(".mf-in-use").first).to_contain_text("4 of 4 true facts can be asked")
        expect(page.locator("#evaluate")).to_contain_text("on ward.csv")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
