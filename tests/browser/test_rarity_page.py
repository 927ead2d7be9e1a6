"""The section "Where knowledge runs out" in a real browser: an upload is drawn, and is its own visitor's. Needs Chromium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import HOSTILE, accessibility_violations, upload_file
from playwright.sync_api import Browser, Page, expect
from recorded import complete_run
from small_facts import write_csv
from visitors import Visitor

from medfact.results.rarity import names_of
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import Store

pytestmark = pytest.mark.browser

BUTTON = "Bring frequencies"


@pytest.fixture(scope="module")
def run(app_home: Path, address: str) -> str:
    """A run of twenty pairs whose answers are drawn at random."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)
    return complete_run(RunSpec(model="baseline:random", limit=20, shots=0), store)


@pytest.fixture(scope="module")
def table(app_home: Path, run: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The frequencies of all names of that run but one."""
    names = names_of(Store(f"sqlite:///{app_home / 'medfact.db'}"), run)
    rows = [{"term": name, "count": 7 * number**2} for number, name in enumerate(names[1:])]
    return write_csv(tmp_path_factory.mktemp("counts") / "counts [X].csv", rows)


@pytest.fixture
def opened(page: Page, address: str, run: str) -> Page:
    page.goto(f"{address}evaluate?run={run}&tab=statistics")
    page.get_by_role("button", name="Rare findings").click()
    expect(page.locator("#rarity h2")).to_have_text("Where knowledge runs out")
    return page


def test_an_upload_is_drawn_and_put_away(opened: Page, table: Path, tmp_path: Path) -> None:
    upload_file(opened, table, BUTTON)
    expect(opened.locator("#rarity-said")).to_contain_text("names with a frequency")
    expect(opened.locator("#rarity")).to_contain_text("your file counts X.csv")  # brackets stand in no name on the server
    expect(opened.locator("#rarity table").first.locator("tbody tr").first).to_contain_text("points (")
    opened.locator("#rarity-1").scroll_into_view_if_needed()
    expect(opened.locator("#rarity-1 .scatterlayer .trace").first).to_be_attached()
    plot = json.loads(opened.locator("#rarity-1").get_attribute("data-plot") or "")
    assert [trace["name"] for trace in plot["data"]][:3] == ["facts", "95% band", "fitted line"]
    assert plot["layout"]["xaxis"]["type"] == "log"
    assert accessibility_violations(opened) == []
    opened.get_by_role("button", name="Remove it").click()
    expect(opened.locator("#rarity [data-plot]")).to_have_count(0)
    upload_file(opened, write_csv(tmp_path / "rubbish.csv", [{"who": HOSTILE[1], "often": "?"}]), BUTTON)
    expect(opened.locator("#rarity-said")).to_contain_text("the column term is missing")
    upload_file(opened, write_csv(tmp_path / "others.csv", [{"term": HOSTILE[1], "count": 3}]), BUTTON)
    expect(opened.locator("#rarity")).to_contain_text("has no frequency of any name in run")


def test_a_file_is_its_own_visitors(address: str, run: str, table: Path) -> None:
    looked = {"run": run, "tab": "statistics", "statistics": "rarity"}
    with Visitor(address) as ada, Visitor(address) as ben:
        path = ada.upload(table.name, table.read_bytes())
        seen = ada.press_button("take_frequencies", path, **looked)
        assert seen["show"]["frequencies"] == path
        assert "points (" in seen["fragments"]["rarity"]
        for tried in (path, "/etc/passwd", "../../x.csv", "\0"):
            answer = ben.press_button("take_frequencies", tried, **looked)
            assert "not yours" in answer["fragments"]["rarity-said"]
            shown = ben.fetch_page(**looked, frequencies=tried)["fragments"]["rarity"]
            assert "not yours" in shown
            assert "points (" not in shown
            assert "passwd" not in shown


def test_a_phone_in_the_dark(browser: Browser, address: str, run: str, table: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{address}evaluate?run={run}&tab=statistics&statistics=rarity")
    upload_file(page, table, BUTTON)
    expect(page.locator("#rarity-1")).to_be_attached()
    page.locator("#rarity-1").scroll_into_view_if_needed()
    expect(page.locator("#rarity-1 .scatterlayer .trace").first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()
