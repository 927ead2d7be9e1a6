"""The tour, its card and published runs in a real browser: by keyboard, on a phone, in the dark. Needs Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import watched
from playwright.sync_api import Browser, Page, expect

from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import COMPLETE, Store

pytestmark = pytest.mark.browser

LOOKS = {"dark": ("dark", 1280), "phone": ("light", 390)}


def store_of(app_home: Path) -> Store:
    return Store(f"sqlite:///{app_home / 'medfact.db'}").of(LOCAL_OWNER)


def violations(page: Page) -> list[tuple[str, list[str]]]:
    expect(page.locator("p.loading")).to_have_count(0)  # a part of the page library is still on its way
    found = Axe().run(page).response["violations"]
    return [(problem["id"], [node["html"][:200] for node in problem["nodes"]]) for problem in found]


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.fixture(params=LOOKS)
def opened(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Page]:
    scheme, width = LOOKS[request.param]
    with watched(browser, address, width, 844, color_scheme=scheme, reduced_motion="reduce") as page:
        yield page


def test_a_visitor_goes_through_by_keyboard_alone(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-key=tour-open]")).to_be_visible()
    page.keyboard.press("o")
    tour = page.locator(".mf-tour")
    expect(tour.locator(".mf-tour-said li")).to_have_count(1, timeout=120_000)  # once the model has answered
    expect(tour).to_be_focused()
    titles = ["1. Asked plainly", "2. Said backwards", "3. As a patient's case", "4. Denied", "5. A false partner"]
    for number, title in enumerate(titles, 1):
        expect(tour.locator("h1")).to_have_text(title)
        expect(page).to_have_url(re.compile(r"tour$" if number == 1 else rf"tour\?step={number}$"))
        expect(tour.locator(".mf-tour-said li")).to_have_count(number)
        page.keyboard.press("ArrowRight")
    expect(tour.locator("h1")).to_have_text("Which of two models knows more?")
    page.keyboard.press("ArrowLeft")
    expect(tour.locator("h1")).to_have_text(titles[4])
    page.keyboard.press("Tab")
    assert tour.evaluate("(tour) => tour.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(page.locator("#hero h1")).to_contain_text("Does a language model know")
    assert page.url == address
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_the_buttons_keep_the_focus_and_the_browser_goes_back_and_forth(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("[data-key=tour-open]").click()
    heading = page.locator(".mf-tour h1")
    following = page.locator("[data-key=tour-next]")
    for step in (2, 3):
        following.focus()
        page.keyboard.press("Enter")
        expect(heading).to_contain_text(f"{step}.")
        expect(following).to_be_focused()
    for _ in range(2):
        page.go_back()
    expect(heading).to_contain_text("1.")
    page.go_back()
    expect(page.locator("#hero h1")).to_contain_text("Does a language model know")
    for step in (1, 2, 3):
        page.go_forward()
        expect(heading).to_contain_text(f"{step}.")


def test_a_link_opens_a_step_whose_answers_are_the_models_own(page: Page, address: str, app_home: Path) -> None:
    page.goto(f"{address}tour?step=5")
    tour = page.locator(".mf-tour")
    expect(tour.locator("h1")).to_have_text("5. A false partner", timeout=120_000)
    store = store_of(app_home)
    demonstration = next(run for run in store.runs("demonstration") if run.state == COMPLETE)
    asked = {item.statement.text: item for item in store.answers.asked(demonstration.run)}
    lines = tour.locator(".mf-tour-said li").all()
    assert len(lines) == 5
    for line in lines:
        sentence = line.locator(".mf-sentence").text_content() or ""
        item = asked[sentence]
        said = "true" if item.answer and item.answer.answer else "false"
        right = item.answer is not None and item.answer.answer == item.statement.label
        whole = line.locator(".mf-tour-whole")
        expect(whole).to_contain_text(f"The model says {said}: {'right' if right else 'wrong'}.")
        expect(whole.locator(".mf-badge")).to_have_text("true" if item.statement.label else "FALSE (test statement)")
    fact = asked[tour.locator(".mf-sentence").first.text_content() or ""].statement.fact
    expect(tour.locator(".mf-tour-fact")).to_contain_text(f"{fact.head} — {fact.relation} → {fact.tail}")
    own = [item for item in asked.values() if item.statement.fact == fact]
    right = sum(item.answer is not None and item.answer.answer == item.statement.label for item in own)
    expect(tour.locator("table tr").last.locator("td").first).to_have_text(f"{right} of 8: not mastered")


def test_a_step_that_is_none_is_the_first(page: Page, address: str) -> None:
    for step in ("7", "x"):
        page.goto(f"{address}tour?step={step}")
        expect(page.locator(".mf-tour h1")).to_have_text("1. Asked plainly", timeout=120_000)


def test_the_tour_looks_right_and_axe_finds_nothing(opened: Page, address: str) -> None:
    for step in (1, 4, 5, 6):
        opened.goto(f"{address}tour?step={step}")
        expect(opened.locator(".mf-tour h1")).to_be_visible(timeout=120_000)
        assert fits(opened)
        assert violations(opened) == []
    moving = "document.querySelector('.mf-now') && getComputedStyle(document.querySelector('.mf-now')).animationName"
    opened.goto(f"{address}tour?step=2")
    expect(opened.locator(".mf-now")).to_be_visible()
    assert opened.evaluate(moving) == "none"  # who wants no motion sees none


def test_two_models_are_asked_live_and_their_card_can_be_posted(
    opened: Page, browser: Browser, address: str, app_home: Path
) -> None:
    opened.goto(f"{address}tour?step=6")
    opened.get_by_role("button", name="Ask both models").click()
    card = opened.locator(".mf-posted img")
    expect(card).to_be_visible(timeout=180_000)
    expect(opened).to_have_url(re.compile(r"step=6&pair=[0-9a-f]{32},[0-9a-f]{32}$"))
    assert opened.evaluate("[...document.querySelectorAll('.mf-posted img')].every((one) => one.alt.length > 100)")
    expect(opened.locator(".mf-scores tbody tr")).to_have_count(2)
    expect(opened.locator(".mf-tour-told")).to_contain_text("of 80 facts that both answered")
    words = card.get_attribute("alt") or ""
    assert (opened.locator(".mf-tour-told").text_content() or "") in words
    assert "Not a measure of clinical competence." in words
    opened.wait_for_function("document.querySelector('.mf-posted img').naturalWidth === 1200")
    assert fits(opened)
    assert violations(opened) == []
    runs = opened.url.rpartition("=")[2].split(",")
    assert {store_of(app_home).run(run).model for run in runs} == {"medfact-tiny", "medfact-tiny-narrow"}
    with opened.expect_download() as saved:
        opened.get_by_role("link", name="SVG").click()
    assert re.fullmatch(r"medfact-[\w-]+-card\.svg", saved.value.suggested_filename)
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Save the card").click()
    assert saved.value.suggested_filename == "medfact-card.png"
    assert Path(saved.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    opened.keyboard.press("Escape")
    expect(opened.locator(".mf-tour")).to_have_count(0)
    assert opened.evaluate("localStorage.length") == 0
    stranger = browser.new_context().new_page()
    stranger.goto(f"{address}tour?step=6&pair={','.join(runs)}")
    expect(stranger.locator(".mf-posted img")).to_be_visible()
    stranger.context.close()


def test_published_runs_are_found_once_there_are_some(opened: Page, address: str, app_home: Path) -> None:
    store = store_of(app_home)
    for one in store.publications.published():
        store.publications.withdraw(one.run)
    opened.wait_for_timeout(3_100)  # for so long the page may know what was published before
    opened.goto(f"{address}runs")
    expect(opened.locator("#runs > *").first).to_be_visible()
    link = opened.get_by_role("link", name="Published runs")
    expect(link).to_have_count(0)
    asked = [("negation-cue", 20), ("random", 20), ("random", 15)]  # the last one stands in a list of its own
    made = [start(RunSpec(model=f"baseline:{name}", limit=limit, shots=0), store) for name, limit in asked]
    for run in made:
        list(answer(run, store))
        store.publications.publish(run, f"${{alert(1)}} <i>{run[:4]}</i>")
    opened.wait_for_timeout(3_100)
    opened.goto(f"{address}runs?of=published")
    opened.get_by_role("link", name="Your runs").click()
    link.click()
    expect(opened).to_have_title("Published runs · medfact")
    shown = opened.locator("#runs")
    expect(shown.locator("tbody tr")).to_have_count(3)
    expect(shown.locator("table")).to_have_count(2)
    expect(shown).to_contain_text(f"${{alert(1)}} <i>{made[0][:4]}</i>")
    expect(shown).to_contain_text("1 (shared)")
    shown.locator("summary").click()
    assert fits(opened)
    assert violations(opened) == []
    opened.locator(f"[data-key=open-{made[0]}]").click()
    expect(opened.locator("#scores tbody tr").first).to_be_visible()
    opened.locator("[data-key=download]").click()
    expect(opened.locator("[data-key=download-card]")).to_have_attribute("href", f"download/{made[0]}/card.svg")
