"""Services that answer in a language, asked over HTTP from the command line and the page: the scores are as scripted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mock_batches import MockBatchService
from mock_service import Behaviour, MockService
from strangers import laptop as laptop
from strangers import laptop_home as laptop_home
from strangers import open_store, wait_for_run_end
from strangers import visitor as visitor
from visitors import Visitor

from medfact import evaluate
from medfact.answers import FORMATS
from medfact.languages import load_language
from medfact.models import ServiceSettings
from medfact.results.danger import danger_of
from medfact.results.fact_table import DIAGNOSED, fact_table
from medfact.results.report import Side
from medfact.runs.ask import StatementPrompts
from medfact.runs.board import board_of
from medfact.runs.plan import plan
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Store

KEY = "sk-in-every-language-0123456789"
LIMIT = 10
"""Pairs, of eight statements about each fact: 160 statements. One of five is answered wrong: 80 % are right."""

RIGHT = 0.8

WORDS: Mapping[str, tuple[str, str]] = {
    "en": ("True", "**False**"),
    "es": ("Verdadero.", "La afirmación es falsa."),
    "fr": ("Vrai", r"Ce n'est pas exact. \boxed{\text{Faux}}"),
    "de": ("Richtig.", "Das stimmt nicht."),
    "zh": ("正确", "这个说法是错误的。"),
}
"""Language → what a service says of a true and of a false statement."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def spec_of(asked_in: str, **more: Any) -> RunSpec:
    return RunSpec("openai:x", limit=LIMIT, shots=0, asked_in=asked_in, **more)


def knowing(asked_in: str, words: tuple[str, str], **more: Any) -> Callable[[str], str]:
    """Says of each statement of a run in a language whether it is true, but of each fifth one the contrary."""
    layout = FORMATS["paper"] if asked_in == "en" else load_language(asked_in).asking.format
    says = {}
    for number, item in enumerate(plan(spec_of(asked_in, **more)).statements):
        is_true = item.statement.label != (number % 5 == 0)
        says[layout.ask(item.statement.text)] = words[0 if is_true else 1]
    assert len(says) == 160
    return lambda prompt: says.get(prompt, words[0])  # the page tries a service with another statement


def report_of(medfact: Callable[..., Any], run: str, db: str) -> dict[str, Any]:
    return dict(json.loads(medfact("report", run, "--json", "--db", db).out))


def is_as_scripted(report: Mapping[str, Any]) -> bool:
    return bool((report["unreadable"], report["failed"], report["average_accuracy"]["value"]) == (0, 0, RIGHT))


@pytest.mark.parametrize("language", WORDS)
def test_the_command_line_reads_a_service_in_each_language_and_compares_it(
    language: str, medfact: Callable[..., Any], url: str
) -> None:
    runs = {}
    for asked_in in dict.fromkeys((language, "en")):
        with MockService(Behaviour(write_reply=knowing(asked_in, WORDS[asked_in]))) as service:
            done = medfact(
                *("run", "--language", asked_in, "--model", "openai:x", "--base-url", service.base_url),
                *("--limit", LIMIT, "--shots", 0, "--db", url),
            )
        assert done.code == 0, done.err
        runs[asked_in] = json.loads(done.out)["run"]
        report = report_of(medfact, runs[asked_in], url)
        assert is_as_scripted(report)
        assert not [note for note in report["notes"] if "replies" in note]
    if language != "en":
        (found,) = json.loads(medfact("compare", *runs.values(), "--json", "--db", url).out)["over_languages"]
        assert found["less_en"][language]["difference"] == 0.0
        assert found["consistent"]["value"] == 1.0
        assert found["replies_in_english"][language] == {"number": 0, "of": 160}


@pytest.mark.parametrize(
    ("asked_in", "answers_in", "words", "note"),
    [
        ("en", "zh", ("正确", "错误"), "16 of the first 16 replies are in Chinese, though the questions are in English."),
        ("en", "zh", ("对", "错"), "16 of the first 16 replies are in Chinese, though the questions are in English."),
        ("en", "de", ("Wahr", "Falsch"), "16 of the first 16 replies are in German, though the questions are in English."),
        ("es", "zh", ("正确。", "错误。"), "16 of the first 16 replies are in Chinese, though the questions are in Spanish."),
        ("fr", "en", ("True", "False"), "16 of the first 16 replies are in English, though the questions are in French."),
    ],
)
def test_replies_in_another_language_are_read_and_a_note_says_so(
    asked_in: str, answers_in: str, words: tuple[str, str], note: str, medfact: Callable[..., Any], url: str
) -> None:
    with MockService(Behaviour(write_reply=knowing(asked_in, words))) as service:
        done = medfact(
            *("run", "--language", asked_in, "--model", "openai:x", "--base-url", service.base_url),
            *("--limit", LIMIT, "--shots", 0, "--db", url),
        )
    assert note in done.err
    report = report_of(medfact, json.loads(done.out)["run"], url)
    assert is_as_scripted(report)
    assert note in report["notes"]


@pytest.mark.parametrize(("asked_in", "answers_in"), [*((code, code) for code in WORDS if code != "en"), ("en", "zh")])
def test_the_page_reads_a_service_in_each_language(asked_in: str, answers_in: str, visitor: Visitor, laptop_home: Path) -> None:
    with MockService(Behaviour(write_reply=knowing(asked_in, WORDS[answers_in]))) as service:
        further = {"asked_in": asked_in} if asked_in != "en" else {}
        made = visitor.evaluate(pairs=LIMIT, service="x", address=service.base_url, key=KEY, models=[], **further)
        assert isinstance(made, list), made
        (run,) = made
        record = wait_for_run_end(laptop_home, run)
    assert (record.state, record.spec.asked_in) == (COMPLETE, asked_in)
    assert "80" in visitor.fetch_settled_page(run=run)["fragments"]["scores"]
    assert right_in(open_store(laptop_home), run) == RIGHT
    noted = [note for note in record.notes if "though the questions are in" in note]
    assert len(noted) == (asked_in != answers_in)


