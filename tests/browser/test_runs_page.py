"""The page Runs in a real browser: what a visitor sees of runs and does to them, and no other visitor. Needs Chromium."""

import contextlib
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from browser import trouble_of
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from medfact.exchange import export_run, import_run
from medfact.models import Completion
from medfact.runs.events import Finished
from medfact.runs.run import run as run_all
from medfact.runs.start import start
from medfact.spec import LOCAL_OWNER, RunSpec
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
        *_, last = run_all(replace(self.spec, **more), self.store)
        assert isinstance(last, Finished)
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
    trouble = trouble_of(page, address)
    store = Store(f"sqlite:///{app_home / 'medfact.db'}", owner_of_cookie(cookie))
    spec = RunSpec(model="baseline:always-true", facts=str(facts_file), limit=2, shots=0)
    return Visitor(page, address, store, context, spec, trouble)


@pytest.fixture
def visitor(browser: Browser, address: str, app_home: Path, facts_file: Path) -> Iterator[Visitor]:
    arrived = arrive(browser, address, app_home, facts_file)
    yield arrived
    arrived.context.close()
    assert arrived.trouble == []


@pytest.fixture
def stranger(browser: Browser, address: str, app_home: Path, facts_file: Path) -> Iterator[Visitor]:
    arrived = arrive(browser, address, app_home, facts_file)
    yield arrived
    arrived.context.close()


def test_runs_are_listed_newest_first_with_their_figures(visitor: Visitor) -> None:
    visitor.look()
    expect(visitor.page.locator("#runs")).to_contain_text("No runs yet: start one on the page Evaluate.")
    expect(visitor.page.locator("#runs").get_by_role("link", name="Evaluate")).to_have_attribute("href", "evaluate")
    first, second = visitor.ended(), visitor.ended(model="baseline:negation-cue", protocol="mkj", pool="medfact")
    visitor.look()
    expect(visitor.page.locator(".mf-line")).to_have_count(2)
    assert [line.get_attribute("data-run") for line in visitor.page.locator(".mf-line").all()] == [second, first]
    expect(visitor.row(second).locator(".mf-label")).to_have_text(
        ["Acc", "Acc_pos, facts that hold", "Acc_neg, false facts", "Acc_gap, the gap"]
    )
    expect(visitor.row(second).locator("[data-figure=right]")).to_contain_text("points")
    row = visitor.row(first)
    for text in ("always says true", "facts.csv", "4 facts (true and false)", "method: medfact", "free"):
        expect(row).to_contain_text(text)
    expect(row.locator("[data-figure=right]")).to_contain_text("50.0%")  # always true: half of the statements are
    expect(row.locator("[data-figure=right]")).to_contain_text("of 32 statements")  # 4 facts in 8 ways
    expect(row.locator(".mf-label")).to_have_text(["all eight right", "right answers"])  # a bare percentage says nothing
    expect(row.locator(".mf-label").first).to_be_visible()
    expect(row.locator("[data-figure=all]")).to_contain_text("0.0%")
    expect(row.locator("[data-figure=all]")).to_contain_text("of 4 facts")
    expect(row.locator("[data-figure=state]")).to_contain_text("complete")
    assert row.locator("time").first.get_attribute("title") == visitor.store.run(first).started_at
    expect(row.get_by_role("link", name="Open")).to_have_attribute("href", f"evaluate?run={first}")
    visitor.look()
    expect(visitor.page.locator(".mf-line")).to_have_count(2)


def test_runs_are_searched_and_filtered(visitor: Visitor) -> None:
    visitor.begun()
    named = visitor.ended(model="baseline:negation-cue")
    visitor.store.describe(named, name="Cardiology", note="asked for the Tuesday seminar")
    visitor.look()
    lines, find = visitor.page.locator(".mf-line"), visitor.page.get_by_role("searchbox", name="Search")
    for text, count in (("tuesday CARDIO", 1), ("negation-cue", 1), ("facts.csv", 2), ("nothing like it", 0)):
        find.fill(text)
        expect(lines).to_have_count(count)
    expect(visitor.page.locator("#runs")).to_contain_text("None of your 2 runs matches.")
    find.fill("")
    for state, count in (("complete", 1), ("going", 0), ("resumable", 1), ("", 2)):
        visitor.page.get_by_label("State").select_option(state)
        expect(lines).to_have_count(count)


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
        if pictures := os.environ.get("MEDFACT_TEST_PICTURES"):
            page.screenshot(path=f"{pictures}/runs-{scheme}-{width}.png", full_page=True)
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


