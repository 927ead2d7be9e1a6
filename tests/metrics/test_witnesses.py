"""Labels that all models contradict: who is a witness, who is not, and what comes first in review."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rasch_runs import run_of
from scripted import Scripted
from small_facts import rows_of_facts, write_csv

from medfact.facts import Fact
from medfact.metrics.witnesses import AFFIRMS, DENIES, NEITHER, against_labels, belief
from medfact.prototypes import load_pool
from medfact.results.compare import sides_of
from medfact.results.over_models import OverModels, hardest_in_words, over_models, suspects_in_words
from medfact.results.sections import SECTIONS, Beside, Figures
from medfact.results.text import lines_of
from medfact.reviews.queues import unanimous
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import VARIANTS
from medfact.store import Store

FACTS = 80
HEADS = np.repeat(np.arange(40), 2)
POSITIVE = np.tile([True, False], 40)
THERE = np.ones((2, FACTS), dtype=bool)


def knows(*wrong: int) -> np.ndarray[Any, Any]:
    """What a model says of each fact that believes the opposite of these alone."""
    said = POSITIVE.astype(np.int64)
    said[list(wrong)] = 1 - said[list(wrong)]
    return said


def test_a_belief_takes_all_answers_and_statements_of_both_kinds() -> None:
    """Facts: all right (true, false), all wrong (true, false), seven of eight, one unreadable, no false statement asked."""
    positive = np.array([True, False, True, False, True, True, True])
    right, wrong = np.array([8, 8, 0, 0, 7, 7, 4]), np.array([0, 0, 8, 8, 1, 0, 0])
    asked_true, asked_false = np.array([4, 4, 4, 4, 4, 4, 4]), np.array([4, 4, 4, 4, 4, 4, 0])
    said = belief(right, wrong, asked_true, asked_false, positive)
    assert said.tolist() == [AFFIRMS, DENIES, DENIES, AFFIRMS, NEITHER, NEITHER, NEITHER]


def test_only_what_all_witnesses_contradict_is_suspect() -> None:
    found = against_labels(np.array([knows(3, 10, 21), knows(10, 21, 40)]), THERE, POSITIVE, HEADS)
    assert sorted(found.facts.tolist()) == [10, 21]
    assert found.how_many.tolist() == [2, 2]
    assert found.witnesses.all()


def test_who_says_true_unless_denied_is_no_witness() -> None:
    """It affirms every fact, in all eight ways: one other is too few, and two others are heard without it."""
    cue = np.ones(FACTS, dtype=np.int64)
    assert not len(against_labels(np.array([knows(11), cue]), THERE, POSITIVE, HEADS).facts)
    contrary = np.zeros(FACTS, dtype=np.int64)
    three = against_labels(np.array([knows(10, 11), knows(10, 11), contrary]), np.ones((3, FACTS), dtype=bool), POSITIVE, HEADS)
    assert sorted(three.facts.tolist()) == [10, 11]
    assert three.witnesses.all(axis=1).tolist() == [True, True, False]


def test_models_that_guess_whole_facts_are_no_witnesses() -> None:
    """Coins of one bit a fact contradict a quarter of the labels together; hardly any of 200 such pairs is evidence."""
    claimed = 0
    for seed in range(200):
        coins = np.random.default_rng(seed).integers(0, 2, (2, FACTS))
        claimed += bool(len(against_labels(coins, THERE, POSITIVE, HEADS).facts))
    assert claimed <= 4


def test_under_ten_heads_nobody_is_a_witness() -> None:
    assert not len(against_labels(np.array([knows(10), knows(10)]), THERE, POSITIVE, HEADS // 5).facts)


def test_who_was_not_asked_is_not_needed_and_who_is_unsure_is() -> None:
    asked = np.ones((3, FACTS), dtype=bool)
    asked[2, 10] = False
    unsure = knows()
    unsure[[10, 21]] = NEITHER
    found = against_labels(np.array([knows(10, 21), knows(10, 21), unsure]), asked, POSITIVE, HEADS)
    assert found.facts.tolist() == [10]


def test_two_runs_put_the_suspect_first(store: Store, tmp_path: Path, medfact: Callable[..., Any]) -> None:
    """Both models have one true fact the wrong way round, one another too. A run that always says True changes nothing."""
    file = write_csv(tmp_path / "facts.csv", rows_of_facts(30))
    shared, own = ("disease07", "sign07"), ("disease01", "drug01")
    first, second = run_of(store, file, "one", {shared}), run_of(store, file, "two", {shared, own})
    always = start(RunSpec(model="baseline:always-true", facts=str(file), shots=0), store)
    list(answer(always, store))
    found = over_models(sides_of(store, [first, second, always]), store)
    assert found.models == ("one", "two")
    assert [reason for _, reason in found.left_out] == ["a baseline knows no medicine"]
    assert [(one.fact.head, one.fact.tail, one.models, one.ways) for one in found.suspects] == [(*shared, 2, 8)]
    assert found.suspects[0].times > 100
    assert [(one.fact.head, one.right, one.of) for one in found.hardest] == [("disease07", 0, 16), ("disease01", 8, 16)]
    assert found.rasch is None
    assert found.mastered_by_none == 1
    assert "On 1 fact all models say the opposite of the label" in suspects_in_words(found)
    lines = lines_over(found)
    assert "  [true] disease07 | symptoms | sign07: both models say the opposite of the label in all eight ways" in lines
    told = medfact("compare", first, second, always, "--json", "--db", store.url)
    assert told.code == 0
    assert '"against_label": [{"fact_id"' in told.out


def test_a_failed_call_is_no_wrong_answer(store: Store, tmp_path: Path) -> None:
    """Two models believe the opposite of two facts; a call about one of these failed, so nothing is known of it."""
    file = write_csv(tmp_path / "facts.csv", rows_of_facts(30))
    missed = {("disease07", "sign07"), ("disease01", "drug01")}
    one, two, failing = (run_of(store, file, *of) for of in (("one", missed), ("two", missed), ("2", missed, {"sign07"})))
    before, found = (over_models(sides_of(store, [one, other]), store) for other in (two, failing))
    assert (before.whole, before.mastered_by_none) == (before.facts, 2)
    assert (found.facts, found.whole, found.mastered_by_none) == (before.facts, before.facts - 1, 1)
    assert f"No model has all answers right on 1 of {found.whole} facts answered in every way." in hardest_in_words(found)
    assert found.record()["answered_in_every_way"] == found.whole


def test_one_model_twice_is_one_witness(store: Store, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "facts.csv", rows_of_facts(30))
    runs = [run_of(store, file, "one", {("disease07", "sign07")}) for _ in range(2)]
    found = over_models(sides_of(store, runs), store)
    assert len(found.models) == 1
    assert not found.suspects
    assert [reason for _, reason in found.left_out] == ["its model is here already, and counts once"]


def lines_over(found: OverModels) -> list[str]:
    """What all models show, as a terminal says it."""
    section = SECTIONS["over models"].make(Figures({}, beside=Beside({}, (), (), (), found, ())))
    assert section is not None
    return list(lines_of(section))


def test_five_models_have_a_rasch_model(store: Store, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "facts.csv", rows_of_facts(30))
    bad = {("disease07", "sign07"), ("disease01", "drug01")}
    runs = [run_of(store, file, f"model {n}", bad if n else set()) for n in range(5)]
    found = over_models(sides_of(store, runs), store)
    assert found.rasch is not None
    assert {one.fact.head for one in found.hardest[:2]} == {"disease07", "disease01"}
    assert found.hardest[0].middling is not None
    assert any("an average model would have" in line for line in lines_over(found))


def test_what_all_contradict_comes_first_in_review() -> None:
    """Fact 12 of 80 is wrong in all statements of both models: one fact alone, with how many models and in how many ways."""
    facts = [Fact(f"disease {n // 2}", "symptoms", f"sign {n}", positive=n % 2 == 0) for n in range(FACTS)]
    by_fact = {fact.fact_id: list(load_pool("medfact").statements([fact])) for fact in facts}
    said = {one.statement_id: one.label != (fact is facts[12]) for fact in facts for one in by_fact[fact.fact_id]}
    assert unanimous({"one": said, "two": said}, by_fact) == {facts[12].fact_id: (2, 8)}
    assert unanimous({"one": said}, by_fact) == {}
    cue = {one.statement_id: not VARIANTS[one.variant].negated for of in by_fact.values() for one in of}
    assert unanimous({"one": said, "cue": cue}, by_fact) == {}


def test_without_denied_statements_nothing_is_said_of_labels(store: Store, tmp_path: Path) -> None:
    """Two models that are always wrong, asked plainly alone; and two runs that share no fact."""
    file = write_csv(tmp_path / "facts.csv", rows_of_facts(30))
    runs = [asked_plainly(store, file, name) for name in ("one", "two")]
    found = over_models(sides_of(store, runs), store)
    assert not found.suspects
    assert "Labels cannot be judged here" in suspects_in_words(found)
    rows = [{**row, "head": f"other {row['head']}"} for row in rows_of_facts(30)]
    apart = over_models(sides_of(store, [runs[0], asked_plainly(store, write_csv(tmp_path / "b.csv", rows), "three")]), store)
    assert (apart.facts, apart.hardest, apart.pairs) == (0, (), ())
    lines = lines_over(apart)
    assert lines[-1] == "  No fact was answered by all of them, so nothing can be said of any label."
    assert not any("not shown to know" in line for line in lines)


def asked_plainly(store: Store, file: Path, model: str) -> str:
    run = start(RunSpec(model=model, facts=str(file), pool="origin", shots=0), store)
    signs = {
        (item.statement.fact.head, item.statement.fact.tail or "", item.statement.variant): "-"
        for item in store.answers.asked(run)
    }
    list(answer(run, store, load=Scripted.of(run, store, signs).load))
    return run
