"""The page in a real browser: choose facts, browse statements, evaluate, watch, stop, reload. Needs Chromium."""

import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from browser import choose_models, type_pair_count
from mock_service import Behaviour, MockService
from pages import HOSTILE, open_tab, upload_file, write_facts
from playwright.sync_api import Browser, Page, Request, expect

pytestmark = pytest.mark.browser


def progress(page: Page) -> str:
    return page.locator("#progress").inner_text()


def answered(page: Page) -> int:
    found = re.search(r"([\d,]+) of [\d,]+ statements", progress(page))
    return int(found.group(1).replace(",", "")) if found else 0


def figure(page: Page, name: str) -> str:
    return page.locator(f"#scores td[data-figure={name}] .mf-figure").first.inner_text()


def has_ended(page: Page) -> None:
    """All runs that are shown are complete."""
    expect(page.locator("#progress [role=status]")).to_have_text(re.compile(r"^([\d,]+) of \1 statements · complete$"))


def evaluate(page: Page) -> None:
    expect(page.locator("mf-part[name=go]")).not_to_contain_text("0 models are chosen")  # the server knows
    expect(page.locator("#evaluate")).not_to_have_attribute("aria-disabled", "true")
    page.locator("#evaluate").click()


def test_a_file_of_another_type_and_a_bundled_set_leave_nothing_locked(page: Page, tmp_path: Path) -> None:
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 not a workbook")
    upload_file(page, tmp_path / "broken.xlsx")
    expect(page.locator("#setup")).to_contain_text("is not an Excel workbook")
    expect(page.locator("#evaluate")).to_have_attribute("aria-disabled", "true")
    rows = [(f"disease {n}", "symptoms", f"sign {n}") for n in range(16)]
    upload_file(page, write_facts(tmp_path / "two.CSV", rows, ("head", "relation", "tail")))
    expect(page.locator("#evaluate")).to_have_text(re.compile("on two.CSV"))
    (tmp_path / "pic.png").write_bytes(b"no table")
    upload_file(page, tmp_path / "pic.png")
    expect(page.locator("mf-part[name=offline]")).to_contain_text("pic.png is not in use: choose a file that ends in .csv")
    expect(page.locator("#go")).to_contain_text("16 true")
    expect(page.locator("#evaluate")).not_to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="rare-core").click()
    expect(page.locator("#evaluate")).to_have_text(re.compile("on rare-core"))
    expect(page.locator("#go")).to_contain_text("60 true")


