"""Facts are kept for demonstrations only where demonstrations are shown; what the page says of both is what happens."""

import re
from pathlib import Path
from typing import Any

import pytest
from small_facts import write_csv

from medfact.runs.plan import plan, select_facts
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS
from medfact.views.fragments import render
from medfact.web.evaluate.facts_step import relation_counts
from medfact.web.evaluate.form import Setup, shots_of
from medfact.web.evaluate.fragments import _method
from medfact.web.evaluate.inputs import by_method

HEADS, ASIDE = 12, 5
"""Each disease has one symptom."""


@pytest.fixture
def twelve(tmp_path: Path) -> Path:
    rows = [{"head": f"disease {n}", "relation": "symptoms", "tail": f"sign {n}"} for n in range(HEADS)]
    return write_csv(tmp_path / "twelve.csv", rows)


def pairs(facts: Path, **settings: Any) -> list[str]:
    """The diseases under test."""
    asked = plan(RunSpec(model=settings.pop("model", "m"), facts=str(facts), **settings))
    return [fact.head for fact in asked.facts if fact.positive]


@pytest.mark.parametrize("protocol", ["medfact", "pretexttrans", "tpeval"])
def test_without_demonstrations_twelve_facts_are_twelve_pairs(twelve: Path, protocol: str) -> None:
    assert len(pairs(twelve, protocol=protocol, shots=0, limit=60)) == HEADS
    assert len(pairs(twelve, protocol=protocol, shots=0, per_relation=60)) == HEADS
    assert len(pairs(twelve, protocol=protocol, shots=5, limit=60)) == HEADS - ASIDE


def test_as_far_as_they_reach_the_same_facts_are_tested_with_and_without_demonstrations(twelve: Path) -> None:
    five = pairs(twelve, shots=5, limit=60)
    assert pairs(twelve, shots=0, limit=60)[: HEADS - ASIDE] == five
    assert pairs(twelve, shots=0, limit=4) == five[:4]
    assert sorted(pairs(twelve, shots=0)) == sorted(five)  # without a limit
    assert len(set(pairs(twelve, shots=0, limit=10))) == 10
    assert pairs(twelve, shots=0, per_relation=9) == pairs(twelve, shots=0, limit=9)


def test_of_how_many_facts_those_under_test_are_a_draw(twelve: Path) -> None:
    """7 are drawn of the 7 that come first, 8 of all 12."""
    drawn_from = {n: plan(RunSpec(model="m", facts=str(twelve), shots=0, limit=n)).population["symptoms"] for n in (7, 8, 12)}
    assert drawn_from == {7: 7, 8: 12, 12: 12}


def test_demonstrations_of_a_file_keep_no_facts_aside(twelve: Path, tmp_path: Path) -> None:
    written = tmp_path / "shown.csv"
    rows = [(variant, f"Sentence {label}.", label) for variant in VARIANTS for label in ("true", "false")]
    written.write_text("relation,variant,statement,label\n" + "".join(f"symptoms,{v},{s},{one}\n" for v, s, one in rows))
    assert len(pairs(twelve, demonstrations=str(written), limit=60)) == HEADS


def test_a_reader_of_words_alone_keeps_the_facts_that_it_sets_its_threshold_on(twelve: Path) -> None:
    assert len(pairs(twelve, model="baseline:tail", shots=0, limit=60)) == HEADS - ASIDE
    assert select_facts(RunSpec("baseline:tail", facts=str(twelve), shots=0, limit=60)).shots


def test_a_false_fact_of_a_head_that_is_tested_last_comes_along(tmp_path: Path) -> None:
    rows = [(f"disease {n}", "symptoms", f"sign {n}", "true") for n in range(HEADS)]
    rows += [(f"disease {n}", "symptoms", "no such sign", "false") for n in range(HEADS)]
    file = tmp_path / "both.csv"
    file.write_text("head,relation,tail,positive\n" + "".join(",".join(row) + "\n" for row in rows))
    asked = plan(RunSpec("m", facts=str(file), shots=0, limit=60))
    assert sum(fact.tail == "no such sign" for fact in asked.facts) == HEADS


def test_the_table_of_relations_keeps_nothing_for_demonstrations_that_are_not_shown(twelve: Path) -> None:
    for shots, aside in ((0, 0), (5, ASIDE)):
        (row,), *_ = relation_counts(RunSpec("", facts=str(twelve), shots=shots, limit=HEADS))
        assert (row.facts, row.tested, row.aside, row.out) == (HEADS, HEADS - aside, aside, 0)
        none = dict.fromkeys(("own", "may_drop", "drafts", "studio", "reviewed", "confirmed", "one_tail", "sourced"), "")
        lists = {"relations": [row], "notes": [], "alone": [], "problems": [], "more_problems": 0, "rows_with_problems": 0}
        lists |= {"unknown": [], "renamed": {}, "turned": [], "tested": HEADS, "stated": 0}
        drawn = str(render("facts_in_use", name="twelve.csv", facts=HEADS, **none, **lists))
        assert ("kept for worked examples" in drawn) == (aside > 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_said_of_demonstrations_is_what_a_run_has(protocol: str) -> None:
    words = {0: "no worked examples", 5: "5 worked examples"}
    for chosen in (-1, 0, 5):
        setup = Setup(protocol=protocol, shots=chosen)
        shown = plan(RunSpec("m", protocol=protocol, limit=2, shots=setup.demonstrations)).shots
        assert f"As set here: {words[shown]}" in _method(setup)
    usual = plan(RunSpec("m", protocol=protocol, limit=2, shots=Setup(protocol=protocol).demonstrations)).shots
    said = next(part for part in re.split(r", (?=\d)", by_method(shots_of)) if PROTOCOLS[protocol].title in part)
    assert said.startswith(f"{usual} with ")