FORGED = """async ([name, about, fields]) => {
  const body = JSON.stringify({ page: "runs", show: {}, action: { name, about, fields } });
  const answer = await fetch("updates", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return await answer.text();
}"""


def test_another_visitor_sees_and_changes_nothing(visitor: Visitor, stranger: Visitor) -> None:
    run, away = visitor.ended(), visitor.ended()
    visitor.store.describe(run, name="not yours", note="nor this")
    visitor.look()
    visitor.press(away, "Delete")
    expect(visitor.row(away)).to_have_count(0)
    stranger.look()
    expect(stranger.page.locator("#runs")).to_contain_text("No runs yet")

    for action, about in (("delete", run), ("save", run), ("undo", away)):
        answer = stranger.page.evaluate(FORGED, [action, about, {"name": "mine now", "note": ""}])
        assert "There is no such" in answer, (action, answer)
        assert "nor this" not in answer
    visitor.look()
    expect(visitor.row(run)).to_contain_text("not yours")
    expect(visitor.row(away)).to_have_count(0)
    answer = visitor.page.evaluate(FORGED, ["delete", run, {}])  # the same request, by its owner
    assert "Deleted" in answer


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


def write(app_home: Path, statement: str, *values: str) -> None:
    """Writes into the app's database what no door of the store writes."""
    with contextlib.closing(sqlite3.connect(app_home / "medfact.db", timeout=30)) as database, database:
        database.execute(statement, values)


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


def test_interrupted_runs_come_first_and_the_command_lines_too(visitor: Visitor, app_home: Path) -> None:
    run = start(visitor.spec, visitor.store)
    with sqlite3.connect(app_home / "medfact.db") as database:  # its process is gone
        database.execute(
            "UPDATE runs SET worker = 'elsewhere:1:1.0', beat_at = '2020-01-01T00:00:00+00:00' WHERE run = ?", (run,)
        )
    database.close()
    typed = start(visitor.spec, visitor.store.of(LOCAL_OWNER))
    visitor.store.set_state(typed, STOPPED)
    visitor.look()
    notice = visitor.page.locator("#notice")
    expect(notice).to_contain_text("1 run was interrupted. The answers are kept")
    expect(notice.get_by_role("link", name="Open")).to_have_attribute("href", f"evaluate?run={run}")
    expect(visitor.row(run)).to_contain_text("the program that asked it has ended")
    expect(visitor.row(typed)).to_contain_text("asked on the command line")
    visitor.press(typed, "Delete")
    expect(visitor.row(typed)).to_have_count(0)


def test_what_a_run_was_made_from_and_whether_that_has_changed(visitor: Visitor, facts_file: Path) -> None:
    run = visitor.ended(seed=7)
    visitor.look()
    visitor.press(run, "What happened")
    told = visitor.row(run).locator(".mf-told")
    expect(told).to_contain_text("Its data and sentences are unchanged.")
    expect(told).to_contain_text(visitor.store.run(run).dataset_fingerprint)
    expect(told.locator("dd").nth(4)).to_have_text("7")
    visitor.press(run, "What happened")
    expect(told).to_have_count(0)
    with facts_file.open("a", encoding="utf-8") as file:
        file.write("one more,symptoms,fever\n")
    visitor.press(run, "What happened")
    expect(told).to_contain_text("The data facts.csv has changed since this run.")


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


def test_there_is_no_file_of_a_run_that_is_none(visitor: Visitor) -> None:
    answer = visitor.context.request.get(f"{visitor.address}export/{'0' * 32}")
    assert (answer.status, answer.text()) == (404, "There is no such run; it may have been deleted.")