def test_names_without_a_space_fit_the_screen(page: Page, tmp_path: Path, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    choose_models(page, "a coin")
    rows = [(f"{'W' * 150}{n}", "symptoms", f"{'Q' * 150}{n}") for n in range(8)]
    upload_file(page, write_facts(tmp_path / f"l{'o' * 150}ng.csv", rows, ("head", "relation", "tail")))
    button = page.locator("#evaluate")
    expect(button).to_have_text(re.compile("ooo.csv"))
    fits = "(node) => node.scrollWidth <= node.clientWidth"
    assert button.evaluate(fits)
    evaluate(page)
    open_tab(page, "Facts")
    expect(page.locator(".mf-pair").first).to_be_visible()
    assert page.locator("html").evaluate(fits)
    page.goto(f"{address}facts")
    expect(page.locator("#cards .mf-fact").first).to_contain_text("WWW")
    assert page.locator("html").evaluate(fits)


def test_a_model_in_focus_is_outlined_in_the_dark(page: Page) -> None:
    page.goto(f"{page.url.split('?')[0]}?__theme=dark")
    box = page.locator("#models input").first
    expect(box).to_be_visible()
    box.focus()
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "rgb(86, 180, 233)" in style
    assert "solid" in style


CHOICE_BEFORE_THE_FIRST_ANSWER = """
const fetched = window.fetch;
let first = true;
window.fetch = async (...asked) => {
  const answer = await fetched(...asked);
  if (first && asked[0] === "updates") window.medfact.choose({ models: [] });
  first = false;
  return answer;
};
"""


def test_what_is_chosen_while_the_page_opens_stays_chosen(page: Page) -> None:
    page.add_init_script(CHOICE_BEFORE_THE_FIRST_ANSWER)
    page.reload()
    expect(page.locator("mf-part[name=go]")).to_contain_text("0 models are chosen")


def test_a_file_that_is_replaced_quickly_is_neither_lost_nor_mixed_up(page: Page, tmp_path: Path) -> None:
    choose_models(page, "a coin")
    for name, count in (("first.csv", 20), ("second.csv", 12)):
        rows = [(f"disease {n}", "symptoms", f"sign {n}") for n in range(count)]
        with page.expect_response(re.compile("/upload")):
            upload_file(page, write_facts(tmp_path / name, rows, ("head", "relation", "tail")))
    expect(page.locator("#evaluate")).to_have_text(re.compile("on second.csv"))
    evaluate(page)
    expect(page.locator("#progress h1")).to_have_text("a coin on second.csv")
    expect(page.locator("#progress [role=status]")).to_contain_text("192 of 192 statements")  # 12 pairs, 16 each


def test_evaluate_moves_opens_and_survives_a_reload(page: Page) -> None:
    choose_models(page, "medfact-tiny", "true unless denied")
    type_pair_count(page, 150)  # more than the demonstration asked, whose replies the model remembers
    expect(page.locator("#go")).to_contain_text("× 2 models")
    page.locator("#evaluate").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#evaluate")).to_have_text("Starting …", timeout=1_000)
    assert page.evaluate("document.activeElement.id") == "evaluate"
    head = page.locator("#progress")
    expect(head.locator("h1")).to_have_text("medfact-tiny and true unless denied on clinical-core")
    rows, seen, bars = page.locator("#scores tbody tr"), set(), set()
    while not re.search(r"statements · complete$", head.get_by_role("status").inner_text()):
        bars.add(page.locator("#scores progress").count())
        seen.add((answered(page), figure(page, "average_accuracy") if page.locator("#scores tbody .mf-figure").count() else ""))
        page.wait_for_timeout(100)
    assert len(seen) >= 3, "the numbers moved while the run went on"
    assert bars & {1, 2}, "a bar for each that goes on"
    expect(head).to_contain_text("4,800 of 4,800 statements")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="2,400 of 2,400 statements · complete")).to_have_count(2)
    expect(page.locator("#scores progress")).to_have_count(0)
    expect(rows.nth(0)).to_contain_text("true unless denied")  # whoever masters most stands first
    expect(rows.nth(0).locator("td").first).to_contain_text("50.0%")  # half of the facts are true: it masters these alone
    open_tab(page, "Facts")
    page.locator(".mf-pair").first.click()
    drawer = page.locator(".mf-drawer")
    expect(drawer).to_be_focused()
    expect(drawer.locator(".mf-variant:not(.mf-head)")).to_have_count(8)
    drawer.get_by_text("prompt and raw reply").first.click()
    expect(drawer.locator("pre").first).to_contain_text("True or False")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    scores, shown = figure(page, "average_accuracy"), page.url
    assert "run=" in shown
    page.reload()
    expect(rows).to_have_count(2)
    assert figure(page, "average_accuracy") == scores
    assert page.url == shown
    expect(page.locator("#scores")).not_to_contain_text("A demonstration")
    expect(page.locator("#scores")).to_be_in_viewport()


def test_who_evaluates_by_keyboard_goes_on_where_results_begin(page: Page) -> None:
    """The button that had the focus goes with the form; the focus is not lost with it."""
    choose_models(page, "a coin")
    expect(page.locator("#evaluate")).not_to_have_attribute("aria-disabled", "true")
    page.locator("#evaluate").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#progress h1")).to_have_text("a coin on clinical-core")
    page.wait_for_function("document.activeElement.closest('#results') !== null", timeout=10_000)


