"""The fact's identity, and what the knowledge base takes for one thing and for a known link."""

import hashlib
from dataclasses import replace

import pytest

from medfact.datasets.pairing import bounds_of, contradictions, place_of
from medfact.facts import Fact, KnowledgeBase, canonical_text, name_key, positive_facts
from medfact.negatives import draw_negatives

FEVER = Fact("influenza", "symptoms", "fever", head_id="D1", tail_id="S1")


def test_an_id_is_a_hash_of_names_and_identifiers_the_same_on_every_machine() -> None:
    text = "\x1f".join(["influenza", "symptoms", "fever", "D1", "S1", "", ""])
    assert FEVER.fact_id == hashlib.sha256(text.encode()).hexdigest()[:20]


@pytest.mark.parametrize(
    "change",
    [
        {"head": "gout"},
        {"relation": "drugs"},
        {"tail": "cough"},
        {"head_id": "D2"},
        {"tail_id": None},
        {"positive": False},
    ],
    ids=lambda change: next(iter(change)),
)
def test_ids_tell_the_same_triplet_apart_by_identifiers_and_truth(change: dict[str, object]) -> None:
    assert replace(FEVER, **change, fact_id="").fact_id != FEVER.fact_id


def test_a_ready_sentence_is_part_of_the_id_and_its_entry_tells_two_apart() -> None:
    sentence = "Fever is a sign of influenza."
    stated = FEVER.with_ready_sentence(sentence)
    text = "\x1f".join(["influenza", "symptoms", "fever", "D1", "S1", sentence, ""])
    assert stated.fact_id == hashlib.sha256(text.encode()).hexdigest()[:20]
    assert stated == FEVER, "the triplet is the same"
    assert replace(FEVER, source_id="entry 7").with_ready_sentence(sentence).fact_id not in {stated.fact_id, FEVER.fact_id}
    negative = stated.negative("cough", None, 1)
    assert negative.with_ready_sentence("Cough is a sign of influenza.").fact_id == negative.fact_id


def test_fingerprints_stay_as_they_are_from_the_first_release_on() -> None:
    """Otherwise a recorded run would be said to have asked other data."""
    assert KnowledgeBase((FEVER,)).fingerprint({}) == "869d545358b2e54de5c8"
    stated = FEVER.with_ready_sentence("Fever!")
    assert KnowledgeBase((stated,)).fingerprint({stated.fact_id: "Fever!"}) == "ee5fddc87fdeabe4b8ae"


@pytest.mark.parametrize("name", ["source", "source_id", "head_type", "tail_type", "strength", "specialty"])
def test_ids_do_not_depend_on_what_is_said_about_a_fact(name: str) -> None:
    assert replace(FEVER, **{name: "something"}, fact_id="").fact_id == FEVER.fact_id


def test_a_negative_keeps_head_relation_and_types_and_knows_its_positive() -> None:
    fact = replace(FEVER, tail_type="Sign", source="textbook", source_id="p. 3", fact_id="")
    negative = fact.negative("gout pain", "S9", 2)
    assert (negative.head, negative.relation, negative.tail, negative.tail_type) == (
        "influenza",
        "symptoms",
        "gout pain",
        "Sign",
    )
    assert (negative.positive, negative.negative_of, negative.k) == (False, fact.fact_id, 2)
    assert (negative.tail_id, negative.source, negative.source_id) == ("S9", None, None)


def test_a_negatives_id_is_a_hash_of_its_positives_id_and_k_alone() -> None:
    assert FEVER.negative("gout", None, 1).fact_id == FEVER.negative("cough", "S4", 1).fact_id
    assert FEVER.negative("gout", None, 1).fact_id != FEVER.negative("gout", None, 2).fact_id


def test_positive_facts() -> None:
    assert positive_facts([FEVER, FEVER.negative("gout", None, 1)]) == (FEVER,)


@pytest.mark.parametrize("other", ["Bone pain", " bone  PAIN ", "bone-pain", "bone\u2011pain", "bone_pain"])
def test_case_white_space_and_hyphens_do_not_tell_names_apart(other: str) -> None:
    assert name_key(other) == name_key("bone pain")


def test_words_do_tell_names_apart() -> None:
    assert name_key("bone pain") != name_key("bonepain")


def test_names_are_one_thing_through_identifiers_and_synonyms_however_many_steps() -> None:
    known = KnowledgeBase(
        (
            Fact("heart attack", "symptoms", "chest pain", head_id="C1"),
            Fact("MI", "symptoms", "sweating", head_id="C1", tail_id="C2"),
            Fact("gout", "symptoms", "diaphoresis", tail_id="C2"),
        ),
        synonyms=(("mi", "myocardial infarction"),),
    )
    assert known.entity("heart attack") == known.entity("Myocardial Infarction")
    assert known.entity("sweating") == known.entity("diaphoresis")
    assert known.entity("heart attack") != known.entity("gout")
    assert known.entity("a name that nobody knows") == "a name that nobody knows"


def test_links_hold_in_both_directions_in_any_relation_and_under_any_name() -> None:
    known = KnowledgeBase(
        (Fact("gout", "drugs", "colchicine"), Fact("kidney stones", "may follow", "gout")),
        also_true=(("gouty arthritis", "joint pain"),),
        synonyms=(("gout", "gouty arthritis"),),
    )
    expected = {known.entity(name) for name in ("colchicine", "kidney stones", "joint pain")}
    assert known.linked("gout") == known.linked("Gouty arthritis") == expected
    assert known.entity("gout") in known.linked("colchicine")
    assert known.entity("gout") in known.linked("joint pain")
    assert known.linked("asthma") == frozenset()


