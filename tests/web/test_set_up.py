"""The set-up of an evaluation: kept by the server for each visitor, and said where it cannot be. Over HTTP."""

from __future__ import annotations

import os
import re
import sqlite3
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browser import serve_app
from visitors import Visitor, visitor_fixture
from waiting import wait_until

from medfact.datasets import load_bundled
from medfact.prototypes import load_pool
from medfact.reviews.studio import FORMS, own_sentences
from medfact.store import Store
from medfact.web.evaluate.facts_step import EXAMPLE
from medfact.web.evaluate.form import LABELS, Setup

ROWS = b"".join(b"disease %d,symptoms,sign %d\n" % (n, n) for n in range(12))
OWN = b"head,relation,tail\n" + ROWS

CHOSEN: dict[str, Any] = {"models": ["baseline:random", "baseline:tail"], "pairs": 20, "protocol": "tpeval", "race": True}
ROW = {"id": "r1", "where": "service", "model": "gpt", "address": "https://models.example/v1", "budget": 2.5}
ROW |= {"service": "openai:"}
ROW |= {"is_open": True, "had_key": False}
CHOSEN |= {"rows": [ROW], "retrieval": "sparse"}


visitor = visitor_fixture("address")


def test_what_is_chosen_is_there_when_the_page_is_opened_again(visitor: Visitor, address: str) -> None:
    visitor.fetch_page(setup=CHOSEN)
    opened = visitor.fetch_page()["setup"]
    assert {name: opened[name] for name in CHOSEN} == CHOSEN
    assert visitor.fetch_page("facts")["show"]["protocol"] == "tpeval", "and on other pages"
    with Visitor(address) as other:
        assert other.fetch_page()["setup"] == Setup().model_dump()


