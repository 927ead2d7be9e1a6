"""Results in a browser: what stands first, what back leads to, figures that lead to facts. Needs Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import collect_page_errors
from playwright.sync_api import Browser, Page, expect
from recorded import complete_run

from medfact.models import BUNDLED_FOLDERS
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import Store

pytestmark = pytest.mark.browser

PATIENT = 120_000


@pytest.fixture(scope="module")
def runs(app_home: Path, address: str) -> str:
    """The two bundled models and a coin, about the same 60 facts and their false partners."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)
    made = [complete_run(RunSpec(model=name, limit=60, shots=0), store) for name in (*BUNDLED_FOLDERS, "baseline:random")]
    return ",".join(made)


Opened = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, address: str, runs: str) -> Iterator[Opened]:
    """Opens the three runs."""
    contexts, troubles = [], []

    def open_(query: str = "", width: int = 1280, height: int = 800, **more: object) -> Page:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **more))  # type: ignore[arg-type]
        page = contexts[-1].new_page()
        troubles.append(collect_page_errors(page, address))
        page.goto(f"{address}evaluate?run={runs}{query}")
        expect(page.locator("[role=tablist]")).to_be_visible(timeout=PATIENT)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert troubles == [[] for _ in troubles]


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 620), (390, 844, 1_250)])
def test_the_tabs_begin_within_the_first_look(opened: Opened, width: int, height: int, most: int) -> None:
    page = opened(width=width, height=height, has_touch=width < 500)
    expect(page.locator("#scores tbody tr")).to_have_count(3)
    expect(page.locator("#scores tfoot")).to_contain_text("word matching")
    for row in page.locator("#scores tfoot tr").all():
        expect(row).to_be_visible()
    assert page.locator("[role=tablist]").bounding_box()["y"] < most  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width > 500:  # the head stays
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        expect(page.locator("#progress")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Share")).to_be_in_viewport()


def test_back_leads_to_the_tab_before_and_a_reload_to_the_same(opened: Opened) -> None:
    page = opened()
    page.get_by_role("tab", name="Facts").click()
    page.locator("[data-key=choose-only]").select_option("differ")
    expect(page).to_have_url(re.compile("=differ"))
    found = page.locator(".mf-pager .mf-where").first
    expect(found).to_contain_text("facts 1 to 20 of")
    page.locator(".mf-pairs .mf-pair").first.click()
    expect(page.locator(".mf-drawer")).to_be_visible()
    here, where = page.url, found.inner_text()
    page.reload()
    expect(page.locator(".mf-drawer")).to_be_visible(timeout=PATIENT)
    expect(page.locator("[data-key=choose-only]")).to_have_value("differ")
    expect(found).to_have_text(where)
    assert page.url == here
    page.go_back()
    expect(page.locator(".mf-drawer")).to_have_count(0)
    expect(page.locator("[data-key=choose-only]")).to_have_value("differ")
    page.go_back()
    expect(page.locator("[data-key=choose-only]")).to_have_value("all")
    page.go_back()
    expect(page.get_by_role("tab", name="Summary")).to_have_attribute("aria-selected", "true")
    assert "tab=" not in page.url


def test_search_and_page_are_undone_by_back_and_an_open_drawer_leaves_the_tabs_free(opened: Opened) -> None:
    page = opened("&tab=facts")
    where = page.locator("#tab .mf-where").first
    every = where.inner_text()
    page.get_by_role("button", name="Next →").first.click()
    expect(where).to_contain_text("facts 21 to")
    page.get_by_role("searchbox", name="Search").press_sequentially("ma", delay=50)
    expect(where).to_contain_text("facts 1 to")
    page.locator(".mf-pair").first.click()
    expect(page.locator(".mf-drawer")).to_be_visible()
    drawer, tab = page.locator(".mf-drawer").bounding_box(), page.get_by_role("tab", name="Statistics").bounding_box()
    assert drawer is not None
    assert tab is not None
    assert tab["x"] + tab["width"] <= drawer["x"]
    page.go_back()
    expect(page.locator(".mf-drawer")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("")
    expect(where).to_contain_text("facts 21 to")
    page.go_back()
    expect(where).to_have_text(every)


def test_a_point_and_a_bar_lead_to_their_facts(opened: Opened) -> None:
    page = opened("&tab=groups")
    point = page.locator("#by-relation .scatterlayer .trace").first.locator(".points path").first
    point.scroll_into_view_if_needed()
    point.click(force=True, position={"x": 5, "y": 5})
    expect(page.get_by_role("tab", name="Facts")).to_have_attribute("aria-selected", "true")
    expect(page.locator("[data-key=choose-within]")).to_have_value(re.compile("^relation:"))
    page.go_back()
    expect(page.get_by_role("tab", name="Groups")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Summary").click()
    page.locator("[data-key=table-diagnoses]").click()
    page.locator("[data-key^=row-diagnoses]", has_text="overlooks “not”").click()
    expect(page.locator("[data-key=choose-only]")).to_have_value("negation-blind")
