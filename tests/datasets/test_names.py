"""The index of names: what a name calls, what it may mean, and which false partners that keeps from users' tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_facts import make_facts, write_csv

from medfact.datasets import grouping, load
from medfact.datasets.bundled import lay_names, rows_of
from medfact.datasets.names import called, is_common, matching_facts, may_mean, names_of
from medfact.datasets.pairing import PartnerDecisions
from medfact.facts import Fact, KnowledgeBase
from medfact.spec import RunSpec

SYMPTOMS = "symptoms"


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("COPD", "chronic obstructive pulmonary disease"),
        ("CKD (disorder)", "chronic kidney disease"),
        ("PE", "pulmonary embolism"),
        ("iron deficiency anaemia", "iron deficiency anemia"),
        ("dyspnoea", "dyspnea"),
        ("wheeze", "wheezing"),
        ("acute gout flare", "gout"),
        ("Parkinson's disease", "parkinson disease"),
        ("heart attack", "myocardial infarction"),
        ("neumonía", "pneumonia"),
        ("Herzinsuffizienz", "heart failure"),
        ("asthme", "asthma"),
        ("哮喘", "asthma"),
        ("type 2 diabetes", "type 2 diabetes mellitus"),
        ("Diabetes mellitus, type 2", "type 2 diabetes mellitus"),
    ],
)
def test_a_name_calls_a_thing_of_the_bundled_sets(name: str, thing: str) -> None:
    assert thing in called(name)


def test_a_name_may_mean_something_broader_or_narrower_but_nothing_beside() -> None:
    assert "cough" in may_mean("nocturnal cough")
    assert "community acquired pneumonia" in may_mean("pneumonia")
    assert called("zoonotic frog fever") == frozenset()
    assert "loin pain" not in may_mean("pleuritic pain"), "both are pains, and neither is the other"


def test_everyday_names_find_what_they_call() -> None:
    assert "chronic obstructive pulmonary disease" in names_of("COPD")
    lost = [lay for lay, name in lay_names() if not called(name) & called(lay)]
    assert lost == []


def test_common_tails_are_common_in_relations_that_come_close_to_theirs() -> None:
    assert all(is_common(name, SYMPTOMS) for name in ("fatigue", "Müdigkeit"))
    assert is_common("nocturnal cough", SYMPTOMS), "each kind of cough"
    assert not is_common("loin pain", SYMPTOMS), "a pain, but not each kind of pain"
    assert not is_common("depression", "may treat"), "a drug of which nothing is known does not treat it for that"
    assert all(row["relation"] and row["why"] for row in rows_of("common_tails.csv"))


def partners(path: Path, seeds: int = 12) -> set[tuple[str, str]]:
    """Head and tail of all false partners of a table's facts, in some draws."""
    collection = load(RunSpec("", facts=str(path)))
    found: set[tuple[str, str]] = set()
    for seed in range(seeds):
        group = grouping(collection, 1, seed, "near")
        found |= {(one.head, one.tail or "") for fact in collection.facts for one in group(fact) if not one.positive}
    return found


def table(tmp_path: Path, *pairs: tuple[str, str], relation: str = SYMPTOMS) -> Path:
    return write_csv(tmp_path / "mine.csv", [{"head": a, "relation": relation, "tail": b} for a, b in pairs])


def test_what_the_bundled_sets_know_under_another_name_is_no_partner(tmp_path: Path) -> None:
    """By clinical-core, dyspnea is true of chronic obstructive pulmonary disease, and cough of influenza."""
    others = (("gout", "tophi"), ("asthma", "dyspnoea"), ("croup", "dry cough"))
    path = table(tmp_path, ("COPD", "barrel chest"), ("flu", "sneezing"), *others)
    found = partners(path)
    assert not found & {("COPD", "dyspnoea"), ("COPD", "dry cough"), ("flu", "dry cough")}
    assert {head for head, _ in found} >= {"COPD", "flu"}, "others are drawn"


def test_the_tables_own_facts_count_under_other_names_too(tmp_path: Path) -> None:
    path = table(
        tmp_path, ("COPD", "barrel chest"), ("chronic obstructive pulmonary disease", "pursed lips"), ("gout", "tophi")
    )
    assert not partners(path) & {("COPD", "pursed lips"), ("chronic obstructive pulmonary disease", "barrel chest")}


def test_a_common_finding_is_no_partner_of_a_condition_that_nobody_knows(tmp_path: Path) -> None:
    """ "Marsh frog disease" is made up: nothing says whether it tires. Of gout, the bundled sets list what is true."""
    path = table(
        tmp_path, ("marsh frog disease", "blue tongue"), ("flu", "fatigue"), ("gout", "tophi"), ("croup", "nocturnal cough")
    )
    of_unknown = {tail for head, tail in partners(path) if head == "marsh frog disease"}
    assert of_unknown == {"tophi"}


def test_a_fact_without_a_partner_in_its_table_gets_one_that_a_bundled_set_would_draw(tmp_path: Path) -> None:
    path = table(tmp_path, ("gout", "tophi"))
    collection = load(RunSpec("", facts=str(path)))
    group = grouping(collection, 2, 0, "near", PartnerDecisions(frozenset({("gout", "fever")})))
    fact, *false = group(collection.facts[0])
    assert fact == Fact("gout", SYMPTOMS, "tophi")
    assert [(one.negative_of, one.k) for one in false] == [(fact.fact_id, 1), (fact.fact_id, 2)]
    assert len({one.tail for one in false} | {"tophi", "fever"}) == 4
    nobody = load(RunSpec("", facts=str(table(tmp_path, ("marsh frog disease", "tophi")))))
    assert len(grouping(nobody, 1, 0, "near")(nobody.facts[0])) == 1


# ------------------------------------------------------------------------------------------------ search

ROWS = [
    ("giant cell arteritis", "therapeutic drugs", "prednisone"),
    ("giant cell arteritis", "symptoms", "jaw claudication"),
    ("asthma", "therapeutic drugs", "prednisone"),
    ("myocardial infarction", "symptoms", "chest pain"),
]
FACTS = make_facts([{"head": head, "relation": relation, "tail": tail} for head, relation, tail in ROWS])


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", [0, 1, 2, 3]),
        ("giant cell arteritis prednisone", [0]),
        ("  PREDNISONE drugs giant-cell ", [0]),
        ("arteritis", [0, 1]),
        ("prednisone", [0, 2]),
        ("prednisone pain", []),
        ("art pred", [0]),  # words may be begun
    ],
)
def test_all_words_must_occur_in_any_order(search: str, found: list[int]) -> None:
    for known in (None, KnowledgeBase(FACTS)):
        assert list(matching_facts(FACTS, search, known)) == [FACTS[number] for number in found]


def test_words_are_found_in_other_and_in_everyday_names_too() -> None:
    known = KnowledgeBase(FACTS, synonyms=(("giant cell arteritis", "temporal arteritis"),))
    assert list(matching_facts(FACTS, "temporal prednisone", known)) == [FACTS[0]]
    assert list(matching_facts(FACTS, "heart attack pain", known)) == [FACTS[3]]
    assert list(matching_facts(FACTS, "temporal prednisone")) == []