def test_it_survives_a_restart_but_for_consent_and_keys(tmp_path: Path) -> None:
    """The own file too. The key is asked for again, and the row says so."""
    with serve_app(tmp_path) as address, Visitor(address) as visitor:
        visitor.fetch_page(setup=CHOSEN)
        path = visitor.upload("own12.csv", OWN)
        visitor.press_button("take_file", path)
        visitor.press_button("keep_key", "r1", fields={"key": "sk-typed-0123456789"})
        setup = visitor.fetch_page()["setup"]
        agreed = Setup.model_validate(setup).consent_of(ROW["address"])
        shown = visitor.fetch_page(setup={**setup, "agreed": [agreed]})
        assert shown["setup"] is None, "as it was told"
        assert "kept until the server restarts" in shown["fragments"]["models"]
        cookie = {"cookie": f"medfact-visitor={visitor.cookie}"}
    with serve_app(tmp_path) as address, Visitor(address, **cookie) as visitor:
        shown = visitor.fetch_page()
        opened = shown["setup"]
        own = {"facts": str(tmp_path / "uploads" / path), "columns": []}
        kept = {**CHOSEN, "rows": [{**ROW, "had_key": True}], "source": own}
        assert {name: opened[name] for name in kept} == kept
        assert opened["agreed"] == []
        assert "own12.csv" in shown["fragments"]["choice"]
        assert "12 of 12 true facts can be asked" in shown["fragments"]["facts"]
        assert "Enter the key for models.example again" in shown["fragments"]["models"]
        with Visitor(address) as other:
            assert "not here, or not yours" in other.fetch_page(setup=opened)["fragments"]["go"], (
                "it is still one visitor's alone"
            )
    with sqlite3.connect(tmp_path / "medfact.db") as database:
        (kept_text,) = database.execute("SELECT content FROM log WHERE kind = 'set-up' AND content LIKE '%r1%'").fetchone()
    assert "agreed" not in kept_text
    assert all(b"sk-typed" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_facts_with_a_source_can_be_asked_alone(visitor: Visitor) -> None:
    shown = visitor.fetch_page()["fragments"]["facts"]
    words = re.search(r"Only facts that an outside source confirms, with their false partners: ([\d,]+) of 2,512", shown)
    assert words, "of the included facts"
    asked = visitor.fetch_page(sourced=True)["fragments"]["facts"]
    assert re.search(r'data-key="sourced" checked', asked)
    assert "or that no source confirms" in asked
    tested = re.search(r"<b>([\d,]+) of 2,512 true facts can be asked</b>", asked)
    assert tested
    assert 0 < int(words[1].replace(",", "")) < 2_512
    assert 0 < int(tested[1].replace(",", "")) < 2_512, "and some are kept aside for worked examples"
    path = visitor.upload("own12.csv", OWN)
    visitor.press_button("take_file", path)
    assert "Only facts that an outside source" not in visitor.fetch_page()["fragments"]["facts"], "none of them names one"


def test_the_latest_are_kept(either_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.store.contributions.MOST_SET_UPS", 3)
    store = Store(either_url)
    for number in (0, 1, 2, 0, 3, 4):
        store.of(f"{number:032x}").set_ups.keep(f'{{"pairs": {number}}}')
    assert [store.of(f"{number:032x}").set_ups.last()[-2:-1] for number in range(5)] == ["0", "", "", "3", "4"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("models", ["x" * 301], "at most 300 characters"),
        ("models", ["m"] * 9, "at most 8 items"),
        ("model", "gpt-" + "x" * 300, "at most 300 characters"),
        ("address", "https://" + "x" * 300, "at most 300 characters"),
        ("rows", [ROW] * 9, "at most 8 items"),
        ("pairs", 5_000, "less than or equal to 1000"),
        ("pairs", None, "a valid integer"),
        ("budget", -1, "greater than or equal to 0"),
        ("encoder", "x" * 301, "at most 300 characters"),
    ],
)
def test_what_cannot_be_is_said_and_not_passed_over(name: str, value: object, why: str, visitor: Visitor) -> None:
    """Nothing is asked in its place, and it is still there at the next look."""
    of_row = name in {"model", "address", "budget"}
    setup = {"models": ["baseline:random"], **({"rows": [{**ROW, name: value}]} if of_row else {name: value})}
    kept = visitor.fetch_page(setup=setup)["setup"]
    assert (kept["rows"][0] if of_row else kept)[name] == value
    for shown in (visitor.fetch_page(setup=setup), visitor.fetch_page(setup=kept), visitor.fetch_page()):
        assert f"“{LABELS[name]}” does not fit" in unescape(shown["fragments"]["go"])
        assert why in shown["fragments"]["go"]
    pressed = visitor.press_button("evaluate", setup=setup)
    assert why in pressed["fragments"]["go-said"]
    assert not pressed["show"].get("run")


def test_what_cannot_be_is_said_on_the_page_write(visitor: Visitor) -> None:
    shown = visitor.press_button("start", page_name="write", setup={"rows": [{"model": "x" * 301}]})
    assert "at most 300 characters" in shown["fragments"]["form-said"]


def test_a_link_changes_no_set_up(visitor: Visitor) -> None:
    visitor.fetch_page(setup=CHOSEN)
    told = {"page": "evaluate", "address": "?setup=%7B%7D&models=x&pairs=7&address=https://evil.example&agreed=true"}
    visitor.http.post("/updates", json=told)
    assert {name: visitor.fetch_page()["setup"][name] for name in CHOSEN} == CHOSEN


def test_no_file_of_somebody_else_is_kept(visitor: Visitor, address: str) -> None:
    with Visitor(address) as other:
        theirs = other.upload("theirs.csv", b"head,relation,tail\ngout,symptoms,pain\n")
    for path in (theirs, "/etc/passwd", os.__file__):
        visitor.fetch_page(setup={"source": {"facts": path, "columns": []}})
        assert visitor.fetch_page()["setup"]["source"] is None
        assert "root:" not in str(visitor.fetch_page("facts", data="own"))


# ------------------------------------------------------------------------------------------------ facts of one's own


def test_a_file_is_shown_in_its_sentences_with_its_problems(visitor: Visitor) -> None:
    shown = visitor.press_button("take_file", visitor.upload("own12.csv", OWN + b"gout,symptoms,\n"))["fragments"]
    assert "own12.csv" in shown["choice"]
    assert "12 true facts read" in shown["facts-said"]
    assert "12 of 12 true facts can be asked" in shown["facts"]
    assert "row 14: the finding is empty" in shown["facts"]
    assert shown["facts"].count(">FALSE (test statement)") == 4, "the denials of the true fact"
    assert shown["facts"].count(">PRESUMED FALSE (test statement)") == 4 + 2, "its partner, and the two examples"
    assert shown["facts"].count('class="mf-sentence"') == 16
    assert "fact 1 of 12" in shown["facts"]
    assert "fact 2 of 12" in visitor.fetch_page(first=1)["fragments"]["facts"]
    assert "fact 12 of 12" in visitor.fetch_page(first=11)["fragments"]["facts"]
    assert re.search(r"Evaluate 1 model on own12\.csv", shown["go"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pasted.tsv", OWN.replace(b",", b"\t").partition(b"\n")[2]),
        ("pasted.csv", OWN),
        ("pasted.csv", OWN.partition(b"\n")[2]),
    ],
)
def test_rows_that_are_pasted_need_no_header(name: str, text: bytes, visitor: Visitor) -> None:
    shown = visitor.press_button("take_rows", visitor.upload(name, text))
    assert "12 true facts read" in shown["fragments"]["facts-said"]
    assert shown["setup"]["source"]["facts"].endswith(name)


def test_the_example_file_can_be_asked(visitor: Visitor) -> None:
    shown = visitor.press_button("take_file", visitor.upload("example.csv", EXAMPLE.encode()))["fragments"]
    assert "6 of 6 true facts can be asked" in shown["facts"]


def test_an_unknown_relation_can_be_said_to_be_a_known_one(visitor: Visitor, app_home: Path) -> None:
    path = visitor.upload("own.csv", OWN.replace(b"symptoms", b"shows as"))
    shown = visitor.press_button("take_file", path)["fragments"]["facts"]
    assert "We have no sentences for “<b>shows as</b>” yet" in shown
    assert "“sign 0” is a symptom or sign of the disease “disease 0”" in unescape(shown)
    assert 'href="write?kind=templates"' in shown
    told = visitor.press_button("use_relation", "shows as", fields={"known": "symptoms"})
    assert "12 of 12 true facts can be asked" in told["fragments"]["facts"]
    assert "Sign 0 is a recognized symptom or sign of disease" in re.sub(r"\d+", "0", told["fragments"]["facts"])
    run = visitor.press_button("evaluate", setup={**told["setup"], "models": ["baseline:random"]})["show"]["run"]
    record = Store(f"sqlite:///{app_home / 'medfact.db'}").run(run)
    assert record.spec.columns == (("relation:shows as", "=symptoms"),), "the run says so"
    back = visitor.press_button("use_relation", "shows as", setup=told["setup"])
    assert "We have no sentences for" in back["fragments"]["facts"]


@pytest.mark.parametrize("file", ["relation", "tail", "columns"])
def test_no_column_of_a_file_is_called_head_or_tail_on_the_page(file: str, visitor: Visitor) -> None:
    text = {"relation": OWN.replace(b"symptoms", b"cures"), "tail": OWN + b",symptoms,x\ngout,symptoms,\n"}
    shown = visitor.press_button("take_file", visitor.upload("own.csv", text.get(file, b"disease,note,sign\ngout,x,podagra\n")))
    text_of = re.sub(r"<[^>]*>", " ", "".join(shown["fragments"].values()))
    assert not re.search(r"\b(head|tail)s?\b", text_of), text_of


def test_a_model_is_asked_in_several_languages_at_once(visitor: Visitor, app_home: Path) -> None:
    """Always true is right in half of the ways of each fact, true or false: all right of none, in each language alike."""
    setup = {"models": ["baseline:always-true"], "pairs": 12, "asked_in": ["es", "en"]}
    go = visitor.fetch_page(setup=setup)["fragments"]["go"]
    assert "12 true and 12 false facts, 8 sentences each, in English and Spanish." in go
    assert "Evaluate 1 model in 2 languages on clinical-core" in go
    assert visitor.fetch_page()["setup"]["further"]["asked_in"] == ["es", "en"], "it is there when the page is opened again"
    runs = visitor.press_button("evaluate", setup=setup)["show"]["run"]
    records = [Store(f"sqlite:///{app_home / 'medfact.db'}").run(run) for run in runs.split(",")]
    assert [(record.spec.asked_in, record.spec.seed, record.facts) for record in records] == [("en", 0, 24), ("es", 0, 24)]
    wait_until(lambda: "384 of 384" in visitor.fetch_page(run=runs)["fragments"]["progress"])
    assert "2 runs of one evaluation" in str(visitor.fetch_page("runs")["fragments"]), "in two languages, of one click"
    told = visitor.fetch_settled_page(run=runs, tab="statistics")["fragments"]["tab"]
    assert "always says true: 0.0% of 24 facts all right in both languages; 0.0% in English, 0.0% in Spanish" in told
    assert re.search(r"The same answer in all languages, right or wrong: 100.0% .* of 192 statements", told)


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"asked_in": []}, "8 sentences each."),
        ({"asked_in": "es"}, "8 sentences each, in Spanish."),
        ({"asked_in": ["en"], "protocol": "tpeval"}, "sentences each."),
        ({"asked_in": ["en", "es"], "protocol": "tpeval"}, "Only the method medfact"),
        ({"asked_in": ["en", "xx"]}, "There is no language"),
        (
            {"asked_in": ["en", "es", "fr"], "models": ["baseline:random", "baseline:always-true", "medfact-tiny"]},
            "are 9 runs.",
        ),
        (
            {"asked_in": ["en", "es"], "models": ["baseline:random", "medfact-tiny"], "race": True},
            "Models race in one language.",
        ),
        ({"asked_in": ["en", "es"], "race": True}, "8 sentences each, in English and Spanish."),
    ],
)
def test_languages_that_cannot_be_asked_together_are_refused_in_a_sentence(
    chosen: dict[str, Any], says: str, visitor: Visitor
) -> None:
    go = visitor.fetch_page(setup={"models": ["baseline:random"], "pairs": 4, **chosen})["fragments"]["go"]
    assert says in unescape(go), go


