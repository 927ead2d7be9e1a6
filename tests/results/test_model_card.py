"""The snippet for a model's page: the Hub's own library reads its metadata, and its Markdown holds no markup of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from huggingface_hub.repocard_data import ModelCardData, model_index_to_eval_results
from small_facts import Answerer

from medfact.results.model_card import model_card
from medfact.results.report import report_of
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


def asked(store: Store, **fields: Any) -> str:
    run = start(RunSpec(**{"model": "baseline:random", "limit": 10, "shots": 0, **fields}), store)
    list(answer(run, store, load=Answerer(lambda prompt: str(" not " not in prompt.statement)).load))
    return run


def test_the_hub_reads_its_metadata(store: Store) -> None:
    report = report_of(store, store.run(asked(store)))
    card = model_card([report])
    _, head, body = card.split("---\n", 2)
    data = ModelCardData(**yaml.safe_load(head))
    name, results = model_index_to_eval_results(yaml.safe_load(head)["model-index"])
    assert name == "a coin"
    found = {result.metric_type: result.metric_value for result in results}
    assert found["joint_accuracy"] == round(report.joint_accuracy.value or 0, 4)
    assert found["false_affirmation"] == round(report.false_affirmation.value or 0, 4)
    assert {result.dataset_name for result in data.eval_results} == {"medfact clinical-core"}
    assert "| all statements of a fact right (joint accuracy) | 50.0%" in body
    assert "not clinical competence" in body


def test_what_is_counted_has_one_plural(store: Store) -> None:
    card = model_card([report_of(store, store.run(asked(store)))])
    assert re.search(r"\d affirmed statements about false facts", card)
    assert re.search(r"\d affirmed statements about true facts", card)
    assert not re.search(r"[a-z]ss (?:about|of|\|)", card)


def test_text_of_others_is_no_markup(store: Store) -> None:
    report = report_of(store, store.run(asked(store)))
    hostile = "x](http://127.0.0.1) <script>\n| a | b |"
    object.__setattr__(report, "dataset", hostile)
    body = model_card([report]).split("---\n", 2)[2]
    assert "<script>" not in body
    assert "](http" not in body
    assert "\\| a \\| b \\|" in body


def test_by_the_command_line(store: Store, medfact: Callable[..., Any], url: str) -> None:
    runs = [asked(store), asked(store, seed=1)]
    outcome = medfact("card", *runs, "--db", url)
    assert outcome.code == 0, outcome.err
    assert len(yaml.safe_load(outcome.out.split("---\n", 2)[1])["model-index"][0]["results"]) == 2
    assert medfact("card", "abc", "--db", url).code == 2
