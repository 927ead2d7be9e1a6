"""Every page for those who read with a screen reader, with the keyboard alone, in the dark or on a phone. Needs Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mock_service import Behaviour, MockService
from pages import accessibility_violations, rephrase_or_negate
from playwright.sync_api import Browser, Page, expect
from recorded import complete_run

from medfact.models import ServiceSettings
from medfact.reviews.verdicts import FALSE, TRUE
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import Store, Verdict
from medfact.writing.runs import start_writing, write

pytestmark = pytest.mark.browser

MODELS = ("baseline:negation-cue", "baseline:always-true", "baseline:random")


@pytest.fixture(scope="module")
def runs(app_home: Path, address: str) -> str:
    """Three runs of the same ten pairs, eight facts of them reviewed by two, as an address names them."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)
    made = [complete_run(RunSpec(model=model, limit=10, shots=0), store) for model in MODELS]
    judged = list(dict.fromkeys(item.statement.fact for item in store.answers.asked(made[0])))[:8]
    for reviewer in ("ada", "ben"):
        verdict = TRUE if reviewer == "ada" else FALSE
        store.verdicts.record([Verdict(reviewer, fact.fact_id, verdict, comment="Is it?") for fact in judged])
    return ",".join(made)


@pytest.fixture(scope="module")
def written(app_home: Path, address: str) -> str:
    """A rephrasing, half of it stopped."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)
    with MockService(Behaviour(write_reply=rephrase_or_negate)) as service:
        spec = RunSpec(model="openai:writer", limit=5, shots=0, service=ServiceSettings(base_url=service.base_url))
        writing = start_writing("rephrase", spec, store)
        assert list(write(writing, store))
    return writing


VIEWS = {
    "the first screen": ("", "#hero h1"),
    "the tour": ("tour?step=5", ".mf-tour h1"),
    "the game": ("game", "[data-key=game-start-calm]"),
    "docs": ("docs", "#docs h2"),
    "set-up": ("evaluate", "#models input"),
    "results": ("evaluate?run={}", "#scores tbody tr"),
    "fact by fact": ("evaluate?run={}&tab=facts", ".mf-pair"),
    "one fact": ("evaluate?run={}&tab=facts&fact=0", ".mf-drawer"),
    "confidence": ("evaluate?run={}&tab=confidence", "#tab h2"),
    "groups": ("evaluate?run={}&tab=groups", "#tab-groups[aria-selected=true]"),
    "the papers' tables": ("evaluate?run={}&tab=statistics&statistics=papers", ".mf-results"),
    "facts": ("facts", "#cards .mf-fact"),
    "review": ("review", "#fact h2"),
    "review of a run": ("review?run={}", "#fact h2"),
    "a colleague's link": ("review?run={}&asking=true", ".mf-ask"),
    "studio": ("studio?relation=symptoms", "#relation .mf-examples"),
    "write": ("write", "#form .mf-card"),
    "sentences that were written": ("write?writing={written}", ".mf-rewritten"),
    "written sentences to ask": ("evaluate?writing={written}", ".mf-sets"),
    "runs": ("runs", "#runs .mf-line"),
    "model against model": ("evaluate?run={}&tab=statistics", "#tab .mf-plot"),
}


@pytest.fixture
def visited(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_and_every_control_shows_its_focus(
    visited: Page, address: str, runs: str, written: str, view: str
) -> None:
    """Axe looks at every view in light and in dark colours, and on a phone."""
    path, ready = VIEWS[view]
    visited.goto(address + path.format(runs, written=written))
    expect(visited.locator(ready).first).to_be_visible(timeout=120_000)
    if view == "set-up":
        for accordion in ("method", "evidence-inputs"):
            visited.locator(f"#{accordion}").get_by_role("button").first.click()
    if view == "the game":
        visited.locator("[data-key=game-start-calm]").click()
        expect(visited.locator("#game [data-question]")).to_have_count(8)
        assert accessibility_violations(visited) == []
        for number in range(8):
            up = visited.locator("#game [data-question]:visible")
            expect(up).to_contain_text(f"{number + 1} of 8")
            up.get_by_role("button", name="True").click()
        expect(visited.locator("#game .mf-answers")).to_be_visible()
    if view == "review of a run":
        visited.locator("#choice summary").first.click()
        visited.get_by_label("Show labels while I judge").check()
        expect(visited.locator("#fact .mf-source").first).to_be_visible()
    if view in WITH_FOCUS:
        assert controls_without_a_visible_focus(visited) == []
    visited.evaluate("document.querySelectorAll('#choice details, #tab details').forEach((fold) => (fold.open = true))")
    for figure in visited.locator(".mf-plot:visible").all():
        figure.scroll_into_view_if_needed()  # it is drawn once it is near
        expect(figure.locator(".main-svg").first).to_be_visible()
    assert accessibility_violations(visited) == []
    visited.get_by_role("button", name="Light or dark colours").dispatch_event("click")  # an open drawer may lie over it
    expect(visited.locator("body")).to_have_class(re.compile(r"\bdark\b"))
    assert accessibility_violations(visited) == []
    visited.set_viewport_size({"width": 390, "height": 844})
    assert accessibility_violations(visited) == []


WITH_FOCUS = {
    *("the first screen", "the tour", "set-up", "fact by fact", "facts"),
    *("review", "studio", "write", "runs", "results"),
}
"""Views whose controls are gone through with the tab key."""

LOOK_OF_FOCUS = """(element) => {
  const drawn = ({ outline, boxShadow, borderColor }) => [outline, boxShadow, borderColor].join();
  const at = (node) => node && [getComputedStyle(node), getComputedStyle(node, "::before")].map(drawn);
  const around = [element, element.parentElement, element.closest(".block"), element.closest("label")];
  return JSON.stringify(around.map(at));
}"""
"""How an element, and what is around it, is drawn: a focus may be shown on either."""


def controls_without_a_visible_focus(page: Page) -> list[str]:
    """Controls that look with the focus as they do without it, among those that 60 presses of the tab key reach."""
    unseen, seen = [], set()
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate_handle("document.activeElement").as_element()
        assert focused is not None
        name = focused.evaluate("(node) => node.outerHTML.slice(0, 200)")
        if name.startswith("<body") or name in seen:
            continue
        seen.add(name)
        with_focus = focused.evaluate(LOOK_OF_FOCUS)
        focused.evaluate("(node) => node.blur()")
        without = focused.evaluate(LOOK_OF_FOCUS)
        focused.evaluate("(node) => node.focus({ focusVisible: true })")
        if with_focus == without:
            unseen.append(name)
    assert len(seen) >= 5
    return unseen
