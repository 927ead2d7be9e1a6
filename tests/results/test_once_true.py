"""The section that names who affirms what has been dropped, from runs of the included set; and the card of such a fact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded import complete_run
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.datasets import load_bundled
from medfact.datasets.sources import sources_of
from medfact.exchange.rows import fact_rows, score_rows
from medfact.facts import Fact
from medfact.metrics.dropped import SAYS_FALSE, SAYS_TRUE
from medfact.results.report import report_of
from medfact.results.sections import REPORT, TERMINAL, Figures, sections_of
from medfact.results.text import lines_of
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.views.fragments import environment

WAS = Fact("gout", "therapeutic drugs", "rofecoxib", positive=False, region="Japan", population="children", until="2004")


TITLE = "Does it affirm what has been dropped?"


@pytest.fixture
def store(url: str) -> Store:
    return Store(url)


def asked(store: Store, said: str, **chosen: Any) -> str:
    return complete_run(
        RunSpec(model="baseline:random", shots=0, **{"dataset": "was-true", **chosen}),
        store,
        load=StubModel(lambda prompt: said).load,
    )


def test_a_model_that_says_true_to_everything_is_named_so(store: Store, medfact: Callable[..., Any], url: str) -> None:
    run = asked(store, "True", limit=30)
    made = report_of(store, store.run(run))
    was = {fact.fact_id for fact in load_bundled("was-true").facts if fact.until}
    here = [fact for fact in store.answers.facts(run) if fact.fact_id in was]
    assert len(here) >= 20
    assert (made.dropped.affirmed.value, made.dropped.affirmed.n) == (1.0, len(here))
    assert (made.dropped.statements.n, made.dropped.denials.n) == (4 * len(here), 4 * len(here))
    assert made.dropped.diagnosis == SAYS_TRUE
    said = json.loads(medfact("report", run, "--json", "--db", url).out)["dropped"]
    assert said["affirmed"]["n"] == len(here)
    told = next(one for one in sections_of(Figures({"m": made}), TERMINAL) if one.title == TITLE)
    words = " ".join(lines_of(told))
    assert "m says “true” to what has been dropped, affirmed or denied. It affirms 100" in words
    assert f"of {len(here)} facts that were true once" in words
    assert "FALSE (test statements)" in str(told)
    rows = [row for row in score_rows(run, "m", made) if row["group"] == "dropped"]
    assert {row["figure"] for row in rows} == {"affirmed", "statements", "denials", "holding"}


def test_one_that_says_false_is_not_called_up_to_date(store: Store) -> None:
    made = report_of(store, store.run(asked(store, "False", limit=20)))
    assert made.dropped.affirmed.value == 0
    assert made.dropped.diagnosis == SAYS_FALSE


def test_other_runs_have_no_such_section(store: Store, tmp_path: Path) -> None:
    run = asked(store, "True", facts=str(write_csv(tmp_path / "facts.csv", make_fact_rows())))
    made = report_of(store, store.run(run))
    assert made.dropped is None
    sections = [one.title for one in sections_of(Figures({"m": made}), REPORT)]
    assert sections
    assert TITLE not in sections


def test_a_facts_card_says_where_of_whom_and_until_when() -> None:
    template = '{% from "macros.html" import fact_line, source %}{{ fact_line(fact) }}{{ source(fact) }}'
    shown = str(environment().from_string(template).render(fact=WAS))
    assert "In Japan, in children, <b><bdi>gout</bdi>" in shown
    assert ", was true until 2004" in shown
    holds = str(environment().from_string(template).render(fact=replace(WAS, positive=True, region="<b>x")))
    assert ", holds until 2004" in holds
    assert "In &lt;b&gt;x, in children, " in holds
    plain = str(environment().from_string(template).render(fact=Fact("gout", "symptoms", "pain")))
    assert 'mf-fact-line"><b><bdi>gout' in plain
    assert "until" not in plain


def test_tables_of_facts_have_the_columns_where_a_fact_fills_them() -> None:
    (row,) = fact_rows([WAS])
    assert (row["until"], row["region"], row["population"]) == ("2004", "Japan", "children")
    assert not {"until", "region", "population"} & next(fact_rows([Fact("gout", "symptoms", "pain")])).keys()


def test_sources_of_what_was_dropped_open_where_they_have_an_identifier() -> None:
    false = [fact for fact in load_bundled("was-true").facts if not fact.positive]
    for fact in false:
        (own, *_) = sources_of(fact)
        assert bool(own.address) is bool(fact.source_id), fact
    first = next(sources_of(fact)[0] for fact in false if fact.tail == "rofecoxib")
    assert first.address == "https://www.federalregister.gov/citation/81-FR-69668"
    women = next(sources_of(fact)[0] for fact in false if fact.head == "combined hormone therapy")
    assert women.address == "https://doi.org/10.1001/jama.288.3.321"
