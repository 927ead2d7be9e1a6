"""One model over time, on the page Runs in a real browser. Needs Chromium."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from browser import open_checked_page
from pages import accessibility_violations
from playwright.sync_api import Browser, Page, expect
from served_runs import complete_run_on
from small_facts import make_fact_rows, write_csv

from medfact.models.prompt import Served
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.visitors import owner_of_cookie

pytestmark = pytest.mark.browser

WEEKS = ("2026-09-07", "2026-09-14", "2026-09-21", "2026-09-28")
TITLES_ARE_WITHIN = """() => [...document.querySelectorAll("#drift .mf-plot")].every((figure) =>
  figure.querySelector(".xtitle")?.getBoundingClientRect().bottom <= figure.getBoundingClientRect().bottom + 1)"""
LONG = "a-model-whose-name-goes-on-without-a-space-for-longer-than-a-telephone-is-wide"


def look(page: Page, address: str, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}runs?__theme={scheme}")
    expect(page.locator("#drift h2").first).to_be_visible()


def test_a_model_is_followed_over_time_by_keyboard_and_on_a_phone(
    browser: Browser, address: str, app_home: Path, tmp_path: Path
) -> None:
    cookie = secrets.token_hex(16)
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(owner_of_cookie(cookie))
    facts = str(write_csv(tmp_path / "facts.csv", make_fact_rows()))
    for model in ("openai:model", f"openai:{LONG}"):
        spec = RunSpec(model=model, facts=facts, shots=0)
        for week, day in enumerate(WEEKS):
            served = Served(f"{model[7:]}-2026-{'08' if week < 2 else '09'}", f"fp_{week // 2}")
            complete_run_on(store, spec, day, served, range(0, 70, 7) if week < 2 else range(0, 70, 3))
    with open_checked_page(browser, address) as page:
        page.context.add_cookies([{"name": "medfact-visitor", "value": cookie, "url": address}])
        for width, scheme in ((1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")):
            look(page, address, scheme, width)
            lines = page.locator("#drift button[aria-expanded]")
            expect(lines).to_have_count(2)
            for line in lines.all():
                expect(line).to_have_attribute("aria-expanded", "false")
                line.focus()
                page.keyboard.press("Enter")
                expect(line).to_have_attribute("aria-expanded", "true")
                expect(line).to_be_focused()
            figure = page.locator("#drift .mf-plot").last
            figure.scroll_into_view_if_needed()
            expect(figure.locator(".scatterlayer .points path")).to_have_count(len(WEEKS))
            # the title below the axis is within each figure, also within the one that was drawn before the other came
            page.wait_for_function(TITLES_ARE_WITHIN)
            expect(page.locator("#drift figcaption").last).to_contain_text(
                "Fewer facts with all answers right than on 7 Sep 2026"
            )
            expect(page.locator("#drift li li").get_by_text("before as model-2026-08")).to_be_visible()
            table = page.locator("#drift details.mf-twice").last
            table.locator("summary").focus()
            page.keyboard.press("Enter")
            expect(table.locator("tbody tr")).to_have_count(len(WEEKS))
            expect(table.locator("tbody tr").nth(2)).to_contain_text("▲ served otherwise")
            expect(table.locator("tbody tr").nth(1)).to_contain_text("not shown")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert accessibility_violations(page) == []
        page.locator("#drift button[aria-expanded]").first.click()
        expect(page.locator("#drift .mf-plot")).to_have_count(1)