def test_on_a_phone_the_progress_comes_into_view(browser: Browser, address: str) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(f"{address}evaluate")
    choose_models(page, "true unless denied")
    page.mouse.wheel(0, 2000)
    evaluate(page)
    expect(page.locator("#progress")).to_contain_text("complete", timeout=60_000)
    expect(page.locator("#progress")).to_be_in_viewport()
    expect(page.locator("#scores td").first).to_be_in_viewport()
    page.context.close()


def test_a_run_is_evaluated_again_from_its_head(page: Page) -> None:
    choose_models(page, "a coin")
    evaluate(page)
    again = page.get_by_role("button", name="Run again")
    has_ended(page)
    before = page.url
    again.click()
    page.wait_for_function("(before) => window.location.href !== before", arg=before)
    expect(page.locator("#progress h1")).to_have_text("a coin on clinical-core")
    has_ended(page)
    expect(again).to_be_visible()
    page.get_by_role("link", name="New evaluation").click()
    expect(page.locator("#models input").first).to_be_visible()
    expect(page.get_by_role("checkbox", name="a coin")).to_be_checked()
    expect(page.locator("#evaluate")).to_have_text(re.compile("^Evaluate 1 model on clinical-core"))


def test_facts_are_reached_by_arrow_keys_and_filtered(page: Page) -> None:
    choose_models(page, "true unless denied")
    evaluate(page)
    has_ended(page)
    open_tab(page, "Facts")
    facts = page.locator(".mf-pair")
    facts.first.focus()
    page.keyboard.press("ArrowDown")
    expect(facts.nth(1)).to_be_focused()
    assert page.locator(".mf-pair[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    where = page.locator(".mf-drawer .mf-where")
    expect(where).to_contain_text("2 of 120")
    page.keyboard.press("ArrowRight")
    expect(where).to_contain_text("3 of 120")
    page.keyboard.press("Escape")
    expect(facts.nth(2)).to_be_focused()
    found = page.locator("#tab .mf-pager .mf-where").first
    for shown in ("mastered", "missed"):  # it masters the true facts, and none of the false ones
        page.get_by_label("Show").select_option(shown)
        expect(found).to_have_text("facts 1 to 20 of 60")
        expect(facts.filter(has_text="FALSE (test statement)")).to_have_count(0 if shown == "mastered" else 20)
    page.get_by_label("Search").fill("no such words")
    expect(page.locator("#tab")).to_contain_text("No fact passes these filters.")


def evaluate_with_baseline(page: Page, pairs: int) -> None:
    choose_models(page, "true unless denied")
    type_pair_count(page, pairs)
    evaluate(page)
    has_ended(page)
    expect(page.locator("#progress h1")).to_contain_text("true unless denied on ")


def open_papers(page: Page) -> None:
    """Opens the papers' tables, which are a part of the tab Statistics."""
    open_tab(page, "Statistics")
    page.get_by_role("button", name="The papers’ tables").click()
    expect(page.get_by_label("Tables and curves of")).to_be_visible()


def saved(page: Page, link: Any) -> Path:
    with page.expect_download() as download:
        link.click()
    return Path(download.value.path()).rename(
        Path(download.value.path()).with_suffix(Path(download.value.suggested_filename).suffix)
    )


def test_curves_are_drawn_and_saved(page: Page) -> None:
    evaluate_with_baseline(page, 20)
    open_papers(page)
    expect(page.locator("#tab .mf-finding").first).to_contain_text("in all 8.")
    page.locator("#curve-0").scroll_into_view_if_needed()
    expect(page.locator("#curve-0 .plot-container")).to_be_visible()
    file = saved(page, page.locator("[data-svg=curve-0]"))
    assert file.read_text(encoding="utf-8").startswith("<svg")
    table = page.locator("#tab section").filter(has_text="PretextTrans, Table 14")
    rows = pandas.read_csv(saved(page, table.get_by_role("link", name="CSV")))
    assert len(rows) == 4 * 25  # a coin, 12 models on two data sets; the run is of another method
    assert rows["column"].notna().all()
    open_tab(page, "Summary")
    page.locator("#ways").scroll_into_view_if_needed()
    expect(page.locator("#ways .plot-container")).to_be_visible()
    picture = saved(page, page.locator("[data-svg=ways]")).read_text(encoding="utf-8")
    assert "plain" in picture


SECRET = "sk-typed-into-the-page-0123456789"


def name_service(page: Page, model: str, address: str = "") -> None:
    """Fills in the row of a model behind a service; opens one where none is open."""
    if not page.locator(".mf-row").count():
        page.get_by_role("button", name="+ Add model").click()
    for label, text in (("address", address), ("model's name", model)):
        page.locator(".mf-row").get_by_label(label).fill(text)
        page.locator(".mf-row").get_by_label(label).press("Tab")


def test_a_model_behind_a_service_is_priced_asked_and_stopped(page: Page, address: str, tmp_path_factory: Any) -> None:
    choose_models(page)
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    with MockService(Behaviour(latency=0.2)) as service:
        name_service(page, "gpt-4o-mini", service.base_url)
        expect(page.locator("#evaluate")).to_have_text(re.compile(r"Evaluate 1 model on clinical-core.* · \$0\.0\d+"))
        page.get_by_label("key for 127.0.0.1").fill(SECRET)
        evaluate(page)
        expect(page.locator("#progress")).to_contain_text("gpt-4o-mini", timeout=120_000)
        page.wait_for_function("/[1-9][0-9,]* of 960/.test(document.querySelector('#progress').innerText)", timeout=120_000)
        page.locator("#stop").click()
        expect(page.locator("#progress")).to_contain_text("stopped", timeout=120_000)
        assert {call.headers["authorization"] for call in service.calls} == {f"Bearer {SECRET}"}
        came = len(service.answer_counts) - 1  # the first call tried the service
    expect(page.locator("#scores")).to_contain_text(f"of {came:,} statements", timeout=120_000)
    page.reload()
    expect(page.locator("#progress")).to_contain_text("stopped")
    expect(page.locator("#scores")).to_contain_text(f"of {came:,} statements", timeout=120_000)
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, document.body.innerText])")
    assert SECRET not in kept
    assert SECRET not in page.evaluate("[...document.querySelectorAll('input')].map((field) => field.value).join()")
    with_key = [request for request in sent if SECRET in (request.url + (request.post_data or ""))]
    assert [(request.method, request.url) for request in with_key] == [("POST", f"{address}updates")]
    home = tmp_path_factory.getbasetemp()
    assert not [file for file in home.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


def test_uploaded_file_is_text_throughout(page: Page, tmp_path: Path, address: str) -> None:
    rows = [(head, "symptoms", f"sign {number}") for number, head in enumerate(HOSTILE * 2)]
    choose_models(page, "a coin")
    upload_file(page, write_facts(tmp_path / "hostile.csv", rows, ("Head", "RELATION", "Tail")))
    expect(page.locator("#facts-said")).to_contain_text("12 true facts read")
    evaluate(page)
    expect(page.locator("#progress")).to_contain_text("complete")
    open_tab(page, "Facts")
    expect(page.locator("#tab")).to_contain_text("<img src=x onerror=alert(1)>")
    for number in range(6):
        page.locator(".mf-pair").nth(number).click()
        expect(page.locator(".mf-drawer")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(".mf-drawer")).to_have_count(0)
    assert page.locator("mf-part img, mf-part script").count() == 0
    page.goto(f"{address}facts")
    for head in HOSTILE:
        page.get_by_role("searchbox", name="Search").fill(head)
        expect(page.locator("#cards .mf-fact").first).to_contain_text(head)
    assert page.locator("mf-part img, mf-part script").count() == 0
    assert "broken" not in page.title()