def test_facts_without_a_name_in_a_language_are_counted_before_a_run_begins(visitor: Visitor) -> None:
    """Neither Quux disease nor the zigzag sign has a Spanish name, so that no fact with either is asked in Spanish."""
    table = EXAMPLE + "Quux disease,symptoms,zigzag sign\n"
    visitor.press_button("take_file", visitor.upload("own7.csv", table.encode()))
    setup = {**visitor.fetch_page()["setup"], "models": ["baseline:random"], "asked_in": ["en", "es"]}
    go = visitor.fetch_page(setup=setup)["fragments"]["go"]
    assert re.search(
        r"7 true and 7 false facts, 8 sentences each, in English and Spanish \([45] of the true facts in all of them\)", go
    ), go


def test_a_plan_that_is_only_priced_writes_no_file(visitor: Visitor, app_home: Path) -> None:
    own = own_sentences(load_pool("medfact"), "symptoms")
    sentences = {f"s{number}": own[form].replace("symptom or sign", "sign or symptom") for number, form in enumerate(FORMS)}
    typed = {"pool": "medfact", "data": "clinical-core", "relation": "symptoms", "of": "medfact|symptoms", **sentences}
    saved = visitor.http.post("/updates", json={"page": "studio", "show": typed, "action": {"name": "save"}}).json()
    assert "Saved the sentences" in saved["fragments"]["said"]
    setup = {"models": ["baseline:random"], "pairs": 10, "shots": 0}
    before = {*app_home.rglob("studio.yaml")}
    for _ in range(3):
        assert "10 true" in visitor.fetch_page(setup=setup, studio="medfact:clinical-core")["fragments"]["go"]
    assert {*app_home.rglob("studio.yaml")} == before
    run = visitor.press_button("evaluate", setup=setup, studio="medfact:clinical-core")["show"]["run"]
    (file,) = {*app_home.rglob("studio.yaml")} - before
    record = Store(f"sqlite:///{app_home / 'medfact.db'}").run(run)
    assert (record.spec.pool, record.pool) == (str(file), "studio-medfact")


