"""Facts that most models miss: their order, their words, and runs that do not count."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel, spread_signs
from small_facts import make_fact_rows, write_csv

from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.results.compare import sides_of
from medfact.results.fact_table import OverModels, over_models
from medfact.results.sections import SECTIONS, Beside, Figures
from medfact.results.text import lines_of
from medfact.reviews.queues import contradicted
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import Store

SHARED, DRUG = ("disease07", "sign07"), ("disease01", "drug01")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "facts.csv", make_fact_rows(30))


def run_of(
    store: Store, file: Path, model: str, mistakes: Collection[tuple[str, str]], signs: str = "--------", **settings: Any
) -> str:
    """A run of a model that knows every fact but these (head, tail), whose answers have these signs."""
    run = start(RunSpec(model=model, facts=str(file), shots=0, **settings), store)
    statements = store.answers.asked(run)
    variants = [key for key in IMPLICATIONS if any(item.statement.variant == key for item in statements)]
    facts = {(item.statement.fact.head, item.statement.fact.tail or "") for item in statements}
    signs_of = {fact: signs[: len(variants)] if fact in mistakes else "+" * len(variants) for fact in facts}
    list(answer(run, store, load=ScriptedModel.for_run(run, store, spread_signs(signs_of, variants)).load))
    return run


def lines_over(missed: OverModels) -> list[str]:
    section = SECTIONS["over models"].make(Figures({}, beside=Beside({}, (), (), (), missed, ())))
    assert section is not None
    return list(lines_of(section))


def test_facts_are_sorted_by_the_share_of_models_that_miss_them(store: Store, file: Path, medfact: Callable[..., Any]) -> None:
    """Both models deny a fact, and one denies another. A baseline that always says True changes nothing."""
    first, second = run_of(store, file, "one", {SHARED}), run_of(store, file, "two", {SHARED, DRUG})
    always = start(RunSpec(model="baseline:always-true", facts=str(file), shots=0), store)
    list(answer(always, store))
    missed = over_models(sides_of(store, [first, second, always]), store)
    assert missed.models == ("one", "two")
    assert [reason for _, reason in missed.left_out] == ["a baseline knows no medicine"]
    rows = [(row.fact.head, row.missed, row.models, row.right, row.answers, row.contradicted) for row in missed.hardest]
    assert rows == [("disease07", 2, 2, 0, 16, 8), ("disease01", 1, 2, 8, 16, 0)]
    assert (missed.mastered_by_none, missed.contradicted) == (1, 1)
    lines = lines_over(missed)
    words = "missed by 2 of 2 models, 0 of 16 answers right; both models say the opposite of the label in all eight ways"
    assert f"  [true] disease07 | symptoms | sign07: {words}" in lines
    assert any("On 1 fact all models say the opposite of the label" in line for line in lines)
    outcome = medfact("compare", first, second, always, "--json", "--db", store.url)
    assert outcome.code == 0
    assert '"missed": 2, "models": 2, "right": 0, "of": 16' in outcome.out


def test_the_true_fact_stands_beside_a_false_one(store: Store, file: Path) -> None:
    runs = [run_of(store, file, "one", ())]
    fact = next(item.statement.fact for item in store.answers.asked(runs[0]) if not item.statement.fact.positive)
    runs.append(run_of(store, file, "two", {(fact.head, fact.tail or "")}, "--++++++"))
    row = over_models(sides_of(store, runs), store).hardest[0]
    true = next(fact_ for run in runs for fact_ in store.answers.facts(run) if fact_.fact_id == fact.negative_of)
    assert row.describe() == f"missed by 1 of 2 models, 14 of 16 answers right; true: {true.tail}"
    assert any("FALSE (test statement)] " in line for line in lines_over(over_models(sides_of(store, runs), store)))


def test_a_failed_call_is_no_wrong_answer(store: Store, file: Path) -> None:
    """Two models deny two facts; in a third, one call about each of these failed, so nothing is known of it."""
    one, two = (run_of(store, file, name, {SHARED, DRUG}) for name in ("one", "two"))
    failing = run_of(store, file, "2", {SHARED, DRUG}, "!-------")
    before, missed = (over_models(sides_of(store, [one, other]), store) for other in (two, failing))
    assert (before.whole, before.mastered_by_none) == (before.facts, 2)
    assert (missed.facts, missed.whole, missed.mastered_by_none, missed.hardest) == (before.facts, before.facts - 2, 0, ())
    assert missed.record()["answered_in_every_way"] == missed.whole


def test_one_model_twice_counts_once(store: Store, file: Path) -> None:
    missed = over_models(sides_of(store, [run_of(store, file, "one", {SHARED}) for _ in range(2)]), store)
    assert (len(missed.models), missed.contradicted, missed.hardest) == (1, 0, ())
    assert [reason for _, reason in missed.left_out] == ["its model is here already, and counts once"]


def test_without_denied_statements_no_label_is_contradicted(store: Store, file: Path, tmp_path: Path) -> None:
    """Two models that deny a fact, asked plainly alone; and two runs that share no fact."""
    runs = [run_of(store, file, name, {SHARED}, pool="origin") for name in ("one", "two")]
    missed = over_models(sides_of(store, runs), store)
    assert (missed.hardest[0].missed, missed.contradicted) == (2, 0)
    other = write_csv(tmp_path / "b.csv", [{**row, "head": f"other {row['head']}"} for row in make_fact_rows(30)])
    apart = over_models(sides_of(store, [runs[0], run_of(store, other, "three", ())]), store)
    assert (apart.facts, apart.hardest) == (0, ())
    assert lines_over(apart)[-1] == "  No fact was answered by all of them, so nothing can be said of any label."


def test_labels_that_all_models_contradict_come_first_in_review() -> None:
    """Fact 12 is wrong in all statements of both models."""
    facts = [Fact(f"disease {n // 2}", "symptoms", f"sign {n}", positive=n % 2 == 0) for n in range(20)]
    by_fact = {fact.fact_id: list(load_pool("medfact").statements([fact])) for fact in facts}
    replies = {s.statement_id: s.label != (fact is facts[12]) for fact in facts for s in by_fact[fact.fact_id]}
    assert contradicted({"one": replies, "two": replies}, by_fact) == {facts[12].fact_id: (2, 8)}
    assert contradicted({"one": replies}, by_fact) == {}
    affirming = {s.statement_id: True for statements in by_fact.values() for s in statements}
    assert contradicted({"one": replies, "affirming": affirming}, by_fact) == {}
