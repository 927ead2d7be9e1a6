"""The page in a real browser: choose facts, browse statements, evaluate, watch, stop, reload. Needs Chromium."""

import csv
import os
import re
from pathlib import Path
from typing import Any

import pytest
from browser import choose_models
from mock_service import Behaviour, MockService
from playwright.sync_api import Browser, Error, Page, Request, expect

pytestmark = pytest.mark.browser

HOSTILE = [
    "[X] syndrome",
    "<img src=x onerror=alert(1)>",
    '=HYPERLINK("http://127.0.0.1/x")',
    "${alert(1)}",
    "{{value}}",
    "`${document.title='broken'}`",
]


def write_facts(path: Path, rows: list[tuple[str, str, str]], header: tuple[str, str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def progress(page: Page) -> str:
    return page.locator("#progress").inner_text()


def answered(page: Page) -> int:
    found = re.search(r"([\d,]+) of [\d,]+ statements", progress(page))
    return int(found.group(1).replace(",", "")) if found else 0


def figure(page: Page, name: str) -> str:
    return page.locator(f"#scores td[data-figure={name}] .mf-figure").first.inner_text()


def test_first_visitor_finds_a_demonstration(page: Page) -> None:
    expect(page.locator("#banner")).to_contain_text("A demonstration, computed by this app")
    expect(page.locator("#progress")).to_contain_text("medfact-tiny")
    expect(page.locator("#progress")).to_contain_text("complete")
    assert re.fullmatch(r"\d+\.\d %", figure(page, "average_accuracy"))
    expect(page.locator("#heat .mf-cell[data-key]").first).to_be_visible()
    page.locator("#bars").scroll_into_view_if_needed()  # a figure is drawn when it comes near the window
    expect(page.locator("#bars .plotly .bars path").first).to_be_attached()
    expect(page.get_by_text("not for clinical use").first).to_be_visible()


def test_statements_are_marked_searched_and_paged(page: Page) -> None:
    page.get_by_label("Search").fill("asthma")
    expect(page.locator("#cards .mf-card h4").first).to_contain_text("asthma")
    card = page.locator("#cards .mf-card").first
    assert card.locator(".mf-variant:not(.mf-head)").count() == 8
    marks = card.locator(".mf-variant .mf-badge").all_inner_texts()
    assert sorted(marks) == ["FALSE (test statement)"] * 8 + ["true"] * 8
    before = page.locator("#where").inner_text()
    page.get_by_role("button", name="Next →").click()
    expect(page.locator("#where")).not_to_have_text(before)
    page.get_by_label("Search").fill("no such disease anywhere")
    expect(page.locator("#cards")).to_contain_text("No fact matches")


def test_how_a_false_partner_was_drawn_can_be_opened_and_the_partner_rejected(page: Page) -> None:
    page.get_by_label("Search").fill("asthma")
    card = page.locator("#cards .mf-card").first
    expect(card.locator("h4")).to_contain_text("asthma")
    partner = card.locator(".mf-partner b").inner_text()
    card.locator(".mf-explanation summary").click()
    expect(card.locator(".mf-explanation")).to_contain_text("are safe to call false")
    card.get_by_role("button", name="Draw another").click()
    expect(card.locator(".mf-partner b")).not_to_have_text(partner)
    page.get_by_label("Specialty").fill("cardiology")
    page.get_by_label("Specialty").press("Enter")
    expect(page.locator("#cards")).to_contain_text("No fact matches")


def test_evaluate_moves_opens_and_survives_a_reload(page: Page) -> None:
    choose_models(page, "medfact-tiny", "true unless denied")
    page.get_by_role("button", name="Evaluate").click()
    page.wait_for_function("!document.querySelector('#banner').innerText.trim()")
    seen = set()
    while "complete" not in progress(page).split("baseline")[0]:
        seen.add((answered(page), figure(page, "average_accuracy")))
        page.wait_for_timeout(100)
    assert len({count for count, _ in seen}) >= 3, "the numbers moved while the run went on"
    expect(page.locator("#progress progress")).to_have_count(2)
    rows = page.locator("#scores tbody tr")
    expect(rows.nth(1)).to_contain_text("baseline:negation-cue")
    expect(rows.nth(1).locator("td[data-figure=joint_accuracy] .mf-figure")).to_have_text("50.0 %")
    expect(rows.nth(1).locator("td[data-figure=pair_joint_accuracy] .mf-figure")).to_have_text("0.0 %")

    page.locator("#heat .mf-cell[data-key]").first.click()
    detail = page.locator("#detail")
    expect(detail).to_contain_text("is the statement above true or false? Please answer True or False.")
    expect(detail.get_by_role("button", name="Copy")).to_have_count(2)
    expect(detail).to_contain_text("The model says")

    scores = figure(page, "average_accuracy")
    page.reload()
    expect(page.locator("#scores tbody tr").nth(1)).to_contain_text("baseline:negation-cue")
    assert figure(page, "average_accuracy") == scores
    expect(page.locator("#banner")).not_to_contain_text("demonstration")


def choose_method(page: Page, name: str) -> None:
    page.locator("#protocol").get_by_label(name, exact=True).check()


def evaluate_with_baseline(page: Page, facts: int) -> None:
    choose_models(page, "true unless denied (baseline)")
    box = page.locator("#facts-count input[type=number]")
    box.fill(str(facts))
    box.press("Tab")
    page.locator("#evaluate").click()
    expect(page.locator("#progress")).to_contain_text(re.compile(r"baseline:negation-cue[\s\S]*complete"), timeout=120_000)


def saved_rows(page: Page, table: str) -> list[dict[str, str]]:
    """The rows of the CSV file that a table's button gives."""
    with page.expect_download() as download:
        page.locator("#tables section").filter(has_text=table).get_by_text("Download this table (CSV)").click()
    assert download.value.suggested_filename.endswith(".csv")
    return list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))