def test_two_pages_of_a_visitor_do_not_take_turns(visitor: Visitor) -> None:
    """One where nothing is chosen any more, such as one that watches a run, keeps nothing."""
    visitor.fetch_page(setup={"pairs": 20})
    visitor.fetch_page(setup={"pairs": 30})
    visitor.http.post("/updates", json={"page": "evaluate", "setup": {"pairs": 20}, "settled": True})
    assert visitor.fetch_page()["setup"]["pairs"] == 30


def test_no_more_pairs_are_offered_than_the_file_has(visitor: Visitor) -> None:
    visitor.press_button("take_file", visitor.upload("own12.csv", OWN))
    sizes = visitor.fetch_page()["fragments"]["sizes"]
    assert re.search(r'max="12" value="12"', sizes)
    assert "up to 12" in sizes
    visitor.press_button("drop_file")
    assert re.search(r'max="1000" value="60"', visitor.fetch_page()["fragments"]["sizes"]), "what was chosen is kept"


def test_a_bundled_model_that_is_chosen_is_shown_once(visitor: Visitor) -> None:
    shown = unescape(visitor.fetch_page(setup={"models": ["medfact-tiny", "baseline:always-false"]})["fragments"]["models"])
    assert shown.count('value="medfact-tiny"') == 1
    assert re.findall(r'<span class="mf-chip">([^<]+?) <', shown) == ["always says false"], "which has no box to tick"
    assert "Answers false to sentences with “not”" in shown


