"""The set-up of an evaluation in a browser: three steps on one screen, that nothing is lost of. Needs Chromium."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import choose_models, collect_page_errors, serve_app, type_pair_count
from mock_service import Behaviour, MockService
from pages import SLOW_FETCH_SCRIPT, upload_file, write_facts
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

ONE, OTHER = "sk-of-one-0123456789", "sk-of-other-0123456789"
COUNT = "window.pressed = 0; document.addEventListener('pointerdown', () => (window.pressed += 1), true);"

HOLD_THE_NEXT_ANSWER = """() => {
    const fetch = window.fetch;
    window.fetch = async (...asked) => {
        window.fetch = fetch;
        const answer = await fetch(...asked);
        await new Promise((go) => (window.release = go));
        return answer;
    };
}"""

TICK_AROUND_IT = """async ([one, other]) => {
    const go = document.querySelector("mf-part[name=go]");
    const before = go.textContent;
    one.click();
    window.release();
    while (go.textContent === before) await new Promise((soon) => setTimeout(soon));
    other.click();
}"""


def own(folder: Path) -> Path:
    rows = [(f"disease {n}", "symptoms", f"sign {n}") for n in range(12)]
    return write_facts(folder / "own12.csv", rows, ("head", "relation", "tail"))


def add_service(page: Page, address: str, key: str, model: str) -> None:
    """Adds a row with the keyboard, but for the button that opens it."""
    rows = page.locator(".mf-row")
    page.get_by_role("button", name="+ Add model").click()
    expect(rows.last.get_by_role("textbox", name="address")).to_be_focused()
    page.keyboard.type(address)
    page.keyboard.press("Tab")
    page.keyboard.type(key)
    page.keyboard.press("Tab")
    page.keyboard.type(model)


def test_two_services_are_chosen_tested_and_compared_in_eight_clicks(page: Page, address: str, tmp_path: Path) -> None:
    """And one wait, on one screen; the file's first fact stands there in its sentences without a click."""
    page.add_init_script(COUNT)
    page.goto(f"{address}evaluate")
    with MockService(Behaviour(key=ONE)) as one, MockService(Behaviour(key=OTHER)) as other:
        upload_file(page, own(tmp_path))
        expect(page.locator(".mf-preview .mf-variant:not(.mf-head)")).to_have_count(8)
        expect(page.locator(".mf-preview").get_by_text("FALSE (test statement)")).to_have_count(8)
        page.locator("#models").get_by_role("checkbox", name="medfact-tiny", exact=True).click()
        for service, key, model in ((one, ONE, "first"), (other, OTHER, "second")):
            add_service(page, service.base_url, key, model)
            page.locator(".mf-row").get_by_role("button", name="Test").click()
        expect(page.locator(".mf-chip", has_text="key accepted")).to_have_count(2)
        expect(page.locator("#evaluate")).to_have_text(re.compile(r"Evaluate 2 models on own12\.csv"))
        page.locator("#evaluate").click()
        pressed = page.evaluate("window.pressed")
        expect(page).to_have_url(re.compile(r"\?run=[0-9a-f]{32},[0-9a-f]{32}"))
        assert pressed <= 8
        assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
        expect(page.locator("#progress")).to_contain_text("second")


def test_a_wrong_key_never_leaves_the_form(page: Page) -> None:
    with MockService(Behaviour(key=ONE)) as service:
        add_service(page, service.base_url, OTHER, "first")
        before = page.url
        page.locator("#evaluate").click()
        row = page.locator(".mf-row")
        expect(row.get_by_role("alert")).to_contain_text("key")
        expect(page.locator("#go-said")).to_contain_text("first:")
        assert page.url == before
        expect(row.get_by_role("textbox", name="address")).to_have_value(service.base_url)
        expect(row.get_by_label("model's name")).to_have_value("first")
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])")
        assert OTHER not in kept
        row.get_by_label("key for").fill(ONE)
        page.locator("#evaluate").click()
        expect(page).to_have_url(re.compile(r"\?run="))


