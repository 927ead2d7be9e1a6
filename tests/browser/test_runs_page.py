"""The page Runs in a real browser: what a visitor sees of runs and does to them, and no other visitor. Needs Chromium."""

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from browser import collect_page_errors
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from recorded import finished_event

from medfact.exchange import export_run, import_run
from medfact.models import Completion
from medfact.runs.run import run as run_all
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, RUNNING, STOPPED, Answer, Store
from medfact.web.pages.runs import RUNS_A_PAGE
from medfact.web.visitors import owner_of_cookie

pytestmark = pytest.mark.browser

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "${alert(1)}",
    "{{value}}",
    "x" * 120,
    "🫀 second try 🧠",
    "مقارنة النماذج الطبية",
    "\u202eabc",
]


@dataclass
class Visitor:
    """One browser, and the database as its owner uses it."""

    page: Page
    address: str
    store: Store
    context: BrowserContext
    spec: RunSpec
    trouble: list[str] = field(default_factory=list)

    def begun(self, **more: Any) -> str:
        """A run that is recorded, and stopped before anything was asked."""
        run = start(replace(self.spec, **more), self.store)
        self.store.set_state(run, STOPPED)
        return run

    def ended(self, **more: Any) -> str:
        """A run that is complete."""
        last = finished_event(run_all(replace(self.spec, **more), self.store))
        return last.run

    def row(self, run: str) -> Locator:
        return self.page.locator(f".mf-line[data-run='{run}']")

    def press(self, run: str, name: str) -> None:
        """Chooses an action from a run's menu."""
        menu = self.row(run).locator(".mf-menu")
        if menu.get_attribute("open") is None:
            menu.locator("summary").click()
        menu.get_by_role("button", name=name).click()

    def bring(self, file: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.page.get_by_role("button", name="Import a run").click()
        chooser.value.set_files(file)

    def look(self, scheme: str = "light") -> None:
        """Loads the page, until its runs are there."""
        self.page.goto(f"{self.address}runs?__theme={scheme}")
        expect(self.page.locator("#runs").get_by_text(re.compile(r"No runs yet|\d of \d+|None of your")).first).to_be_visible()


def arrive(browser: Browser, address: str, app_home: Path, facts_file: Path) -> Visitor:
    cookie = secrets.token_hex(16)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "medfact-visitor", "value": cookie, "url": address}])
    page = context.new_page()
    trouble = collect_page_errors(page, address)
    store = Store(f"sqlite:///{app_home / 'medfact.db'}", owner_of_cookie(cookie))
    spec = RunSpec(model="baseline:always-true", facts=str(facts_file), limit=2, shots=0)
    return Visitor(page, address, store, context, spec, trouble)


@pytest.fixture
def visitor(browser: Browser, address: str, app_home: Path, facts_file: Path) -> Iterator[Visitor]:
    arrived = arrive(browser, address, app_home, facts_file)
    yield arrived
    arrived.context.close()
    assert arrived.trouble == []


def test_a_run_gets_a_name_and_a_note(visitor: Visitor) -> None:
    run = visitor.begun()
    visitor.look()
    visitor.press(run, "Name and note")
    name, note = visitor.page.locator("#run-name"), visitor.page.locator("#run-note")
    expect(name).to_be_focused()
    name.fill(" First   look ")
    note.fill("why\nand what came of it")
    visitor.page.get_by_role("button", name="Save").click()
    expect(visitor.row(run).locator("bdi")).to_have_text("First look")
    expect(visitor.page.locator("#said")).to_contain_text("Saved “First look”.")
    expect(visitor.page.locator("#run-name")).to_have_count(0)
    visitor.look()
    expect(visitor.row(run)).to_contain_text("and what came of it")
    visitor.press(run, "Name and note")
    expect(note).to_have_value("why\nand what came of it")
    name.fill("something else")
    visitor.page.get_by_role("button", name="Cancel").click()
    expect(visitor.page.locator("#run-name")).to_have_count(0)
    assert visitor.store.run(run).name == "First look"


def test_hostile_names_are_text_and_fit(visitor: Visitor) -> None:
    runs = [visitor.begun() for _ in HOSTILE]
    page, said = visitor.page, visitor.page.locator("#said")
    for run, name in zip(runs, HOSTILE, strict=True):
        visitor.store.describe(run, name=name, note=f"{name} {name}")
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        visitor.look(scheme)
        for run, name in zip(runs, HOSTILE, strict=True):
            expect(visitor.row(run).locator("bdi")).to_have_text(name)
            visitor.row(run).get_by_role("checkbox").check()
        visitor.press(runs[0], "What happened")
        expect(visitor.row(runs[0]).locator(".mf-made")).to_contain_text("facts.csv")
        visitor.press(runs[1], "Delete")
        expect(said).to_contain_text("Deleted “${alert(1)}”.")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("mf-part img").count() == 0
        said.get_by_role("button", name="Undo").click()
        expect(said).to_contain_text("Brought back “${alert(1)}”.")


def test_a_run_is_deleted_and_brought_back(visitor: Visitor) -> None:
    gone, stays = visitor.ended(), visitor.ended()
    visitor.store.describe(gone, name="a first try", note=None)
    visitor.look()
    said = visitor.page.locator("#said")
    visitor.press(gone, "Delete")
    expect(said).to_contain_text("Deleted “a first try”. It can be brought back for 7 days.")
    expect(visitor.page.locator(".mf-line")).to_have_count(1)
    expect(said.get_by_role("button", name="Undo")).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(said).to_contain_text("Brought back “a first try”.")
    expect(visitor.page.locator(".mf-line")).to_have_count(2)

    visitor.press(gone, "Delete")
    expect(visitor.row(gone)).to_have_count(0)
    visitor.look()
    expect(visitor.row(stays)).to_be_visible()
    expect(visitor.row(gone)).to_have_count(0)
    visitor.page.get_by_text("Deleted runs (1)").click()
    visitor.page.get_by_role("button", name="Bring back: a first try").click()
    expect(visitor.row(gone)).to_be_visible()