def test_a_method_explains_itself_and_states_facts_in_its_own_way(page: Page) -> None:
    choose_method(page, "MKJ")
    expect(page.locator("#protocol-explanation")).to_contain_text("three false partners of the same semantic type")
    card = page.locator("#cards .mf-card").first
    expect(card.locator(".mf-variant:not(.mf-head)")).to_have_count(1)
    expect(card.locator(".mf-sentence")).to_have_count(4)  # one true, three false
    expect(card.locator(".mf-false")).to_have_count(3)
    choose_method(page, "TPEval")
    expect(card.locator(".mf-variant:not(.mf-head)")).to_have_count(8)
    expect(card).to_contain_text("he/she only suffer")
    expect(page.locator("#shots").get_by_label("five, as in the papers")).to_be_checked()


def test_results_stand_beside_the_papers_and_can_be_saved(page: Page) -> None:
    """True unless denied: right on all true facts' statements; MKJ's Acc is 1/4 of them and none of the false ones."""
    choose_method(page, "MKJ")
    evaluate_with_baseline(page, 20)
    expect(page.locator("#scores")).to_contain_text("Acc")
    page.locator("#paper").get_by_label("MKJ", exact=True).check()
    table = page.locator("#tables section").filter(has_text="MKJ, Table 5")
    own = table.locator("tbody tr").first
    expect(own).to_contain_text("baseline:negation-cue")
    expect(own).to_contain_text("25.0 %")
    expect(own).to_contain_text("n = 80")
    expect(table.locator("tr.mf-reference")).to_have_count(19)  # a coin and the paper's 18 models
    expect(table.locator("tr.mf-reference").nth(1)).to_contain_text("published; not the same facts")
    rows = saved_rows(page, "MKJ, Table 5")
    assert len(rows) == 4 * 20  # four columns; the run, a coin, 18 published
    assert rows[0]["model"] == "baseline:negation-cue"
    assert float(rows[0]["value"]) == 0.25
    assert {row["from"] for row in rows} == {"run", "chance", "published"}


def test_curves_are_drawn_and_saved(page: Page) -> None:
    evaluate_with_baseline(page, 20)
    page.locator("#paper").get_by_label("PretextTrans", exact=True).check()
    expect(page.locator("#said-0")).to_contain_text("when all 8 count")
    page.locator("#curve-0").scroll_into_view_if_needed()
    expect(page.locator("#curve-0 .js-plotly-plot")).to_be_visible()
    with page.expect_download() as download:
        page.locator("#curve-0").get_by_text("Download this figure (SVG)").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("<svg")
    assert len(saved_rows(page, "PretextTrans, Table 14")) == 4 * 26  # the run, a coin, 12 models on two data sets


POOL = """
name: mine
forms: [none, dn]
relations:
  symptoms:
    sentences:
      none: "Whoever has [X] may well have [Y]."
      dn: "Nobody with [X] has [Y]."
"""


