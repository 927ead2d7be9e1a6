"""Runs that any page watches: opened again, by two browsers at once, by four visitors. Needs Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import choose_models, collect_page_errors, type_pair_count
from mock_service import Behaviour, MockService
from playwright.sync_api import Browser, Page, expect
from records import report_record

from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import COMPLETE, STOPPED, Store

pytestmark = pytest.mark.browser

PATIENT = 240_000
SEEN = "progress_is = (pattern) => new RegExp(pattern).test(document.querySelector('#progress')?.innerText ?? '')"

Opened = Callable[..., Page]


@pytest.fixture
def store(app_home: Path, address: str) -> Store:
    """The app's own database."""
    return Store(f"sqlite:///{app_home / 'medfact.db'}")


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opened]:
    """Opens a page of the app in a browser of its own, as another visitor; at the end nothing untoward was heard of any."""
    contexts, troubles = [], []

    def open_(path: str = "evaluate") -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        troubles.append(collect_page_errors(page, address))
        contexts.append(context)
        page.goto(address + path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [trouble for trouble in troubles if trouble] == []


def begin_at(page: Page, service: MockService, facts: int) -> str:
    """Starts a run at a service; returns the path of its link."""
    choose_models(page)
    page.get_by_role("button", name="+ Add model").click()
    for label, text in (("address", service.base_url), ("model's name", "m")):
        page.locator(".mf-row").get_by_label(label).fill(text)
        page.locator(".mf-row").get_by_label(label).press("Tab")
    page.get_by_label("key for 127.0.0.1").fill("sk-none")
    return begin(page, facts)


def begin(page: Page, facts: int) -> str:
    type_pair_count(page, facts)
    page.locator("#evaluate").click()
    page.wait_for_url(re.compile(r"[?&]run=[0-9a-f]{32}"), timeout=PATIENT)
    return "evaluate?" + page.url.partition("?")[2]


def test_a_run_goes_on_without_its_page_and_two_pages_watch_it(opened: Opened, store: Store) -> None:
    with MockService(Behaviour(latency=0.4)) as service:
        page = opened()
        link = begin_at(page, service, 100)
        run = link.partition("run=")[2][:32]
        own = page.context
        page.close()
        before = sum(item.answer is not None for item in store.answers.asked(run))
        one, other = opened(link), opened(link)
        for watching in (one, other):
            watching.wait_for_function(f"n => ({SEEN})('of 1,600 statements') && n >= 0", arg=before, timeout=PATIENT)
        one.wait_for_function(
            "n => Number(document.querySelector('#progress').innerText.match(/([0-9,]+) of/)[1].replace(',', '')) > n",
            arg=before,
            timeout=PATIENT,
        )
        expect(one.locator("#stop")).to_have_count(0)  # whoever has the link reads, and moves nothing
        mine = own.new_page()
        mine.goto(one.url)
        mine.locator("#stop").click()
        for watching in (one, other):
            expect(watching.locator("#progress")).to_contain_text("stopped", timeout=PATIENT)
    kept = sum(item.answer is not None for item in store.answers.asked(run))
    assert before < kept < 1600
    assert store.run(run).state == STOPPED
    made = report_record(store, run)
    for watching in (one, other):
        expect(watching.locator("#progress")).to_contain_text(f"{kept:,} of 1,600 statements", timeout=PATIENT)
        shown = watching.locator("#scores td[data-figure=average_accuracy]")
        expect(shown).to_contain_text(f"{100 * made['average_accuracy']['value']:.1f}%", timeout=PATIENT)
        expect(shown).to_contain_text(f"of {kept:,} statements")
        expect(watching.locator("#resume")).to_have_count(0)
    expect(mine.locator("#resume")).to_be_visible()
    own.close()


def test_a_run_of_the_command_line_is_resumed_on_the_page(opened: Opened, store: Store) -> None:
    run = start(RunSpec(model="baseline:negation-cue", limit=20, shots=0), store.of(LOCAL_OWNER))
    events = answer(run, store)
    next(events), next(events), next(events)
    events.close()
    page = opened(f"evaluate?run={run}")
    expect(page.locator("#progress")).to_contain_text("stopped", timeout=PATIENT)
    page.locator("#resume").click()
    expect(page.locator("#progress")).to_contain_text("320 of 320 statements · complete", timeout=PATIENT)
    expect(page.locator("#resume")).to_have_count(0)
    assert report_record(store, run)["joint_accuracy"]["value"] == 0.5


def test_a_page_says_that_the_app_is_away_and_goes_on_by_itself(opened: Opened, store: Store) -> None:
    run = start(RunSpec(model="baseline:negation-cue", limit=20, shots=0), store.of("somebody"))
    page = opened(f"evaluate?run={run}")
    expect(page.locator("#progress")).to_contain_text("0 of 320 statements", timeout=PATIENT)
    page.route("**/updates", lambda route: route.fulfill(body="502 of a gateway between"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # somebody looks at it again
    said = page.locator("mf-part[name=offline]")
    expect(said).to_contain_text("The app does not answer", timeout=PATIENT)
    list(answer(run, store))
    page.unroute("**/updates")
    expect(page.locator("#progress")).to_contain_text("320 of 320 statements · complete", timeout=PATIENT)
    expect(said).to_have_text("")


def test_four_visitors_at_once(opened: Opened, store: Store) -> None:
    """Each starts a run of 50 facts and clicks about; all finish, and nobody's list shows another's run."""
    pages = [opened() for _ in range(4)]
    for page in pages:
        choose_models(page, "a coin")
    links = [begin(page, 50) for page in pages]
    runs = [link.partition("run=")[2][:32] for link in links]
    assert len(set(runs)) == 4
    for page in pages:
        page.get_by_role("tab", name="Facts").click()
        expect(page.locator("#progress")).to_contain_text("800 of 800 statements · complete", timeout=PATIENT)
    assert {store.run(run).state for run in runs} == {COMPLETE}
    assert len({store.run(run).owner for run in runs}) == 4
    for page, run in list(zip(pages, runs, strict=True))[:3]:
        page.goto(page.url.partition("evaluate")[0] + "runs")
        expect(page.locator("#runs")).to_contain_text("a coin", timeout=PATIENT)
        shown = page.content()
        assert run in shown
        assert not [other for other in runs if other != run and other in shown]
    expect(opened(links[0]).locator("#progress")).to_contain_text("800 of 800 statements · complete", timeout=PATIENT)