def test_having_sentences_drafted_opens_with_that_kind(visitor: Visitor) -> None:
    visitor.press_button("take_file", visitor.upload("odd.csv", OWN.replace(b"symptoms", b"is eaten by")))
    (link,) = re.findall(r'href="(write[^"]*)"', visitor.fetch_page()["fragments"]["facts"])
    opened = visitor.http.post("/updates", json={"page": "write", "address": link.partition("write")[2]}).json()
    assert '<option value="templates" selected>' in opened["fragments"]["form"]


# ------------------------------------------------------------------------------------------------ a fact that is typed


def test_a_typed_fact_is_asked_of_both_demonstration_models(visitor: Visitor, app_home: Path) -> None:
    """Four of its eight sentences deny it, and bear the mark of a false one."""
    typed = {"head": "gout", "relation": "therapeutic drugs", "tail": "allopurinol"}
    told = visitor.press_button("ask_fact", page_name="home", fields=typed)
    runs = told["show"]["pair"]
    assert told["query"] == f"?pair={runs}"
    assert "do not decide" not in told["fragments"]["said"], "the bundled facts know it"
    assert "Allopurinol is a medication used to treat gout." in told["fragments"]["typed"]
    records = [Store(f"sqlite:///{app_home / 'medfact.db'}").run(run) for run in runs.split(",")]
    assert [(record.model, record.statements) for record in records] == [("medfact-tiny", 8), ("medfact-tiny-narrow", 8)]
    wait_until(lambda: visitor.fetch_page("home", pair=runs)["fragments"]["typed"].count("mf-cell mf-pending") == 0)
    shown = visitor.fetch_page("home", pair=runs)["fragments"]["typed"]
    assert (shown.count("mf-answered"), shown.count("FALSE (test statement)")) == (16, 4)
    assert "mf-answered" not in visitor.fetch_page("home", pair="no-run,neither")["fragments"]["typed"]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"head": "gout", "relation": "therapeutic drugs", "tail": " "}, "Fill in all three."),
        ({}, "Fill in all three."),
        ({"head": "gout", "relation": "is a friend of", "tail": "allopurinol"}, "can be asked yet"),
        ({"head": "acute gout", "relation": "<b>", "tail": "${alert(1)}"}, "can be asked yet"),
    ],
)
def test_a_typed_fact_that_cannot_be_asked_is_refused_in_a_sentence(typed: dict[str, str], says: str, visitor: Visitor) -> None:
    told = visitor.press_button("ask_fact", page_name="home", fields=typed)
    assert says in told["fragments"]["said"]
    assert "<b>" not in told["fragments"]["said"]


def test_a_typed_fact_that_a_source_calls_false_is_not_asked_as_true(visitor: Visitor) -> None:
    false = next(fact for fact in load_bundled("clinical-core").known.judged if not fact.positive and fact.tail)
    fields = {"head": false.head, "relation": false.relation, "tail": str(false.tail)}
    told = visitor.press_button("ask_fact", page_name="home", fields=fields)
    assert "The bundled facts say that this is false." in told["fragments"]["said"]
    assert told["show"]["pair"] == ""