def bring(page: Page, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Bring sentences of your own").click()
    chooser.value.set_files(file)


def test_sentences_of_ones_own_are_taken_or_refused(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(POOL.replace("[Y].", "[Y] and [Y].", 1))
    bring(page, file)
    expect(page.locator("#pool-message")).to_contain_text("mine.yaml, relation 'symptoms', form 'none': [Y] stands 2 times")
    file.write_text(POOL)
    bring(page, file)
    expect(page.locator("#pool-message")).to_contain_text("mine.yaml: 1 relations, 2 ways of saying")
    expect(page.locator("#cards .mf-card").first).to_contain_text("Whoever has myocardial infarction may well have")
    evaluate_with_baseline(page, 10)
    expect(page.locator("#scores")).to_contain_text("all 2 right")


SECRET = "sk-typed-into-the-page-0123456789"


def test_a_model_behind_a_service_is_priced_asked_and_stopped(page: Page, address: str, tmp_path_factory: Any) -> None:
    page.locator("#service").get_by_role("button").first.click()
    page.get_by_label("model's name").fill("gpt-4o-mini")
    page.get_by_role("button", name="What will it cost?").click()
    expect(page.locator("#service-priced")).to_contain_text("about $0.01 at the list price", timeout=120_000)
    choose_models(page)
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    with MockService(Behaviour(latency=0.2)) as service:
        page.get_by_label("address (base URL)").fill(service.base_url)
        page.get_by_label("key", exact=True).fill(SECRET)
        page.locator("#evaluate").click()
        expect(page.locator("#progress")).to_contain_text("openai:gpt-4o-mini", timeout=120_000)
        page.wait_for_function("/[1-9][0-9,]* of 1,600/.test(document.querySelector('#progress').innerText)", timeout=120_000)
        page.locator("#stop").click()
        expect(page.locator("#progress")).to_contain_text("stopped", timeout=120_000)
        assert {call.headers["authorization"] for call in service.calls} == {f"Bearer {SECRET}"}
        came = len(service.answered)
    expect(page.locator("#scores")).to_contain_text(f"of {came:,} statements", timeout=120_000)
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, document.body.innerText])")
    assert SECRET not in kept
    with_key = [request for request in sent if SECRET in (request.url + (request.post_data or ""))]
    assert [(request.method, request.url) for request in with_key] == [("POST", f"{address}key")]
    home = tmp_path_factory.getbasetemp()
    assert not [file for file in home.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


def test_a_service_that_cannot_be_asked_is_said_in_one_sentence(page: Page) -> None:
    page.locator("#service").get_by_role("button").first.click()
    page.get_by_label("model's name").fill("m")
    page.locator("#evaluate").click()
    expect(page.locator("#evaluate-message")).to_contain_text("No key for api.openai.com. Set OPENAI_API_KEY", timeout=120_000)
    for wrong in ("no address", "http://127.0.0.1:1/v1", "javascript:alert(1)"):
        page.get_by_label("address (base URL)").fill(wrong)
        page.locator("#evaluate").click()
        said = page.locator("#evaluate-message, #progress").filter(has_text=re.compile("not a web address|cannot be reached"))
        expect(said.first).to_be_visible(timeout=120_000)


def test_stop_keeps_what_was_answered(page: Page) -> None:
    choose_models(page, "medfact-tiny")
    page.locator("#facts-count input[type=number]").fill("1000")
    page.locator("#facts-count input[type=number]").press("Enter")
    page.get_by_label("five, as in the papers").check()
    page.get_by_role("button", name="Evaluate").click()
    page.wait_for_function("/[1-9][0-9,]* of 16,000 statements/.test(document.querySelector('#progress').innerText)")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#progress")).to_contain_text("stopped", timeout=120_000)
    kept = answered(page)
    assert kept > 0
    page.reload()
    expect(page.locator("#progress")).to_contain_text("stopped")
    assert answered(page) == kept


def test_uploaded_file_is_text_throughout(page: Page, tmp_path: Path) -> None:
    rows = [(head, "symptoms", f"sign {number}") for number, head in enumerate(HOSTILE * 2)]
    page.locator("#upload input[type=file]").set_input_files(
        write_facts(tmp_path / "hostile.csv", rows, ("Head", "RELATION", "Tail"))
    )
    expect(page.locator("#facts-message")).to_contain_text("12 true facts were read")
    for head in HOSTILE:
        page.get_by_label("Search").fill(head)
        expect(page.locator("#cards .mf-card h4").first).to_contain_text(head)
    choose_models(page, "a coin")
    page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("#progress")).to_contain_text("complete")
    expect(page.locator("#heat")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.title() == "medfact"
    assert page.locator("#heat img, #cards img, #detail img").count() == 0


def test_columns_of_a_file_are_mapped(page: Page, tmp_path: Path) -> None:
    path = write_facts(tmp_path / "mine.csv", [("gout", "x", "podagra"), ("gout", "y", "fever")], ("disease", "note", "sign"))
    page.locator("#upload input[type=file]").set_input_files(path)
    expect(page.locator("#facts-message")).to_contain_text("mine.csv, row 1: the columns head, relation and tail are missing")
    for field, choice in (("head", "disease"), ("tail", "sign"), ("relation", "(one relation for all rows)")):
        page.locator(f"#map-{field} input").click()
        page.locator(f"#map-{field}").get_by_role("option", name=choice).click()
        expect(page.locator(f"#map-{field} input")).to_have_value(choice)
    page.get_by_label("the relation of all rows").fill("symptoms")
    page.get_by_role("button", name="Use these columns").click()
    expect(page.locator("#facts-message")).to_contain_text("2 true facts were read")
    expect(page.locator("#cards .mf-card h4").first).to_contain_text("gout")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "is empty"),
        ("binary.csv", bytes(range(256)) * 40, "not a text file"),
        ("broken.xlsx", b"PK\x03\x04 not a workbook", "is not an Excel workbook"),
        ("broken.parquet", b"PAR1 nothing", "is not a Parquet file"),
        ("quote.csv", b'head,relation,tail\n"a,b,c\n', "quotation mark"),
        ("tails.csv", b"head,relation,tail\nflu,symptoms,\n", "row 2: the tail is empty"),
    ],
)
def test_broken_files_are_refused_in_one_sentence(page: Page, tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    page.locator("#upload input[type=file]").set_input_files(tmp_path / name)
    expect(page.locator("#facts-message")).to_contain_text(said)
    expect(page.locator("#facts-message")).not_to_contain_text("Traceback")
    expect(page.locator("#cards .mf-card").first).to_be_visible()


def test_what_cannot_be_asked_is_said(page: Page) -> None:
    choose_models(page)
    page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("#evaluate-message")).to_contain_text("0 models are chosen")
    page.locator("#other-model input, #other-model textarea").fill("nobody/no such <b>model</b>")
    page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("#progress")).to_contain_text("ended early")
    expect(page.locator("#progress")).to_contain_text("There is no model")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_its_screen(browser: Browser, address: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844})
    opened = context.new_page()
    try:
        opened.goto(f"{address}?__theme={scheme}")
        expect(opened.locator("#heat .mf-cell[data-key]").first).to_be_visible()
        opened.wait_for_timeout(500)
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        if pictures := os.environ.get("MEDFACT_TEST_PICTURES"):
            opened.screenshot(path=f"{pictures}/{scheme}-{width}.png", full_page=True)
    except Error as error:
        raise AssertionError(str(error)) from error
    finally:
        context.close()