def right_in(store: Store, run: str) -> float:
    items = store.answers.asked(run)
    return sum(item.answer is not None and item.answer.answer is item.statement.label for item in items) / len(items)


def test_batches_of_a_service_are_read_in_the_language_of_the_run(medfact: Callable[..., Any], url: str) -> None:
    with MockBatchService() as service:
        service._talker.behaviour.write_reply = knowing("de", ("Zutreffend.", r"$\boxed{\text{Unwahr}}$"))
        done = medfact(
            *("run", "--language", "de", "--model", "openai:x", "--base-url", service.base_url, "--batch"),
            *("--limit", LIMIT, "--shots", 0, "--db", url),
        )
    assert done.code == 0, done.err
    assert is_as_scripted(report_of(medfact, json.loads(done.out)["run"], url))


def test_a_function_of_a_notebook_is_read_in_the_language_of_the_run(url: str) -> None:
    says = knowing("fr", ("C'est exact.", "C'est faux."))
    run = evaluate(lambda prompts: [says(prompt) for prompt in prompts], limit=LIMIT, shots=0, asked_in="fr", db=url)
    assert right_in(Store(url), run.id) == RIGHT


def test_a_reply_that_is_cut_at_its_length_counts_where_its_opening_settles_the_answer(store: Store) -> None:
    words = ("Verdadero. La relación entre ambos es conocida y", "La relación entre ambos no es cierta, pero")

    class Cut(MockService):
        def _reply(self, prompt: str, attempt: int, body: dict[str, Any]) -> dict[str, Any]:
            reply = super()._reply(prompt, attempt, body)
            reply["choices"][0]["finish_reason"] = "length"
            return reply

    with Cut(Behaviour(write_reply=knowing("es", words))) as service:
        run = start(spec_of("es", service=ServiceSettings(base_url=service.base_url)), store)
        [*answer(run, store, key=KEY)]
    items = store.answers.asked(run)
    assert {item.answer.raw: item.answer.answer for item in items if item.answer} == {words[0]: True, words[1]: None}


def test_an_answer_that_was_once_read_wrongly_is_read_again_where_it_is_reused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MockService(Behaviour(write_reply=knowing("es", WORDS["es"]))) as service:
        spec = spec_of("es", reuse=True, service=ServiceSettings(base_url=service.base_url))
        first = start(spec, store)
        with monkeypatch.context() as before:
            before.setattr(StatementPrompts, "read", lambda self, text, cut: None)
            [*answer(first, store, key=KEY)]
        assert right_in(store, first) == 0
        second = start(spec, store)
        [*answer(second, store, key=KEY)]
        assert len(service.calls) == 160
    assert right_in(store, second) == RIGHT
    assert {item.answer.attempts for item in store.answers.asked(second) if item.answer} == {0}


REFUSAL = "I must decline: to say that a statement is true takes a doctor."


def test_who_refuses_all_under_a_papers_keywords_is_not_said_to_affirm_false_facts(
    medfact: Callable[..., Any], url: str
) -> None:
    """The keywords find "true" in each refusal: right for half of the statements, as the paper would count it."""
    with MockService(Behaviour(reply_text=REFUSAL)) as service:
        done = medfact(
            *("run", "--protocol", "pretexttrans", "--model", "openai:x", "--base-url", service.base_url),
            *("--limit", LIMIT, "--shots", 0, "--db", url),
        )
    run = json.loads(done.out)["run"]
    report = report_of(medfact, run, url)
    statements = report["statements"]
    assert report["average_accuracy"]["value"] == 0.5
    assert report["unreadable"] == 0
    assert report["false_affirmation"]["value"] == 0.0
    assert report["false_affirmation"]["n"] == statements // 4
    assert report["diagnosis"] is None
    note = f"{statements} of {statements} replies that the paper's keywords read commit to no answer, as a refusal does."
    assert [told for told in report["notes"] if told.startswith(note)]
    text = medfact("report", run, "--db", url).out
    assert note in " ".join(text.split())
    store = Store(url)
    table = fact_table([Side(store.run(run), board_of(store, run))])
    assert not any(table.passing(name).any() for name in DIAGNOSED)
    assert danger_of(store, store.run(run), {}).accepted.value in (None, 0.0)


def test_what_commits_to_an_answer_is_diagnosed_alike_by_keywords_and_by_the_own_reading(
    medfact: Callable[..., Any], url: str
) -> None:
    """Of a model that says True to all, every false fact is affirmed under both readings, and nothing is noted."""
    reports = []
    for protocol in ("medfact", "pretexttrans"):
        with MockService(Behaviour(reply_text="True")) as service:
            done = medfact(
                *("run", "--protocol", protocol, "--model", "openai:x", "--base-url", service.base_url),
                *("--limit", LIMIT, "--shots", 0, "--db", url),
            )
        reports.append(report_of(medfact, json.loads(done.out)["run"], url))
    for report in reports:
        assert report["false_affirmation"]["value"] == 1.0
        by_name = report["diagnosis"]["by_name"]
        assert [by_name[name]["share"]["value"] for name in ("negation-blind", "always-yes")] == [0.5, 0.5]
        assert not [note for note in report["notes"] if "commit to no answer" in note]
