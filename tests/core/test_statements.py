"""The eight variants and their labels: label = fact.positive XOR variant.negated."""

import pytest

from medfact.facts import Fact, digest
from medfact.prototypes import load_pool
from medfact.statements import FORM_NAMES, IMPLICATIONS, Statement

FACT = Fact("influenza", "symptoms", "fever")
FALSE = FACT.negative("gout pain", None, 1)

LABELS = {  # variant: (form, label where the fact holds, label where it does not)
    "none": ("none", True, False),
    "inv": ("inv", True, False),
    "ins": ("ins", True, False),
    "inv+ins": ("inv+ins", True, False),
    "dn": ("none", False, True),
    "inv+dn": ("inv", False, True),
    "ins+dn": ("ins", False, True),
    "inv+ins+dn": ("inv+ins", False, True),
}


def test_the_variants_are_the_papers_in_their_order() -> None:
    assert list(IMPLICATIONS) == list(LABELS)
    assert list(FORM_NAMES) == ["none", "inv", "ins", "inv+ins", "S1", "S2", "S3", "S4"]


@pytest.mark.parametrize("variant", LABELS)
def test_labels_and_forms(variant: str) -> None:
    form, true, false = LABELS[variant]
    assert IMPLICATIONS[variant].key == variant
    assert IMPLICATIONS[variant].form == form
    assert Statement(FACT, "medfact", variant, "x").label is true
    assert Statement(FALSE, "medfact", variant, "x").label is false


def test_plain_names_and_predicates_are_all_different() -> None:
    assert len({variant.plain for variant in IMPLICATIONS.values()}) == 8
    assert len({variant.predicate for variant in IMPLICATIONS.values()}) == 8
    for variant in IMPLICATIONS.values():
        assert ("denied" in variant.plain) == ("¬" in variant.predicate) == variant.negated


def test_a_statements_id_hashes_fact_pool_variant_text_and_origin() -> None:
    one = Statement(FACT, "medfact", "none", "fever is a symptom of influenza.")
    assert one.statement_id == digest(FACT.fact_id, "medfact", "none", "fever is a symptom of influenza.", "prototype")
    others = [
        Statement(FALSE, one.pool, one.variant, one.text),
        Statement(FACT, "other", one.variant, one.text),
        Statement(FACT, one.pool, "inv", one.text),
        Statement(FACT, one.pool, one.variant, "Fever is a symptom."),
        Statement(FACT, one.pool, one.variant, one.text, "rephrased by someone"),
    ]
    assert len({statement.statement_id for statement in (one, *others)}) == 6


def test_a_pool_makes_eight_statements_of_each_fact_in_order() -> None:
    made = list(load_pool("medfact").statements([FACT, FALSE]))
    assert [s.variant for s in made] == [*IMPLICATIONS, *IMPLICATIONS]
    assert [s.label for s in made] == [True] * 4 + [False] * 4 + [False] * 4 + [True] * 4
    assert made[2].text == "In patients with influenza, fever is a recognized symptom or sign of the condition."
    assert made[13].text == "Recognized symptoms and signs of influenza do not include gout pain."
    assert {s.pool for s in made} == {"medfact"}


def test_a_fact_without_prototypes_makes_no_statement() -> None:
    assert list(load_pool("medfact").statements([Fact("influenza", "is worsened by", "a virus")])) == []
    assert list(load_pool("medfact").statements([Fact("influenza", "symptoms", None)])) == []


def test_names_that_look_like_slots_stay_as_they_are() -> None:
    (first, *_) = load_pool("medfact").statements([Fact("[Y]", "symptoms", "[X]")])
    assert first.text == "[X] is a recognized symptom or sign of [Y]."