def test_runs_are_chosen_over_pages_and_compared(visitor: Visitor) -> None:
    runs = [visitor.begun() for _ in range(RUNS_A_PAGE + 2)][::-1]
    visitor.look()
    page, said = visitor.page, visitor.page.locator("#chosen")
    expect(page.locator("#runs")).to_contain_text("runs 1 to 20 of 22")
    visitor.row(runs[0]).get_by_role("checkbox").check()
    expect(said).to_contain_text("1 run chosen: Compare (choose two to eight: one more at least)")
    assert said.get_by_role("link", name="Compare").get_attribute("href") is None
    page.get_by_role("button", name="Next →").click()
    expect(page.locator(".mf-line")).to_have_count(2)
    visitor.row(runs[21]).get_by_role("checkbox").check()
    expect(said.get_by_role("link", name="Compare")).to_have_attribute(
        "href", f"evaluate?run={runs[0]},{runs[21]}&tab=statistics"
    )
    page.get_by_role("searchbox", name="Search").fill("no such run")
    expect(page.locator(".mf-line")).to_have_count(0)
    expect(said).to_contain_text("2 runs chosen: Compare")
    page.get_by_role("searchbox", name="Search").fill("")
    expect(visitor.row(runs[0]).get_by_role("checkbox")).to_be_checked()
    for run in runs[1:8]:
        visitor.row(run).get_by_role("checkbox").check()
    expect(said).to_contain_text("9 runs chosen: Compare (choose two to eight: 1 fewer)")
    said.get_by_role("button", name="Clear").click()
    expect(visitor.row(runs[0]).get_by_role("checkbox")).not_to_be_checked()


def answers(store: Store, run: str, first: int, last: int) -> list[Answer]:
    asked = store.answers.asked(run, positions=range(first, last))
    reply = Completion("True")
    return [Answer(one.statement.statement_id, f"key {one.position}", True, None, None, reply.text, None) for one in asked]


def test_a_run_that_goes_on_moves_and_disturbs_nothing(visitor: Visitor) -> None:
    run = start(visitor.spec, visitor.store)
    visitor.store.set_state(run, RUNNING)
    visitor.look()
    row, page = visitor.row(run), visitor.page
    expect(row).to_contain_text("0 of 32 statements")
    visitor.press(run, "Delete")
    expect(page.locator("#said")).to_contain_text("This run is going on. Open it and stop it first")
    row.get_by_role("checkbox").check()
    visitor.press(run, "What happened")
    expect(row.locator(".mf-events").first).to_contain_text("the model started")
    visitor.press(run, "Name and note")
    expect(page.locator("#run-name")).to_be_focused()
    page.locator("#run-name").fill("half a na")
    row.get_by_role("link", name="Open").focus()
    visitor.store.answers.save(run, answers(visitor.store, run, 0, 16))
    expect(row).to_contain_text("16 of 32 statements", timeout=120_000)
    expect(row.locator("[data-figure=right]")).to_contain_text("of 16 statements")
    expect(row.get_by_role("link", name="Open")).to_be_focused()
    expect(row.get_by_role("checkbox")).to_be_checked()
    expect(page.locator("#run-name")).to_have_value("half a na")
    visitor.store.answers.save(run, answers(visitor.store, run, 16, 32))
    visitor.store.set_state(run, COMPLETE)
    expect(row.locator("[data-figure=state]")).to_contain_text("complete", timeout=120_000)
    expect(row.locator(".mf-events").first).to_contain_text(": complete")
    expect(row.get_by_role("link", name="Open")).to_be_focused()


def test_runs_come_from_files_and_go_into_files(visitor: Visitor, tmp_path: Path) -> None:
    elsewhere = Store(f"sqlite:///{tmp_path / 'elsewhere.db'}", "somebody")
    run = replace(visitor, store=elsewhere).ended()
    elsewhere.describe(run, name="../<b>my run</b>", note=None)
    brought, broken = tmp_path / "run.gz", tmp_path / "broken.gz"
    with brought.open("wb") as file:
        export_run(elsewhere, run, file)
    broken.write_bytes(brought.read_bytes()[:-200])
    visitor.look()
    said = visitor.page.locator("#said")
    visitor.bring(broken)
    expect(said.locator(".mf-warn")).to_contain_text("broken.gz")
    visitor.bring(brought)
    expect(said).to_contain_text("Imported “../<b>my run</b> (from a file)”.")
    expect(visitor.row(run)).to_contain_text("50.0%")
    assert visitor.store.run(run).owner == visitor.store.owner
    visitor.bring(brought)
    expect(said.locator(".mf-warn")).to_contain_text("is here already")
    visitor.press(run, "What happened")
    expect(visitor.row(run).locator(".mf-events").first).to_contain_text("brought here — from a file")

    with visitor.page.expect_download() as download:
        visitor.row(run).locator(".mf-menu summary").click()
        visitor.row(run).get_by_role("link", name="Export").click()
    assert download.value.suggested_filename == f"medfact-b-my-run-b-from-a-file-{run[:8]}.gz"
    again = Store(f"sqlite:///{tmp_path / 'again.db'}")
    with Path(download.value.path()).open("rb") as file:
        assert import_run(again, file, "again") == run
    assert len(again.answers.asked(run)) == 32