def is_as_chosen(page: Page) -> None:
    expect(page.locator("#choice .mf-own")).to_contain_text("own12.csv")
    expect(page.locator(".mf-preview .mf-variant:not(.mf-head)")).to_have_count(8)
    expect(page.get_by_role("checkbox", name="a coin")).to_be_checked()
    expect(page.locator("#pairs input")).to_have_value("10")
    expect(page.locator(".mf-row").get_by_role("textbox", name="address")).to_have_value("http://127.0.0.1:9/v1")
    expect(page.locator(".mf-row").get_by_label("model's name")).to_have_value("far")


def test_nothing_is_lost_by_leaving_reloading_or_a_restart(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    with serve_app(tmp_path) as address:
        trouble = collect_page_errors(page, address)
        page.goto(f"{address}evaluate")
        upload_file(page, own(tmp_path))
        expect(page.locator("#choice .mf-own")).to_contain_text("own12.csv")
        choose_models(page, "a coin")
        type_pair_count(page, 10)
        add_service(page, "http://127.0.0.1:9/v1", ONE, "far")
        page.get_by_role("link", name="Facts", exact=True).click()  # at once: the last word is told as the page is left
        expect(page.locator("#cards")).to_contain_text("disease 0")
        page.go_back()
        is_as_chosen(page)
        page.reload()
        is_as_chosen(page)
        page.get_by_role("link", name="Runs", exact=True).click()
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Evaluate").click()
        is_as_chosen(page)
        expect(page.locator(".mf-row").get_by_label("key for")).to_have_attribute("placeholder", re.compile("kept until"))
        assert trouble == []
    with serve_app(tmp_path) as address:
        page.goto(f"{address}evaluate")
        is_as_chosen(page)
        expect(page.locator(".mf-row")).to_contain_text("Enter the key for 127.0.0.1 again")
    context.close()


def test_a_file_is_dropped_and_rows_are_pasted(page: Page) -> None:
    data = page.evaluate_handle(
        """() => { const data = new DataTransfer();
        const text = "head,relation,tail\\n" + [...Array(9).keys()].map((n) => `d ${n},symptoms,s ${n}`).join("\\n");
        data.items.add(new File([text], "dropped.csv")); return data; }"""
    )
    page.dispatch_event(".mf-drop", "drop", {"dataTransfer": data})
    expect(page.locator("#choice .mf-own")).to_contain_text("dropped.csv")
    expect(page.locator("#facts")).to_contain_text("9 of 9 true facts can be asked")
    page.get_by_text("Paste rows").click()
    page.get_by_label("rows to paste").fill("\n".join(f"ill {n}, symptoms, ache {n}" for n in range(7)))
    page.get_by_role("button", name="Use these rows").click()
    expect(page.locator("#facts")).to_contain_text("7 of 7 true facts can be asked")


FOOTER_IS_CLEAR = """() => {
  const height = document.documentElement.scrollHeight, before = window.heightBefore;
  window.heightBefore = height;
  window.scrollTo(0, height);
  const [last, bar] = ["footer", "go-box"].map(id => document.getElementById(id).getBoundingClientRect());
  return height === before && last.height > 0 && bar.height > 0 && (last.bottom <= bar.top || bar.bottom <= last.top);
}"""
"""Whether the bar covers nothing of the footer once one has scrolled to the end, and the page has stopped growing."""


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_bar_is_in_sight_and_covers_nothing_at_the_end(browser: Browser, address: str, width: int, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(f"{address}evaluate")
    expect(page.locator("#evaluate")).to_have_text(re.compile("Evaluate 1 model on clinical-core"))
    expect(page.locator("#evaluate")).to_be_in_viewport(ratio=1)
    page.wait_for_function(FOOTER_IS_CLEAR, polling=500)  # what is still being drawn moves the end of the page
    page.locator("#pairs input").focus()
    field, bar = page.locator("#pairs input").bounding_box(), page.locator("#go-box").bounding_box()
    assert field
    assert bar
    assert field["y"] + field["height"] <= bar["y"], "what has the focus is seen"
    context.close()


def test_back_leads_to_the_form_and_forward_to_the_run(page: Page, address: str) -> None:
    form = f"{address}evaluate"
    choose_models(page, "a coin")
    type_pair_count(page, 10)
    page.locator("#evaluate").click()
    expect(page).to_have_url(re.compile(r"\?run=[0-9a-f]{32}$"))
    of_run = page.url
    expect(page.locator("#models")).to_be_hidden()
    page.go_back()
    expect(page).to_have_url(form)
    expect(page.get_by_role("checkbox", name="a coin")).to_be_checked()
    page.go_forward()
    expect(page).to_have_url(of_run)
    expect(page.locator("#progress")).to_contain_text("160 of 160 statements")


def test_evaluate_pressed_while_a_choice_is_on_its_way_goes_once_it_has_arrived(page: Page) -> None:
    """The server is slow to hear of the model; the press is not lost."""
    choose_models(page)
    expect(page.locator("#evaluate")).to_have_attribute("aria-disabled", "true")
    page.evaluate(SLOW_FETCH_SCRIPT)
    page.get_by_role("checkbox", name="a coin").check()
    page.locator("#evaluate").click()
    expect(page.locator("#progress h1")).to_have_text("a coin on clinical-core")


def test_what_is_ticked_while_an_older_answer_is_on_its_way_stays_ticked(page: Page, address: str) -> None:
    """An answer that knows nothing of it yet neither unticks it nor takes it from what is told next."""
    page.goto(f"{address}evaluate")
    choose_models(page, "a coin")
    expect(page.locator("#evaluate")).to_contain_text("Evaluate 1 model")
    boxes = page.locator("#models").get_by_role("checkbox")
    page.evaluate(HOLD_THE_NEXT_ANSWER)
    boxes.and_(page.get_by_label("a coin")).uncheck()
    page.wait_for_function("window.release !== undefined")
    # The older answer arrives between this tick and the question that tells it, and is shown when the next one is ticked.
    page.evaluate(
        TICK_AROUND_IT,
        [boxes.and_(page.get_by_label(name)).element_handle() for name in ("always says true", "true unless denied")],
    )
    expect(page.locator("#evaluate")).to_contain_text("Evaluate 2 models")
    assert [box.is_checked() for box in boxes.all()] == [False, False, False, True, True]


def test_usual_or_hard_partners_are_chosen_with_an_example_of_each(page: Page, address: str) -> None:
    """By keyboard; a reload keeps it, and the kinds under "more" are the same setting."""
    page.goto(f"{address}evaluate")
    cards = page.get_by_role("radiogroup", name="how hard the false partners are")
    usual, hard = cards.get_by_role("radio", name="Usual"), cards.get_by_role("radio", name="Hard")
    expect(usual).to_be_checked()
    for card in cards.locator("label").all():
        expect(card.locator(".mf-fact-line")).to_have_count(2)
    true, false, also_true, hard_one = cards.locator(".mf-fact-line").all_inner_texts()
    assert true == also_true
    assert len({true, false, hard_one}) == 3
    usual.focus()
    page.keyboard.press("ArrowRight")
    expect(hard).to_be_checked()
    more = page.locator("select[data-choose=difficulty]")
    expect(more).to_have_value("closest")
    page.reload()
    expect(hard).to_be_checked()
    page.get_by_text("More kinds of partners").click()
    more.select_option("any")
    expect(hard).not_to_be_checked()
    expect(usual).not_to_be_checked()
    page.reload()
    expect(more).to_be_visible()
    expect(more).to_have_value("any")
    more.select_option("")
    expect(usual).to_be_checked()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
