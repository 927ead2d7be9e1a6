"""False partners of a user's own table: whom they rest on, and what a person says of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

import pytest
from recorded import complete_run

from medfact.cli import main
from medfact.datasets import NOTHING_DECIDED, PartnerDecisions
from medfact.datasets.bundled_knowledge import is_vouched
from medfact.exchange import export_run, import_run
from medfact.facts import Fact
from medfact.results.report import report
from medfact.results.text import report_text
from medfact.runs.board import board_of
from medfact.runs.plan import plan, select_facts
from medfact.runs.start import start, start_again
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.views.report import html_report

SYMPTOMS = {
    "hypothyroidism": ("weight gain", "cold intolerance", "constipation"),
    "hyperthyroidism": ("weight loss", "heat intolerance", "tremor"),
    "asthma": ("wheezing", "chest tightness"),
    "zebra pox": ("stripes", "polydipsia"),
}


def table(path: Path, tag: str = "", **more: str) -> str:
    """A file of these symptoms. tag: behind each condition; more: further columns, whose cells get the row's number."""
    rows = [
        {"head": head + tag, "relation": "symptoms", "tail": tail} | {name: text + str(number) for name, text in more.items()}
        for number, (head, tail) in enumerate((head, tail) for head, tails in SYMPTOMS.items() for tail in tails)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def said(head: str, tail: str, store: Store, confirmed: bool) -> PartnerDecisions:
    """What a store holds once somebody has said this of a partner of the first fact of a head."""
    fact = Fact(head, "symptoms", SYMPTOMS[head][0])
    if confirmed:
        store.decisions.confirm(fact, tail)
    else:
        store.decisions.reject(fact.fact_id, tail, "true", fact)
    return store.decisions.of_partners()


def negatives(file: str, decided: PartnerDecisions = NOTHING_DECIDED, **settings: object) -> list[Fact]:
    chosen = select_facts(RunSpec(model="", facts=file, **settings), decided=decided)  # type: ignore[arg-type]
    return [fact for fact in chosen.test if not fact.positive]


def pairs(facts: Iterable[Fact]) -> set[tuple[str, str]]:
    return {(fact.head.removesuffix(" (disorder)"), fact.tail or "") for fact in facts}


@pytest.mark.parametrize(
    ("head", "relation", "tail", "vouched"),
    [
        ("gout", "therapeutic drugs", "salbutamol", True),  # clinical-core has both, under these names or others
        ("COPD", "therapeutic drugs", "ramipril", True),
        ("heart attack", "symptoms", "polydipsia", True),
        ("asthma", "symptoms", "wheezing", False),  # it is true there
        ("zebra pox", "symptoms", "wheezing", False),  # no set knows the condition
        ("gout", "symptoms", "moonshine", False),  # nor this tail
        ("gout", "symptoms", "salbutamol", False),  # nor this one in the relation
    ],
)
def test_a_bundled_set_vouches_for_what_it_could_have_drawn(head: str, relation: str, tail: str, vouched: bool) -> None:
    assert is_vouched(Fact(head, relation, tail, positive=False), relation) is vouched


def test_only_what_is_drawn_and_nobody_vouches_for_is_presumed(tmp_path: Path) -> None:
    drawn = negatives(table(tmp_path / "own.csv"), shots=0)
    assert len(drawn) == 10
    assert [fact for fact in drawn if fact.head == "zebra pox" and not fact.presumed] == []
    assert {fact.presumed for fact in drawn if is_vouched(fact, "symptoms")} == {None}
    assert {fact.presumed for fact in drawn if not is_vouched(fact, "symptoms")} == {True}
    stated = tmp_path / "stated.csv"
    stated.write_text("head,relation,tail,positive\nzebra pox,symptoms,stripes,true\nzebra pox,symptoms,rust,false\n")
    assert [(fact.tail, fact.presumed) for fact in negatives(str(stated), shots=0)] == [("rust", None)]
    assert not any(fact.presumed for fact in select_facts(RunSpec(model="", limit=50)).test)


def test_a_rejected_partner_never_comes_back(tmp_path: Path) -> None:
    """Whatever the seed, the method and the number of partners, for sister facts, and in a file with other ids and tags."""
    store, pair = Store(f"sqlite:///{tmp_path / 'runs.db'}"), ("zebra pox", "weight gain")
    files = [table(tmp_path / "own.csv"), table(tmp_path / "other.csv", " (disorder)", tail_id="T", source="me")]
    settings = [
        {"seed": seed, "shots": 0, **more}
        for seed in range(4)
        for more in ({}, {"negatives": 3}, {"protocol": "mkj"}, {"negative_difficulty": "published"})
    ]
    assert all(any(pair in pairs(negatives(file, **one)) for one in settings) for file in files)
    decided = said(*pair, store, confirmed=False)
    for file in files:
        for one in settings:
            drawn = negatives(file, decided, **one)
            assert pair not in pairs(drawn)
            assert len(drawn) >= 10


def test_a_confirmed_partner_is_no_longer_presumed(tmp_path: Path) -> None:
    file, store = table(tmp_path / "own.csv"), Store(f"sqlite:///{tmp_path / 'runs.db'}")
    before = next(fact for fact in negatives(file, shots=0) if fact.head == "zebra pox" and fact.presumed)
    decided = said("zebra pox", before.tail or "", store, confirmed=True)
    after = next(fact for fact in negatives(file, decided, shots=0) if fact.fact_id == before.fact_id)
    assert (after.tail, after.presumed) == (before.tail, None)
    tagged = negatives(table(tmp_path / "other.csv", " (disorder)"), decided, shots=0)
    assert not any(fact.presumed for fact in tagged if fact.head.startswith("zebra pox") and fact.tail == before.tail)
    decided = said("zebra pox", before.tail or "", store, confirmed=False)  # a change of mind
    assert ("zebra pox", before.tail) not in pairs(negatives(file, decided, shots=0))
    store.decisions.take_back(Fact("zebra pox", "symptoms", "stripes").fact_id, before.tail or "")
    assert store.decisions.of_partners() == NOTHING_DECIDED


def test_a_run_that_is_repeated_leaves_rejected_partners_out(tmp_path: Path) -> None:
    file, store = table(tmp_path / "own.csv"), Store(f"sqlite:///{tmp_path / 'runs.db'}")
    first = start(RunSpec(model="baseline:always-true", facts=file, shots=0), store)
    asked = [fact for fact in store.answers.facts(first) if fact.presumed]
    rejected = next(fact for fact in asked if fact.head == "hypothyroidism")
    confirmed = next(fact for fact in asked if fact.head == "zebra pox")
    store.decisions.reject(rejected.negative_of or "", rejected.tail or "", "", rejected)
    store.decisions.confirm(confirmed, confirmed.tail or "")
    again = start_again(first, store)
    after = {fact.fact_id: fact for fact in store.answers.facts(again)}
    assert len(store.answers.facts(first)) == len(after) + 2
    assert {rejected.fact_id, rejected.negative_of}.isdisjoint(after)
    assert after[confirmed.fact_id].presumed is None
    assert "Left out: 1 of its pairs, whose false partner you have rejected since." in store.run(again).notes


def test_reports_and_tables_say_how_many_nobody_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = table(tmp_path / "own.csv"), Store(f"sqlite:///{tmp_path / 'runs.db'}")
    spec = RunSpec(model="baseline:always-true", facts=file, shots=0)
    run = complete_run(spec, store)
    presumed = sum(bool(fact.presumed) for fact in plan(spec).facts)
    words = f"Nobody has checked {presumed} of 10 false facts."
    assert 4 <= presumed < 10
    packed = io.BytesIO()
    export_run(store, run, packed)
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    import_run(other, io.BytesIO(packed.getvalue()), "run.gz")
    for where in (store, other):
        made = report(where.run(run), board_of(where, run).records(), where)
        assert (made.unchecked.presumed, made.unchecked.false_facts) == (presumed, 10)
        assert f"note: {words}" in report_text(made)
    page = html_report(store, [run], "2026-11-30T02:00:00+00:00")
    assert words in page
    assert "PRESUMED FALSE (test statement)" in page
    for command in ("facts", "statements"):
        assert main([command, "--facts", file, "--shots", "0", "-o", str(tmp_path / "rows.csv"), "--db", store.url]) == 0
        rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
        assert sum(row["presumed"] == "true" for row in rows) == presumed * (8 if command == "statements" else 1)
        assert f"note: {words}" in capsys.readouterr().err
    assert main(["facts", "--limit", "5", "-o", str(tmp_path / "rows.csv")]) == 0
    assert "presumed" not in (tmp_path / "rows.csv").read_text().partition("\n")[0]
