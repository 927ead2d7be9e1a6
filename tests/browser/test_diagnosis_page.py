"""Why facts fail, which false ones are accepted, and the report to download, on the page. Needs Chromium."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from pages import open_tab
from playwright.sync_api import Page, expect
from recorded import complete_run
from small_facts import StubModel

from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import Store

pytestmark = pytest.mark.browser

ALWAYS_YES = "It says “true” to all 50 true facts and all "


@pytest.fixture(scope="module")
def run(app_home: Path, address: str) -> str:
    """A run of dangerous falsehoods, to which a model says True throughout."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)
    return complete_run(
        RunSpec(model="always-yes", dataset="not-indicated", limit=50, shots=0),
        store,
        load=StubModel(lambda prompt: "True").load,
    )


def test_a_failure_is_named_and_found(page: Page, address: str, run: str) -> None:
    page.goto(f"{address}evaluate?run={run}")
    expect(page.locator("#scores")).to_contain_text(ALWAYS_YES)
    page.locator("[data-key=table-diagnoses]").click()
    table = page.get_by_role("region", name="share of facts with each diagnosis")
    expect(table.locator("tbody tr")).to_have_count(9)
    open_tab(page, "Facts")
    page.locator("[data-key=choose-only]").select_option("always-yes")
    expect(page.locator(".mf-pager").first).to_contain_text("facts 1 to")
    page.locator(".mf-pair").first.click()
    expect(page.locator(".mf-drawer")).to_contain_text("it says “true” to a false fact, affirmed or denied")
    page.locator("[data-key=choose-only]").select_option("direction-bound")
    expect(page.locator("#tab")).to_contain_text("No fact passes these filters.")


def test_accepted_contraindications_stand_first(page: Page, address: str, run: str) -> None:
    page.goto(f"{address}evaluate?run={run}")
    page.locator("#tab summary", has_text="False facts that it accepts").click()
    board = page.locator(".mf-danger > li")
    expect(board).to_have_count(10)
    expect(board.first).to_contain_text("FALSE (test statement)")
    expect(board.first).to_contain_text("contraindicated")
    expect(board.first).to_contain_text("affirmed 4 of 4 times")
    board.first.get_by_role("button", name="All answers about it").click()
    expect(page.locator(".mf-drawer")).to_contain_text("therapeutic drugs")


def test_the_report_is_downloaded(page: Page, address: str, run: str) -> None:
    page.goto(f"{address}evaluate?run={run}")
    page.locator("[data-key=download]").click()
    with page.expect_download() as download:
        page.locator("[data-key=download-report]").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename.endswith("-report.html")
    assert ALWAYS_YES in text
    assert "<script" not in text
    for wrong in ("0" * 32, "x", "../" + run):
        assert httpx2.get(f"{address}download/{wrong}/report.html").status_code == 404
    page.locator("[data-key=about-numbers]").click()
    page.get_by_role("button", name="only these").click()
    expect(page.get_by_role("button", name="only these")).to_have_attribute("aria-pressed", "true")
    page.locator("[data-key=download]").click()
    with page.expect_download() as download:
        page.locator("[data-key=download-report]").click()
    assert "are about these" in Path(download.value.path()).read_text(encoding="utf-8")
