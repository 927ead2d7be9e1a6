"""What several models show beside each other, the label to look at first in review, and figures to keep. Needs Chromium."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from rasch_runs import run_of
from small_facts import rows_of_facts, write_csv

from medfact.spec import LOCAL_OWNER
from medfact.store import Store

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs(app_home: Path, address: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Runs of two models that know all of 30 diseases but one fact, of which both believe the opposite; one another too."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)
    file = write_csv(tmp_path_factory.mktemp("facts") / "facts.csv", rows_of_facts(30))
    shared, own = ("disease07", "sign07"), ("disease01", "drug01")
    return ",".join([run_of(store, file, "one", {shared}), run_of(store, file, "two", {shared, own})])


def test_the_label_that_all_contradict_comes_first(page: Page, address: str, runs: str) -> None:
    page.goto(f"{address}evaluate?run={runs}&tab=statistics")
    together = page.get_by_role("region", name="what all models together show")
    expect(together).to_contain_text("On 1 fact all models say the opposite of the label")
    first = together.locator("ol").first.locator("li")
    expect(first).to_have_count(1)
    expect(first).to_contain_text("disease07")
    expect(first).to_contain_text("both models say the opposite of the label in all eight ways")
    expect(together).to_contain_text("8 of 16 answers right")
    assert Axe().run(page).response["violations"] == []
    together.get_by_role("link", name="Review these first").click()
    card = page.locator(".mf-review")
    expect(card).to_contain_text("disease07")
    expect(card).to_contain_text("Why it is here: both models say the opposite of the label in all eight ways.")
    expect(card).not_to_contain_text("FALSE")


def test_figures_say_what_they_show_and_can_be_kept(page: Page, address: str, runs: str) -> None:
    page.goto(f"{address}evaluate?run={runs}&tab=statistics")
    figure = page.locator("[data-key=figure-differences]")
    title = figure.locator("figcaption")
    none = "No difference in facts with all answers right, right answers or pairs with all answers right is shown"
    expect(title).to_have_text(none)
    expect(figure.locator(".mf-plot")).to_have_attribute(
        "aria-label", f"{title.inner_text()}. paired differences in points, with intervals that hold for all pairs together"
    )
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            figure.get_by_role("button", name=kind.upper()).click()
        assert download.value.suggested_filename == f"medfact-differences.{kind}"
        made = Path(download.value.path()).read_bytes()
        if kind == "svg":
            assert none in made.decode()
        else:
            assert struct.unpack(">I", made[16:20]) == (1800,), "twice 900 pixels"


def test_relations_are_drawn_with_what_is_shown_of_them(page: Page, address: str, runs: str) -> None:
    page.goto(f"{address}evaluate?run={runs.split(',')[0]}&tab=groups")
    expect(page.locator("[data-key=figure-relations] figcaption")).to_have_text(
        "No relation is shown to be known better than another"
    )
    page.locator("#relations").scroll_into_view_if_needed()
    expect(page.locator("#relations .scatterlayer .points path")).to_have_count(2)
