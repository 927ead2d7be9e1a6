"""Facts are found by words in any order, and by other names."""

from __future__ import annotations

import pytest
from small_facts import facts_of

from medfact.datasets import load_bundled
from medfact.datasets.names import holding
from medfact.facts import KnowledgeBase

ROWS = [
    ("giant cell arteritis", "therapeutic drugs", "prednisone"),
    ("giant cell arteritis", "symptoms", "jaw claudication"),
    ("asthma", "therapeutic drugs", "prednisone"),
    ("myocardial infarction", "symptoms", "chest pain"),
]
FACTS = facts_of([{"head": head, "relation": relation, "tail": tail} for head, relation, tail in ROWS])


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
        assert list(holding(FACTS, search, known)) == [FACTS[number] for number in found]


def test_words_are_found_in_other_and_in_everyday_names_too() -> None:
    known = KnowledgeBase(FACTS, synonyms=(("giant cell arteritis", "temporal arteritis"),))
    assert list(holding(FACTS, "temporal prednisone", known)) == [FACTS[0]]
    assert list(holding(FACTS, "heart attack pain", known)) == [FACTS[3]]
    assert list(holding(FACTS, "temporal prednisone")) == []


def test_a_bundled_set_is_searched() -> None:
    known = load_bundled("clinical-core").known
    found = list(holding(load_bundled("clinical-core").facts, "prednisone giant cell arteritis", known))
    assert [(fact.head, fact.tail) for fact in found if fact.positive] == [("giant cell arteritis", "prednisone")]
