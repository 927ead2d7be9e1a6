"""The report as one file: its figures, text that stays text, no script and no request, and how it reads and prints."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import find_chromium
from mkj_files import write_mkj
from pages import HOSTILE
from playwright.sync_api import Browser, sync_playwright
from small_facts import StubModel, write_csv

from medfact.errors import Mistake
from medfact.models import Completion, Prompt
from medfact.results.findings import verdict
from medfact.results.report import report_of
from medfact.results.wording import first_scores, percent, score, ways_of
from medfact.runs.events import AnswersSaved
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import STOPPED, Store
from medfact.views.report import html_report, repeat_command

AT = "2026-11-24T02:00:00+00:00"


def asked(store: Store, **fields: Any) -> str:
    """A run of a model that says True to everything that does not hold the word "not"."""
    run = start(RunSpec(**{"model": "baseline:random", "limit": 12, "shots": 0, **fields}), store)
    model = StubModel(lambda prompt: str(" not " not in prompt.statement))
    list(answer(run, store, load=model.load))
    return run


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("<body>")[2]).split())


def test_it_says_what_the_report_says(store: Store) -> None:
    run = asked(store)
    report, html = report_of(store, store.run(run)), html_report(store, [run], AT)
    text = text_of(html)
    assert verdict({"a coin": report}) in text
    assert "It masters 50% of 24 facts" in text
    assert "made on 24 Nov 2026, 02:00 , about 1 run." in text
    for name, estimate in report.by_relation.items():
        assert f"{name} {percent(estimate.value)} of {estimate.n} statements" in text
    assert store.run(run).dataset_fingerprint in text
    assert "Not for clinical use." in text
    assert "python -m medfact run --model baseline:random --limit 12 --shots 0" in text
    assert "12 of 12 pairs of a true fact and its false partners are not mastered" in text
    assert text.count("FALSE (test statement)") >= 10 * 8


def test_a_run_that_was_stopped_says_so(store: Store) -> None:
    run = start(RunSpec(model="baseline:random", limit=300, shots=0), store)
    events = answer(run, store, load=StubModel(lambda prompt: "True").load)
    while not isinstance(next(events), AnswersSaved):
        pass
    events.close()  # type: ignore[attr-defined]
    assert store.run(run).state == STOPPED
    assert "a coin: this run is not complete (stopped by hand)" in text_of(html_report(store, [run], AT))


def test_several_runs_stand_beside_each_other(store: Store, tmp_path: Path) -> None:
    mkj = write_mkj(tmp_path / "mkj")
    fields = {"facts": str(mkj), "protocol": "mkj", "limit": 5, "shots": None}
    runs = [
        asked(store, **fields),
        asked(store, **fields, retrieval="sparse"),
        asked(store, **fields, model="baseline:always-true"),
    ]
    text = text_of(html_report(store, runs, AT))
    assert "about 3 runs" in text
    assert "Retrieved passages:" in text
    assert "Can it read?" in text
    assert "Fact or Guesswork?" in text
    with pytest.raises(Mistake, match="9 runs are given"):
        html_report(store, [f"{number:032}" for number in range(9)], AT)


def test_text_of_others_stays_text(store: Store, tmp_path: Path) -> None:
    rows = [{"head": f"{word} {n}", "relation": "symptoms", "tail": f"{word}{n} tail"} for n in range(4) for word in HOSTILE]
    run = asked(store, facts=str(write_csv(tmp_path / "hostile <b>.csv", rows)), limit=None)
    store.describe(run, name="<script>alert(1)</script>", note=None)
    html = html_report(store, [run], AT)
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert not re.search(r"<[^>]*\b(?:src|href|on\w+)\s*=", html)
    assert "url(" not in html


def test_no_folder_of_this_machine_is_told(store: Store, tmp_path: Path) -> None:
    run = asked(store, facts=str(write_mkj(tmp_path / "mkj")), protocol="mkj", limit=3, shots=None)
    html = html_report(store, [run], AT)
    assert str(tmp_path) not in html
    assert "--facts mkj" in html


def test_the_command_asks_the_same(store: Store, medfact: Callable[..., Any], url: str) -> None:
    import shlex

    spec = RunSpec(
        model="baseline:always-true", limit=7, shots=0, seed=3, negatives=1, negative_difficulty="far", retrieval="sparse",
        leave_out=True, passages=3,
    )  # fmt: skip
    run = start(spec, store)
    words = shlex.split(repeat_command(spec))
    assert words[:3] == ["python", "-m", "medfact"]
    again = medfact(*words[3:], "--db", url)
    assert again.code == 0, again.err
    other = Store(url).runs()[-1]
    ids = [[item.statement.statement_id for item in store.answers.asked(one)] for one in (run, other.run)]
    assert ids[0] == ids[1]
    assert other.spec == spec


def test_false_partners_are_named_where_there_are_any(store: Store) -> None:
    with_, without = (text_of(html_report(store, [asked(store, limit=3, negatives=many)], AT)) for many in (1, 0))
    assert "% of 6 facts (" in with_
    assert "% of 3 true-false pairs (" in with_
    assert "Each true fact has false partners" in with_
    assert "% of 3 facts (" in without
    assert "true-false pairs" not in without
    assert "Each true fact has false partners" not in without


def test_a_function_is_asked_again_in_a_notebook(store: Store, tmp_path: Path) -> None:
    """No command can ask a function: the report shows the call, with the settings that are not the default."""
    run = asked(store, model="function:my_model", limit=3, seed=2)
    text = unescape(text_of(html_report(store, [run], AT)))
    assert "To repeat the run, where this function is defined:" in text
    assert "medfact.evaluate(my_model, 'clinical-core', limit=3, shots=0, seed=2)" in text
    assert "python -m medfact run" not in text
    spec = RunSpec("function:lambda", facts="data-frame-0a.jsonl", columns=(("head", "disease"),), rela=("symptoms",))
    assert repeat_command(spec) == "medfact.evaluate(my_model, medfact.load_facts(table, head='disease'), rela=('symptoms',))"
    assert repeat_command(RunSpec("function:f", facts="mine.csv", leave_out=True)) == (
        "medfact.evaluate(f, 'mine.csv', leave_out=True)"
    )


def test_by_the_command_line(medfact: Callable[..., Any], store: Store, url: str, tmp_path: Path) -> None:
    runs = [asked(store, limit=3), asked(store, limit=3, seed=1)]
    outcome = medfact("report", *runs, "--html", tmp_path / "report.html", "--db", url)
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    assert medfact("report", *runs, "--db", url).out.count("statements answered") == 2
    absent = medfact("report", *runs, "--html", tmp_path / "absent" / "report.html", "--db", url)
    assert absent.code == 2
    assert "cannot be written" in absent.err
    assert medfact("report", runs[0], "--html", tmp_path / "x.html", "--json", "--db", url).code == 2


def sentence_rows(html: str) -> list[str]:
    """The rows of the sentences of the worst facts."""
    return [
        row
        for table in re.findall(r'<div class="mf-failure[^"]*">(.*?)</div>', html, re.S)
        for row in re.findall(r"<tr><td>.*?</tr>", table)
    ]


def test_the_sentences_of_the_worst_ten_stand_with_a_sign_beside_each(store: Store) -> None:
    runs = [asked(store, limit=14), asked(store, model="baseline:always-true", limit=14)]
    html = html_report(store, runs, AT)
    text = text_of(html)
    assert "These 10 have the most wrong answers" in text
    assert "The file of answers has all pairs." in text
    rows = sentence_rows(html)
    assert len(rows) == 10 * 16
    assert all(len(re.findall("[✓✗] (?:true|false)", row)) == len(runs) for row in rows)
    assert "on clinical-core: medfact report</title>" in html
    assert "on clinical-core</h1>" in html


def test_the_scores_stand_in_the_order_of_the_page(store: Store) -> None:
    run = asked(store)
    report, text = report_of(store, store.run(run)), text_of(html_report(store, [run], AT))
    headings = [score(name, ways_of(of)).heading for name, of in first_scores([report]).items()]
    places = [text.index(heading) for heading in headings[1:]]
    assert places == sorted(places)
    assert "all eight right" in text[: places[0]]


@pytest.fixture(scope="module")
def offline() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_offline_and_is_accessible(offline: Browser, store: Store, tmp_path: Path, width: int) -> None:
    file = tmp_path / "report.html"
    runs = [asked(store), asked(store, model="baseline:always-true")]
    file.write_text(html_report(store, runs, AT), encoding="utf-8")
    context = offline.new_context(viewport={"width": width, "height": 900}, offline=True, bypass_csp=True)
    page = context.new_page()
    requests, trouble = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(file.as_uri())
    assert requests == [file.as_uri()]
    assert trouble == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    if width == 1280:
        assert len(page.pdf(format="A4")) > 20_000
    context.close()


def guessing(prompt: Prompt) -> Completion:
    """Says what chance says, with a probability."""
    p_true = hashlib.sha256(prompt.statement.encode()).digest()[0] / 255
    return Completion("True" if p_true > 0.5 else "False", p_true=p_true, p_mass=1.0)


@pytest.mark.browser
def test_three_runs_of_60_pairs_print_on_twelve_pages(offline: Browser, store: Store, tmp_path: Path) -> None:
    runs = []
    for model, reply in (("baseline:random", guessing), ("baseline:always-true", guessing), ("baseline:negation-cue", None)):
        runs.append(start(RunSpec(model=model, limit=60, shots=0), store))
        list(answer(runs[-1], store, **({"load": StubModel(reply).load} if reply else {})))
    file = tmp_path / "report.html"
    file.write_text(html_report(store, runs, AT), encoding="utf-8")
    page = offline.new_page()
    page.goto(file.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) <= 12
    page.emulate_media(media="print")
    breaks = "() => [...document.querySelectorAll('.mf-failure')].map((one) => getComputedStyle(one).breakInside)"
    assert set(page.evaluate(breaks)) == {"avoid"}, "a fact is not split across pages"
    assert "counter(page)" in file.read_text(encoding="utf-8")
    page.close()