def test_an_open_page_that_nobody_uses_costs_next_to_nothing(browser: Browser, address: str) -> None:
    """The page library asks for a frame after every frame for as long as its first sign of loading was shown once."""
    context = browser.new_context()
    opened = context.new_page()
    opened.add_init_script(
        "window.asked = 0; const ask = window.requestAnimationFrame.bind(window);"
        "window.requestAnimationFrame = (draw) => { window.asked += 1; return ask(draw); };"
    )
    try:
        opened.goto(address)
        expect(opened.locator("#heat .mf-cell[data-key]").first).to_be_visible()
        opened.wait_for_timeout(6000)
        opened.evaluate("window.asked = 0")
        opened.wait_for_timeout(4000)
        assert opened.evaluate("window.asked") <= 20  # one a second for each clock; 240 without an end to them
    finally:
        context.close()


def test_the_heat_map_turns_its_pages_and_papers_take_turns(page: Page) -> None:
    where = page.locator("#heat-where")
    expect(where).to_have_text("facts 1 to 24 of 120")
    first = page.locator("#heat tbody th").first.inner_text()
    for button, said in (("Next", "25 to 48"), ("Next", "49 to 72"), ("Previous", "25 to 48"), ("Previous", "1 to 24")):
        page.get_by_role("button", name=f"{button} facts").click()
        expect(where).to_have_text(f"facts {said} of 120")
    expect(page.locator("#heat tbody th").first).to_have_text(first)
    expect(page.get_by_role("button", name="Previous facts")).to_be_disabled()  # there are none
    papers = page.locator("#paper")
    for name, said in (
        ("MKJ", "MKJ draws calibration curves"),
        ("PretextTrans", "Figure 5."),
        ("TPEval", "Choose the paper's method"),
    ):
        papers.get_by_role("radio", name=name).check()
        expect(page.locator("#said-0")).to_contain_text(said)
    expect(page.locator("#curve-0 .mf-plot")).to_be_hidden()


def test_the_heat_map_shows_the_model_that_is_chosen(page: Page) -> None:
    choose_models(page, "a coin", "true unless denied")
    page.get_by_role("button", name="Evaluate").click()
    expect(page.locator("#progress")).to_contain_text(re.compile(r"complete[\s\S]*complete"), timeout=60_000)
    marks = page.locator("#heat tbody tr")
    coin = marks.first.inner_text()
    page.locator("#which").get_by_role("radio").last.check()
    expect(marks.first).not_to_have_text(coin)
    ticks = [[cell.inner_text() for cell in row.locator(".mf-cell").all()].count("✓") for row in marks.all()]
    assert set(ticks) == {0, 8}  # what holds is affirmed and not denied, in all eight; of what is false, nothing is right