def test_tails_are_of_one_relation_and_type_once_per_fact() -> None:
    known = KnowledgeBase(
        (
            Fact("a", "r", "x", tail_type="T"),
            Fact("b", "r", "x", tail_type="T"),
            Fact("c", "r", "w", tail_type="T"),
            Fact("d", "r", "y", tail_type="U"),
            Fact("e", "s", "z", tail_type="T"),
        )
    )
    assert [tail.name for tail in known.tails("r", "T")] == ["w", "x", "x"]
    assert known.tails("nothing", None) == ()


def test_share_of_heads_counts_different_heads() -> None:
    known = KnowledgeBase(
        (
            Fact("a", "r", "pain"),
            Fact("A", "r", "Pain"),  # the same head and tail again
            Fact("b", "r", "pain"),
            Fact("c", "r", "cough"),
            Fact("d", "other", "pain"),
        )
    )
    assert known.share_of_heads("r", "pain") == 2 / 3  # a and b of a, b, c
    assert known.share_of_heads("r", "cough") == 1 / 3
    assert known.share_of_heads("r", "fever") == 0


def test_a_fingerprint_does_not_depend_on_order_and_changes_with_every_part() -> None:
    facts = (Fact("a", "r", "x"), Fact("b", "r", "y"))
    links, names = (("a", "p"), ("b", "q")), (("a", "A1"), ("b", "B1", "B2"))
    known = KnowledgeBase(facts, links, names)
    turned = KnowledgeBase(facts[::-1], links[::-1], (names[1][::-1], names[0][::-1]))
    assert turned.fingerprint({}) == known.fingerprint({})
    others = [
        KnowledgeBase(facts[:1], links, names),
        KnowledgeBase(facts, links[:1], names),
        KnowledgeBase(facts, links, names[:1]),
    ]
    assert len({k.fingerprint({}) for k in (known, *others)}) == 4


def test_a_fingerprint_tells_a_link_from_two_names_of_one_thing() -> None:
    facts = (Fact("a", "r", "x"),)
    linked, named = KnowledgeBase(facts, also_true=(("a", "b"),)), KnowledgeBase(facts, synonyms=(("a", "b"),))
    assert linked.fingerprint({}) != named.fingerprint({})


# ------------------------------------------------------------------------- time, place and population

PLAIN = Fact("asthma", "therapeutic drugs", "albuterol")
IN_US, IN_PREGNANCY, OF_BOTH, SWAPPED, ENDED = (
    replace(PLAIN, **bounds, fact_id="")
    for bounds in (
        {"region": "United States"},
        {"population": "pregnancy"},
        {"region": "United States", "population": "pregnancy"},
        {"population": "United States"},
        {"until": "2030"},
    )
)


def test_a_fact_of_everybody_everywhere_keeps_its_id_and_its_fingerprint() -> None:
    text = "\x1f".join(["asthma", "therapeutic drugs", "albuterol", "", "", "", ""])
    assert PLAIN.fact_id == hashlib.sha256(text.encode()).hexdigest()[:20]
    assert "until" not in canonical_text(PLAIN, {})
    assert "region" not in canonical_text(PLAIN, {})


def test_facts_that_differ_in_place_or_population_alone_are_different_facts() -> None:
    assert len({fact.fact_id for fact in (PLAIN, IN_US, IN_PREGNANCY, OF_BOTH, SWAPPED)}) == 5


def test_until_says_how_long_the_same_fact_holds_and_a_fingerprint_tells_it() -> None:
    assert ENDED.fact_id == PLAIN.fact_id
    assert KnowledgeBase((ENDED,)).fingerprint({}) != KnowledgeBase((PLAIN,)).fingerprint({})
    assert KnowledgeBase((IN_US,)).fingerprint({}) != KnowledgeBase((PLAIN,)).fingerprint({})


def test_a_false_partner_is_said_of_the_same_place_and_people_and_has_no_end_of_its_own() -> None:
    negative = replace(OF_BOTH, until="2030").negative("insulin", None, 1)
    assert (negative.region, negative.population, negative.until) == ("United States", "pregnancy", None)
    assert negative.fact_id != PLAIN.negative("insulin", None, 1).fact_id


def test_what_is_true_anywhere_is_drawn_as_false_nowhere() -> None:
    """Drug b treats asthma in Japan alone: of the other drugs, only c is safe, in any place."""
    of_others = [Fact(f"disease {drug}", "therapeutic drugs", drug) for drug in ("b", "c")]
    known = KnowledgeBase((IN_US, replace(PLAIN, tail="b", region="Japan", fact_id=""), *of_others))
    for seed in range(20):
        for fact in (IN_US, PLAIN, IN_PREGNANCY):
            assert {negative.tail for negative in draw_negatives(fact, known, 9, seed)} == {"c"}


def test_true_in_one_place_and_false_in_another_is_no_contradiction() -> None:
    false = replace(IN_PREGNANCY, positive=False, fact_id="")
    assert list(contradictions({"a": PLAIN, "b": false})) == []
    assert list(contradictions({"a": replace(IN_PREGNANCY, population="Pregnancy"), "b": false})) == [["a", "b"]]


def test_partners_are_of_one_place_under_one_spelling() -> None:
    assert bounds_of(PLAIN) == ()
    assert place_of(IN_US) == place_of(replace(IN_US, region="united states"))
    assert len({place_of(fact) for fact in (PLAIN, IN_US, IN_PREGNANCY, SWAPPED)}) == 4
