"""The size of a data set, by hand: of all of it, by relation, by semantic type."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_facts import write_csv
from small_papers import write_json

from medfact.datasets import load_file
from medfact.datasets.statistics import Size, statistics

ROWS = [
    # head, relation, tail, head's type, tail's type
    ("gout", "symptoms", "joint pain", "Disease", "Sign"),
    ("gout", "symptoms", "fever", "Disease", "Sign; Finding"),
    ("asthma", "symptoms", "cough", "Disease", "Sign"),
    ("measles", "symptoms", "Fever", "Disease; Infection", "Sign; Finding"),
    ("gout", "affected sites", "joint", "Disease", "Body Part"),
]
COLUMNS = ("head", "relation", "tail", "head_type", "tail_type")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "facts.csv", [dict(zip(COLUMNS, row, strict=True)) for row in ROWS])


def test_every_figure_by_hand(file: Path) -> None:
    """3 heads (gout, asthma, measles) and 4 tails (joint pain, fever, cough, joint), fever in two spellings: 7 names. Symptoms
    have 4 facts of 3 heads: 4/3 tails a head. Sites have 1 fact of 1 head, 1/3 over all heads. Types: Disease 3, Infection 1,
    Sign 3, Finding 1, Body Part 1: 9 names in 5 types, 9/5 a type.
    """
    whole, sites, symptoms, *types = statistics(load_file(file))
    assert whole == Size("data set", "facts.csv", 5, 5, 3, 4, 7, 5 / 3, 5 / 3, 2, 5, 9 / 5, refuted=0.0)
    assert sites == Size("relation", "affected sites", 1, None, 1, 1, 2, 1.0, 1 / 3)
    assert symptoms == Size("relation", "symptoms", 4, None, 3, 3, 6, 4 / 3, 4 / 3)
    assert [(one.name, one.entities, one.facts) for one in types] == [
        ("Body Part", 1, 1), ("Disease", 3, 0), ("Finding", 1, 2), ("Infection", 1, 0), ("Sign", 3, 4)
    ]  # fmt: skip


def test_the_share_of_random_partners_that_known_facts_refute(tmp_path: Path) -> None:
    """Three signs of one type. Of gout's two others for pain fever is known, and the other way round: 1 of 2 twice; of asthma's
    others, pain and fever, neither: 0. (1/2 + 1/2 + 0) / 3 = 1/3. A tail alone in its relation has no others.
    """
    rows = [("gout", "symptoms", "pain"), ("gout", "symptoms", "fever"), ("asthma", "symptoms", "cough")]
    kinds = ("Disease", "Sign")
    rows_of_file = [dict(zip(COLUMNS, (*row, *kinds), strict=True)) for row in [*rows, ("gout", "affected sites", "joint")]]
    collection = load_file(write_csv(tmp_path / "signs.csv", rows_of_file))
    assert statistics(collection)[0].refuted == pytest.approx(1 / 3)
    only = [fact for fact in collection.facts if fact.head == "asthma"]
    assert statistics(collection, only)[0].refuted == 0


def test_the_types_that_mkj_lists_count_with_their_names(tmp_path: Path, medfact: Callable[..., Any]) -> None:
    """Two objects are in facts; the folder lists three drugs, one in another spelling, and a type that no fact has."""
    triplets = [
        {"text": "", "triplet": {"subject": f"Disease {n}", "predicate": "may be treated by", "object": f"drug {n}"}}
        for n in range(2)
    ]
    write_json(tmp_path / "mkj" / "triplets_collection.json", triplets)
    listed = {"Clinical Drug": ["drug 0", "Drug 1", "drug 2"], "Virus": ["Orf virus"]}
    write_json(tmp_path / "mkj" / "semantic_to_entity.json", listed)
    rows = medfact("statistics", "--protocol", "mkj", "--facts", tmp_path / "mkj").rows
    types = {row["name"]: (row["entities"], row["facts"]) for row in rows if row["of"] == "semantic type"}
    assert types == {"Clinical Drug": (3, 2), "Virus": (1, 0)}
    assert (rows[0]["types"], rows[0]["per_type"]) == (2, 2.0)


def test_the_command_counts_what_a_method_tests(medfact: Callable[..., Any]) -> None:
    """TPEval tests one tail for each head and relation, each with a false partner: as `facts` lists them."""
    outcome = medfact("statistics", "--protocol", "tpeval")
    assert outcome.code == 0, outcome.err
    rows = {row["name"]: row for row in outcome.rows if row["of"] != "semantic type"}
    tested = [row for row in medfact("facts", "--protocol", "tpeval").rows if row["role"] == "test"]
    for relation in ("symptoms", "affected sites", "therapeutic drugs", "surgical procedures"):
        of = [row for row in tested if row["relation"] == relation]
        assert (rows[relation]["positive"], rows[relation]["negative"]) == tuple(
            sum(row["positive"] is positive for row in of) for positive in (True, False)
        )
        assert rows[relation]["positive"] == rows[relation]["heads"] - 5, "5 heads are kept for demonstrations"
    assert rows["clinical-core"]["positive"] == sum(row["positive"] for row in tested)


def test_no_type_gives_no_figure(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "bare.csv", [{"head": "gout", "relation": "symptoms", "tail": "joint pain"}])
    (whole, _) = statistics(load_file(file))
    assert (whole.types, whole.per_type, whole.positive) == (None, None, None)
