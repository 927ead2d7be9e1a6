"""The bundled collection: what its cards promise, counted."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from bundled_sets import SEEDS, draw_negatives_by_fact, load_card, load_rows

from medfact.datasets import bundled_names, load_bundled, load_file
from medfact.facts import Fact
from medfact.prototypes import load_pool


def positive(name: str) -> list[Fact]:
    return [fact for fact in load_bundled(name).facts if fact.positive]


def test_biomedical_core_has_at_least_40_heads_for_each_of_the_17_relations() -> None:
    heads: defaultdict[str, set[str]] = defaultdict(set)
    for fact in positive("biomedical-core"):
        heads[fact.relation].add(fact.head)
    assert set(heads) == set(load_pool("pretexttrans-medlama").relations)
    assert min(map(len, heads.values())) >= 40


def test_not_indicated_has_its_falsehoods_with_their_sources() -> None:
    false = [fact for fact in load_bundled("not-indicated").facts if not fact.positive]
    assert len(false) == 500
    assert all(fact.source for fact in false)
    treats = {(fact.head, fact.tail) for name in bundled_names() for fact in positive(name)}
    assert not treats & {(fact.head, fact.tail) for fact in false}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", bundled_names())
def test_every_fact_has_a_false_partner_of_its_kind_that_no_table_holds_true(name: str, seed: int) -> None:
    tables = [*load_rows(name), *load_rows(name, ".also-true")]
    true = {(row["head"], tail) for row in tables if row.get("positive", "true") == "true" for tail in row["tail"].split(" | ")}
    true |= {(tail, head) for head, tail in true if name in ("safety-core", "clinical-relations")}
    of_file = {fact.fact_id for fact in load_bundled(name).facts}
    for fact, negatives in draw_negatives_by_fact(name, seed):
        if fact.positive and of_file.isdisjoint(negative.fact_id for negative in negatives):
            assert len(negatives) == 1 or name == "not-indicated"
            assert all((negative.head, negative.tail) not in true for negative in negatives)
            assert {(negative.relation, negative.tail_type) for negative in negatives} <= {(fact.relation, fact.tail_type)}


TABLES = {
    "clinical-core": ("symptoms", "affected sites", "therapeutic drugs", "surgical procedures"),
    "core-medicine": ("symptoms", "affected sites", "therapeutic drugs", "surgical procedures"),
    "safety-core": ("contraindicated in", "must not be combined with", "contraindicated vaccines"),
    "clinical-relations": (
        "caused by", "diagnosed by", "risk factors", "adverse effects", "may prevent", "first choice for",
        "drugs used in pregnancy",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_table_of_a_card_counts_what_the_files_hold(name: str) -> None:
    card, facts, also = load_card(name), load_rows(name), Counter[str]()
    for row in load_rows(name, ".also-true"):
        also[row["relation"]] += len(row["tail"].split(" | "))
    for relation in TABLES[name]:
        own = [row for row in facts if row["relation"] == relation]
        heads, tails = ({row[end] for row in own} for end in ("head", "tail"))
        assert f"| {relation} | {len(own):,} | {len(heads)} | {len(tails)} | {also[relation]:,} |" in card
    assert f"| in all | {len(facts):,} | {len({row['head'] for row in facts})} | | {also.total():,} |" in card


@pytest.mark.parametrize("name", bundled_names())
def test_every_data_set_has_a_card(name: str) -> None:
    assert load_bundled(name).problems == ()
    assert re.search(r"No (?:clinician|specialist)(?: of this project)? has reviewed it", load_card(name))


def test_most_facts_have_a_source_that_is_not_ourselves() -> None:
    facts = [fact for name in bundled_names() for fact in load_bundled(name).facts]
    assert all(fact.source for fact in facts)
    ours = sum("editors" in (fact.source or "") for fact in facts)
    assert ours < len(facts) / 2


def test_diseases_that_a_clinician_would_miss_are_there() -> None:
    heads = {fact.head for fact in positive("clinical-core")}
    assert heads >= {
        "sepsis",
        "anaphylaxis",
        "COVID-19",
        "diabetic ketoacidosis",
        "acute kidney injury",
        "hip fracture",
        "delirium",
    }
    assert heads >= {"alcohol use disorder", "opioid overdose", "dengue", "rotator cuff tear", "ectopic pregnancy"}


def test_a_relation_of_a_file_is_given_the_name_of_a_known_one(tmp_path: Path) -> None:
    """The ids are those of the facts under that name; other relations stay."""
    (tmp_path / "own.csv").write_text("head,relation,tail\ngout,Shows as,podagra\nflu,causes,fever\n", encoding="utf-8")
    (tmp_path / "named.csv").write_text(
        "condition,relation,finding\ngout,symptoms,podagra\nflu,causes,fever\n", encoding="utf-8"
    )
    renamed = load_file(tmp_path / "own.csv", {"relation:shows as": "=symptoms"})
    assert [fact.relation for fact in renamed.facts] == ["symptoms", "causes"]
    assert [fact.fact_id for fact in renamed.facts] == [fact.fact_id for fact in load_file(tmp_path / "named.csv").facts]
